// Package priority divides the processors among the programs that this one
// starts. The kernel divides them among sessions first, and then among the
// threads of each (autogroups, see sched(7)); within control groups that have a
// share of their own, such as containers, among threads alone. So that who is to
// step back has to do so as a session and with its threads.
package priority

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Nice values. Ten of them leave about a tenth of a processor that another wants, five
// a third.
const (
	// Low is that of threads that step back.
	Low = 10
	// Work is that of sessions that do the work. The server itself has little to do,
	// for which all of them wait: a call that is accepted beside two that are drawn
	// would wait for their turns at the processors each time it waits for a disk.
	Work = 5
	// Behind is that of sessions that step back behind others that work.
	Behind = Work + Low
)

// Of is the nice value of a session that works, in the background or not.
func Of(background bool) int {
	if background {
		return Behind
	}
	return Work
}

// Share is what a session has of the processors beside others: that of everybody, before
// the first Set.
type Share struct{ nice int }

// Set gives a session, of which one of its processes tells, a nice value of 0 to 19,
// where it has another. Everybody may raise it again. Who is not root may set one each
// tenth of a second: what came too soon is left for the next Set. Other refusals stay:
// there are kernels without autogroups.
func (s *Share) Set(member, nice int) {
	if nice == s.nice {
		return
	}
	err := os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", member), []byte(strconv.Itoa(nice)), 0)
	if !errors.Is(err, syscall.EAGAIN) {
		s.nice = nice
	}
}

// Threads lowers the threads of a process. Those that they start are as low.
func Threads(pid int) { each(pid, lower) }

// Aside lowers the threads of a process as Threads does, and keeps them to a few of the
// processors: who works beside has the others to itself, at once and with what their
// caches hold.
func Aside(pid int) {
	few := some()
	each(pid, func(tid int) { aside(tid, few) })
}

// AsideHere is Aside for the thread that calls, which has to be locked to its
// goroutine, and for what it starts.
func AsideHere() { aside(0, some()) }

// each calls f with the threads of a process.
func each(pid int, f func(tid int)) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", pid))
	if err != nil {
		return // Only a malformed pattern fails.
	}
	for _, path := range threads {
		if tid, err := strconv.Atoi(filepath.Base(path)); err == nil {
			f(tid)
		}
	}
}

// lower is refused for a thread that has ended, and for one that has less already.
func lower(tid int) { _ = unix.Setpriority(unix.PRIO_PROCESS, tid, Low) }

func aside(tid int, few *unix.CPUSet) {
	if few != nil {
		_ = unix.SchedSetaffinity(tid, few) // It may have ended.
	}
	lower(tid)
}

// some returns the last quarter of the processors that this program may use, one at the
// least. It is nil where there is only one.
func some() *unix.CPUSet {
	var all, few unix.CPUSet
	// Of all its threads: any of them may stand aside already, the first one included.
	each(os.Getpid(), func(tid int) {
		var own unix.CPUSet
		if unix.SchedGetaffinity(tid, &own) == nil {
			for i := range all {
				all[i] |= own[i]
			}
		}
	})
	if all.Count() < 2 {
		return nil
	}
	for i, wanted := len(all)*strconv.IntSize-1, max(1, all.Count()/4); wanted > 0; i-- {
		if all.IsSet(i) {
			few.Set(i)
			wanted--
		}
	}
	return &few
}
