package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"relaypdf/store"
)

// deliveryFigures say how fast events leave.
type deliveryFigures struct {
	PerSecond float64 `json:"perSecond"`
	// Bare are plain POSTs of the same client to the same receiver, AtOnce at
	// a time, as many as one endpoint gets.
	Bare   float64 `json:"barePerSecond"`
	AtOnce int     `json:"atOnce"`
}

// keyFigures are medians of the paid path, in milliseconds.
type keyFigures struct {
	Without  float64 `json:"withoutMs"`
	With     float64 `json:"withMs"`
	Replayed float64 `json:"replayedMs"`
}

// localOut sends to receivers on this machine.
type localOut struct{ client *http.Client }

func (localOut) CheckURL(string) error    { return nil }
func (o localOut) Webhooks() *http.Client { return o.client }

// receiver counts what it gets.
type receiver struct {
	*httptest.Server

	got atomic.Int64
}

func newReceiver() *receiver {
	r := &receiver{}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body) // A sender that breaks off sends again.
		r.got.Add(1)
	}))
	return r
}

// await waits until n requests have arrived.
func (r *receiver) await(ctx context.Context, n int64) error {
	for r.got.Load() < n {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// deliveryLanes is how many attempts one endpoint gets at once.
const deliveryLanes = 2

// deliveries lets events pile up, and measures how fast they leave.
func (l *lab) deliveries(ctx context.Context, r *report) (err error) {
	l.say("deliveries")
	ctx, cancel := context.WithTimeout(ctx, jobPatience)
	defer cancel()
	to := newReceiver()
	defer to.Close()
	ended := make(chan struct{}, 1<<16)
	b, err := startBare(ctx, l, bareConfig{outbound: localOut{to.Client()}, afterStep: func(step string) {
		if step == "settle" {
			ended <- struct{}{}
		}
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.register(ctx, to.URL); err != nil {
		return err
	}
	n := choose(l, 1000, 50)
	if err := b.pileUp(ctx, n, ended); err != nil {
		return err
	}
	sending, stop := context.WithCancel(ctx)
	defer stop()
	begin := time.Now()
	go b.api.Deliveries.Run(sending, time.Second)
	if err := to.await(ctx, int64(n)); err != nil {
		return err
	}
	figures := &deliveryFigures{PerSecond: float64(n) / time.Since(begin).Seconds(), AtOnce: deliveryLanes}
	bare, err := closedLoop(ctx, deliveryLanes, choose(l, 2*time.Second, 200*time.Millisecond), func(ctx context.Context, _ int) error {
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, strings.NewReader(strings.Repeat("x", 400)))
		if err != nil {
			return err
		}
		response, err := to.Client().Do(q)
		if err != nil {
			return err
		}
		return response.Body.Close()
	})
	figures.Bare, r.Sent = bare.rate, figures
	return err
}

// register makes an endpoint for the account.
func (b *bare) register(ctx context.Context, address string) error {
	body, err := json.Marshal(map[string]string{"url": address})
	if err != nil {
		return err
	}
	a, err := b.client.post(ctx, b.keys[0], request{path: "/v1/webhooks", body: body})
	if err == nil && a.status != http.StatusCreated {
		err = fmt.Errorf("register an endpoint: status %d: %s", a.status, a.text)
	}
	return err
}

// pileUp carries out n jobs, whose events wait.
func (b *bare) pileUp(ctx context.Context, n int, ended <-chan struct{}) error {
	working, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- b.api.Calls.Work(working, inTurn, time.Second) }()
	err := repeat(ctx, inTurn, n, b.accept(request{path: "/v1/pdf", body: []byte(`{"html":"<p>job","response":"async"}`)}))
	for range n {
		select {
		case <-ended:
		case <-ctx.Done():
			err = errors.Join(err, ctx.Err())
		}
	}
	stop()
	return errors.Join(err, <-done)
}

// idempotency measures what a key costs.
func (l *lab) idempotency(ctx context.Context, r *report) (err error) {
	l.say("idempotency keys")
	b, err := startBare(ctx, l, bareConfig{outbound: noWayOut{}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	plain := pdfRequest(invoice())
	keyed := func(key func() string) work {
		return func(ctx context.Context, _ int) error {
			q := plain
			q.key = key()
			return b.client.make(ctx, b.keys[0], q)
		}
	}
	span := choose(l, 3*time.Second, 200*time.Millisecond)
	p50 := func(do work) float64 {
		if err != nil {
			return 0
		}
		var s sample
		if err = repeat(ctx, 1, 20, do); err == nil {
			s, err = closedLoop(ctx, 1, span, do)
		}
		return ms(percentile(s.latencies, 50))
	}
	r.Keys = &keyFigures{
		Without:  p50(b.make(plain)),
		With:     p50(keyed(func() string { return store.NewID("key") })),
		Replayed: p50(keyed(func() string { return "same" })),
	}
	return err
}
