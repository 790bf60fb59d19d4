// Package api is the service behind its doors: the table of operations, the
// pipeline that carries out and charges each call, and the HTTP interface.
package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"relaypdf/api/op"
	"relaypdf/render"
	"relaypdf/store"
	"relaypdf/store/credit"
	"relaypdf/store/seal"
)

// Config is what an API is made of and how it behaves.
type Config struct {
	Store *store.Store
	// Render makes the documents. It is nil in a process that makes none.
	Render *render.Renderer
	// Outbound is the way to callbacks and webhooks; nil means Render's.
	Outbound Outbound
	// Box encrypts the inputs of jobs and the secrets of webhooks.
	Box *seal.Box
	// Payments is where money comes from; nil means that only the operator
	// credits accounts.
	Payments Payments
	// Operations is the product; nil means the table of this package.
	Operations []op.Row[*Env]
	// Limiter counts requests; nil means in this process's memory.
	Limiter Limiter
	// Lease is the id of the process's lease, which its holds carry.
	Lease string
	// BaseURL is the public address of the service, without a final slash.
	BaseURL string
	// Region names where this process runs; rate counters are kept by region.
	Region string
	// Brand is put into the branded copies of the service's headers; empty sends none.
	Brand string
	// TrustedIPHeader names the one header that carries the client's address;
	// empty takes the socket's.
	TrustedIPHeader string
	// MaxBody is the most a request may send, MaxFile the most one file in it
	// may have, in bytes.
	MaxBody, MaxFile int64
	// Prices override the table's, by operation.
	Prices map[string]credit.Amount
	// NoBilling meters and prices calls without asking for money, NoRateLimits
	// turns the rate limits off.
	NoBilling, NoRateLimits bool
	// Version is shown by /health.
	Version string
	Logger  *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// AfterStep, if set, is told of each step of a paid call that was passed.
	AfterStep func(step string)
}

// API serves the interface. Its methods are safe for concurrent use.
type API struct {
	store    *store.Store
	blobs    store.Blobs
	render   *render.Renderer
	outbound Outbound
	box      *seal.Box
	payments Payments
	limiter  Limiter
	table    *op.Table[*Env]
	prices   map[string]credit.Amount
	metrics  *metrics
	openapi  []byte
	log      *slog.Logger
	now      func() time.Time
	reached  func(step string)
	lease    string
	baseURL  string
	region   string
	brand    string
	ipHeader string
	version  string
	maxBody  int64
	files    op.Files

	local      bool // the base URL is loopback
	billing    bool
	rateLimits bool
	stopping   atomic.Bool
	running    sync.WaitGroup // paid calls under way
	underWay   sync.Map       // ids of the calls that this process works on
}

// Outbound is the way to the addresses that customers name for callbacks and
// webhooks.
type Outbound interface {
	// CheckURL refuses, by its text, an address that is not https or not public.
	CheckURL(address string) error
	// Webhooks sends to such addresses. It follows no redirect, and looks at
	// the address that is dialled.
	Webhooks() *http.Client
}

// New checks the table of operations and returns an API.
func New(cfg Config) (*API, error) {
	if cfg.Operations == nil {
		cfg.Operations = Operations
	}
	table, err := op.NewTable(cfg.Operations)
	if err != nil {
		return nil, err
	}
	prices, err := priceBook(table, cfg.Prices)
	if err != nil {
		return nil, err
	}
	if cfg.Limiter == nil {
		cfg.Limiter = NewMemoryLimiter(cfg.Now)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
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
		store: cfg.Store, blobs: cfg.Store.Blobs(), render: cfg.Render, outbound: cfg.Outbound, box: cfg.Box, limiter: cfg.Limiter, payments: cfg.Payments,
		table: table, prices: prices, log: cfg.Logger, now: cfg.Now, reached: cfg.AfterStep,
		lease: cfg.Lease, baseURL: strings.TrimSuffix(cfg.BaseURL, "/"), region: cfg.Region, brand: cfg.Brand,
		ipHeader: cfg.TrustedIPHeader, version: cfg.Version, maxBody: cfg.MaxBody,
		local: Loopback(cfg.BaseURL), billing: !cfg.NoBilling, rateLimits: !cfg.NoRateLimits,
	}
	a.files = op.Files{Limit: cfg.MaxFile, Open: func() op.Sink { return render.NewFile() }}
	a.metrics = newMetrics(a)
	a.openapi, err = a.describe()
	return a, err
}

// Loopback tells whether an address leads to this machine only.
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

// Stop makes /health/ready fail, so that no new work is sent here while what
// is under way ends.
func (a *API) Stop() { a.stopping.Store(true) }

// Wait returns when no paid call is under way, or when ctx ends. Calls that
// were cut off still have a hold to release.
func (a *API) Wait(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		a.running.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
