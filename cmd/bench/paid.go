package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"relaypdf/api"
	"relaypdf/api/op"
	"relaypdf/render/spool"
	"relaypdf/store"
	"relaypdf/store/credit"
)

// paidFigures are what a call costs beside its render.
type paidFigures struct {
	// P50 and P95 are of whole HTTP calls of an operation whose run does
	// nothing, in milliseconds.
	P50  float64 `json:"p50Ms"`
	P95  float64 `json:"p95Ms"`
	Goal float64 `json:"goalMs"`
	// Steps are the means of the real program's steps, in milliseconds.
	Steps []stepMean `json:"steps"`
}

type stepMean struct {
	Step string  `json:"step"`
	Mean float64 `json:"meanMs"`
}

const (
	paidPathGoal = 2.0 // milliseconds
	// resultSize is about that of the invoice's PDF.
	resultSize = 32 << 10
)

// paidPath measures the paid path by leaving out the run: the API with the
// input of pdf.create and an operation that answers at once, over HTTP, on
// SQLite. The means of the real program's steps stand beside that.
func (l *lab) paidPath(ctx context.Context, r *report) (err error) {
	l.say("the paid path")
	free, stop, err := l.startWithoutRender(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := repeat(ctx, 1, 50, free); err != nil {
		return err
	}
	s, err := closedLoop(ctx, 1, choose(l, 5*time.Second, time.Second), free)
	if err != nil {
		return err
	}
	r.Paid = &paidFigures{P50: ms(percentile(s.latencies, 50)), P95: ms(percentile(s.latencies, 95)), Goal: paidPathGoal}
	r.Paid.Steps, err = l.stepMeans(ctx, choose(l, 200, 20))
	return err
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

// startWithoutRender serves the API with an operation that does nothing, on a
// database of its own.
func (l *lab) startWithoutRender(ctx context.Context) (call work, stop func() error, err error) {
	var opened closers
	defer func() {
		if err != nil {
			err = errors.Join(err, opened.close())
		}
	}()
	dir, keys, err := newDataDir(ctx, l.dir, 1)
	if err != nil {
		return nil, nil, err
	}
	opened = append(opened, func() error { return os.RemoveAll(dir) })
	s, err := store.Open(ctx, store.Config{DataDir: dir})
	if err != nil {
		return nil, nil, err
	}
	opened = append(opened, s.Close)
	lease, err := s.Acquire(ctx, filepath.Join(dir, "leases"))
	if err != nil {
		return nil, nil, err
	}
	opened = append(opened, lease.Close)
	url, closeServer, err := serveNothing(ctx, s, lease.ID())
	if err != nil {
		return nil, nil, err
	}
	opened = append(opened, closeServer)
	c, invoice := newClient(url), pdfRequest(invoice())
	return func(ctx context.Context, _ int) error { return c.make(ctx, keys[0], invoice) }, opened.close, nil
}

// serveNothing serves the API with the operation nothing.
func serveNothing(ctx context.Context, s *store.Store, lease string) (url string, stop func() error, err error) {
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	url = "http://" + listener.Addr().String()
	a, err := api.New(api.Config{
		Store: s, Lease: lease, BaseURL: url, Region: "local", Operations: []op.Row[*api.Env]{nothing()},
		NoRateLimits: true, MaxBody: 100 << 20, MaxFile: 50 << 20, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return "", nil, errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: a.Handler(), ReadHeaderTimeout: clientTimeout}
	go func() { _ = server.Serve(listener) }() // It ends with Close.
	return url, server.Close, nil
}

// nothing is pdf.create without a browser.
func nothing() op.Row[*api.Env] {
	html := "<p>example"
	result := append([]byte(nil), pdfMagic...)
	result = append(result, make([]byte, resultSize)...)
	return op.Spec[*api.Env, api.PDFInput]{
		Info: op.Info{
			Name: "pdf.create", Summary: "Answer with bytes that are there already",
			Price: 2000 * credit.Microdollar, Produces: []string{"application/pdf"},
		},
		Example: api.PDFInput{HTML: &html},
		Run: func(context.Context, *api.Env, *api.PDFInput) (op.Result, error) {
			return op.Result{Stem: "document", Extension: ".pdf", ContentType: "application/pdf", Body: spool.FromBytes(result)}, nil
		},
	}
}

// stepNames are the steps of a paid call, in their order.
var stepNames = [...]string{"authenticate", "limit", "decode", "authorize", "quote", "admit", "hold", "run", "settle"}

// stepMeans renders n invoices and returns what the program's own metrics say
// about their steps.
func (l *lab) stepMeans(ctx context.Context, n int) ([]stepMean, error) {
	before, err := l.scrape(ctx)
	if err != nil {
		return nil, err
	}
	if err := repeat(ctx, 1, n, l.own(pdfRequest(invoice()))); err != nil {
		return nil, err
	}
	after, err := l.scrape(ctx)
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
func (l *lab) scrape(ctx context.Context) (map[string]float64, error) {
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
