package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestProgramsOutliveTheirThreads starts programs from threads that end then: each continues, because it is tied to
// the process.
func TestProgramsOutliveTheirThreads(t *testing.T) {
	t.Parallel()
	type started struct {
		in     io.WriteCloser
		out    *bufio.Reader
		thread int
		err    error
	}
	const programs = 5
	all := make(chan started, programs)
	for range programs {
		go func() {
			runtime.LockOSThread() // which ends with this goroutine
			cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "cat")
			in, err := cmd.StdinPipe()
			out, errOut := cmd.StdoutPipe()
			if err = errors.Join(err, errOut); err == nil {
				err = Start(cmd)
			}
			if err == nil {
				t.Cleanup(func() {
					if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
						t.Errorf("its end: %v", err)
					}
				})
			}
			all <- started{in, bufio.NewReader(out), syscall.Gettid(), err}
		}()
	}
	for i := range programs {
		p := <-all
		if p.err != nil {
			t.Fatal(p.err)
		}
		awaitEnd(t, p.thread)
		want := fmt.Sprintln("program", i)
		_, err := io.WriteString(p.in, want)
		got, errRead := p.out.ReadString('\n')
		if err = errors.Join(err, errRead); err != nil || got != want {
			t.Errorf("program %d says %q, %v after the end of the thread that started it; want %q", i, got, err, want)
		}
	}
}

// awaitEnd waits until a thread has ended. The process's first stays.
func awaitEnd(t *testing.T, thread int) {
	t.Helper()
	if thread == os.Getpid() {
		return
	}
	for deadline := time.Now().Add(2 * time.Minute); ; runtime.Gosched() {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread)); errors.Is(err, fs.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("thread %d does not end", thread)
		}
	}
}
