// Package render turns HTML, web pages and Markdown into PDFs and images, and works on PDFs and office documents.
// It does not know HTTP, JSON or money: an account is a name whose documents and queue are separate from those of
// others.
//
// It uses a pool of browsers (render/chrome), a pool of LibreOffice processes (render/office), a pool of engine
// processes for all other parsing of users' files (render/engine), and one proxy to the network (render/egress).
package render

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/font"
	"github.com/relaypdf/relaypdf/render/office"
	"github.com/relaypdf/relaypdf/render/plan"
)

// Config holds the settings of a Renderer. The zero value is valid.
type Config struct {
	// Dir is the parent of all temporary folders and files; empty means the system's temporary folder.
	Dir string
	// Memory is the maximum memory of all processes in bytes; 0 means the memory of the machine or the control
	// group. Limits that are not set derive from it.
	Memory int64
	// Slots is the maximum number of documents that are rendered at once; 0 means one per core, or fewer if there
	// is little memory.
	Slots int
	// Queue is the maximum number of waiting documents; 0 means 32 per slot. Documents usually take 10 to 100 ms,
	// so the last one waits a few seconds.
	Queue int
	// OfficeSlots is the maximum number of office documents that are converted at once; 0 means one per core, or
	// fewer if there is little memory. Each uses its own LibreOffice process of about 200 MB.
	OfficeSlots int
	// NoOffice disables LibreOffice.
	NoOffice bool
	// NoVeraPDF disables veraPDF.
	NoVeraPDF bool
	// User is the user that the browser and the engines run as if this process runs as root; empty means
	// "relaypdf", or "nobody" if that user is unknown.
	User string
	// Sandbox is the minimum protection; New fails with less. Empty means SandboxFull.
	Sandbox Sandbox
	// Chromium is the path of the browser; empty means the first one found.
	Chromium string
	// AllowHosts are hosts, host:ports and CIDRs that are allowed although they are not public.
	AllowHosts []string
	// OwnHosts are the host names and IP addresses of this service itself, which no document may reach.
	OwnHosts []string
	// ExtraCA is a PEM file of certificates that the browser and the server's own requests trust in addition to the
	// system's.
	ExtraCA string
	// Fonts is a folder of fonts in addition to the system's; empty means none.
	Fonts string
	// Engine is the command that runs ServeEngine; empty means this executable with the argument "engine".
	Engine []string
	// Times holds the time limits of browsers and documents.
	Times chrome.Times
	// Resolver looks up names; nil means the system's.
	Resolver egress.Resolver
	// OnRefuse, if set, is called for each refused address.
	OnRefuse func(host, reason string)
	// Observe, if set, is called with the duration of each step of a render.
	Observe func(step string, took time.Duration)
	// Logger receives events for operators; nil discards them. Log lines contain no content, and no more of a URL
	// than its host.
	Logger *slog.Logger

	plan  plan.Plan // of Memory
	fonts *font.Fonts
	bare  error // reason why the browser has no sandbox of its own
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
	files   *http.Client // fetches the files that requests name by URL
	pages   *http.Client // fetches pages that are not loaded in a browser
	hooks   *http.Client // sends to callbacks and webhooks
	observe func(step string, took time.Duration)
	timeout time.Duration // default timeout of a page
	sandbox Sandbox       // current level
	lacks   error         // reason why the level is not higher
	behind  *background
}

// New starts the egress proxy, the browser and the engines. If one of them fails, it stops the others and returns
// an error with the remedy. ctx limits the start and has no effect afterwards.
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
	r.files = policy.Client(
		egress.ClientConfig{Schemes: []string{"http", "https"}, MaxRedirects: maxFileRedirects, Timeout: maxFetchTime},
	)
	r.hooks = policy.Client(egress.ClientConfig{Schemes: []string{"https"}})
	r.pages = policy.Client(
		egress.ClientConfig{Schemes: []string{"https"}, MaxRedirects: maxFileRedirects, Timeout: maxFetchTime},
	)

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
		return fmt.Errorf("read the fonts: %w", err)
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
	// The children have started in parallel with the browser.
	if err := r.engines.Ready(ctx); err != nil {
		return fmt.Errorf("start the engines: %w", err)
	}

	r.behind = &background{front: r, cfg: cfg}
	return r.judge(ctx, cfg)
}

func (c Config) egress(roots *x509.CertPool) egress.Config {
	cfg := egress.Config{
		AllowHosts: c.AllowHosts,
		OwnHosts:   c.OwnHosts,
		ExtraCA:    roots,
		Resolver:   c.Resolver,
		Logger:     c.Logger,
	}
	if c.OnRefuse != nil {
		cfg.OnRefuse = func(host string, reason egress.Reason) { c.OnRefuse(host, string(reason)) }
	}
	return cfg
}

// extraChildren is the number of additional children, so that other accounts find a free child while one account
// uses all the others.
const extraChildren = 1

// engine returns the configuration of the children that work on files.
func (c Config) engine() engine.Config {
	return engine.Config{
		Command: c.Engine, Size: min(c.Slots, c.plan.EngineSlots), Extra: extraChildren, Queue: c.Queue,
		Memory: c.plan.EngineMemory, Dir: c.Dir, User: c.User, Logger: c.Logger,
		Fonts: engine.Fonts{File: c.fonts.File, Config: c.fonts.Config, Folder: c.fonts.Folder},
	}
}

// markup returns the configuration of the children that make documents of text.
func (c Config) markup() engine.Config {
	e := c.engine()
	e.Size = c.plan.MarkupSlots
	e.Memory = c.plan.MarkupMemory
	return e
}

// office returns the configuration of LibreOffice, which has its own queue and limits.
func (c Config) office() office.Config {
	e := c.engine()
	e.Size = c.OfficeSlots
	e.Extra = 0
	e.Queue = 0
	e.Memory = c.plan.OfficeMemory
	return office.Config{Engine: e}
}

func (c Config) chrome(proxy string) chrome.Config {
	return chrome.Config{
		Confine: c.confine(proxy),
		Binary:  c.Chromium, Proxy: proxy, CAFile: c.ExtraCA, Fonts: c.fonts.File, FontSet: c.fonts, Dir: c.Dir, User: c.User,
		Slots: c.Slots, Queue: c.Queue, Times: c.Times, Logger: c.Logger,
		Browsers: c.plan.Browsers, WarmPages: c.plan.WarmPages,
		RecycleBytes: c.plan.BrowserMemory, RendererBytes: c.plan.RendererMemory,
		Observe: func(step chrome.Step, took time.Duration) { c.Observe(string(step), took) },
	}
}

// LoadRoots returns the system's certificates and those of a PEM file. It returns nil if file is empty.
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
		return nil, fmt.Errorf(
			"the extra CA file %s holds no certificate: it must be PEM text with BEGIN CERTIFICATE lines",
			file,
		)
	}
	return roots, nil
}

// CheckURL returns an error if a URL is not an https URL that may be reached, judging by its text. The error
// matches egress.ErrRefused. Rendering finds out whether the host name resolves to a private address.
func (r *Renderer) CheckURL(raw string) error {
	_, err := r.policy.CheckURL(raw, "https")
	return err
}

// Webhooks returns the client that sends callbacks and webhooks. It connects only to allowed https addresses and
// follows no redirect. Its requests set their own timeouts. Errors match egress.ErrRefused if an address is
// refused.
func (r *Renderer) Webhooks() *http.Client { return r.hooks }

// CheckSSH refuses, by their text, a host and a port that DialSSH would refuse. Errors match egress.ErrRefused.
func (r *Renderer) CheckSSH(host string, port int) error { return r.policy.CheckSSH(host, port) }

// DialSSH connects to a host and port that speak SSH, if they are allowed. Errors match egress.ErrRefused if the
// address is refused.
func (r *Renderer) DialSSH(ctx context.Context, address string) (net.Conn, error) {
	return r.policy.DialSSH(ctx, address)
}

// Protections returns the protections of the system against the engines on this machine. It waits until the first
// engine is ready.
func (r *Renderer) Protections(ctx context.Context) ([]engine.Protection, error) {
	all, err := r.engines.Protections(ctx)
	if err != nil {
		return nil, err
	}
	own := engine.Protection{Name: BrowserMemory, On: true}
	if err := r.browser.Bounded(); err != nil {
		own.On = false
		own.Why = err.Error()
	}
	return append(slices.Clone(all), own), nil
}

// BrowserMemory is the protection that stops a page from using up all memory. The kernel enforces it at once; other
// checks run only at intervals.
const BrowserMemory = "kernel's bound on the memory of a browser's process"

// Fonts returns the available font families in alphabetical order, as found at the start.
func (r *Renderer) Fonts() []font.Family { return r.fonts.Families() }

// Ready makes a real call to the browser.
func (r *Renderer) Ready(ctx context.Context) error { return r.browser.Healthy(ctx) }

// Starting reports whether engines are being started for the first time, so that their jobs would wait.
func (r *Renderer) Starting() bool {
	return r.engines.Starting() || r.markup.Starting() || r.office.Starting()
}

// Close stops the browsers, the engines and the proxy, and cancels the renders in progress. It takes a limited time
// and leaves no process and no file.
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
