// Package priority divides the processors among the programs that this one
// starts. The kernel divides them among sessions first, and then among the
// threads of each (autogroups, see sched(7)); within control groups that have a
// share of their own, such as containers, among threads alone. So that who is to
// step back has to do so as a session and with its threads.
package priority

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
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

// StepBack lowers a process, which leads a session, and that session. What they
// start later is as low. Only root could raise the threads again.
func StepBack(leader int) {
	_ = session(leader, Behind) // There are kernels without autogroups.
	Threads(leader)
}

// Share is what a session has of the processors beside others: that of everybody, before
// the first Set.
type Share struct{ nice int }

// Set gives a session, of which one of its processes tells, a nice value of 0 to 19,
// where it has another. What the kernel refuses is left for the next Set: who is not
// root may set one each tenth of a second.
func (s *Share) Set(member, nice int) {
	if nice != s.nice && session(member, nice) == nil {
		s.nice = nice
	}
}

// session sets the nice value that a session has beside others. Everybody may raise it
// again; who is not root gets EAGAIN where another was set just before. The kernel's
// file says who may: the processes' user and root.
func session(member, nice int) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", member), []byte(strconv.Itoa(nice)), 0); err != nil {
		return fmt.Errorf("priority: set a session's: %w", err)
	}
	return nil
}

// Threads lowers the threads of a process. Those that they start are as low.
func Threads(pid int) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", pid))
	if err != nil {
		return // Only a malformed pattern fails.
	}
	for _, path := range threads {
		if tid, err := strconv.Atoi(filepath.Base(path)); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, tid, Low) // It may have ended.
		}
	}
}
