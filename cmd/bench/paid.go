package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"relaypdf/api"
	"relaypdf/api/middleware"
	"relaypdf/api/operation"
	"relaypdf/api/schema"
	"relaypdf/render"
	"relaypdf/render/spool"
	"relaypdf/store"
	"relaypdf/store/credit"
	"relaypdf/store/seal"
)

// paidFigures are what a call costs beside its render.
type paidFigures struct {
	// P50 and P95 are of whole HTTP calls of an operation whose run does
	// nothing, in milliseconds.
	P50  float64 `json:"p50Ms"`
	P95  float64 `json:"p95Ms"`
	Goal float64 `json:"goalMs"`
	// Client is P50 where the client of net/http makes the calls.
	Client float64 `json:"clientP50Ms"`
	// Floor is P50 of a bare server that reads and answers as many bytes, and
	// writes as many to the disk.
	Floor float64 `json:"floorP50Ms"`
	// Steps are the means of the real program's steps, in milliseconds.
	Steps []stepMean `json:"steps"`
}

type stepMean struct {
	Step string  `json:"step"`
	Mean float64 `json:"meanMs"`
}

const (
	paidPathGoal = 0.7 // milliseconds
	// resultSize is about that of the invoice's PDF.
	resultSize = 32 << 10
)

// paidPath measures the paid path by leaving out the run: the API with the
// input of pdf.create and an operation that answers at once, over HTTP, on
// SQLite. The means of the real program's steps stand beside that.
func (l *lab) paidPath(ctx context.Context, r *report) (err error) {
	l.say("the paid path")
	b, err := startBare(ctx, l, bareConfig{outbound: noWayOut{}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	call := pdfRequest(invoice())
	paid, err := newCaller(ctx, b.client.url, b.keys[0], call)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, paid.conn.Close()) }()
	floor, stop, err := startPaidFloor(ctx, l, call)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	took, err := closedLoopsInTurn(ctx, choose(l, 5, 1), choose(l, time.Second, 200*time.Millisecond), paid.call, b.make(call), floor)
	if err != nil {
		return err
	}
	p50 := func(i int) float64 { return ms(percentile(took[i], 50)) }
	r.Paid = &paidFigures{P50: p50(0), P95: ms(percentile(took[0], 95)), Goal: paidPathGoal, Client: p50(1), Floor: p50(2)}
	r.Paid.Steps, err = stepMeans(ctx, l, choose(l, 200, 20))
	return err
}

// closedLoopsInTurn does each work for a time, one document after the other, again
// and again, so that all meet the same machine. Each begins with some that
// are not counted.
func closedLoopsInTurn(ctx context.Context, rounds int, each time.Duration, do ...work) ([][]time.Duration, error) {
	took := make([][]time.Duration, len(do))
	for range rounds {
		for i, work := range do {
			if err := repeat(ctx, 1, 50, work); err != nil {
				return nil, err
			}
			s, err := closedLoop(ctx, 1, each, work)
			if err != nil {
				return nil, err
			}
			took[i] = append(took[i], s.latencies...)
		}
	}
	return took, nil
}

const (
	// paidBytes are what a call writes to SQLite's log, in pages of it: 24 of them.
	paidBytes = 24 * 4096
	// logBytes is how long the log becomes before it begins anew.
	logBytes = 1000 * 4096
)

// startPaidFloor serves what no paid path can do without: it reads the request, writes
// to the disk what a call writes there, waits for it, and answers.
func startPaidFloor(ctx context.Context, l *lab, r request) (call work, stop func() error, err error) {
	log, err := os.CreateTemp(l.dir, "relaypdf-bench-")
	if err != nil {
		return nil, nil, err
	}
	opened := closers{func() error { return os.Remove(log.Name()) }, log.Close}
	defer func() {
		if err != nil {
			err = errors.Join(err, opened.close())
		}
	}()
	if _, err := log.Write(make([]byte, logBytes)); err != nil {
		return nil, nil, err
	}
	at, pages, result := int64(0), make([]byte, paidBytes), emptyResult()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, err := io.Copy(io.Discard, q.Body)
		if err == nil {
			_, err = log.WriteAt(pages, at%(logBytes/paidBytes*paidBytes))
			at += paidBytes
		}
		if err == nil {
			err = log.Sync()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(result)))
		_, _ = w.Write(result) // The caller finds that it lacks.
	}))
	opened = append(opened, func() error { server.Close(); return nil })
	c, err := newCaller(ctx, server.URL, "none", r)
	if err != nil {
		return nil, nil, err
	}
	opened = append(opened, c.conn.Close)
	return c.call, opened.close, nil
}

// closers are what was opened, in that order.
type closers []func() error

// close closes them, the last one first.
func (c closers) close() error {
	var errs []error
	for i := len(c) - 1; i >= 0; i-- {
		errs = append(errs, c[i]())
	}
	return errors.Join(errs...)
}

// bare is the API in this process.
type bare struct {
	closers

	api      *api.API
	registry *prometheus.Registry
	store    *store.Store
	dir      string
	database string // URL; empty is SQLite
	lease    string
	client   *client
	keys     []string // of each account
}

// bareConfig says what a bare API has.
type bareConfig struct {
	database  string // URL of a new database; empty is SQLite
	outbound  api.Outbound
	accounts  int          // 0 means one
	afterStep func(string) // told of the steps of calls; may be nil
	// render does what the service does; without it there is one operation,
	// and it does nothing.
	render *render.Renderer
}

// make makes calls that must succeed.
func (b *bare) make(r request) work {
	return func(ctx context.Context, _ int) error { return b.client.make(ctx, b.keys[0], r) }
}

// startBare starts one.
func startBare(ctx context.Context, l *lab, cfg bareConfig) (_ *bare, err error) {
	b := &bare{registry: prometheus.NewRegistry(), database: cfg.database}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	dir, err := os.MkdirTemp(l.dir, "relaypdf-bench-")
	if err != nil {
		return nil, err
	}
	b.dir = dir
	b.closers = append(b.closers, func() error { return os.RemoveAll(dir) })
	if b.store, err = store.Open(ctx, store.Config{URL: cfg.database, DataDir: dir}); err != nil {
		return nil, err
	}
	b.closers = append(b.closers, b.store.Close)
	for i := range max(1, cfg.accounts) {
		key, err := fundAccount(ctx, b.store, fmt.Sprintf("bench-%d@localhost", i))
		if err != nil {
			return nil, err
		}
		b.keys = append(b.keys, key)
	}
	lease, err := b.store.Acquire(ctx, filepath.Join(dir, "leases"))
	if err != nil {
		return nil, err
	}
	b.closers = append(b.closers, lease.Close)
	b.lease = lease.ID()
	err = b.serve(ctx, cfg)
	return b, err
}

// serve serves the API.
func (b *bare) serve(ctx context.Context, bare bareConfig) error {
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: clientTimeout}
	b.closers = append(b.closers, server.Close)
	box, err := seal.New([]byte(rand.Text() + rand.Text()))
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	cfg := api.Config{
		BaseURL: "http://" + listener.Addr().String(), Store: b.store, Box: box, Lease: b.lease, Region: "local",
		Render: bare.render, Outbound: bare.outbound, AfterStep: bare.afterStep,
		NoRateLimits: true, MaxBody: 100 << 20, MaxFile: 50 << 20, Logger: slog.New(slog.DiscardHandler), Registry: b.registry, Agents: openAgents,
	}
	if bare.render == nil {
		cfg.Operations = []schema.Row[*operation.Env]{nothing()}
	}
	if b.api, err = api.New(cfg); err != nil {
		return errors.Join(err, listener.Close())
	}
	server.Handler, b.client = middleware.New(middleware.Config{API: b.api.Handler(), Fail: b.api.Fail, Logger: cfg.Logger, Registry: b.registry}), newClient(cfg.BaseURL)
	go func() { _ = server.Serve(listener) }() // It ends with Close.
	return nil
}

// noWayOut is for calls that have nobody to tell.
type noWayOut struct{}

var errNoWayOut = errors.New("no way out")

func (noWayOut) CheckURL(string) error  { return errNoWayOut }
func (noWayOut) Webhooks() *http.Client { return new(http.Client) }

// emptyResult begins as a PDF.
func emptyResult() []byte { return append(slices.Clip(pdfMagic), make([]byte, resultSize)...) }

// nothing is pdf.create without a browser.
func nothing() schema.Row[*operation.Env] {
	html := "<p>example"
	result := emptyResult()
	return schema.Spec[*operation.Env, operation.PDFInput]{
		Info: schema.Info{
			Name: "pdf.create", Summary: "Answer with bytes that are there already",
			Price: 2000 * credit.Microdollar, Produces: []string{"application/pdf"},
		},
		Example: operation.PDFInput{HTML: &html},
		Run: func(context.Context, *operation.Env, *operation.PDFInput) (schema.Result, error) {
			return schema.Result{Stem: "document", Extension: ".pdf", ContentType: "application/pdf", Body: spool.FromBytes(result)}, nil
		},
	}
}

// stepNames are the steps of a paid call, in their order.
var stepNames = [...]string{"limit", "decode", "authorize", "quote", "admit", "hold", "run", "settle"}

// stepMeans renders n invoices and returns what the program's own metrics say
// about their steps.
func stepMeans(ctx context.Context, l *lab, n int) ([]stepMean, error) {
	before, err := scrape(ctx, l)
	if err != nil {
		return nil, err
	}
	if err := repeat(ctx, 1, n, l.own(pdfRequest(invoice()))); err != nil {
		return nil, err
	}
	after, err := scrape(ctx, l)
	if err != nil {
		return nil, err
	}
	var means []stepMean
	for _, step := range stepNames {
		sum := fmt.Sprintf(`relaypdf_step_seconds_sum{operation="pdf.create",step=%q}`, step)
		means = append(means, stepMean{Step: step, Mean: (after[sum] - before[sum]) * 1000 / float64(n)})
	}
	return means, nil
}

// scrape reads the program's metrics, by name with labels.
func scrape(ctx context.Context, l *lab) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.server.private+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := l.client.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	found := map[string]float64{}
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), "} ")
		var value float64
		if _, err := fmt.Sscan(text, &value); err == nil {
			found[name+"}"] = value
		}
	}
	return found, lines.Err()
}
