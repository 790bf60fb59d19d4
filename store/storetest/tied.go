package storetest

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"go.uber.org/goleak"
)

// starter is a thread that starts processes and never ends: Linux signals the end of a parent when the thread that
// started the process ends, and threads that goroutines were locked to end with them.
var starter = sync.OnceValue(func() chan<- func() {
	calls := make(chan func())
	go start(calls)
	return calls
})

func start(calls <-chan func()) {
	runtime.LockOSThread()
	for call := range calls {
		call()
	}
}

// Lasting matches the goroutine that Start leaves until the process ends, for tests that look for leaks.
var Lasting = goleak.IgnoreTopFunction("github.com/relaypdf/relaypdf/store/storetest.start")

// Start starts a program that ends with the process of the test, however that ends.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	starter() <- func() { started <- cmd.Start() }
	return <-started
}
