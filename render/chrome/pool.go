package chrome

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"
)

// Config says how a Pool runs its browser. Only Proxy is required.
type Config struct {
	// Binary is the browser's path. Empty means the first found of
	// /usr/lib/chromium/chromium-headless-shell and, in PATH,
	// chromium-headless-shell and chromium.
	Binary string
	// Proxy is the filtering egress proxy, http://host:port. All traffic of
	// all documents goes through it.
	Proxy string
	// CAFile names a PEM file of certificates that are trusted beside the
	// system's. Empty means none.
	CAFile string
	// Dir is the parent of the Pool's folder, which Close removes. Empty means
	// the system's temporary folder.
	Dir string
	// User is who the browser runs as when the program is root, so that its
	// sandbox stays on. Empty means relaypdf, or nobody where that is unknown.
	User string
	// Slots is the number of renders at once; zero means the number of cores.
	Slots int
	// Queue is the number of renders that may wait before ErrBusy. Zero means
	// 32 a slot: with typical documents of 10 to 100 ms the last in line then
	// waits three seconds at most, and with heavy ones of 0.6 s twenty. While
	// others have jobs, one tenant may have 5 a slot waiting.
	Queue int
	// RecycleDocs replaces the browser after so many renders; zero means 5000.
	RecycleDocs int
	// RecycleBytes replaces the browser when its processes hold more memory
	// than this; zero means 2 GiB plus 512 MiB a slot.
	RecycleBytes int64
	// IdleContext is how long a tenant's warm context is kept without use;
	// zero means two minutes.
	IdleContext time.Duration
	// Logger gets restarts and crashes; nil discards them. Documents, URLs and
	// tenants are not logged.
	Logger *slog.Logger
	// Observe gets the duration of every step; nil means nobody.
	Observe func(step Step, d time.Duration)
	// Now is the clock of the queue; nil means time.Now.
	Now func() time.Time
}

func (c Config) withDefaults() (Config, error) {
	if c.Proxy == "" {
		return c, errors.New("chrome: Config.Proxy is required: without it documents could reach the inner network")
	}
	var err error
	if c.Binary, err = FindBinary(c.Binary); err != nil {
		return c, err
	}
	if c.Slots <= 0 {
		c.Slots = runtime.NumCPU()
	}
	if c.Queue <= 0 {
		c.Queue = 32 * c.Slots
	}
	if c.RecycleDocs <= 0 {
		c.RecycleDocs = 5000
	}
	if c.RecycleBytes <= 0 {
		c.RecycleBytes = 2<<30 + int64(c.Slots)*512<<20
	}
	if c.IdleContext <= 0 {
		c.IdleContext = 2 * time.Minute
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}

// Pool renders documents. Its methods are safe for concurrent use.
type Pool struct {
	cfg   Config
	home  home
	queue *queue
	count counters

	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	tasks  sync.WaitGroup // background work, jobs included

	mu        sync.Mutex
	closed    bool
	current   *browser
	starting  *start // a start under way
	recycling bool
	made      int // browsers started so far, for names
}

// start is one attempt to start a browser, which several jobs may wait for.
type start struct {
	done chan struct{}
	err  error
}

// Start starts a browser and returns when it has rendered a first document.
// After an error nothing is left running or on disk. ctx bounds the start only.
func Start(ctx context.Context, cfg Config) (*Pool, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	h, err := newHome(ctx, cfg)
	if err != nil {
		return nil, err
	}
	p := &Pool{cfg: cfg, home: h, queue: newQueue(cfg.Slots, cfg.Queue, cfg.Now)}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	b, err := p.browser(ctx)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.done(b, 0)
	p.tasks.Go(p.tend)
	return p, nil
}

// Close ends all jobs with ErrClosed, stops the browser and removes its
// folders. It returns within seconds and leaves no process or goroutine.
func (p *Pool) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	p.mu.Unlock()
	p.queue.close()
	p.cancel(ErrClosed)
	p.tasks.Wait()
	var err error
	if b := p.current; b != nil { // No lock: nobody else is left.
		p.current = nil
		err = b.stop()
	}
	return errors.Join(err, p.home.remove())
}

// Healthy makes a real call to the browser, and starts one if there is none.
// It is bounded by five seconds and by ctx.
func (p *Pool) Healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if !p.enter() {
		return ErrClosed
	}
	defer p.tasks.Done()
	b, err := p.browser(ctx)
	if err != nil {
		return err
	}
	defer p.done(b, 0)
	return b.probe(ctx)
}

// PDF loads a document and prints it. The errors are those of errors.go, the
// context's error when ctx was cancelled, or an unexpected one of the browser.
func (p *Pool) PDF(ctx context.Context, job Job, opt PDF) (Document, error) {
	ranges, err := parsePageRanges(opt.PageRanges)
	if err != nil {
		return Document{}, err
	}
	if opt, err = opt.normalized(); err != nil {
		return Document{}, err
	}
	var doc Document
	err = p.run(ctx, job, task{
		step:     StepPrint,
		emulated: emulation{media: mediaOverride(job.Media, "print"), viewport: opt.window(job.Lane)},
		lazy:     true,
		work: func(ctx context.Context, pg *page) (err error) {
			stream := pg.lane != Inline || len(job.HTML) > directHTML
			doc, err = printer{page: pg, opt: opt, ranges: ranges, dir: p.home.spool, stream: stream}.selection(ctx)
			return err
		},
	})
	return doc, err
}

// Admit returns the *BusyError with which a job of the tenant would be turned
// away now, or nil. It is for callers that have something costly to do before
// the job; the job itself is the one that gets a place.
func (p *Pool) Admit(tenant string) error { return p.queue.admit(tenant) }

// Screenshot loads a document and photographs it. The errors are as for PDF.
func (p *Pool) Screenshot(ctx context.Context, job Job, opt Screenshot) (Image, error) {
	opt, err := opt.normalized()
	if err != nil {
		return Image{}, err
	}
	var img Image
	err = p.run(ctx, job, task{
		step: StepCapture,
		emulated: emulation{
			media:       mediaOverride(job.Media, "screen"),
			viewport:    opt.Viewport,
			transparent: opt.OmitBackground && opt.Type != "jpeg",
		},
		lazy:   opt.FullPage,
		images: true,
		work: func(ctx context.Context, pg *page) (err error) {
			img, err = pg.capture(ctx, opt, p.home.spool)
			return err
		},
	})
	return img, err
}

// mediaOverride returns the media type to emulate, or "" where Chromium's own
// choice for the output is the wanted one.
func mediaOverride(media, natural string) string {
	if media == natural {
		return ""
	}
	return media
}

// enter counts a job in, unless the Pool is closed.
func (p *Pool) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.tasks.Add(1)
	return true
}

// browser returns the current browser for one job, to be given back with done.
// Where there is none it starts one, or waits for the start under way.
func (p *Pool) browser(ctx context.Context) (*browser, error) {
	for {
		p.mu.Lock()
		if b := p.current; b != nil && b.alive() {
			b.running++
			p.mu.Unlock()
			return b, nil
		}
		s := p.startLocked()
		p.mu.Unlock()
		select {
		case <-s.done:
			if s.err != nil {
				return nil, s.err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-p.ctx.Done():
			return nil, ErrClosed
		}
	}
}

// startLocked begins to start a browser unless that is under way already.
func (p *Pool) startLocked() *start {
	if p.starting != nil {
		return p.starting
	}
	s := &start{done: make(chan struct{})}
	p.starting = s
	p.tasks.Go(func() {
		b, err := p.launch()
		p.mu.Lock()
		dead := p.current
		p.current, p.starting = b, nil
		p.mu.Unlock()
		s.err = err
		close(s.done)
		if dead != nil {
			p.bury(dead)
		}
	})
	return s
}

// launch starts a browser and watches for its end.
func (p *Pool) launch() (*browser, error) {
	p.mu.Lock()
	p.made++
	name := fmt.Sprintf("profile-%d", p.made)
	p.mu.Unlock()
	b, err := startBrowser(p.ctx, p.cfg, p.home, name)
	if err != nil {
		p.cfg.Logger.Error("browser did not start", "error", err)
		return nil, err
	}
	p.tasks.Go(func() { p.watch(b) })
	return b, nil
}

// watch replaces the browser when it dies by itself.
func (p *Pool) watch(b *browser) {
	select {
	case <-b.proc.conn.done:
	case <-b.proc.exited:
		b.proc.conn.shut() // A helper may hold the pipe open.
	case <-p.ctx.Done():
		return
	}
	p.mu.Lock()
	if p.current != b || p.closed { // Retired, or not in service yet.
		p.mu.Unlock()
		return
	}
	p.startLocked()
	p.mu.Unlock()
	p.count.crashes.Add(1)
	p.cfg.Logger.Error("browser died, starting another", "stderr", b.proc.log.String())
}

// bury removes what a dead browser left behind.
func (p *Pool) bury(b *browser) {
	if err := b.stop(); err != nil {
		p.cfg.Logger.Warn("could not remove the dead browser's folder", "error", err)
	}
}
