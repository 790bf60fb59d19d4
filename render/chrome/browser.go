package chrome

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-rod/rod/lib/proto"
)

const (
	// disposeTimeout bounds the removal of a browser context, which takes
	// milliseconds even under an endless script.
	disposeTimeout = 5 * time.Second
	// probeTimeout bounds the health probe, which takes a millisecond.
	probeTimeout = 5 * time.Second

	// noNetwork is the proxy of the contexts that must not reach anything:
	// nothing can listen on port 0.
	noNetwork = "http://127.0.0.1:0"
)

// browser is one running Chromium with the warm pages of the accounts.
type browser struct {
	proc  *process
	root  session
	tasks sync.WaitGroup // removals under way

	warmPages int          // number of retained pages
	probing   atomic.Bool  // a probe is under way
	overfull  atomic.Int64 // when a process was last ended for its memory
	shared    atomic.Int64 // when that was a process that serves all pages

	mu       sync.Mutex
	accounts map[string]*account

	// The fleet's lock guards the rest.
	leases        map[*browserLease]bool // jobs under way
	jobsByAccount map[string]int         // running jobs by account ID
	docs          int                    // jobs since the start
	used          time.Time              // when the last job came
	quarantine    bool                   // the last job was of a suspect account
	jobFailed     bool                   // a job went wrong
	slowed        bool                   // its processes have permanently low priority
	resting       bool                   // gets no jobs until it answers quickly
	recycling     bool                   // the next one is being started
	retired       bool                   // gets no new jobs
	drained       chan struct{}          // closed when a retired browser has no jobs left
}

// account is one account's browser context. It is closed some time after its last use.
type account struct {
	making sync.Mutex // held while the context is made
	id     proto.BrowserBrowserContextID
	idle   map[kind][]*tab
	busy   int
	used   time.Time
}

// startBrowser starts Chromium and renders a first document, so that the first
// job does not wait for fonts and code to load.
func startBrowser(ctx context.Context, cfg Config, h home, name string, limit time.Duration) (*browser, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	proc, err := startProcess(cfg, h, name)
	if err != nil {
		return nil, err
	}

	b := &browser{
		proc:          proc,
		root:          proc.conn.session(""),
		warmPages:     max(1, cfg.WarmPages/cfg.Browsers),
		accounts:      map[string]*account{},
		leases:        map[*browserLease]bool{},
		jobsByAccount: map[string]int{},
		used:          time.Now(),
		drained:       make(chan struct{}),
	}

	if err := b.warm(ctx); err != nil {
		err = errors.Join(err, proc.stop())
		return nil, fmt.Errorf("chrome: the browser did not start: %w; it said: %s", err, proc.log)
	}

	return b, nil
}

func (b *browser) warm(ctx context.Context) error {
	p, err := b.oncePage(ctx, noNetwork)
	if err != nil {
		return err
	}
	defer b.dispose(ctx, p.context)
	ctx, cancel := p.begin(ctx)
	defer cancel(nil)

	job := Job{HTML: "<p>warm", WaitUntil: waitLoad}
	if err := p.open(ctx, job); err != nil {
		return err
	}

	opt, _ := PDF{}.normalized()
	return p.call(ctx, opt.params("", false), nil)
}

// alive reports whether the browser still answers.
func (b *browser) alive() bool {
	select {
	case <-b.proc.conn.done:
		return false
	case <-b.proc.exited:
		return false
	default:
		return true
	}
}

// stop ends the browser; no process and no folder remains.
func (b *browser) stop() error {
	err := b.proc.stop()
	b.tasks.Wait()
	return err
}

// probe makes a real call to the browser.
func (b *browser) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return b.root.call(ctx, proto.BrowserGetVersion{}, nil)
}

// recovered waits until the browser answers a call.
func (b *browser) recovered(ctx context.Context) error {
	return b.root.call(ctx, proto.BrowserGetVersion{}, nil)
}

// knows reports that an account has a context here.
func (b *browser) knows(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.accounts[name] != nil
}

// acquirePage returns a page for one job, to be given back with release. If fresh is true, the page and its process
// have served no other job.
func (b *browser) acquirePage(ctx context.Context, name string, k kind, fresh bool) (*tab, error) {
	switch {
	case k.offline:
		return b.oncePage(ctx, noNetwork)
	case k.mode == ModeOnce:
		return b.oncePage(ctx, "")
	}

	t := b.enter(name)
	if fresh {
		b.closeIdle(name)
	}

	p, err := b.warmPage(ctx, t, k)
	if err != nil {
		b.leave(t)
	}
	return p, err
}

// oncePage makes a page in its own context. An empty proxy means the browser's.
func (b *browser) oncePage(ctx context.Context, proxy string) (*tab, error) {
	id, err := b.newContext(ctx, proxy)
	if err != nil {
		return nil, err
	}

	p, err := newPage(ctx, b.root, id, kind{mode: ModeOnce})
	if err != nil {
		b.dispose(ctx, id)
	}
	return p, err
}

func (b *browser) newContext(ctx context.Context, proxy string) (proto.BrowserBrowserContextID, error) {
	req := proto.TargetCreateBrowserContext{DisposeOnDetach: true}
	if proxy != "" {
		req.ProxyServer = proxy
		req.ProxyBypassList = "<-loopback>"
	}
	var created proto.TargetCreateBrowserContextResult
	err := b.root.call(ctx, req, &created)
	return created.BrowserContextID, err
}

func (b *browser) enter(name string) *account {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.accounts[name]
	if t == nil {
		t = &account{idle: map[kind][]*tab{}}
		b.accounts[name] = t
	}
	t.busy++
	return t
}

func (b *browser) leave(t *account) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t.busy--
	t.used = time.Now()
}

// warmPage takes an idle page of the account, or makes one.
func (b *browser) warmPage(ctx context.Context, t *account, k kind) (*tab, error) {
	b.mu.Lock()
	if n := len(t.idle[k]); n > 0 {
		p := t.idle[k][n-1]
		t.idle[k] = t.idle[k][:n-1]
		b.mu.Unlock()
		return p, nil
	}
	b.mu.Unlock()

	t.making.Lock()
	if t.id == "" {
		id, err := b.newContext(ctx, noNetwork)
		if err != nil {
			t.making.Unlock()
			return nil, err
		}
		t.id = id
	}
	t.making.Unlock()

	return newPage(ctx, b.root, t.id, k)
}

// release takes a page back. A page whose job failed is not used again: its
// script may still be running.
func (b *browser) release(ctx context.Context, name string, p *tab, healthy bool) {
	if p.mode == ModeOnce {
		b.root.conn.forget(p.id)
		b.tasks.Go(func() { b.dispose(ctx, p.context) }) // The answer need not wait for it.
		return
	}

	keep := healthy && !p.spent()
	if keep {
		p.end()
	} else {
		p.close(b.root)
	}

	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.accounts[name]
	t.busy--
	t.used = time.Now()
	if keep {
		t.idle[p.kind] = append(t.idle[p.kind], p)
	}

	for _, id := range b.surplusLocked() {
		b.tasks.Go(func() { b.dispose(ctx, id) })
	}
}

// closeIdle closes the idle pages of an account. Pages of the account that are at work remain.
func (b *browser) closeIdle(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.accounts[name]
	if t == nil {
		return
	}

	for _, pages := range t.idle {
		for _, p := range pages {
			p.close(b.root)
		}
	}
	clear(t.idle)
}

// surplusLocked gives up the contexts that were unused longest while there are
// too many warm pages, and returns them.
func (b *browser) surplusLocked() (drop []proto.BrowserBrowserContextID) {
	pages := 0
	for _, t := range b.accounts {
		pages += t.pages()
	}

	for pages > b.warmPages && len(b.accounts) > 1 {
		name, t := b.longestUnused()
		if t == nil {
			break
		}
		pages -= t.pages()
		drop = append(drop, b.forgetLocked(name, t)...)
	}

	return drop
}

func (t *account) pages() (n int) {
	for _, pages := range t.idle {
		n += len(pages)
	}
	return n
}

// forgetLocked takes an account off the list, and returns its context.
func (b *browser) forgetLocked(name string, t *account) []proto.BrowserBrowserContextID {
	for _, pages := range t.idle {
		for _, p := range pages {
			b.root.conn.forget(p.id)
		}
	}

	delete(b.accounts, name)
	if t.id == "" {
		return nil
	}
	return []proto.BrowserBrowserContextID{t.id}
}

// dispose removes a browser context with everything in it: pages, endless
// scripts, storage. It does so although ctx may have ended, which is often the
// reason for it. A browser that cannot do it any more is killed.
func (b *browser) dispose(ctx context.Context, id proto.BrowserBrowserContextID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), disposeTimeout)
	defer cancel()
	err := b.root.call(ctx, proto.TargetDisposeBrowserContext{BrowserContextID: id}, nil)
	if ctx.Err() != nil && err != nil {
		b.proc.kill()
	}
}

// dropIdle removes the contexts of accounts that were not used since a time.
func (b *browser) dropIdle(ctx context.Context, since time.Time) {
	b.mu.Lock()
	var drop []proto.BrowserBrowserContextID
	for {
		name, t := b.longestUnused()
		if t == nil || !t.used.Before(since) {
			break
		}
		drop = append(drop, b.forgetLocked(name, t)...)
	}
	b.mu.Unlock()

	for _, id := range drop {
		b.tasks.Go(func() { b.dispose(ctx, id) })
	}
}

// longestUnused returns the account without running jobs that was used longest
// ago, or nil.
func (b *browser) longestUnused() (name string, found *account) {
	for n, t := range b.accounts {
		if t.busy == 0 && (found == nil || t.used.Before(found.used)) {
			name = n
			found = t
		}
	}
	return name, found
}

// emptyIdle replaces the documents of idle pages with an empty one, so that their animations do not continue.
func (b *browser) emptyIdle(before time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()

	for _, t := range b.accounts {
		if t.used.After(before) {
			continue
		}
		// A still page shows nothing that could move.
		for _, p := range t.idle[kind{mode: ModeInline}] {
			if p.dirty {
				p.dirty = false
				p.post(proto.PageSetDocumentContent{FrameID: p.frame})
			}
		}
	}
}
