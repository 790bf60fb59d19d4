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

// Low is the nice value with which who steps back has about a tenth of a
// processor that another wants.
const Low = 10

// StepBack lowers a process, which leads a session, and that session. What they
// start later is as low. Only root could raise the threads again.
func StepBack(leader int) {
	_ = Session(leader, Low) // There are kernels without autogroups.
	Threads(leader)
}

// Session sets the nice value that a session has beside others, 0 to 19, of which
// one of its processes tells. Everybody may raise it again; who is not root may set
// one each tenth of a second, and gets EAGAIN in between. The kernel's file says
// who may: the processes' user and root.
func Session(member, nice int) error {
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
