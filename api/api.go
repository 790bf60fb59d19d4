// Package api is the HTTP API of the service: its routes, its description, and its access control.
package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/relaypdf/relaypdf/internal/telemetry"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/delivery"
	"github.com/relaypdf/relaypdf/service/oauth"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/service/templates"
	"github.com/relaypdf/relaypdf/static/gallery"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/seal"
)

// Config holds the dependencies and settings of an API.
type Config struct {
	Store *store.Store
	// Render makes the documents. It is nil in a process that makes none.
	Render *render.Renderer
	// Outbound is the way to callbacks and webhooks; nil means Render's.
	Outbound Outbound
	// Box encrypts the inputs of jobs and the secrets of webhooks.
	Box *seal.Box
	// Payments refills wallets; nil means that only the operator credits
	// accounts.
	Payments call.Payments
	// Operations is the product; nil means the table of this package.
	Operations []schema.Row[*operation.Deps]
	// Limiter counts requests; nil means in this process's memory.
	Limiter ratelimit.Limiter
	// Lease is the id of the process's lease, which its holds carry.
	Lease string
	// BaseURL is the public URL of the service, without a final slash.
	BaseURL string
	// Region is the region of this process; rate counters are separate per region.
	Region string
	// Brand is put into the branded copies of the service's headers; empty sends none.
	Brand string
	// MaxBody is the most a request may send, MaxFile the most one file in it
	// may have, in bytes.
	MaxBody, MaxFile int64
	// Without are the engines, of operation.Engines, that this server runs without.
	Without []string
	// Prices override the table's, by operation.
	Prices map[string]credit.Amount
	// AI writes templates; nil without a provider.
	AI *operation.AI
	// NoBilling meters and prices calls without asking for money, NoRateLimits
	// turns the rate limits off.
	NoBilling, NoRateLimits bool
	// Dev is a developer's own server, where test keys are like live keys.
	Dev bool
	// RedirectFiles sends downloads of results to the bucket that has them.
	RedirectFiles bool
	// Version is shown by /health.
	Version string
	Logger  *slog.Logger
	// Registry receives the metrics; nil means a private registry.
	Registry *prometheus.Registry
	// Tracer receives the spans of calls and deliveries; nil means none.
	Tracer *telemetry.Tracer
	// Now is the clock; nil means the store's.
	Now func() time.Time
	// AfterStep, if set, is called after each completed step of a paid call.
	AfterStep func(step string)
	// DrawTime bounds the drawing of one preview: see call.Config.
	DrawTime time.Duration
	// StorageTime bounds the wait of a job for the storage: see call.Config.
	StorageTime time.Duration
	// Agents makes the handler for agents; nil means none.
	Agents func(*MCPBackend) (http.Handler, error)
	// Issuer verifies the tokens of an external issuer, which agents may use as well as our own; nil means none.
	// TellGrant notifies users by email when a new client connects with such a token; nil sends nothing.
	Issuer    *oauth.Issuer
	TellGrant store.GrantMailBuilder
}

// API serves the HTTP API. Its methods are safe for concurrent use.
type API struct {
	// Calls runs the calls of the operations' routes.
	Calls *call.Pipeline
	// Deliveries sends the deliveries that calls cause.
	Deliveries *delivery.Dispatcher
	// Connections are the buckets and servers to which results are sent.
	Connections delivery.Connections
	// Signing manages the signing identities.
	Signing call.SigningIdentities
	// Templates is the service behind the routes of templates.
	Templates *templates.Service

	store      *store.Store
	render     *render.Renderer
	outbound   Outbound
	box        *seal.Box
	limiter    ratelimit.Limiter
	reads      *ratelimit.Gate
	table      *schema.Table[*operation.Deps]
	gallery    *gallery.Gallery
	prices     map[string]credit.Amount
	registry   *prometheus.Registry
	openapi    func() ([]byte, error) // written when it is first asked for
	handler    *chi.Mux
	person     http.Handler
	agents     http.Handler // nil without a transport for agents
	paths      []string     // of routes, without those that hold an id
	log        *slog.Logger
	now        func() time.Time
	reached    func(step string)
	lease      string
	baseURL    string
	brand      string
	version    string
	maxBody    int64
	maxFile    int64
	local      bool // the base URL is loopback
	rateLimits bool
	links      linker // nil where downloads are not sent elsewhere
	stopping   atomic.Bool
}

// Outbound is the way to the addresses that customers name for callbacks and
// webhooks.
type Outbound interface {
	// CheckURL refuses, by its text, an address that is not https or not public.
	CheckURL(address string) error
	// CheckSSH refuses, by their text, a host and a port that SSH may not reach.
	CheckSSH(host string, port int) error
	// Webhooks sends to such addresses. It follows no redirect, and looks at
	// the address that is dialled.
	Webhooks() *http.Client
	// DialSSH connects to such a host and port, which speak SSH.
	DialSSH(ctx context.Context, address string) (net.Conn, error)
}

// New checks the table of operations and returns an API.
func New(cfg Config) (*API, error) {
	if cfg.Operations == nil {
		cfg.Operations = operation.Rows
	}
	table, err := schema.NewTable(cfg.Operations)
	if err != nil {
		return nil, err
	}
	table.Without(cfg.Without)
	prices, err := operation.Prices(table, cfg.Prices)
	if err != nil {
		return nil, err
	}
	layouts, err := gallery.New()
	if err != nil {
		return nil, err
	}
	if cfg.Limiter == nil {
		cfg.Limiter = ratelimit.NewMemory(cfg.Now)
	}
	if cfg.Now == nil {
		cfg.Now = cfg.Store.Now
	}
	if cfg.Registry == nil {
		cfg.Registry = prometheus.NewRegistry()
	}
	if cfg.Outbound == nil && cfg.Render != nil {
		cfg.Outbound = cfg.Render
	}
	if cfg.Outbound == nil || cfg.Box == nil {
		return nil, errors.New("the API needs a way out and a box for secrets")
	}
	if cfg.AfterStep == nil {
		cfg.AfterStep = func(string) {}
	}
	a := &API{
		store: cfg.Store, render: cfg.Render, outbound: cfg.Outbound, box: cfg.Box, limiter: cfg.Limiter, reads: ratelimit.NewGate(maxReads),
		table: table, gallery: layouts, prices: prices, registry: cfg.Registry, log: cfg.Logger, now: cfg.Now, reached: cfg.AfterStep,
		lease: cfg.Lease, baseURL: strings.TrimSuffix(cfg.BaseURL, "/"), brand: cfg.Brand,
		version: cfg.Version, maxBody: cfg.MaxBody, maxFile: cfg.MaxFile,
		local: Loopback(cfg.BaseURL), rateLimits: !cfg.NoRateLimits,
	}
	if cfg.RedirectFiles {
		a.links, _ = cfg.Store.Blobs().(linker)
	}
	a.Connections = delivery.Connections{
		Store: cfg.Store, Box: cfg.Box, CheckURL: cfg.Outbound.CheckURL, CheckSSH: cfg.Outbound.CheckSSH, Transport: cfg.Outbound.Webhooks().Transport, DialSSH: cfg.Outbound.DialSSH,
	}
	if !cfg.NoRateLimits {
		a.Connections.Limiter = cfg.Limiter
	}
	a.Signing = call.SigningIdentities{Store: cfg.Store, Box: cfg.Box, Render: cfg.Render}
	a.Calls = call.New(call.Config{
		Store: cfg.Store, Render: cfg.Render, Callbacks: cfg.Outbound, Destinations: cfg.Outbound.Webhooks(), Connections: a.Connections, Signing: a.Signing, Box: cfg.Box, Payments: cfg.Payments,
		Table: table, Prices: prices, AI: cfg.AI, Limiter: cfg.Limiter, Lease: cfg.Lease, Links: call.Links{BaseURL: a.baseURL},
		Region: cfg.Region, MaxFile: cfg.MaxFile, NoBilling: cfg.NoBilling, NoRateLimits: cfg.NoRateLimits, Dev: cfg.Dev,
		Registry: a.registry, Tracer: cfg.Tracer, Logger: cfg.Logger, Now: cfg.Now, AfterStep: cfg.AfterStep, DrawTime: cfg.DrawTime, StorageTime: cfg.StorageTime,
	})
	a.Templates = &templates.Service{Store: cfg.Store, Gallery: layouts, Table: table, Calls: a.Calls, Render: cfg.Render}
	a.Deliveries = delivery.New(delivery.Config{
		Store: cfg.Store, Client: cfg.Outbound.Webhooks(), Box: cfg.Box, Brand: cfg.Brand,
		Registry: a.registry, Tracer: cfg.Tracer, Logger: cfg.Logger, Now: cfg.Now,
	})
	watchLimits(a.registry, a.limiter)
	watchFiles(a.registry, cfg.Store.Blobs())
	a.watchSandbox()
	watchStore(a)
	a.openapi = sync.OnceValues(a.describe)
	if cfg.Agents != nil {
		if a.agents, err = cfg.Agents(newMCPBackend(a, cfg)); err != nil {
			return nil, err
		}
	}
	a.handler, a.person = a.router(), a.sessionRouter()
	return a, nil
}

// Loopback reports whether a URL points to this machine only.
func Loopback(baseURL string) bool {
	address, err := url.Parse(baseURL)
	if err != nil {
		return false
	}
	host := strings.ToLower(address.Hostname())
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// Stop makes /health/ready fail, so that no new requests are routed here while the running ones end.
func (a *API) Stop() {
	a.stopping.Store(true)
	a.Calls.Stop()
}
