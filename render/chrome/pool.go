package chrome

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/relaypdf/relaypdf/render/queue"
)

// Config holds the settings of a Pool. Only Proxy is required.
type Config struct {
	// Binary is the browser's path. Empty means the first found of
	// /usr/lib/chromium/chromium-headless-shell and, in PATH,
	// chromium-headless-shell and chromium.
	Binary string
	// Proxy is the filtering egress proxy, http://host:port. All documents use it for all traffic.
	Proxy string
	// CAFile names a PEM file of certificates that are trusted in addition to the system's.
	// Empty means none.
	CAFile string
	// Fonts is fontconfig's configuration. Empty means the system's.
	Fonts string
	// FontSet lists the available fonts. If it is nil, missing fonts cause no warnings.
	FontSet FontSet
	// Dir is the parent of the Pool's folder, which Close removes. Empty means
	// the system's temporary folder.
	Dir string
	// User is the user that the browser runs as if this process runs as root, so that its sandbox stays on. Empty
	// means relaypdf, or nobody if that user is unknown.
	User string
	// Confine is for machines that refuse the browser its own sandbox, which is
	// off when it is set. It returns the command that locks itself in, becomes
	// that user if there is one, and then the program that follows it; memory
	// bounds each process (RLIMIT_DATA), and folders are all that the browser
	// writes.
	Confine func(user *syscall.Credential, memory int64, folders ...string) ([]string, error)
	// Slots is the number of renders at once; zero means the number of cores.
	Slots int
	// Queue is the number of renders that may wait before ErrBusy. Zero means
	// 32 a slot: with typical documents of 10 to 100 ms the last in line then
	// waits three seconds at most, and with heavy ones of 0.6 s twenty. While
	// others have jobs, one account may have 5 a slot waiting.
	Queue int
	// Browsers is the maximum number of browsers; zero means two more than slots, so that one is free while each
	// runs a job and another rests.
	Browsers int
	// WarmPages is the maximum number of pages that the browsers retain for accounts that may come again; zero
	// means eight per slot.
	WarmPages int
	// RecycleDocs is the number of renders after which a browser is replaced; zero means 5000.
	RecycleDocs int
	// RecycleBytes replaces a browser when its processes hold more memory than
	// this; zero means 1 GiB plus 512 MiB a slot.
	RecycleBytes int64
	// RendererBytes is the maximum memory of one browser process: a process with more is killed, and the job fails.
	// Zero means 2 GiB.
	RendererBytes int64
	// Times bound a job by the clock.
	Times Times
	// IdleContext is the time for which an unused warm context of an account is retained; zero means two minutes.
	IdleContext time.Duration
	// Background restricts the browsers to a few of the processors, and to a tenth of a processor that other
	// browsers and engines want at the same time.
	Background bool
	// Logger gets restarts and crashes; nil discards them. Documents, URLs and
	// accounts are not logged.
	Logger *slog.Logger
	// Observe, if set, gets the duration of every step.
	Observe func(step Step, d time.Duration)
	// Now is the clock of the queue; nil means time.Now.
	Now func() time.Time

	unguarded bool // in tests: only the kernel bounds memory
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

	c = c.withMemory()
	c.Times = c.Times.WithDefaults()
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

// extraSlots is the maximum number of renders above Config.Slots. Each belongs to an account that has no other
// render, such as a new account while another uses every slot.
const extraSlots = 1

// spareBrowsers is the number of browsers in addition to one for each slot: one for a new
// account, and one that rests.
const spareBrowsers = 2

// withMemory sets the default limits of memory and caches.
func (c Config) withMemory() Config {
	if c.Browsers <= 0 {
		c.Browsers = c.Slots + spareBrowsers
	}
	if c.WarmPages <= 0 {
		c.WarmPages = 8 * c.Slots
	}
	if c.RecycleBytes <= 0 {
		c.RecycleBytes = 1<<30 + int64(c.Slots)*512<<20
	}
	if c.RendererBytes <= 0 {
		c.RendererBytes = 2 << 30
	}
	return c
}

// Pool renders documents. Its methods are safe for concurrent use.
type Pool struct {
	cfg         Config
	home        home
	queue       *queue.Queue
	browserPool *browserPool
	count       *counters

	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	tasks  sync.WaitGroup // background work, jobs included

	mu     sync.Mutex
	closed bool
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

	p := &Pool{cfg: cfg, home: h, count: &counters{}, queue: queue.New(queue.Config{
		Slots: cfg.Slots, Extra: extraSlots, Limit: cfg.Queue, Now: cfg.Now,
	})}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	p.browserPool = newBrowserPool(p.ctx, &p.tasks, cfg, h, p.count)

	v, err := p.browserPool.acquire(ctx, "", true)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.browserPool.leave(v, 0, nil)

	if err := p.Bounded(); err != nil {
		cfg.Logger.Warn("only the guard bounds the memory of browsers", "error", err)
	}

	p.tasks.Go(p.tend)
	if !cfg.unguarded {
		p.tasks.Go(p.guard)
	}
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

	p.queue.Close()
	p.browserPool.close()
	p.cancel(ErrClosed)
	p.tasks.Wait()

	var faults []error
	for _, b := range p.browserPool.all() { // No job is left.
		faults = append(faults, b.stop())
	}
	return errors.Join(append(faults, p.home.remove())...)
}

// Healthy makes a real call to a browser that is not busy, and starts one if
// there is none. It is bounded by five seconds and by ctx.
func (p *Pool) Healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if !p.enter() {
		return ErrClosed
	}
	defer p.tasks.Done()

	v, err := p.browserPool.acquire(ctx, "", true)
	if err != nil {
		return err
	}
	defer p.browserPool.leave(v, 0, nil)
	return v.probe(ctx)
}

// PDF loads a document and prints it. The errors are those of errors.go, the
// context's error when ctx was cancelled, or an unexpected one of the browser.
func (p *Pool) PDF(ctx context.Context, job Job, opt PDF) (PrintedPDF, error) {
	ranges, err := parsePageRanges(opt.PageRanges)
	if err != nil {
		return PrintedPDF{}, err
	}
	if opt, err = opt.normalized(); err != nil {
		return PrintedPDF{}, err
	}

	var doc PrintedPDF
	warnings, err := p.run(ctx, job, task{
		step: StepPrint,
		emulated: emulation{
			media:    mediaOverride(job.Media, "print"),
			scheme:   job.ColorScheme,
			viewport: opt.window(job),
		},
		lazy:   true,
		header: opt.Header,
		footer: opt.Footer,
		paper:  &opt,
		work: func(ctx context.Context, pg *tab) (err error) {
			stream := pg.mode != ModeInline || largePrint(job.HTML)

			paged, err := pg.preparePaged(ctx, job, opt)
			if err != nil {
				return err
			}
			untagged, err := pg.rasterized(ctx, job)
			if err != nil {
				return err
			}

			var texts []byte
			if opt.Untagged {
				more, err := pg.untagged(ctx, job)
				if err != nil {
					return err
				}
				untagged = append(untagged, more...)
			}
			if opt.Untagged && ranges == nil {
				if texts, err = pg.texts(ctx); err != nil {
					return err
				}
			}

			printing := printer{page: pg, opt: opt.fitted(pg), ranges: ranges, dir: p.home.spool, stream: stream}
			if paged == nil {
				doc, err = printing.selection(ctx)
			} else if doc, err = printing.paged(ctx, paged); err == nil {
				err = pg.eval(ctx, restoreScript, nil, nil)
			}

			doc.Untagged = untagged
			doc.Texts = texts
			return err
		},
	})

	doc.Warnings = warnings
	return doc, err
}

// Admit returns the *BusyError with which a job of the account would be turned
// away now, or nil. It is for callers that have something costly to do before
// the job; the job itself is the one that gets a place.
func (p *Pool) Admit(account string) error { return fromQueue(p.queue.Admit(account)) }

// fromQueue makes an error of the queue one of this package.
func fromQueue(err error) error {
	if errors.Is(err, queue.ErrClosed) {
		return ErrClosed
	}
	return err
}

// Screenshot loads a document and photographs it. The errors are as for PDF.
func (p *Pool) Screenshot(ctx context.Context, job Job, opt Screenshot) (Image, error) {
	opt, err := opt.within(p.cfg.RendererBytes).normalized()
	if err != nil {
		return Image{}, err
	}

	var img Image
	warnings, err := p.run(ctx, job, task{
		step: StepCapture,
		emulated: emulation{
			media:       mediaOverride(job.Media, "screen"),
			scheme:      job.ColorScheme,
			viewport:    opt.Viewport,
			transparent: opt.OmitBackground && opt.Type != "jpeg",
		},
		lazy:     opt.FullPage,
		whole:    opt.FullPage && opt.Clip == nil,
		selector: opt.Selector,
		images:   true,
		work: func(ctx context.Context, pg *tab) (err error) {
			img, err = pg.capture(ctx, opt, p.home.spool)
			return err
		},
	})

	img.Warnings = warnings
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
