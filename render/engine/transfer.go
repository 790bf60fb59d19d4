package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/relaypdf/relaypdf/render/spool"
)

// errInput is an input that could not be read, which is not the child's fault.
var errInput = errors.New("engine: read input")

// do runs one job. Afterwards the child can take another unless it is spent.
func (c *child) do(r *request, cfg Config) (Result, error) {
	stop := context.AfterFunc(r.ctx, c.kill)
	overgrown := sync.OnceValue(c.watchFolder(cfg.Disk))
	defer func() { _ = overgrown() }() // a panic below must not leave the watch running
	c.jobs++
	c.setPriority(cfg)

	hung := sync.OnceValue(c.watchStopped())
	defer func() { _ = hung() }()
	result, err := c.converse(r, cfg.Dir)
	if stopped := hung(); stopped != nil {
		err = errors.Join(stopped, result.Close())
		result = Result{}
	}
	if tooMuch := overgrown(); tooMuch != nil {
		err = errors.Join(fmt.Errorf("%w: %w: %w", ErrCrashed, ErrDiskFull, tooMuch), result.Close())
		result = Result{}
	}

	var jobErr *JobError
	if !stop() || errors.Is(err, ErrCrashed) || err != nil && !errors.As(err, &jobErr) {
		c.spent = true
	}
	return result, err
}

// watchFolder kills the child when its folder exceeds limit bytes, if the kernel does not enforce that limit. The
// returned function ends the watch and returns an error if that happened.
func (c *child) watchFolder(limit int64) func() error {
	if c.report.Private {
		return func() error { return nil }
	}
	return c.killIf(watchPeriod, func() error { return checkFolder(c.folder, limit) })
}

// killIf kills the child when check, which is called in intervals of period, returns an error. The returned function
// ends the checks and returns that error.
func (c *child) killIf(period time.Duration, check func() error) func() error {
	stop := make(chan struct{})
	result := make(chan error, 1)

	go func() {
		var reason error
		watch(stop, period, check, func(err error) {
			reason = err
			c.kill()
		})
		result <- reason
	}()

	return func() error {
		close(stop)
		return <-result
	}
}

// converse sends one job and reads the answer, whose files go to dir.
func (c *child) converse(r *request, dir string) (Result, error) {
	if err := c.send(r); err != nil {
		return Result{}, c.broken(r.ctx, err)
	}

	var answer answerHeader
	body, err := readMessage(c.reader, &answer)
	if err == nil {
		err = answer.check(r.header.MaxOutput)
	}
	if err != nil {
		return Result{}, c.broken(r.ctx, err)
	}

	c.spent = answer.Last
	if answer.Err != nil {
		return Result{}, answer.Err
	}

	result := Result{Body: body}
	for _, w := range answer.Warnings[:min(len(answer.Warnings), maxWarnings)] {
		result.Warnings = append(result.Warnings, w.bounded())
	}

	for _, h := range answer.Files {
		f := spool.New(dir, 0)
		result.Files = append(result.Files, File{Name: h.Name, Content: f})
		if _, err := io.CopyN(f, c.reader, h.Size); err != nil {
			return Result{}, errors.Join(c.broken(r.ctx, noEOF(err)), result.Close())
		}
	}
	return result, nil
}

// send streams the job with its files.
func (c *child) send(r *request) error {
	header := r.header
	deadline, _ := r.ctx.Deadline()
	header.Timeout = time.Until(deadline)
	if err := writeMessage(c.in, header, r.job.Body); err != nil {
		return err
	}

	buffer := make([]byte, min(pipeSize, 1+maxSize(header.Files)))
	for i, h := range header.Files {
		source := &input{Reader: r.job.Files[i].Content.Open()}
		// The pipe hides its ReadFrom, which would allocate another buffer.
		n, err := io.CopyBuffer(struct{ io.Writer }{c.in}, io.LimitReader(source, h.Size), buffer)

		switch {
		case source.err != nil:
			return fmt.Errorf("%w %s: %w", errInput, h.Name, source.err)
		case err != nil:
			return err
		case n < h.Size:
			return fmt.Errorf("%w %s: %w", errInput, h.Name, io.ErrUnexpectedEOF)
		}
	}
	return nil
}

func maxSize(files []fileHeader) (largest int64) {
	for _, f := range files {
		largest = max(largest, f.Size)
	}
	return largest
}

// input marks errors of reading the input, to distinguish them from errors of the pipe.
type input struct {
	io.Reader
	err error
}

func (s *input) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
