package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
)

// Handler does one kind of job: it gets the job's arguments as JSON, its body, and its files in w.Dir, and returns
// the result body. Files that it names with w.Output are sent with the result. An error reaches the caller as a
// *JobError (with the code of the *JobError it wraps, if any).
type Handler func(ctx context.Context, w *Work, args json.RawMessage, body []byte) ([]byte, error)

// Handlers are the jobs that a child can do, by name.
type Handlers map[string]Handler

// Handle makes a Handler of a function with typed arguments.
func Handle[Args any](f func(ctx context.Context, w *Work, args Args, body []byte) ([]byte, error)) Handler {
	return func(ctx context.Context, w *Work, raw json.RawMessage, body []byte) ([]byte, error) {
		var args Args
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, &args); err != nil {
				return nil, fmt.Errorf("engine: arguments: %w", err)
			}
		}
		return f(ctx, w, args, body)
	}
}

// errReplace ends a child whose handler has panicked or asked for it, or whose programs hang, because the state of the
// process is then unknown.
var errReplace = errors.New("engine: a handler crashed, or a program hung")

// errSwollen ends a child that has too little memory left for another job.
var errSwollen = errors.New("engine: jobs have left too little memory")

// errLast ends a child whose job has left something behind (see Work.Last).
var errLast = errors.New("engine: a job was the last one")

// Serve is the main function of a child: it confines this process, reports to the parent that it is ready and does
// jobs until stdin ends. The end of stdin means that the parent is gone, even in the middle of a job. It is meant
// to be called once, by a program that then exits; nil means that the parent closed the pipe.
func Serve(stdin io.Reader, stdout io.Writer, handlers Handlers) error {
	// The parent-death signal belongs to the thread that asked for it, so
	// this one must not end before Serve does.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	stdout, err := ownStdout(stdout)
	if err != nil {
		return err
	}

	in := bufio.NewReaderSize(stdin, 64<<10)
	var s setup
	if _, err := readMessage(in, &s); err != nil {
		return fmt.Errorf("engine: read settings: %w", err)
	}

	confined, r, err := confine(s)
	if err != nil {
		return fmt.Errorf("engine: confine: %w", err)
	}

	inner := &innerChild{confinement: confined, in: in, out: stdout, handlers: handlers}
	if err := errors.Join(inner.clean(), os.Setenv("HOME", inner.jobDir())); err != nil {
		return err
	}
	if err := writeMessage(stdout, r, nil); err != nil {
		return err
	}
	return inner.serve()
}

// innerChild is a child, seen from inside.
type innerChild struct {
	*confinement
	in       *bufio.Reader
	out      io.Writer
	handlers Handlers
	// keeping means that a handler asked for the folder that lasts, and kept holds the programs in it, by number.
	keeping bool
	daemons []int
}

func (c *innerChild) jobDir() string  { return filepath.Join(c.base, "job") }
func (c *innerChild) tmpDir() string  { return filepath.Join(c.base, "tmp") }
func (c *innerChild) keepDir() string { return filepath.Join(c.base, "keep") }

// serve does jobs one after the other. During a job it listens for the next
// byte, so that the end of the pipe is noticed at once.
func (c *innerChild) serve() error {
	for {
		job, err := c.receive()
		if err != nil {
			return c.endOfInput(err)
		}

		done := make(chan error, 1)
		next := make(chan error, 1)
		go func() {
			_, err := c.in.Peek(1)
			next <- err
		}()
		go func() { done <- c.answer(job) }()

		select {
		case err = <-done:
		case ended := <-next:
			if ended != nil { // the answer is not needed any more
				return c.endOfInput(ended)
			}
			// The next job comes as soon as the answer is written.
			next <- nil
			err = <-done
		}

		if err != nil {
			return err
		}
		if err := c.clean(); err != nil {
			return err
		}
		if err := <-next; err != nil {
			return c.endOfInput(err)
		}
	}
}

// endOfInput ends a child's life as expected: with every process that it started. Invalid
// input is an error to report, and does not get here.
func (c *innerChild) endOfInput(err error) error {
	ended := errors.Is(err, io.EOF)
	if ended || errors.Is(err, io.ErrUnexpectedEOF) {
		c.killGroup()
	}
	if ended {
		return nil
	}
	return err
}

// incoming is a job that has arrived, with its files.
type incoming struct {
	header jobHeader
	body   []byte
	// full is the reason why not all files could be written.
	full error
}

func (c *innerChild) receive() (job incoming, err error) {
	if job.body, err = readMessage(c.in, &job.header); err != nil {
		return job, err
	}
	job.full, err = receiveFiles(c.in, c.jobDir(), job.header.Files)
	return job, noEOF(err)
}

// answer runs a job's handler and sends its result. An error ends the child.
func (c *innerChild) answer(job incoming) error {
	w := &Work{Dir: c.jobDir(), child: c, memory: c.jobMemory(job.header.Memory)}
	body, err := c.call(w, job)
	swept := c.sweep()

	if swept == nil && c.swollen() {
		swept = errSwollen
	}
	if swept == nil && w.last {
		swept = errLast
	}
	if err == nil && len(body) > maxBody {
		err = ErrOutputTooLarge
	}

	files := &results{}
	if err == nil {
		files, err = w.openOutputs(job.header.MaxOutput)
	}
	if err != nil {
		wire := wireError(err)
		if errors.Is(wire, ErrCrashed) || errors.Is(wire, ErrHung) {
			swept = errReplace
		}
		return errors.Join(writeMessage(c.out, answerHeader{Err: wire, Last: swept != nil}, nil), swept)
	}

	defer files.close()
	answer := answerHeader{Files: files.headers, Warnings: w.warned, Last: swept != nil}
	if err := writeMessage(c.out, answer, body); err != nil {
		return err
	}
	return errors.Join(files.send(c.out), swept)
}

// call runs the handler under the job's deadline and catches its panic.
func (c *innerChild) call(w *Work, job incoming) (result []byte, err error) {
	handler, known := c.handlers[job.header.Name]
	if !known {
		return nil, &JobError{Code: "unknown_job", Message: "unknown job " + job.header.Name}
	}
	if job.full != nil {
		return nil, job.full
	}

	if err := errors.Join(c.limitMemory(w.memory), c.limitCPU()); err != nil {
		return nil, fmt.Errorf("set limits: %w", err)
	}

	stop := make(chan struct{})
	watched := make(chan struct{})
	defer func() {
		close(stop)
		<-watched // the next job does not wait for the previous one's use
	}()
	go func() {
		defer close(watched)
		c.watchMemory(stop, 2*w.memory)
	}()

	ctx, cancel := context.WithTimeout(context.Background(), job.header.Timeout)
	defer cancel()
	ctx, w.cancel = context.WithCancelCause(ctx)
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "panic in job %s: %v\n%s", job.header.Name, p, debug.Stack())
			result = nil
			err = &JobError{Code: codeCrashed, Message: "crashed"}
		}
		// Whatever the handler made of it.
		if hung := context.Cause(ctx); errors.Is(hung, ErrHung) {
			result = nil
			err = hung
		}
		w.cancel(nil)
	}()
	return handler(ctx, w, job.header.Args, job.body)
}

// clean empties the child's folder, so that no job sees files of another, and
// makes the next job's.
func (c *innerChild) clean() error {
	entries, err := os.ReadDir(c.base)
	if err != nil {
		return err
	}

	for _, e := range entries {
		path := filepath.Join(c.base, e.Name())
		if c.keeping && path == c.keepDir() {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("empty the folder: %w", err)
		}
	}

	if err := errors.Join(os.Mkdir(c.jobDir(), 0o700), os.Mkdir(c.tmpDir(), 0o700)); err != nil {
		return err
	}
	return os.Chdir(c.jobDir())
}
