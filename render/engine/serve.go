package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
)

// Handler does one kind of job: it gets the job's arguments as JSON and its
// body, and returns the result. An error crosses to the caller as a *JobError
// (with the code of the *JobError it wraps, if any). The working directory is
// a private folder that is emptied after the job.
type Handler func(ctx context.Context, args json.RawMessage, body []byte) ([]byte, error)

// Handlers are the jobs that a child can do, by name.
type Handlers map[string]Handler

// Handle makes a Handler of a function with typed arguments.
func Handle[Args any](f func(ctx context.Context, args Args, body []byte) ([]byte, error)) Handler {
	return func(ctx context.Context, raw json.RawMessage, body []byte) ([]byte, error) {
		var args Args
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, &args); err != nil {
				return nil, fmt.Errorf("engine: arguments: %w", err)
			}
		}
		return f(ctx, args, body)
	}
}

// errPanic ends a child after a handler has panicked: nobody knows in which
// state that left the process.
var errPanic = errors.New("engine: a handler panicked")

// Serve is the life of a child: it confines this process, tells the parent
// that it is ready and does jobs until stdin ends, which is how a child
// notices that its parent is gone, even in the middle of a job. It is meant to
// be called once, by a program that then exits; nil means that the parent
// closed the pipe.
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
	r, err := confine(s)
	if err != nil {
		return fmt.Errorf("engine: confine: %w", err)
	}
	if err := writeMessage(stdout, r, nil); err != nil {
		return err
	}
	return serveJobs(in, stdout, handlers)
}

// incoming is a job that arrived, or the reason why no more will.
type incoming struct {
	header jobHeader
	body   []byte
	err    error
}

// serveJobs does jobs one after the other. Reading goes on during a job, so
// that the end of the pipe is noticed at once.
func serveJobs(in io.Reader, out io.Writer, handlers Handlers) error {
	arrivals := make(chan incoming)
	go func() {
		for {
			var next incoming
			next.body, next.err = readMessage(in, &next.header)
			arrivals <- next
			if next.err != nil {
				return
			}
		}
	}()
	next := <-arrivals
	for next.err == nil {
		done := make(chan error, 1)
		go func(job incoming) { done <- answer(out, handlers, job) }(next)
		var err error
		select {
		case err = <-done:
			if err == nil {
				next = <-arrivals
			}
		case next = <-arrivals:
			// The next job comes as soon as the answer is written, so done
			// follows at once; the end of the pipe means that nobody waits.
			if next.err != nil {
				killGroup()
				return endOfInput(next.err)
			}
			err = <-done
		}
		if err != nil {
			return err
		}
	}
	return endOfInput(next.err)
}

func endOfInput(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// answer runs a job's handler and sends what came of it.
func answer(out io.Writer, handlers Handlers, job incoming) error {
	result, err := call(handlers, job)
	if err == nil && len(result) > maxBody {
		err = &JobError{Code: "too_large", Message: "the result is too large"}
	}
	if err == nil {
		return writeMessage(out, answerHeader{}, result)
	}
	wire := &JobError{Message: err.Error()}
	var coded *JobError
	if errors.As(err, &coded) {
		wire.Code = coded.Code
	}
	const longest = 8 << 10
	wire.Message = wire.Message[:min(len(wire.Message), longest)]
	if err := writeMessage(out, answerHeader{Err: wire}, nil); err != nil {
		return err
	}
	if wire.Code == codeCrashed {
		return errPanic
	}
	return nil
}

// call runs the handler under the job's deadline and catches its panic.
func call(handlers Handlers, job incoming) (result []byte, err error) {
	handler, known := handlers[job.header.Name]
	if !known {
		return nil, &JobError{Code: "unknown_job", Message: "unknown job " + job.header.Name}
	}
	ctx, cancel := context.WithTimeout(context.Background(), job.header.Timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "panic in job %s: %v\n%s", job.header.Name, p, debug.Stack())
			result, err = nil, &JobError{Code: codeCrashed, Message: "crashed"}
		}
	}()
	return handler(ctx, job.header.Args, job.body)
}
