package engine

import (
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// spawner starts every child from one OS thread that lives as long as the
// pool. Two properties of a child depend on that thread: the kernel sends the
// parent-death signal when the thread that forked ends, not the process; and
// no_new_privs, set on this thread alone, passes to everything it forks.
type spawner struct {
	starts chan start
	done   chan struct{}
}

type start struct {
	cmd *exec.Cmd
	err chan error
}

func newSpawner() *spawner {
	s := &spawner{starts: make(chan start), done: make(chan struct{})}
	go s.run()
	return s
}

func (s *spawner) run() {
	defer close(s.done)
	// Never unlocked: the thread carries no_new_privs and must end with the
	// goroutine rather than serve others.
	runtime.LockOSThread()
	nnp := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	for st := range s.starts {
		if nnp != nil {
			st.err <- nnp
			continue
		}
		st.err <- st.cmd.Start()
	}
}

// start starts cmd.
func (s *spawner) start(cmd *exec.Cmd) error {
	st := start{cmd: cmd, err: make(chan error, 1)}
	s.starts <- st
	return <-st.err
}

// close ends the thread. Nothing may be started afterwards.
func (s *spawner) close() {
	close(s.starts)
	<-s.done
}
