package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/api/mcp"
	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/internal/telemetry"
	"github.com/relaypdf/relaypdf/internal/version"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/service"
	"github.com/relaypdf/relaypdf/service/llm"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/web"
	"github.com/relaypdf/relaypdf/web/mail"
	"github.com/relaypdf/relaypdf/web/payments"
)

// App is the whole service. End-to-end tests start it unchanged.
type App struct {
	Store *store.Store
	// Services are those of the process, and API serves them. A process that only works has an API of its state alone.
	Services *service.Services
	API      *api.API
	// Config holds the settings. BaseURL contains the bound port if the system chose it.
	Config Config
	// URL and PrivateURL are the addresses that were bound; PrivateURL is
	// empty when the private port is off.
	URL, PrivateURL string
	// StripeURL is the address of the stand-in for Stripe, empty without one.
	StripeURL string

	coldOffice bool // see Hooks
	borrows    bool // its renderer
	log        *slog.Logger
	render     *render.Renderer
	lease      *store.Lease
	redis      *ratelimit.Redis   // nil without one
	emails     *mail.Queue        // nil without email
	payments   *payments.Payments // nil where none are taken
	stripe     *http.Server       // stand-in for Stripe, for developers
	registry   *prometheus.Registry
	tracer     *telemetry.Tracer // nil without a collector
	public     *http.Server
	private    *http.Server
	bound      map[*http.Server]net.Listener
}

// Hooks let tests watch and steer an App from inside. The zero value does nothing.
type Hooks struct {
	// AfterStep is called after each completed step of a paid call.
	AfterStep func(step string)
	// Clock is the machine's; nil is time.Now.
	Clock func() time.Time
	// Render changes the renderer's configuration.
	Render func(*render.Config)
	// Renderer replaces render.New; the App closes its result.
	Renderer func(render.Config) (*render.Renderer, error)
	// DrawTime bounds the drawing of one preview: see call.Config.
	DrawTime time.Duration
	// Cold starts LibreOffice only for the first document that needs it.
	Cold bool
}

// Time that a client has for parts of an exchange whose size is bounded.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	// maxConnections bounds the connections of clients; further ones wait.
	maxConnections = 4096
	// releaseTimeout is the time that cancelled calls have to release their holds.
	releaseTimeout = 5 * time.Second
)

// New opens the data, starts the engines and binds the addresses. If a later part fails, the earlier ones are
// closed again.
func New(ctx context.Context, config Config, log *slog.Logger, hooks Hooks) (_ *App, err error) {
	a := &App{Config: config, coldOffice: hooks.Cold, log: log, bound: map[*http.Server]net.Listener{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()

	if err := a.bind(ctx); err != nil {
		return nil, err
	}

	if config.OTLPURL != "" {
		traces := telemetry.Config{URL: config.OTLPURL, Version: version.Version, Region: config.Region, Logger: log}
		if a.tracer, err = telemetry.New(ctx, traces); err != nil {
			return nil, fmt.Errorf("start traces: %w", err)
		}
		log = a.tracer.Logger(log)
		a.log = log
	}

	// The database and the browser start concurrently, because each takes a while.
	start, startCtx := guard.WithContext(ctx)
	start.Go(func() error { return a.openStore(startCtx, ctx, hooks) })
	start.Go(func() error { return a.startRender(ctx, hooks) })
	if err := start.Wait(); err != nil {
		return nil, err
	}

	box, err := OpenBox(config)
	if err != nil {
		return nil, err
	}
	if err := checkSecret(ctx, a.Store, box); err != nil {
		return nil, err
	}

	limiter, err := a.openLimiter()
	if err != nil {
		return nil, err
	}
	if err := a.openEmails(box); err != nil {
		return nil, err
	}

	model, err := openAI(config)
	if err != nil {
		return nil, err
	}
	outside, err := a.openPayments(ctx)
	if err != nil {
		return nil, err
	}

	a.registry = middleware.NewRegistry()
	services := service.Config{
		Store: a.Store, Render: a.render, Box: box, AI: model, Limiter: limiter, Lease: a.lease.ID(),
		BaseURL: a.Config.BaseURL, Region: config.Region, Brand: config.HeaderBrand, MaxFile: config.MaxFile,
		Prices: config.Prices, Without: config.without(), NoBilling: !config.Billing,
		NoRateLimits: !config.RateLimits, Dev: config.Dev,
		Registry: a.registry, Tracer: a.tracer, Logger: log, AfterStep: hooks.AfterStep, DrawTime: hooks.DrawTime,
	}

	if a.payments != nil {
		services.Payments = a.payments
	}
	if a.Services, err = service.New(services); err != nil {
		return nil, err
	}

	if err := a.openAPI(); err != nil {
		return nil, err
	}
	pages, err := a.openPages()
	if err != nil {
		return nil, err
	}

	a.public.Handler = middleware.New(middleware.Config{
		API: a.API.Handler(), Serves: a.API.Serves, Fail: a.API.Fail, Pages: outside.before(pages, a.API.Handler()),
		TrustedIPHeader: config.TrustedIPHeader, MaxDiscard: 2 * max(config.MaxBody, config.MaxFile),
		Logger: log, Registry: a.registry, Tracer: a.tracer,
		LogRequest: a.Store.LogRequest,
	})
	a.private.Handler = middleware.OwnHost(
		PrivateHandler(a.registry, a.public.Handler), append(config.ownHosts(), config.MetricsListen)...,
	)

	return a, nil
}

// PrivateHandler serves the private port. The state of the process is asked for
// there too: a worker has no other port, and no crowd of clients keeps probes away.
func PrivateHandler(registry *prometheus.Registry, public http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", middleware.Private(registry))
	mux.Handle("GET /health", public)
	mux.Handle("GET /health/ready", public)
	return mux
}

// openAPI makes the API with its endpoint for agents, or, in a process that only works, the routes of its state.
func (a *App) openAPI() error {
	options := api.Options{MaxBody: a.Config.MaxBody, RedirectFiles: a.Config.BlobsRedirect, Version: version.Version}
	if !a.has(RoleAPI) && !a.has(RoleWeb) {
		a.API = api.NewHealth(a.Services, options)
		return nil
	}
	a.API = api.New(a.Services, options)

	access, err := a.agentOptions()
	if err != nil {
		return err
	}
	documents, err := mcp.Documents(a.Config.BaseURL)
	if err != nil {
		return err
	}

	agents, err := mcp.NewHandler(a.API.ForAgents(access), documents, a.log)
	if err != nil {
		return err
	}
	a.API.MountAgents(agents)
	return nil
}

// openLimiter returns the rate limiter: the Redis of the settings, which need not respond yet, or nil for this
// process's memory.
func (a *App) openLimiter() (ratelimit.Limiter, error) {
	if a.Config.RedisURL == "" {
		return nil, nil
	}
	var err error
	if a.redis, err = ratelimit.NewRedis(a.Config.RedisURL, a.log); err != nil {
		return nil, fmt.Errorf("RELAYPDF_REDIS_URL %w", err)
	}
	return a.redis, nil
}

// Limits of a model's response: its tokens, including the reasoning, which decide the hold of a call, and the time for
// all requests of a call.
const (
	AIMaxTokens = 12_000
	aiTimeout   = 2 * time.Minute
)

// openAI returns the model of the settings; nil if there is none. It sends no request yet.
func openAI(config Config) (*operation.AI, error) {
	if config.AI.Provider == "" {
		return nil, nil
	}
	model, err := llm.New(config.AI)
	if err != nil {
		return nil, fmt.Errorf("RELAYPDF_AI_PROVIDER: %w", err)
	}

	return &operation.AI{
		Model: model, Input: config.AIInput, Output: config.AIOutput, MaxTokens: AIMaxTokens, Timeout: aiTimeout,
	}, nil
}

// bind opens the ports first, so that a second server on the same port fails before it touches anything.
func (a *App) bind(ctx context.Context) error {
	server := func() *http.Server {
		return &http.Server{
			ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
			ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
		}
	}

	a.public = server()
	a.private = server()
	a.public.ConnContext = middleware.WithConn

	listen := new(net.ListenConfig).Listen
	if a.has(RoleAPI) || a.has(RoleWeb) {
		listener, err := listen(ctx, "tcp", a.Config.Listen)
		if err != nil {
			return fmt.Errorf("RELAYPDF_LISTEN: %w; stop what uses the address, or choose another", err)
		}
		a.bound[a.public] = middleware.Listen(listener, maxConnections)
		a.URL = "http://" + listener.Addr().String()
		if err := a.nameBase(listener); err != nil {
			return err
		}
	}

	if a.Config.MetricsListen == "" {
		return nil
	}
	private, err := listen(ctx, "tcp", a.Config.MetricsListen)
	if err != nil {
		return fmt.Errorf(
			"RELAYPDF_METRICS_LISTEN: %w; choose another address, or set it empty to turn the private port off", err,
		)
	}
	a.bound[a.private] = private
	a.PrivateURL = "http://" + private.Addr().String()
	return nil
}

// has reports whether the process has a role.
func (a *App) has(role string) bool { return slices.Contains(a.Config.Roles, role) }

// nameBase puts the port that was picked into a base URL that asks for it.
func (a *App) nameBase(listener net.Listener) error {
	base, ok := strings.CutSuffix(a.Config.BaseURL, ":0")
	if !ok {
		return nil
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	a.Config.BaseURL = base + ":" + port
	return err
}

// openStore opens and migrates the database. The lease lives as long as the
// App, so it is not bound to the start's own context.
func (a *App) openStore(startCtx, ctx context.Context, hooks Hooks) (err error) {
	a.Store, err = OpenStore(startCtx, a.Config, a.log, hooks)
	if err != nil {
		return err
	}
	if err := checkFolder(startCtx, a.Store); err != nil {
		return err
	}
	if a.has(RoleWeb) {
		if err := a.Store.SetBaseURL(startCtx, a.Config.BaseURL); err != nil {
			return err
		}
	}
	a.lease, err = a.Store.Acquire(ctx, filepath.Join(a.Config.DataDir, "leases"))
	return err
}

func (a *App) startRender(ctx context.Context, hooks Hooks) (err error) {
	config := render.Config{
		Chromium: a.Config.Chromium, User: a.Config.RenderUser, Slots: a.Config.RenderSlots,
		Memory: a.Config.Memory, OfficeSlots: a.Config.offices(),
		NoOffice:   !slices.Contains(a.Config.Engines, operation.EngineOffice),
		NoVeraPDF:  !slices.Contains(a.Config.Engines, operation.EngineVeraPDF),
		AllowHosts: a.Config.AllowHosts, OwnHosts: a.Config.ownHosts(),
		ExtraCA: a.Config.ExtraCA, Fonts: a.Config.Fonts, Logger: a.log,
		Sandbox: render.Sandbox(a.Config.Sandbox),
	}

	if hooks.Render != nil {
		hooks.Render(&config)
	}
	a.borrows = hooks.Renderer != nil
	if a.borrows {
		a.render, err = hooks.Renderer(config)
	} else {
		a.render, err = render.New(ctx, config)
	}

	return WithRemedy(err, a.Config)
}

// BaseURL is the address that links are built from.
func (a *App) BaseURL() string { return a.Config.BaseURL }

// Run serves until ctx ends, and then stops in this order: /health/ready fails, the listener closes, running work
// ends or is cancelled at the shutdown timeout.
func (a *App) Run(ctx context.Context) error {
	if err := render.CheckTemplates(); err != nil {
		a.log.Error("start templates failed; none can be filled", "error", err)
	}

	// LibreOffice takes seconds to start. Neither the first document nor the server should wait for it.
	if !a.coldOffice {
		if err := a.render.WarmConvert(); err != nil {
			a.log.Warn("start office failed; no office document can be converted", "error", err)
		}
	}

	group, ctx := guard.WithContext(ctx)
	for server, listener := range a.bound {
		group.Go(func() error {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
	}

	group.Go(a.background(ctx, "reaper", a.Services.Calls.Reaper().Run))
	var mailer web.Mailer
	if a.emails != nil {
		mailer = a.emails
		group.Go(a.background(ctx, "mail", a.emails.Run))
	}

	alerts := []store.Task{web.AlertTask(a.Store, mailer, a.Config.BaseURL)}
	group.Go(a.background(ctx, "alerts", func(ctx context.Context) { a.Store.RunTasks(ctx, alerts) }))
	if a.payments != nil {
		group.Go(a.background(
			ctx, "tasks of payments", func(ctx context.Context) { a.Store.RunTasks(ctx, a.payments.Tasks()) },
		))
	}

	if a.has(RoleAPI) {
		group.Go(a.background(ctx, "uptime", a.recordUptime))
	}
	if a.has(RoleWorker) {
		group.Go(func() error {
			return a.Services.Calls.Work(ctx, a.Config.Workers, a.Config.ShutdownTimeout)
		})
		group.Go(a.background(
			ctx, "deliveries", func(ctx context.Context) { a.Services.Deliveries.Run(ctx, a.Config.ShutdownTimeout) },
		))
	}

	group.Go(func() error {
		<-ctx.Done()
		return a.stop(context.WithoutCancel(ctx))
	})
	return group.Wait()
}

// background returns work that runs until ctx ends, panics or not.
func (a *App) background(ctx context.Context, name string, work func(context.Context)) func() error {
	return func() error {
		guard.Loop(ctx, a.log, name, work)
		return nil
	}
}

func (a *App) stop(ctx context.Context) error {
	a.Services.Stop()
	<-time.After(a.Config.DrainDelay)

	bounded, cancel := context.WithTimeout(ctx, a.Config.ShutdownTimeout)
	defer cancel()
	err := a.public.Shutdown(bounded)
	if errors.Is(err, context.DeadlineExceeded) {
		a.log.Warn("work was cut off", "after", a.Config.ShutdownTimeout)
		err = a.public.Close()
		ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
		defer cancel()
		a.Services.Calls.Wait(ctx)
	}

	return errors.Join(err, a.private.Close())
}

// Close stops the engines and closes the data. It is safe after a failed New.
func (a *App) Close() error {
	var errs []error
	closeIf := func(c io.Closer, there bool) {
		if there {
			errs = append(errs, c.Close())
		}
	}

	for server, listener := range a.bound {
		closeIf(server, true)
		if err := listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}

	closeIf(a.stripe, a.stripe != nil)
	closeIf(a.render, a.render != nil && !a.borrows)
	closeIf(a.redis, a.redis != nil)
	closeIf(a.lease, a.lease != nil)
	closeIf(a.Store, a.Store != nil)

	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	if err := a.tracer.Close(ctx); err != nil { // The collector is not ours to answer for.
		a.log.Warn("send traces failed", "error", err)
	}

	return errors.Join(errs...)
}

// NewLogger returns a logger that writes lines of JSON to w at the level of the settings.
func NewLogger(level slog.Leveler, w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}
