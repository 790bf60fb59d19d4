package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Daemon is a program that continues after the job that started it, such as LibreOffice, which takes long to start.
// It ends with the child.
type Daemon struct {
	// Stdin and Stdout are connected to the program.
	Stdin  io.WriteCloser
	Stdout io.ReadCloser

	child  *innerChild
	cmd    *exec.Cmd
	stderr *excerpt
	ended  chan struct{}
}

// Ended is closed when the program has ended.
func (k *Daemon) Ended() <-chan struct{} { return k.ended }

// Stderr returns the end of the program's standard error.
func (k *Daemon) Stderr() string { return k.stderr.String() }

// Stop kills the program and waits until it is gone.
func (k *Daemon) Stop() {
	select {
	case <-k.ended:
		return
	default:
	}
	_ = k.child.killProgram(k.cmd) // it fails when the program has ended
	<-k.ended
}

// PersistentDir returns a folder that is emptied only when the child ends, for files of daemons: their HOME and working
// directory. The next job sees the files that one job leaves in it; the handler decides whether that is acceptable.
func (w *Work) PersistentDir() (string, error) {
	if err := os.MkdirAll(w.child.keepDir(), 0o700); err != nil {
		return "", err
	}
	w.child.keeping = true
	return w.child.keepDir(), nil
}

// StartDaemon starts a program that continues after the job. Everything else that a job leaves running is killed
// after it. MaxStdout and OK have no effect here, and Stdin of p is ignored.
func (w *Work) StartDaemon(p Program) (*Daemon, error) {
	dir, err := w.PersistentDir()
	if err != nil {
		return nil, err
	}

	p.Stdin = nil
	cmd, err := w.command(context.Background(), p) // Stop ends it
	if err != nil {
		return nil, err
	}

	cmd.Dir = dir
	cmd.Env = append(w.child.environment(dir), p.Env...)
	if w.child.has(unix.CLONE_NEWPID) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // see sweep
	}

	k := &Daemon{child: w.child, cmd: cmd, stderr: new(excerpt), ended: make(chan struct{})}
	cmd.Stderr = k.stderr
	in, inErr := cmd.StdinPipe()
	// Not StdoutPipe: Wait, which runs from the start, would close it before
	// everything is read.
	out, programOut, outErr := os.Pipe()
	if err := errors.Join(inErr, outErr); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}

	cmd.Stdout = programOut
	k.Stdin = in
	k.Stdout = out
	err = w.start(cmd, p)
	err = errors.Join(err, programOut.Close())
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}

	w.child.daemons = append(w.child.daemons, cmd.Process.Pid)
	go func() {
		defer close(k.ended)
		_ = cmd.Wait() // how it ended does not matter, only that it did
	}()
	return k, nil
}
