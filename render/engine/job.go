package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/relaypdf/relaypdf/render/spool"
)

// Errors of Run and Do. A *JobError is the answer of a handler that ran to its
// end.
var (
	// ErrKilled means that the job did not finish before its context ended. The context's
	// error is wrapped as well.
	ErrKilled = errors.New("engine: killed before it finished")
	// ErrCrashed means that the child ended, or broke the protocol, while it
	// worked on the job. A handler that returns an error which matches it has its
	// child replaced.
	ErrCrashed = errors.New("engine: crashed")
	// ErrOutOfMemory means that the child crashed because the job exceeded its memory
	// limit. It is wrapped together with ErrCrashed.
	ErrOutOfMemory = errors.New("engine: out of memory")
	// ErrUnavailable means that no child could be started.
	ErrUnavailable = errors.New("engine: cannot start")
	// ErrHung means that the child or a program of the job hung: it used no processor time. It is wrapped in the error
	// of a job that hung twice, in different children, and matches ErrUnavailable.
	ErrHung = fmt.Errorf("%w: it used no processor time", ErrUnavailable)
	// ErrClosed means that the pool is closed.
	ErrClosed = errors.New("engine: pool is closed")
	// ErrTooLarge means that the job's input is over the limit of the pipe.
	ErrTooLarge = errors.New("engine: input is too large")
	// ErrOutputTooLarge means that the results, or the output of one program, are larger than the job allows.
	ErrOutputTooLarge = errors.New("engine: output is too large")
	// ErrDiskFull means that the inputs do not fit into the job's folder.
	ErrDiskFull = errors.New("engine: the job's folder is full")
	// ErrNoProgram means that a program the job needs is not installed.
	ErrNoProgram = errors.New("engine: program is not installed")
)

// TimeoutError means that a job took longer than its own time. It is wrapped together with
// ErrKilled.
type TimeoutError struct {
	After time.Duration
	// Slowed is for how long the account has fewer slots now, because its jobs keep running into their deadlines;
	// zero if it has not.
	Slowed time.Duration
}

func (e *TimeoutError) Error() string { return fmt.Sprintf("engine: not done after %s", e.After) }

// Is reports that the error is a context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// JobError is an error that a handler returned.
type JobError struct {
	// Code distinguishes the errors of one job. It is empty if the handler gave the error no code; the codes of
	// this package match the sentinels above.
	Code string `json:"code,omitempty"`
	// Message is the error's text. It may quote the input.
	Message string `json:"message"`
}

func (e *JobError) Error() string { return e.Message }

// Is makes a panic in a handler an ErrCrashed, and so on.
func (e *JobError) Is(target error) bool {
	for _, c := range codes {
		if e.Code == c.code {
			return errors.Is(c.err, target)
		}
	}
	return false
}

const codeCrashed = "crashed"

// codes maps this package's own errors to their codes in the pipe.
var codes = []struct {
	code string
	err  error
}{
	{codeCrashed, ErrCrashed},
	{"hung", ErrHung},
	{"output_too_large", ErrOutputTooLarge},
	{"disk_full", ErrDiskFull},
	{"no_program", ErrNoProgram},
}

// wireError returns a handler's error in the form of the pipe: with the code of the *JobError that it wraps, or of
// an error of this package.
func wireError(err error) *JobError {
	const longest = 8 << 10
	text := err.Error()
	wire := &JobError{Message: text[:min(len(text), longest)]}

	var coded *JobError
	if errors.As(err, &coded) {
		wire.Code = coded.Code
		return wire
	}

	for _, c := range codes {
		if errors.Is(err, c.err) {
			wire.Code = c.code
			return wire
		}
	}
	return wire
}

// Content is the bytes of a File; *spool.File is one. Open may be called at
// any time, and Size does not change.
type Content interface {
	Size() int64
	Open() io.ReadSeeker
}

// File is one input or output of a job.
type File struct {
	// Name is a plain file name, without a folder.
	Name    string
	Content Content
}

// Limits on the files of one job. More results than that are packed into an
// archive by the handler.
const (
	maxFiles    = 256
	maxFileName = 255
	// defaultOutput is the largest output of a request, and a little more.
	defaultOutput = 256 << 20
)

// Job is one piece of work.
type Job struct {
	// Name is the handler's name.
	Name string
	// Account is the account of the job: slots are shared fairly between accounts.
	Account string
	// Time is the time limit of the job from the moment a child has it. Default and maximum: Config.MaxTime.
	Time time.Duration
	// Retry retries a job once if its child crashed for a reason that may not be the job.
	Retry bool
	// Args are the handler's arguments. They cross the pipe as JSON.
	Args any
	// Body is a small document to work on, held in memory on both sides.
	Body []byte
	// Files lie in the job's folder when the handler is called. They are
	// streamed, never held in memory.
	Files []File
	// MaxOutput bounds all output files together, in bytes. Default: 256 MiB.
	MaxOutput int64
	// Memory replaces Config.Memory for this job, up to Config.MaxMemory.
	Memory int64
	// Observe, if set, is called with the times that the job waited before its work began:
	// stepQueue for a slot, stepStart for a child that is ready.
	Observe func(step string, took time.Duration)
}

// The steps that Job.Observe reports.
const (
	stepQueue = "queue"
	stepStart = "start"
)

func (j *Job) observe(step string, took time.Duration) {
	if j.Observe != nil {
		j.Observe(step, took)
	}
}

// Result is the result of a job.
type Result struct {
	// Body is the data that the handler returned.
	Body []byte
	// Files are the outputs in the order in which the handler named them. The
	// content of each is a *spool.File.
	Files []File
	// Warnings are those of the handler, which may quote the input.
	Warnings []Warning
}

// Warning reports a difference between the result of a job and what its caller may expect.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Limits on the warnings of a job.
const (
	maxWarnings    = 50
	maxWarningText = 1000 // bytes
)

// bounded returns the warning with its texts cut to their maximum length.
func (w Warning) bounded() Warning {
	cut := func(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxWarningText)], "") }
	return Warning{Code: cut(w.Code), Message: cut(w.Message)}
}

// Output returns the content of the i-th output, and nil when there are fewer.
func (r Result) Output(i int) *spool.File {
	if i >= len(r.Files) {
		return nil
	}
	f, _ := r.Files[i].Content.(*spool.File)
	return f
}

// Close frees the outputs. A caller that passes some of them on closes the
// others itself.
func (r Result) Close() error {
	var err error
	for i := range r.Files {
		if f := r.Output(i); f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// newRequest checks a job and encodes its arguments.
func newRequest(job Job) (*request, error) {
	args, err := json.Marshal(job.Args)
	if err != nil {
		return nil, fmt.Errorf("engine: arguments of %s: %w", job.Name, err)
	}

	if len(args) > maxHeader/2 || len(job.Body) > maxBody || len(job.Files) > maxFiles {
		return nil, ErrTooLarge
	}

	header := jobHeader{Name: job.Name, Args: args, Memory: job.Memory, MaxOutput: job.MaxOutput}
	if header.MaxOutput <= 0 {
		header.MaxOutput = defaultOutput
	}

	seen := map[string]bool{}
	for _, f := range job.Files {
		if !plainName(f.Name) || seen[f.Name] {
			return nil, fmt.Errorf("engine: input %q of %s is not a file name, or is there twice", f.Name, job.Name)
		}
		seen[f.Name] = true
		header.Files = append(header.Files, fileHeader{Name: f.Name, Size: f.Content.Size()})
	}

	return &request{late: &TimeoutError{After: job.Time}, job: job, header: header, reply: make(chan outcome, 1)}, nil
}

// plainName reports whether name is one file's name and nothing else.
func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= maxFileName && !strings.ContainsAny(name, "/\x00")
}
