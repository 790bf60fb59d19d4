package chrome

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// task is the work of a job on its loaded document.
type task struct {
	step     Step
	emulated emulation
	lazy     bool // load lazy images and draw content that waits to be visible
	images   bool // a photograph needs decoded images
	header   string
	footer   string // templates that are rendered outside of the document
	paper    *PDF   // the settings of a print; nil for an image
	whole    bool   // an image of the whole document
	selector string // of the element that an image shows
	work     func(ctx context.Context, p *tab) error
}

// fairTimeout is the timeout from which on a job at its deadline counts against its account.
const fairTimeout = time.Second

// run carries a job through queue, page, load and task, and returns the faults of
// its document.
func (p *Pool) run(ctx context.Context, job Job, t task) (warnings []Warning, err error) {
	if job, err = job.normalized(p.cfg.Times); err != nil {
		return nil, err
	}

	if !p.enter() {
		return nil, ErrClosed
	}
	defer p.tasks.Done()

	start := time.Now()
	slot, err := p.queue.Acquire(ctx, job.Account)
	if err != nil {
		return nil, fromQueue(err)
	}

	defer func() {
		var late *TimeoutError
		timedOut := errors.As(err, &late)
		// A job with a short timeout of its own did not occupy its slot.
		slot.Release(timedOut && job.Timeout >= fairTimeout)
		if timedOut {
			late.Slowed = p.queue.Slowed(job.Account)
		}
	}()

	also := observerOf(ctx)
	p.observe(StepQueue, time.Since(start), also)

	ctx, cancel := context.WithTimeoutCause(ctx, job.Timeout, errDeadline)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(p.ctx, func() { stop(ErrClosed) })() // The Pool's end ends its jobs too.

	r := &jobRun{pool: p, job: job, task: t, also: also, began: time.Now()}
	if err := r.execute(ctx); err != nil {
		return nil, r.explain(ctx, err)
	}

	p.count.renders.Add(1)
	return r.warnings, nil
}

// jobRun is a job under way.
type jobRun struct {
	also func(Step, time.Duration) // see Observed
	pool *Pool
	job  Job
	task task
	step Step

	began    time.Time
	started  bool // a page was ready
	fresh    bool // the next attempt needs a page that has served no other job
	warnings []Warning
	open     []string // requests that were under way when an attempt failed
}

// execute tries the job, a second time when the renderer or the browser died or held the memory of earlier documents
// too, and again with a network when it turned out to need one.
func (r *jobRun) execute(ctx context.Context) error {
	retried := false

	for {
		err := r.attempt(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case errors.Is(err, errNeedsNetwork):
			r.pool.count.escalated.Add(1)
			r.job.RenderMode = ModeOnce
		case errors.Is(err, errWorn) && !retried:
			retried = true
			r.fresh = true
		case errors.Is(err, errOversize):
			return &DocumentCrashError{What: fmt.Sprintf("produced a browser message of over %d MiB", maxMessage>>20)}
		case errors.Is(err, errWindowClosed):
			return &DocumentCrashError{What: "closed its window"}
		case !errors.Is(err, errTargetCrashed) && !errors.Is(err, errConnClosed):
			return err
		case retried:
			return ErrCrashed
		default:
			retried = true
		}
	}
}

// attempt renders the document on one page.
func (r *jobRun) attempt(ctx context.Context) (err error) {
	var v *browserLease
	var pg *tab
	err = r.do(StepPage, func() (err error) {
		if v, err = r.pool.browserPool.acquire(ctx, r.job.Account, r.gentle()); err != nil {
			return err
		}
		offline := r.job.Offline && r.job.RenderMode == ModeOnce
		pageKind := kind{mode: r.job.RenderMode, still: r.still(), offline: offline}
		pg, err = v.acquirePage(ctx, r.job.Account, pageKind, r.fresh)
		return err
	})

	if v != nil {
		defer func() { r.pool.browserPool.leave(v, 1, err) }()
	}
	if err != nil {
		return err
	}

	r.started = true
	used := pg.documents > 0
	pageCtx, cancel := pg.begin(ctx)
	defer cancel(nil)

	err = r.render(pageCtx, pg)
	closeAssets(pg)
	r.warnings = warningsOf(pg)
	r.open = openRequests(pg)
	if r.step == StepPrint && pg.numbering() {
		r.step = StepNumber
	}

	if err != nil && pageCtx.Err() != nil {
		err = context.Cause(pageCtx) // The command that failed is only a consequence.
	}
	if errors.Is(err, errTargetCrashed) {
		r.pool.count.crashes.Add(1)
	}
	err = r.overfilled(err, v, used)

	// Renderers that had to step back stay slow, and those that hold much would end the next document.
	age := time.Since(v.began)
	heavy := pg.mode != ModeOnce && age > guardAfter && v.heavy(r.pool.cfg.RendererBytes)
	v.release(ctx, r.job.Account, pg, err == nil && age < slowAfter && !heavy)
	if heavy {
		v.closeIdle(r.job.Account)
	}
	return err
}

// overfilled returns the error of an attempt whose process was ended for its memory. Used means that the process had
// served other documents before.
func (r *jobRun) overfilled(err error, v *browserLease, used bool) error {
	if !v.overfilled() || !errors.Is(err, errTargetCrashed) && !errors.Is(err, errConnClosed) {
		return err
	}
	err = &DocumentCrashError{Memory: true, What: fmt.Sprintf("needed more than %d MiB of memory", r.pool.cfg.RendererBytes>>20)}
	if used || v.sharedOverfilled() {
		return errors.Join(errWorn, err)
	}
	return err
}

// gentleHTML is the size up to which setting a document does not keep the
// browser busy.
const gentleHTML = 1 << 20

// gentle reports that the job cannot stall its browser: it runs no script, and
// neither the document nor a photograph of it is large.
func (r *jobRun) gentle() bool {
	return r.job.RenderMode == ModeInline && r.task.step == StepPrint && len(r.job.HTML) <= gentleHTML
}

// mayStayBusy reports whether an attempt ended in a way that may have left its browser busy. The account is then not
// trusted for a while.
func mayStayBusy(err error) bool {
	var refused *protocolError
	var load *LoadError
	var faults *WarningsError
	switch {
	case err == nil:
		return false
	case errors.Is(err, errNeedsNetwork), errors.Is(err, errWorn),
		errors.Is(err, ErrClosed), errors.Is(err, ErrFunction):
		return false
	case errors.As(err, &refused), errors.As(err, &load), errors.As(err, &faults):
		return false
	default:
		return true
	}
}

// outputFailure returns a crash for Chromium's responses that it could not print, as the renderer has no memory left
// and dies a moment later, or could not capture, as the process that draws has died.
func outputFailure(err error) error {
	var refused *protocolError
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Message {
	case "Printing failed", "Unable to capture screenshot":
		return errTargetCrashed
	default:
		return err
	}
}

// render takes the document through its steps.
func (r *jobRun) render(ctx context.Context, pg *tab) error {
	steps := []struct {
		step Step
		do   func() error
	}{
		{StepLoad, func() error { return r.load(ctx, pg) }},
		{StepSelector, func() error {
			if r.job.WaitForSelector == "" {
				return nil
			}
			return pg.awaitSelector(ctx, r.job.WaitForSelector)
		}},
		{StepFunction, func() error {
			if r.job.WaitForFunction == "" {
				return nil
			}
			return awaitFunction(ctx, pg, r.job.WaitForFunction)
		}},
		{StepPause, func() error {
			if r.job.WaitForTimeout <= 0 {
				return nil
			}
			return pause(ctx, r.job.WaitForTimeout)
		}},
		{StepSettle, func() error { return r.settle(ctx, pg) }},
		{r.task.step, func() error {
			// A document may have led itself away since it was loaded.
			if err := pg.loadError(r.job.URL); err != nil {
				return err
			}
			if faults := strictWarnings(pg, r.job.Strict); len(faults) > 0 {
				return &WarningsError{Faults: faults}
			}
			return r.task.work(ctx, pg)
		}},
	}

	for _, s := range steps {
		if err := r.do(s.step, s.do); err != nil {
			return err
		}
	}
	return nil
}

// load prepares the page and opens the document.
func (r *jobRun) load(ctx context.Context, pg *tab) error {
	if err := pg.emulate(ctx, r.task.emulated); err != nil {
		return err
	}
	if err := pg.credentials(ctx, r.job); err != nil {
		return err
	}
	return pg.open(ctx, r.job)
}

// settle waits for the conditions beyond the load event.
func (r *jobRun) settle(ctx context.Context, pg *tab) error {
	if opt, needed := r.settling(); needed {
		if err := pg.settle(ctx, opt, r.pool.cfg.Times.Settle); err != nil {
			return err
		}
	}
	if r.mayAnimate() {
		if err := finish(ctx, pg, r.pool.cfg.Times.Animation); err != nil {
			return err
		}
	}
	return r.checkDocument(ctx, pg)
}

// settling returns the conditions to wait for, and whether there are any. The text of a document without network
// can show that there are none.
func (r *jobRun) settling() (opt settleOptions, needed bool) {
	opt = settleOptions{Lazy: r.task.lazy, Draw: r.task.lazy, Patient: r.job.WaitUntil != waitDOMContentLoaded}

	switch r.job.RenderMode {
	case ModeInline:
		opt.Draw = false
	case ModeRealm:
		opt.Draw = opt.Draw && (draws(r.job.HTML) || r.job.WaitForFunction != "")
	case ModeOnce:
		// The content of other files is unknown here.
		opt.Draw = opt.Draw &&
			(r.job.URL != "" || containsFold(r.job.HTML, "script") || containsFold(r.job.HTML, "frame"))
		return opt, true
	}
	return opt, opt.Draw || r.task.images || holdsResources(r.job.HTML)
}

// still reports that the job needs no frames: it prints a document that is
// complete and at rest when it has loaded.
func (r *jobRun) still() bool {
	if r.task.step != StepPrint || r.job.RenderMode == ModeOnce || r.job.WaitForTimeout > 0 || r.job.WaitForFunction != "" {
		return false
	}
	_, waits := r.settling()
	return !waits && !containsFold(r.job.HTML, "anim") &&
		(r.job.RenderMode != ModeRealm || !containsFold(r.job.HTML, "transition"))
}

// do carries out a step and measures it.
func (r *jobRun) do(s Step, fn func() error) error {
	r.step = s
	start := time.Now()
	err := fn()
	if err == nil {
		r.pool.observe(s, time.Since(start), r.also)
	}
	return err
}

// explain turns the reason why the job's context ended into the error that the
// caller sees.
func (r *jobRun) explain(ctx context.Context, err error) error {
	if errors.Is(err, errDeadline) {
		return r.timeoutError(errors.Is(err, errStill))
	}
	if ctx.Err() == nil {
		return err
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errDeadline), errors.Is(cause, context.DeadlineExceeded):
		return r.timeoutError(false)
	default:
		return cause
	}
}

// timeoutError returns the error of a job at its deadline or its caller's, with the step that it was in. still means that the
// result could not have changed.
func (r *jobRun) timeoutError(still bool) error {
	e := &TimeoutError{
		Step:      r.step,
		After:     min(time.Since(r.began), r.job.Timeout),
		Unstarted: !r.started,
		Still:     still,
		Open:      r.open,
	}
	switch r.step {
	case StepSelector:
		e.Want = r.job.WaitForSelector
	case StepFunction:
		e.Want = r.job.WaitForFunction
	}
	return e
}
