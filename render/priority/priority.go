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
	// Low is the nice value of threads of low priority.
	Low = 10
	// Work is the nice value of sessions that do the work. The server itself needs little
	// processor time, and all of them wait for it. At equal priority, a call that is
	// accepted during two renders would wait for its turn at the processors after each wait
	// for a disk.
	Work = 5
	// Background is the nice value of sessions of low priority.
	Background = Work + Low
)

// Of returns the nice value of a working session, in the background or not.
func Of(background bool) int {
	if background {
		return Background
	}
	return Work
}

// Share is a session's share of the processors: the default one, before the first Set.
type Share struct{ nice int }

// Set gives the session of the process member a nice value of 0 to 19, unless it has that
// already. Every user may raise it again. Without root, the kernel accepts one change each
// 0.1 s: a change that comes too soon is left for the next Set. Other refusals are
// permanent: there are kernels without autogroups.
func (s *Share) Set(member, nice int) {
	if nice == s.nice {
		return
	}
	err := os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", member), []byte(strconv.Itoa(nice)), 0)
	if !errors.Is(err, syscall.EAGAIN) {
		s.nice = nice
	}
}

// Threads lowers the threads of a process. Threads that they start are as low.
func Threads(pid int) { each(pid, lower) }

// MoveToBackground lowers the threads of a process as Threads does, and keeps them to a few of the
// processors: other sessions have the remaining ones to themselves, at once and with warm
// caches.
func MoveToBackground(pid int) {
	few := reservedCores()
	each(pid, func(tid int) { aside(tid, few) })
}

// MoveThreadToBackground is Aside for the calling thread, which has to be locked to its goroutine, and for its children.
func MoveThreadToBackground() { aside(0, reservedCores()) }

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

// reservedCores returns the last quarter of the processors that this process may use, at least one. It is nil if there is
// only one.
func reservedCores() *unix.CPUSet {
	var all, few unix.CPUSet
	// All threads of the process: any of them may have low priority already, including the first one.
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
