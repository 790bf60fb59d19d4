package chrome

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/relaypdf/relaypdf/internal/guard"
)

// browserPool holds the running browsers and assigns them to accounts.
//
// All pages of a browser share one main thread and one pipe, and a script has many ways to stall both. So a browser
// serves one account at a time: a document that stalls its browser only hurts the jobs of its own account. Only
// gentle jobs (see Job.gentle) share a browser with those of others. A browser whose job failed rests: it gets no
// jobs until it responds quickly, and is replaced if it does not.
type browserPool struct {
	cfg   Config
	home  home
	count *counters

	ctx   context.Context // ends with the Pool
	tasks *sync.WaitGroup // of the Pool

	mu       sync.Mutex
	closed   bool
	browsers []*browser    // in service, the longest serving first
	retiring []*browser    // out of service, until their last jobs are done
	starting *start        // a start under way
	changed  chan struct{} // closed and replaced when a browser came or got free
	suspects map[string]time.Time
	launches int // browsers started so far, for names

	over map[int]time.Time // since when processes hold more than their limit; the guard's alone
}

// start is one attempt to start a browser, which several jobs may wait for.
type start struct {
	done chan struct{}
	err  error
}

// browserLease is the use of a browser by one job.
type browserLease struct {
	*browser
	account string
	gentle  bool
	first   bool // no job was in the browser before
	began   time.Time
}

const (
	// suspicion is the period for which an account whose document failed has its documents, even gentle ones, in a
	// separate browser.
	suspicion = 5 * time.Minute
	// restTimeout is the maximum time that a browser may take to respond after a failed job. A healthy browser
	// takes a millisecond, and a replacement takes less than this timeout.
	restTimeout = time.Second
	// guestJobs is the maximum number of jobs of one account in a browser before the account gets another browser
	// too.
	guestJobs = 4
	// readyBrowsers is the number of browsers that run even if they are not needed: one in use, and one for the
	// next account.
	readyBrowsers = 2
	// firstStart bounds the first start of a pool, which may read the program and the fonts from a slow disk. No
	// browser that could serve waits for it.
	firstStart = 2 * time.Minute
)

func newBrowserPool(ctx context.Context, tasks *sync.WaitGroup, cfg Config, h home, count *counters) *browserPool {
	return &browserPool{
		cfg: cfg, home: h, count: count, ctx: ctx, tasks: tasks,
		changed: make(chan struct{}), suspects: map[string]time.Time{},
	}
}

// acquire finds a browser for a job, to be given back with leave. It starts one, or waits for one, if there is none.
func (f *browserPool) acquire(ctx context.Context, account string, gentle bool) (*browserLease, error) {
	for {
		f.mu.Lock()
		v := f.admitLocked(account, gentle)
		var s *start
		if v == nil || !slices.ContainsFunc(f.browsers, (*browser).vacant) {
			s = f.growLocked()
		}
		changed := f.changed
		f.mu.Unlock()

		if v != nil {
			return v, nil
		}
		if err := f.await(ctx, s, changed); err != nil {
			return nil, err
		}
	}
}

// await waits until another look may find a browser.
func (f *browserPool) await(ctx context.Context, s *start, changed <-chan struct{}) error {
	var started <-chan struct{}
	if s != nil {
		started = s.done
	}

	select {
	case <-started:
		return s.err
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-f.ctx.Done():
		return ErrClosed
	}
}

// admitLocked takes the best browser for a job, or returns nil.
func (f *browserPool) admitLocked(account string, gentle bool) *browserLease {
	until, suspect := f.suspects[account]
	if suspect && time.Now().After(until) {
		delete(f.suspects, account)
		suspect = false
	}
	gentle = gentle && !suspect

	var best *browser
	bestFitness := 0
	for _, b := range f.browsers {
		if n := b.fitness(account, gentle, suspect); n > bestFitness {
			best = b
			bestFitness = n
		}
	}
	if best == nil {
		return nil
	}

	v := &browserLease{
		browser: best,
		account: account,
		gentle:  gentle,
		first:   best.docs == 0 && len(best.leases) == 0,
		began:   time.Now(),
	}
	best.leases[v] = true
	best.jobsByAccount[account]++
	best.used = v.began
	best.quarantine = suspect
	setPrioritiesLocked(f)
	return v
}

// oldest returns when the first of the jobs under way began, or now: of all, or
// of those only that may stall the browser.
func (b *browser) oldest(now time.Time, rough bool) time.Time {
	for v := range b.leases {
		if (!rough || !v.gentle) && v.began.Before(now) {
			now = v.began
		}
	}
	return now
}

// hasUntrusted reports that a job under way may stall the browser.
func (b *browser) hasUntrusted() bool {
	for v := range b.leases {
		if !v.gentle {
			return true
		}
	}
	return false
}

// fitness returns how well a browser suits a job; zero means that the browser must not run it.
func (b *browser) fitness(account string, gentle, suspect bool) int {
	if b.retired || b.resting || !b.alive() {
		return 0
	}

	own := b.jobsByAccount[account]
	others := len(b.jobsByAccount) > 0 && (len(b.jobsByAccount) > 1 || own == 0)
	if others && (!gentle || b.hasUntrusted()) {
		return 0
	}

	fit := 1
	if own > 0 && own < guestJobs {
		fit += 16 // Its own jobs are the least harm.
	}
	if b.knows(account) {
		fit += 8
	}
	if b.quarantine == suspect {
		fit += 4
	}
	if !others {
		fit += 2
	}
	if own >= guestJobs {
		fit = 1
	}

	return fit
}

// vacant reports that a browser could serve a newcomer at once.
func (b *browser) vacant() bool {
	return len(b.leases) == 0 && !b.retired && !b.resting && b.alive()
}

// leave gives a browser back. A job that went wrong makes the browser rest when
// it is free, and its account suspect.
func (f *browserPool) leave(v *browserLease, docs int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	b := v.browser
	delete(b.leases, v)
	b.docs += docs
	if b.jobsByAccount[v.account]--; b.jobsByAccount[v.account] == 0 {
		delete(b.jobsByAccount, v.account)
	}

	if mayStayBusy(err) {
		b.jobFailed = true
		if v.account != "" && !errors.Is(err, context.Canceled) {
			f.suspects[v.account] = time.Now().Add(suspicion)
		}
	}

	switch {
	case b.retired:
		if len(b.leases) == 0 {
			close(b.drained)
		}
	case b.docs >= f.cfg.RecycleDocs:
		f.recycleLocked(b, "documents")
	case b.jobFailed && len(b.leases) == 0:
		b.jobFailed = false
		b.resting = true
		f.tasks.Go(func() { f.rest(b) })
	case b.slowed && len(b.leases) == 0:
		f.recycleLocked(b, "priority")
	}

	f.signalLocked()
}

// signalLocked wakes who waits for a browser.
func (f *browserPool) signalLocked() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// rest waits until a browser responds quickly again, and replaces it if it does not: the work of a failed job may
// keep it busy for a long time.
func (f *browserPool) rest(b *browser) {
	ctx, cancel := context.WithTimeout(f.ctx, restTimeout)
	err := b.recovered(ctx)
	cancel()

	f.mu.Lock()
	b.resting = false
	if err == nil && b.slowed {
		f.recycleLocked(b, "priority")
	}
	f.signalLocked()
	f.mu.Unlock()

	if err != nil && f.ctx.Err() == nil && b.alive() {
		f.cfg.Logger.Info("browser is still busy with a document that went wrong, replacing it")
		f.remove(b)
	}
}

// remove takes a browser out of service and ends it at once.
func (f *browserPool) remove(b *browser) {
	f.mu.Lock()
	if !f.dropLocked(b) {
		f.mu.Unlock()
		return
	}
	f.growLocked()
	f.mu.Unlock()
	b.proc.kill()
	f.removeFiles(b)
}

// dropLocked takes a browser off the list, and reports whether it was on it.
func (f *browserPool) dropLocked(b *browser) bool {
	i := slices.Index(f.browsers, b)
	if i < 0 {
		return false
	}
	f.browsers = slices.Delete(f.browsers, i, i+1)
	f.signalLocked()
	return true
}

// growLocked begins to start a browser, unless one is being started or there
// are as many as there may be. It returns the start under way, or nil.
func (f *browserPool) growLocked() *start {
	if f.starting != nil || f.closed || f.livingLocked() >= f.cfg.Browsers {
		return f.starting
	}

	s := &start{done: make(chan struct{})}
	f.starting = s
	f.tasks.Go(func() {
		b, err := f.launch()
		f.mu.Lock()
		f.starting = nil
		s.err = err
		if b != nil {
			f.browsers = append(f.browsers, b)
			f.signalLocked()
		}
		f.mu.Unlock()
		close(s.done)
	})

	return s
}

// livingLocked counts the browsers in service that have not died.
func (f *browserPool) livingLocked() (n int) {
	for _, b := range f.browsers {
		if b.alive() {
			n++
		}
	}
	return n
}

// ready starts browsers up to the number of ready ones.
func (f *browserPool) ready() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.livingLocked() < min(readyBrowsers, f.cfg.Browsers) {
		f.growLocked()
	}
}

// launch starts a browser and watches for its end.
func (f *browserPool) launch() (*browser, error) {
	f.mu.Lock()
	f.launches++
	name := fmt.Sprintf("profile-%d", f.launches)
	limit := f.cfg.Times.Start
	if f.launches == 1 {
		limit = max(limit, firstStart)
	}
	f.mu.Unlock()

	var b *browser
	err := guard.Try(func() (err error) {
		b, err = startBrowser(f.ctx, f.cfg, f.home, name, limit)
		return err
	})
	if err != nil {
		if f.ctx.Err() == nil {
			f.cfg.Logger.Error("start browser failed", "error", err)
		}
		return nil, err
	}

	f.tasks.Go(func() { f.watch(b) })
	return b, nil
}

// watch replaces a browser that dies by itself.
func (f *browserPool) watch(b *browser) {
	select {
	case <-b.proc.conn.done:
	case <-b.proc.exited:
		b.proc.conn.shut() // A helper may hold the pipe open.
	case <-f.ctx.Done():
		return
	}

	f.mu.Lock()
	died := f.dropLocked(b) && !f.closed
	if died {
		f.growLocked()
	}
	f.mu.Unlock()
	if !died { // Retired, removed, or not in service yet.
		return
	}

	f.count.crashes.Add(1)
	f.cfg.Logger.Error("browser died, starting another", "stderr", b.proc.log.String())
	f.removeFiles(b)
}

// removeFiles removes the files of a dead browser.
func (f *browserPool) removeFiles(b *browser) {
	if err := b.stop(); err != nil {
		f.cfg.Logger.Warn("remove folder of dead browser failed", "error", err)
	}
}

// all returns the browsers in service.
func (f *browserPool) all() []*browser {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.browsers)
}

// workingLocked returns the browsers that may have jobs under way: those in service, and those that are retiring.
func (f *browserPool) workingLocked() []*browser { return slices.Concat(f.browsers, f.retiring) }

// close refuses further browsers. Running browsers are ended by stop.
func (f *browserPool) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}
