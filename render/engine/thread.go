package engine

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render/priority"
)

// thread is an OS thread that carries out functions until it is closed. The kernel ties several things to the
// thread and not to the process. The parent-death signal comes when the thread that forked ends. no_new_privs, set
// on one thread, passes to everything that it forks, as its priority does. On many kernels each thread has its own
// Landlock domain, so that only the thread that started a program may send it a signal.
type thread struct {
	calls chan func()
	done  chan struct{}
}

func newThread() *thread {
	t := &thread{calls: make(chan func()), done: make(chan struct{})}
	go t.run()
	return t
}

func (t *thread) run() {
	defer close(t.done)
	// Never unlocked: the thread must end with the goroutine rather than serve
	// others.
	runtime.LockOSThread()
	for f := range t.calls {
		f()
	}
}

// do carries out f, which must not take long. A panic of f is an error.
func (t *thread) do(f func() error) error {
	result := make(chan error, 1)
	t.calls <- func() { result <- guard.Try(f) }
	return <-result
}

// kill sends SIGKILL. It fails if the process does not exist.
func (t *thread) kill(pid int) error {
	return t.do(func() error { return unix.Kill(pid, unix.SIGKILL) })
}

// close ends the thread. Nothing may be asked of it afterwards.
func (t *thread) close() {
	close(t.calls)
	<-t.done
}

// refuseNewPrivileges prevents processes that the calling thread starts from gaining privileges.
func refuseNewPrivileges() error {
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

// settle applies the scheduling settings of the pool's children to processes that the calling thread starts.
func (c Config) settle() error {
	if err := refuseNewPrivileges(); err != nil {
		return fmt.Errorf("engine: give up new privileges: %w", err)
	}
	if c.Background {
		priority.MoveThreadToBackground()
	}
	return nil
}
