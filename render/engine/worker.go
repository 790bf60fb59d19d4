package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/relaypdf/relaypdf/internal/guard"
)

// The pause after a child could not be started doubles between these bounds.
// A job that arrives during it tries again at once.
const (
	minPause = 100 * time.Millisecond
	maxPause = 10 * time.Second
)

// worker owns one child at a time and feeds it jobs until the pool closes. A
// child that is to be replaced works on until the next one is ready.
type worker struct {
	pool  *Pool
	child *child
	// next receives a child that is being started; nil when none is.
	next  chan started
	pause time.Duration
	// spare means that its first child starts with the pool's first job, rather than with the server.
	spare bool
}

type started struct {
	child *child
	err   error
}

// run keeps a child ready and gives it jobs.
func (w *worker) run() {
	defer w.close()
	if w.spare {
		select {
		case <-w.pool.used:
		case <-w.pool.ctx.Done():
			return
		}
	}

	w.begin()
	for w.pool.ctx.Err() == nil {
		jobs := w.pool.jobs
		var retry <-chan time.Time
		switch {
		case w.child != nil:
		case w.next != nil:
			jobs = nil // another worker may be ready now
		default:
			retry = time.After(w.pause)
		}

		select {
		case r := <-jobs:
			w.take(r)
		case s := <-w.next:
			_ = w.adopt(s) // logged, and tried again
		case <-retry:
			w.begin()
		case <-w.gone():
			w.pool.cfg.Logger.Warn("idle engine ended by itself", "stderr", w.child.stderr.String())
			w.drop()
			w.begin()
		case <-w.pool.ctx.Done():
		}
	}
}

// gone is closed when the idle child has ended.
func (w *worker) gone() <-chan struct{} {
	if w.child == nil {
		return nil
	}
	return w.child.ended
}

// begin starts the next child, unless that is under way.
func (w *worker) begin() {
	if w.next != nil {
		return
	}

	next := make(chan started, 1)
	w.next = next
	go func() {
		var s started
		err := guard.Try(func() (err error) {
			s.child, err = startChild(w.pool.ctx, w.pool)
			return err
		})
		s.err = err
		next <- s
	}()
}

// adopt makes a child that was started the worker's own, instead of the one it
// has.
func (w *worker) adopt(s started) error {
	w.next = nil
	w.pool.began.Store(true)
	if s.err != nil {
		if w.pool.ctx.Err() == nil {
			w.pool.cfg.Logger.Error("start engine failed", "error", s.err)
			w.pool.noteFailure(s.err)
		}
		w.pause = min(2*w.pause, maxPause)
		if w.child != nil {
			w.child.jobs = 0 // it continues until it is due again
		}
		return s.err
	}

	w.drop()
	w.child = s.child
	w.pause = minPause
	w.pool.cfg.Logger.Debug("engine ready", "pid", s.child.cmd.Process.Pid, "uid", s.child.report.UID)
	return nil
}

// take is serve, whose panic fails the one job and costs the child.
func (w *worker) take(r *request) {
	err := guard.Do(func() { w.serve(r) })
	if err == nil {
		return
	}

	w.pool.cfg.Logger.Error("engine worker panicked", "job", r.job.Name, "error", err)
	w.drop()
	select {
	case r.reply <- outcome{err: fmt.Errorf("%w: %w", ErrCrashed, err)}:
	default: // It was answered before.
	}
}

// serve runs one job and answers it, before anything slow is cleaned up.
func (w *worker) serve(r *request) {
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	defer context.AfterFunc(w.pool.ctx, func() { cancel(ErrClosed) })()
	var stop context.CancelFunc
	r.ctx = ctx

	if r.fresh {
		w.drop()
	}
	if w.child == nil {
		w.begin()
		select {
		case s := <-w.next:
			if err := w.adopt(s); err != nil {
				r.reply <- outcome{err: fmt.Errorf("%w: %w", ErrUnavailable, err)}
				return
			}
		case <-ctx.Done():
			r.reply <- outcome{err: waiting(ctx)}
			return
		}
	}

	r.ctx, stop = context.WithTimeoutCause(ctx, r.job.Time, r.late)
	defer stop()
	r.job.observe(stepStart, time.Since(r.began))
	result, err := w.child.do(r, w.pool.cfg)
	if errors.Is(err, ErrCrashed) {
		err = w.child.postMortem(err)
	}

	r.reply <- outcome{result: result, err: err}
	w.settle(r.job.Name, err)
}

// waiting is the error of a job that never began.
func waiting(ctx context.Context) error {
	return fmt.Errorf("waiting for an engine: %w", context.Cause(ctx))
}

// settle decides whether the child may take another job.
func (w *worker) settle(job string, err error) {
	c := w.child
	switch {
	case errors.Is(err, ErrCrashed):
		w.pool.cfg.Logger.Warn("engine crashed", "job", job, "error", err, "stderr", c.stderr.String())
	case errors.Is(err, ErrHung):
		w.pool.cfg.Logger.Warn("engine hung", "job", job, "error", err)
	}

	if c.spent {
		w.drop()
	}
	if c.spent || c.jobs >= w.pool.cfg.MaxJobs {
		w.begin()
	}
}

// drop ends the child, if there is one. Only Close waits for that.
func (w *worker) drop() {
	if w.child != nil {
		w.child.kill()
		w.pool.workers.Go(w.child.end)
		w.child = nil
	}
}

// close ends the child and the one that is being started.
func (w *worker) close() {
	w.drop()
	if w.next != nil {
		if s := <-w.next; s.child != nil {
			s.child.end()
		}
	}
}
