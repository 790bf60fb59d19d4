package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// defaultStdout is the default maximum size of a program's output.
	defaultStdout = 16 << 20
	// pipeTime is the time for which a program that has ended may leave its pipes open to programs that it started.
	pipeTime = time.Second
)

// Program is a program that a handler starts, in the job's folder and under all limits of
// the child. It is started directly, without a shell.
type Program struct {
	// Name is looked up in the fixed search path.
	Name string
	// Args are the arguments after the name. Text that is not ours must not be
	// one that can be taken for an option: see PathArg.
	Args []string
	// Stdin is the program's input. Default: nothing. Secrets are passed here, never in Args, which every process
	// can see.
	Stdin io.Reader
	// Env is added to HOME, PATH and LANG, as NAME=value.
	Env []string
	// MaxStdout is the maximum size of its output in bytes. Default: 16 MiB.
	MaxStdout int64
	// Joined adds the program's standard error to its output.
	Joined bool
	// OK lists exit codes other than 0 that mean success.
	OK []int
	// Memory is the program's memory limit in bytes, up to the job's. Default: the job's.
	Memory int64
	// CPU is the processor time of each of its processes, in whole seconds, up to the child's. A program that exceeds
	// it is killed. Default: the child's.
	CPU time.Duration
}

// ExitError is a program that failed.
type ExitError struct {
	Program string
	// Code is the exit code, and -1 when a signal ended it.
	Code int
	// Signal ended the program; 0 when it ended by itself.
	Signal syscall.Signal
	// Stderr is the start and the end of its standard error, up to 2 KiB each.
	Stderr string
}

func (e *ExitError) Error() string {
	how := fmt.Sprintf("ended with exit code %d", e.Code)
	if e.Signal != 0 {
		how = fmt.Sprintf("was ended by the signal %q", e.Signal)
	}
	return fmt.Sprintf("%s %s: %s", e.Program, how, strings.TrimSpace(e.Stderr))
}

// PathArg returns a file name in the job's folder as an argument that cannot be mistaken for an option.
func PathArg(name string) string { return "./" + name }

// Exec runs a program to its end and returns its output. The program is killed when ctx ends, which it does when the
// program hangs. Errors are *ExitError, ErrNoProgram, ErrOutputTooLarge and the context's; with an *ExitError, Exec
// also returns the output so far.
func (w *Work) Exec(ctx context.Context, p Program) ([]byte, error) {
	cmd, err := w.command(ctx, p)
	if err != nil {
		return nil, err
	}

	limit := p.MaxStdout
	if limit <= 0 {
		limit = defaultStdout
	}

	stdout := &bounded{left: limit}
	stderr := new(excerpt)
	cmd.Stdout = stdout
	cmd.Stderr = stderr
	if p.Joined {
		both := io.MultiWriter(stdout, stderr)
		cmd.Stdout = both
		cmd.Stderr = both // one writer has one pipe
	}

	if err := w.start(cmd, p); err != nil {
		return nil, err
	}
	watched := w.watchHang(cmd.Process.Pid)
	err = cmd.Wait()
	watched()

	var exit *exec.ExitError
	switch {
	case stdout.left < 0:
		return nil, fmt.Errorf("%s: %w", p.Name, ErrOutputTooLarge)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", p.Name, context.Cause(ctx))
	case errors.As(err, &exit):
		if exit.Exited() && slices.Contains(p.OK, exit.ExitCode()) {
			return stdout.buf.Bytes(), nil
		}

		failed := &ExitError{Program: p.Name, Code: exit.ExitCode(), Stderr: stderr.String()}
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			failed.Signal = status.Signal()
		}
		return stdout.buf.Bytes(), failed
	case errors.Is(err, exec.ErrWaitDelay):
		// It succeeded; processes that it left running end with the job.
		return stdout.buf.Bytes(), nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	return stdout.buf.Bytes(), nil
}

// command prepares a program; w.start starts it.
func (w *Work) command(ctx context.Context, p Program) (*exec.Cmd, error) {
	for _, text := range append(slices.Clone(p.Args), p.Env...) {
		if strings.Contains(text, "\x00") {
			return nil, fmt.Errorf("%s: an argument holds a NUL", p.Name)
		}
	}

	cmd := exec.CommandContext(ctx, p.Name, p.Args...)
	if cmd.Err != nil {
		return nil, fmt.Errorf("%s: %w: %w", p.Name, ErrNoProgram, cmd.Err)
	}

	cmd.Dir = w.Dir
	cmd.Env = append(w.child.environment(w.Dir), p.Env...)
	cmd.Stdin = p.Stdin
	cmd.WaitDelay = pipeTime
	if w.child.has(unix.CLONE_NEWPID) {
		// Without a namespace, all programs stay in the child's group.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	}

	cmd.Cancel = func() error { return w.child.killProgram(cmd) }
	return cmd, nil
}

// start starts a prepared program with its limits.
func (w *Work) start(cmd *exec.Cmd, p Program) error {
	memory := min(cmp.Or(p.Memory, w.memory), w.memory)
	cpu := w.child.CPU
	if p.CPU > 0 {
		cpu = min(cpu, max(1, int64(p.CPU/time.Second)))
	}

	err := w.child.thread.do(cmd.Start)
	if errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("%w: %w", ErrNoProgram, err)
	}
	if err != nil {
		return err
	}

	// Its inherited limits count the use and the mappings of the child itself. They apply
	// until here.
	for resource, limit := range map[int]int64{unix.RLIMIT_CPU: cpu, unix.RLIMIT_DATA: memory} {
		err := unix.Prlimit(cmd.Process.Pid, resource, &unix.Rlimit{Cur: uint64(limit), Max: uint64(limit)}, nil)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return errors.Join(fmt.Errorf("limit %s: %w", cmd.Path, err), w.child.killProgram(cmd), cmd.Wait())
		}
	}
	return nil
}

// killProgram ends a program that was not waited for yet, with its group if it
// leads one.
func (c *innerChild) killProgram(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		return c.thread.kill(cmd.Process.Pid)
	}
	return c.thread.kill(-cmd.Process.Pid)
}

// environment is all that a child and the programs know of the outside.
func environment(home string) []string {
	return []string{"HOME=" + home, "PATH=" + searchPath, "LANG=C.UTF-8"}
}

// environment returns the environment of programs. Without its own file system, the child cannot write to the usual
// temporary folder.
func (c *innerChild) environment(home string) []string {
	env := environment(home)
	if !c.private {
		env = append(env, "TMPDIR="+c.tmpDir())
	}
	if c.Fonts.File != "" {
		env = append(env, "FONTCONFIG_FILE="+c.Fonts.File)
	}
	return env
}

// bounded is a buffer that fails when more than left is written to it.
type bounded struct {
	buf  bytes.Buffer // not embedded: its ReadFrom knows no bound
	left int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, ErrOutputTooLarge
	}
	return b.buf.Write(p)
}
