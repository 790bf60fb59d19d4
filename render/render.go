// Package render turns HTML, web pages and Markdown into PDFs and images. It
// knows nothing of HTTP, JSON or money: an account is a name whose documents
// never meet those of another, and whose work waits in a line of its own.
//
// Behind it stand a pool of browsers (render/chrome), one of office programs
// (render/office), a pool of engine processes for everything else that reads
// what a customer sent (render/engine), and the one way out to the network
// (render/egress).
package render

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"time"

	"relaypdf/render/chrome"
	"relaypdf/render/egress"
	"relaypdf/render/engine"
	"relaypdf/render/font"
	"relaypdf/render/office"
	"relaypdf/render/plan"
)

// Config says what a Renderer uses. Its zero value works.
type Config struct {
	// Dir is the parent of all folders and files made; empty means the
	// system's temporary folder.
	Dir string
	// Memory is how many bytes all of it may take; 0 means what the machine or
	// the control group has. The bounds that are not set derive from it.
	Memory int64
	// Slots is how many documents are rendered at once; 0 means one per core, or
	// fewer where there is little memory.
	Slots int
	// Queue is how many more may wait; 0 means 32 per slot. Documents take 10
	// to 100 ms as a rule, so the last in the line waits a few seconds.
	Queue int
	// OfficeSlots is how many office documents are converted at once; 0 means
	// one per core, or fewer where there is little memory. Each takes an office
	// program of its own, of some 200 MB.
	OfficeSlots int
	// NoOffice converts nothing by the office programs, and starts none.
	NoOffice bool
	// User is whom the browser and the engines run as when this process runs
	// as root; empty means "relaypdf", or "nobody" where there is no such user.
	User string
	// Sandbox is the least protection to start with; empty means SandboxFull.
	Sandbox Sandbox
	// Chromium is the browser's program; empty means the first one found.
	Chromium string
	// AllowHosts are hosts, host:ports and CIDRs that are reached although they
	// are not public.
	AllowHosts []string
	// OwnHosts are the names and addresses under which this service itself is
	// reached: no document may.
	OwnHosts []string
	// ExtraCA is a file of certificates in PEM that are trusted besides the
	// system's, by the browser and by our own requests.
	ExtraCA string
	// Fonts is a folder of typefaces besides the system's; empty means none.
	Fonts string
	// Engine is the command that runs ServeEngine; empty means this program
	// with the argument "engine".
	Engine []string
	// Times bound documents by the clock.
	Times chrome.Times
	// Resolver looks up names; nil means the system's.
	Resolver egress.Resolver
	// OnRefuse, if set, is called for each address that was refused.
	OnRefuse func(host, reason string)
	// Observe, if set, is called with the time that each step of a render took.
	Observe func(step string, took time.Duration)
	// Logger receives what an operator should know; nil discards it. It never
	// receives content, or more of a URL than its host.
	Logger *slog.Logger

	plan  plan.Plan // of Memory
	fonts *font.Fonts
	bare  error // why the browser has no sandbox of its own
}

// Renderer renders documents. It is safe for concurrent use.
type Renderer struct {
	policy  *egress.Policy
	proxy   *egress.Proxy
	browser *chrome.Pool
	engines *engine.Pool // work on files
	markup  *engine.Pool // make documents of texts
	office  *office.Pool
	fonts   *font.Fonts
	files   *http.Client // fetches the files that requests name by address
	pages   *http.Client // fetches pages that no browser loads
	hooks   *http.Client // sends to callbacks and webhooks
	observe func(step string, took time.Duration)
	timeout time.Duration // of a page that names none
	sandbox Sandbox       // that is in force
	lacks   error         // of a better one
	behind  *background
}

// New starts the egress proxy, the browser and the engines, and ends what was
// started when one of them fails. Its errors say what to mend. ctx bounds the
// start and has no effect afterwards.
func New(ctx context.Context, cfg Config) (*Renderer, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Observe == nil {
		cfg.Observe = func(string, time.Duration) {}
	}
	cfg.plan = plan.For(plan.Machine{Memory: cfg.Memory})
	if cfg.Slots <= 0 {
		cfg.Slots = cfg.plan.RenderSlots
	}
	if cfg.OfficeSlots <= 0 {
		cfg.OfficeSlots = cfg.plan.OfficeSlots
	}
	roots, err := LoadRoots(cfg.ExtraCA)
	if err != nil {
		return nil, err
	}
	policy, err := egress.New(cfg.egress(roots))
	if err != nil {
		return nil, err
	}
	cfg.Times = cfg.Times.WithDefaults()
	r := &Renderer{policy: policy, observe: cfg.Observe, timeout: cfg.Times.Job}
	r.files = policy.Client(egress.ClientConfig{Schemes: []string{"http", "https"}, MaxRedirects: maxFileRedirects, Timeout: maxFetchTime})
	r.hooks = policy.Client(egress.ClientConfig{Schemes: []string{"https"}})
	r.pages = policy.Client(egress.ClientConfig{Schemes: []string{"https"}, MaxRedirects: maxFileRedirects, Timeout: maxFetchTime})
	if err := r.start(ctx, cfg); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Renderer) start(ctx context.Context, cfg Config) (err error) {
	if r.proxy, err = r.policy.StartProxy(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the egress proxy on 127.0.0.1: %w", err)
	}
	if cfg.bare, err = cfg.checkBrowser(ctx); err != nil {
		return err
	}
	if r.fonts, err = font.Open(ctx, cfg.Dir, cfg.Fonts); err != nil {
		return fmt.Errorf("read the typefaces: %w", err)
	}
	cfg.fonts = r.fonts
	if r.engines, err = engine.Start(cfg.engine()); err != nil {
		return fmt.Errorf("start the engines: %w", err)
	}
	if r.markup, err = engine.Start(cfg.markup()); err != nil {
		return fmt.Errorf("start the engines for texts: %w", err)
	}
	r.office = office.New(cfg.office())
	if r.browser, err = chrome.Start(ctx, cfg.chrome("http://"+r.proxy.Addr())); err != nil {
		return fmt.Errorf("start the browser: %w", err)
	}
	// The children have started beside the browser.
	if err := r.engines.Ready(ctx); err != nil {
		return fmt.Errorf("start the engines: %w", err)
	}
	r.behind = &background{front: r, cfg: cfg}
	return r.judge(ctx, cfg)
}

func (c Config) egress(roots *x509.CertPool) egress.Config {
	cfg := egress.Config{AllowHosts: c.AllowHosts, OwnHosts: c.OwnHosts, ExtraCA: roots, Resolver: c.Resolver, Logger: c.Logger}
	if c.OnRefuse != nil {
		cfg.OnRefuse = func(host string, reason egress.Reason) { c.OnRefuse(host, string(reason)) }
	}
	return cfg
}

// extraChildren is how many accounts that come beside one that uses every child
// find one at once.
const extraChildren = 1

// engine configures the children that work on files.
func (c Config) engine() engine.Config {
	return engine.Config{
		Command: c.Engine, Size: min(c.Slots, c.plan.EngineSlots), Extra: extraChildren, Queue: c.Queue,
		Memory: c.plan.EngineMemory, Dir: c.Dir, User: c.User, Logger: c.Logger,
		Fonts: engine.Fonts{File: c.fonts.File, Config: c.fonts.Config, Folder: c.fonts.Folder},
	}
}

// markup configures those that make documents of texts.
func (c Config) markup() engine.Config {
	e := c.engine()
	e.Size, e.Memory = c.plan.MarkupSlots, c.plan.MarkupMemory
	return e
}

// office configures those of the offices, which have a queue and a bound of
// their own.
func (c Config) office() office.Config {
	e := c.engine()
	e.Size, e.Extra, e.Queue, e.Memory = c.OfficeSlots, 0, 0, c.plan.OfficeMemory
	return office.Config{Engine: e}
}

func (c Config) chrome(proxy string) chrome.Config {
	return chrome.Config{
		Confine: c.confine(proxy),
		Binary:  c.Chromium, Proxy: proxy, CAFile: c.ExtraCA, Fonts: c.fonts.File, Typefaces: c.fonts, Dir: c.Dir, User: c.User,
		Slots: c.Slots, Queue: c.Queue, Times: c.Times, Logger: c.Logger,
		Browsers: c.plan.Browsers, WarmPages: c.plan.WarmPages,
		RecycleBytes: c.plan.BrowserMemory, RendererBytes: c.plan.RendererMemory,
		Observe: func(step chrome.Step, took time.Duration) { c.Observe(string(step), took) },
	}
}

// LoadRoots returns the system's certificates and those of a PEM file, or nil
// where there is no such file.
func LoadRoots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the extra CA certificates: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's CA certificates: %w", err)
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("the extra CA file %s holds no certificate: it must be PEM text with BEGIN CERTIFICATE lines", file)
	}
	return roots, nil
}

// CheckURL says whether the text of a page's address is that of an https page
// that may be reached. The error matches egress.ErrRefused. Whether its name leads
// inwards is found out by rendering.
func (r *Renderer) CheckURL(raw string) error {
	_, err := r.policy.CheckURL(raw, "https")
	return err
}

// Webhooks returns the client that sends to callbacks and webhooks: to https
// addresses that may be reached, following no redirect. Its requests bound
// their own time. Errors match egress.ErrRefused where an address is refused.
func (r *Renderer) Webhooks() *http.Client { return r.hooks }

// Protections returns what protects the system from the engines on this
// machine. It waits until the first of them is ready.
func (r *Renderer) Protections(ctx context.Context) ([]engine.Protection, error) {
	all, err := r.engines.Protections(ctx)
	if err != nil {
		return nil, err
	}
	own := engine.Protection{Name: BrowserMemory, On: true}
	if err := r.browser.Bounded(); err != nil {
		own.On, own.Why = false, err.Error()
	}
	return append(slices.Clone(all), own), nil
}

// BrowserMemory is the protection that keeps a page from taking the memory of
// all, at once and not when it is next looked at.
const BrowserMemory = "kernel's bound on the memory of a browser's process"

// Fonts returns the families that documents find, in the order of the alphabet,
// as they were when this started.
func (r *Renderer) Fonts() []font.Family { return r.fonts.Families() }

// Ready makes a real call to the browser.
func (r *Renderer) Ready(ctx context.Context) error { return r.browser.Healthy(ctx) }

// Close ends the browsers, the engines and the proxy, and with them the renders
// under way. It is bounded in time and leaves no process and no file.
func (r *Renderer) Close() error {
	var faults []error
	if r.behind != nil {
		faults = append(faults, r.behind.close())
	}
	if r.browser != nil {
		faults = append(faults, r.browser.Close())
	}
	if r.office != nil {
		faults = append(faults, r.office.Close())
	}
	if r.markup != nil {
		faults = append(faults, r.markup.Close())
	}
	if r.engines != nil {
		faults = append(faults, r.engines.Close())
	}
	if r.fonts != nil {
		faults = append(faults, r.fonts.Close())
	}
	r.files.CloseIdleConnections()
	r.pages.CloseIdleConnections()
	r.hooks.CloseIdleConnections()
	if r.proxy != nil {
		faults = append(faults, r.proxy.Close())
	}
	return errors.Join(faults...)
}
