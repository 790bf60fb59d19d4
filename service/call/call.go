// Package call runs and charges the calls of operations: the pipeline of paid calls, jobs and their workers, and
// the reaper that cleans up after dead processes. Handlers pass it the requests of authenticated callers.
package call

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/relaypdf/relaypdf/internal/telemetry"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/service/delivery"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/seal"
)

// Config holds the dependencies and settings of a Pipeline.
type Config struct {
	Store *store.Store
	// Render makes the documents. It is nil in a process that makes none.
	Render *render.Renderer
	// Callbacks refuses addresses of callbacks.
	Callbacks Callbacks
	// Destinations sends results to the URLs that calls name. It reaches only public addresses, and follows no
	// redirect.
	Destinations *http.Client
	// Connections sends results to the buckets and servers of accounts.
	Connections delivery.Connections
	// Signing opens the signing identities of accounts.
	Signing SigningIdentities
	// Box encrypts the inputs of jobs.
	Box *seal.Box
	// Payments refills wallets; nil means that only the operator credits
	// accounts.
	Payments Payments
	// Table is the operation table, Prices holds the prices of its operations.
	Table  *schema.Table[*operation.Deps]
	Prices map[string]credit.Amount
	// AI writes templates; nil without a provider.
	AI *operation.AI
	// Limiter counts requests.
	Limiter ratelimit.Limiter
	// Lease is the id of the process's lease, which its holds carry.
	Lease string
	// Links makes the addresses of jobs and files.
	Links Links
	// Region is the region of this process; rate counters are separate per region.
	Region string
	// MaxFile is the maximum size of one file of a request, in bytes.
	MaxFile int64
	// NoBilling meters and prices calls without asking for money, NoRateLimits
	// turns the rate limits off.
	NoBilling, NoRateLimits bool
	// Dev is a developer's own server, where test keys are like live keys.
	Dev bool
	// Registry receives the metrics.
	Registry prometheus.Registerer
	// Tracer receives the spans of calls; nil means none.
	Tracer *telemetry.Tracer
	Logger *slog.Logger
	// Now is the clock.
	Now func() time.Time
	// AfterStep is called after each completed step of a paid call.
	AfterStep func(step string)
	// DrawTime bounds the drawing of one preview, the wait for its turn included; a
	// thumbnail, for which a call waits, has a third of it. Zero means 30 seconds.
	DrawTime time.Duration
	// StorageTime is the time for which a step of a job is repeated while the storage is unavailable; 0 means 2
	// minutes.
	StorageTime time.Duration
}

// Callbacks decides which URLs may be called back.
type Callbacks interface {
	// CheckURL refuses, by its text, an address that is not https or not public.
	CheckURL(address string) error
}

// Runner carries calls out. Its methods are safe for concurrent use.
type Runner struct {
	Links Links
	Files Files

	store        *store.Store
	render       *render.Renderer
	callbacks    Callbacks
	destinations *http.Client
	connections  delivery.Connections
	signing      SigningIdentities
	box          *seal.Box
	wallets      *reloader
	limiter      ratelimit.Limiter
	table        *schema.Table[*operation.Deps]
	prices       map[string]credit.Amount
	ai           *operation.AI
	metrics      *metrics
	tracer       *telemetry.Tracer
	log          *slog.Logger
	now          func() time.Time
	reached      func(step string)
	drawTime     time.Duration // see Config
	storageTime  time.Duration
	lease        string
	region       string
	files        schema.Files
	inputs       *schema.Budget
	previews     *previewLine
	billing      bool
	rateLimits   bool
	dev          bool
	running      sync.WaitGroup // paid calls under way
	stopping     atomic.Bool
	underWay     sync.Map // the *paidCall that this process works on, by the id of its call
}

// New returns a Pipeline.
func New(cfg Config) *Runner {
	p := &Runner{
		store: cfg.Store, render: cfg.Render, callbacks: cfg.Callbacks, destinations: cfg.Destinations,
		connections: cfg.Connections, signing: cfg.Signing, box: cfg.Box, limiter: cfg.Limiter,
		table: cfg.Table, prices: cfg.Prices, ai: cfg.AI, tracer: cfg.Tracer, log: cfg.Logger, now: cfg.Now,
		reached: cfg.AfterStep, drawTime: cmp.Or(cfg.DrawTime, 30*time.Second),
		storageTime: cmp.Or(cfg.StorageTime, 2*time.Minute), lease: cfg.Lease, Links: cfg.Links, region: cfg.Region,
		billing: !cfg.NoBilling, rateLimits: !cfg.NoRateLimits, dev: cfg.Dev,
	}

	p.inputs = schema.NewBudget(inputBudget)
	p.files = schema.Files{Limit: cfg.MaxFile, Open: func() schema.Sink { return render.NewFile() }}
	p.Files = Files{store: cfg.Store, blobs: cfg.Store.Blobs(), log: cfg.Logger, now: cfg.Now}
	p.wallets = &reloader{payments: cfg.Payments, log: cfg.Logger, running: &p.running}
	p.previews = newPreviewLine(p.render, p.RenderStats)
	p.metrics = newMetrics(cfg.Registry, p.RenderStats)

	return p
}

// RenderStats returns how busy the renderer is; one that is not there is idle.
func (r *Runner) RenderStats() render.Stats {
	if r.render == nil {
		return render.Stats{}
	}
	return r.render.Stats()
}

// WithoutRenderer is the Retry-After, in seconds, of a process without a renderer. The next process may have one.
const WithoutRenderer = 5

// Wait returns when no paid call is running, or when ctx ends. Cancelled calls still have to release their holds.
func (r *Runner) Wait(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		r.running.Wait()
		close(done)
	}()

	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Free closes a resource that a call no longer needs. A failure costs disk space and does not fail the call.
func (r *Runner) Free(ctx context.Context, c io.Closer) {
	if err := c.Close(); err != nil {
		r.log.LogAttrs(ctx, slog.LevelWarn, "free file of call failed", slog.Any("error", err))
	}
}

// Deliver hands an outcome to send, and frees it. A binary result that was not sent is
// stored for a day, because it has been paid for, unless its call asked for no copy.
func (r *Runner) Deliver(ctx context.Context, outcome *Outcome, send func(*Outcome) error) error {
	if outcome.Body != nil {
		defer r.Free(ctx, outcome.Body)
	}
	err := send(outcome)
	if err != nil && !outcome.Unstored {
		r.Files.storeUndelivered(ctx, outcome)
	}
	return err
}
