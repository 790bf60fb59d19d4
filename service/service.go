// Package service builds the services of a process once: the pipeline of calls, its workers' dispatcher of deliveries,
// and what accounts store. The API, the pages and the workers share them.
package service

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/relaypdf/relaypdf/internal/telemetry"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/delivery"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/service/templates"
	"github.com/relaypdf/relaypdf/static/gallery"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/seal"
)

// Config holds the dependencies and settings of the services.
type Config struct {
	Store *store.Store
	// Render makes the documents. It is nil in a process that makes none.
	Render *render.Renderer
	// Outbound is the way to callbacks and webhooks; nil means Render's.
	Outbound Outbound
	// Box encrypts the inputs of jobs and the secrets of webhooks.
	Box *seal.Box
	// Payments refills wallets; nil means that only the operator credits accounts.
	Payments call.Payments
	// Operations is the product; nil means operation.Rows.
	Operations []schema.Definition[*operation.Deps]
	// Without are the engines, of operation.Engines, that this process runs without.
	Without []string
	// Prices override the table's, by operation. In Services they are complete.
	Prices map[string]credit.Amount
	// AI writes templates; nil without a provider.
	AI *operation.AI
	// Limiter counts requests; nil means in this process's memory.
	Limiter ratelimit.Limiter
	// Lease is the ID of the process's lease, which its holds carry.
	Lease string
	// BaseURL is the public URL of the service, without a final slash.
	BaseURL string
	// Region is the region of this process; rate counters are separate per region.
	Region string
	// Brand is put into the branded copies of the service's headers; empty sends none.
	Brand string
	// MaxFile is the maximum size of one file of a request, in bytes.
	MaxFile int64
	// NoBilling meters and prices calls without asking for money, NoRateLimits turns the rate limits off.
	NoBilling, NoRateLimits bool
	// Dev is a developer's own server, where test keys are like live keys.
	Dev    bool
	Logger *slog.Logger
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
}

// Outbound is the way to the addresses that customers name for callbacks and webhooks.
type Outbound interface {
	// CheckURL refuses, by its text, an address that is not https or not public.
	CheckURL(address string) error
	// CheckSSH refuses, by their text, a host and a port that SSH may not reach.
	CheckSSH(host string, port int) error
	// Webhooks sends to such addresses. It follows no redirect, and looks at the address that is dialled.
	Webhooks() *http.Client
	// DialSSH connects to such a host and port, which speak SSH.
	DialSSH(ctx context.Context, address string) (net.Conn, error)
}

// Services are the services of a process, with the settings and dependencies that they were built from. Their methods
// are safe for concurrent use.
type Services struct {
	Config

	// Table is the operation table.
	Table *schema.Table[*operation.Deps]
	// Gallery holds the layouts that templates start from.
	Gallery *gallery.Gallery
	// Calls runs paid calls and jobs.
	Calls *call.Runner
	// Deliveries sends the events that calls cause.
	Deliveries *delivery.Dispatcher
	// Connections are the buckets and servers to which results are sent.
	Connections delivery.Connections
	// Signing manages the signing identities.
	Signing call.SigningIdentities
	// Templates manages templates and partials.
	Templates *templates.Service

	stopping atomic.Bool
}

// New builds the services. The error names a wrong price or row of the operation table, or a missing dependency.
func New(cfg Config) (*Services, error) {
	s := &Services{Config: cfg.withDefaults()}
	if s.Outbound == nil || s.Box == nil {
		return nil, errors.New("the services need a way out and a box for secrets")
	}

	var err error
	if s.Table, err = schema.NewTable(s.Operations); err != nil {
		return nil, err
	}
	s.Table.Without(s.Without)
	if s.Prices, err = operation.Prices(s.Table, s.Prices); err != nil {
		return nil, err
	}
	if s.Gallery, err = gallery.New(); err != nil {
		return nil, err
	}

	s.Connections = delivery.Connections{
		Store: s.Store, Box: s.Box,
		CheckURL: s.Outbound.CheckURL, CheckSSH: s.Outbound.CheckSSH, Transport: s.Outbound.Webhooks().Transport,
		DialSSH: s.Outbound.DialSSH,
	}
	if !s.NoRateLimits {
		s.Connections.Limiter = s.Limiter
	}
	s.Signing = call.SigningIdentities{Store: s.Store, Box: s.Box, Render: s.Render}
	s.Calls = call.New(call.Config{
		Store: s.Store, Render: s.Render, Box: s.Box, Payments: s.Payments, AI: s.AI, Limiter: s.Limiter,
		Callbacks: s.Outbound, Destinations: s.Outbound.Webhooks(), Connections: s.Connections, Signing: s.Signing,
		Table: s.Table, Prices: s.Prices, Lease: s.Lease, Links: call.Links{BaseURL: s.BaseURL}, Region: s.Region,
		MaxFile:   s.MaxFile,
		NoBilling: s.NoBilling, NoRateLimits: s.NoRateLimits, Dev: s.Dev,
		Registry: s.Registry, Tracer: s.Tracer, Logger: s.Logger, Now: s.Now,
		AfterStep: s.AfterStep, DrawTime: s.DrawTime, StorageTime: s.StorageTime,
	})
	s.Templates = &templates.Service{
		Store: s.Store, Gallery: s.Gallery, Table: s.Table, Calls: s.Calls, Render: s.Render,
	}
	s.Deliveries = delivery.New(delivery.Config{
		Store: s.Store, Client: s.Outbound.Webhooks(), Box: s.Box, Brand: s.Brand,
		Registry: s.Registry, Tracer: s.Tracer, Logger: s.Logger, Now: s.Now,
	})

	s.exportMetrics()
	return s, nil
}

// withDefaults replaces what is nil.
func (c Config) withDefaults() Config {
	if c.Operations == nil {
		c.Operations = operation.Rows
	}
	if c.Limiter == nil {
		c.Limiter = ratelimit.NewMemory(c.Now)
	}
	if c.Now == nil {
		c.Now = c.Store.Now
	}
	if c.Registry == nil {
		c.Registry = prometheus.NewRegistry()
	}
	if c.Outbound == nil && c.Render != nil {
		c.Outbound = c.Render
	}
	if c.AfterStep == nil {
		c.AfterStep = func(string) {}
	}

	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	return c
}

// Stop makes the process not ready, so that no new requests are routed here while the running ones end, and claims no
// further jobs.
func (s *Services) Stop() {
	s.stopping.Store(true)
	s.Calls.Stop()
}
