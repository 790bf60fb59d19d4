package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The pause after a child could not be started doubles between these bounds.
// A job that arrives during it tries again at once.
const (
	minPause = 100 * time.Millisecond
	maxPause = 10 * time.Second
)

// worker owns one child at a time and feeds it jobs until the pool closes.
type worker struct {
	pool  *Pool
	child *child
	pause time.Duration
}

// run starts a child ahead of the next job, runs the job, and so on.
func (w *worker) run() {
	defer w.drop()
	for w.pool.ctx.Err() == nil {
		var retry <-chan time.Time
		if err := w.warm(w.pool.ctx); err != nil {
			retry = time.After(w.pause)
			w.pause = min(2*w.pause, maxPause)
		}
		select {
		case r := <-w.pool.jobs:
			w.serve(r)
		case <-retry:
		case <-w.gone():
			w.pool.cfg.Logger.Warn("idle engine ended by itself", "stderr", w.child.stderr.String())
			w.drop()
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

// warm makes sure that there is a child.
func (w *worker) warm(ctx context.Context) error {
	if w.child != nil {
		return nil
	}
	c, err := startChild(ctx, w.pool)
	if err != nil {
		if ctx.Err() == nil {
			w.pool.cfg.Logger.Error("engine cannot start", "error", err)
		}
		return err
	}
	w.child, w.pause = c, minPause
	w.pool.cfg.Logger.Debug("engine ready", "pid", c.cmd.Process.Pid, "uid", c.report.UID)
	return nil
}

// serve runs one job and answers it, before anything slow is cleaned up.
func (w *worker) serve(r *request) {
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	defer context.AfterFunc(w.pool.ctx, func() { cancel(ErrClosed) })()
	r.ctx = ctx
	if err := w.warm(ctx); err != nil {
		if ctx.Err() != nil {
			err = waiting(ctx)
		} else {
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		r.reply <- outcome{err: err}
		return
	}
	result, err := w.child.do(r, w.pool.cfg.Dir)
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
	if c.spent || c.jobs >= w.pool.cfg.MaxJobs {
		w.drop()
	}
	if errors.Is(err, ErrCrashed) {
		// The child has ended by now, so its last words are complete.
		w.pool.cfg.Logger.Warn("engine crashed", "job", job, "error", err, "stderr", c.stderr.String())
	}
}

// drop ends the child, if there is one.
func (w *worker) drop() {
	if w.child != nil {
		w.child.end()
		w.child = nil
	}
}
