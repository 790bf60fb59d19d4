// Package delivery sends events to endpoints and callbacks: signed, at least
// once, and to public addresses only.
package delivery

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/internal/telemetry"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/seal"
)

const (
	// maxAttempts bounds the attempts that this process has under way. Many
	// receivers may stall at once, two attempts each, without delaying others;
	// an attempt costs a connection and some tens of kilobytes.
	maxAttempts = 1000
	// claimBatch bounds the attempts that are taken on at once.
	claimBatch = 100
	// deliverEvery is the polling interval for deliveries that other processes have written, or whose next attempt
	// is due.
	deliverEvery = time.Second
	// recordTimeout limits the write of an attempt's result.
	recordTimeout = 20 * time.Second
)

// Config holds the dependencies and settings of a Dispatcher.
type Config struct {
	Store *store.Store
	// Client is the way to the addresses that customers name. It follows no
	// redirect, and looks at the address that is dialled.
	Client *http.Client
	// Box encrypts the secrets of endpoints.
	Box *seal.Box
	// Brand is put into the branded copies of a delivery's headers; empty sends none.
	Brand string
	// Registry receives the metrics.
	Registry prometheus.Registerer
	// Tracer receives the spans of attempts; nil means none.
	Tracer *telemetry.Tracer
	Logger *slog.Logger
	// Now is the clock.
	Now func() time.Time
}

// Dispatcher sends due deliveries. Its methods are safe for concurrent use.
type Dispatcher struct {
	store    *store.Store
	client   *http.Client
	box      *seal.Box
	brand    string
	attempts *prometheus.CounterVec
	tracer   *telemetry.Tracer
	log      *slog.Logger
	now      func() time.Time
}

// New returns a Dispatcher.
func New(cfg Config) *Dispatcher {
	d := &Dispatcher{
		store: cfg.Store, client: cfg.Client, box: cfg.Box, brand: cfg.Brand, tracer: cfg.Tracer, log: cfg.Logger,
		now: cfg.Now,
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "relaypdf_delivery_attempts_total",
			Help: "Attempts to deliver an event, by what the delivery is afterwards: delivered, pending or failed.",
		}, []string{"status"}),
	}

	cfg.Registry.MustRegister(d.attempts)
	return d
}

// round is one run of the dispatcher: the attempts that it has under way.
type round struct {
	*Dispatcher

	life    context.Context // of the attempts under way
	slots   chan struct{}   // one token for each
	running sync.WaitGroup
	freed   chan struct{} // signals the end of an attempt
}

// Run sends events to endpoints and callbacks until ctx ends. Then running attempts may finish within grace; the
// others are released for other processes. Any number of processes may deliver at once.
func (d *Dispatcher) Run(ctx context.Context, grace time.Duration) {
	life, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	r := &round{Dispatcher: d, life: life, slots: make(chan struct{}, maxAttempts), freed: make(chan struct{}, 1)}
	ticker := time.NewTicker(deliverEvery)
	defer ticker.Stop()

	for ctx.Err() == nil {
		if err := guard.Do(func() { r.dispatch(ctx) }); err != nil {
			r.log.LogAttrs(ctx, slog.LevelError, "dispatch panicked", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
		case <-d.store.NewDeliveries():
		case <-r.freed:
		case <-ticker.C:
		}
	}

	timer := time.AfterFunc(grace, cut)
	defer timer.Stop()
	r.running.Wait()
}

// dispatch begins all attempts that are due and have room.
func (r *round) dispatch(ctx context.Context) {
	for ctx.Err() == nil {
		free := min(claimBatch, cap(r.slots)-len(r.slots))
		if free == 0 {
			return
		}

		due, err := r.store.ClaimDeliveries(ctx, free)
		if err != nil {
			if ctx.Err() == nil {
				r.log.LogAttrs(ctx, slog.LevelError, "claim deliveries failed", slog.Any("error", err))
			}
			return
		}
		if len(due) == 0 {
			return
		}

		for _, delivery := range due {
			r.slots <- struct{}{}
			r.running.Go(func() {
				// If recording panics, the lease runs out, and the attempt is made again.
				guard.Log(r.log, "delivery attempt", func() { r.attempt(r.life, delivery) })
				<-r.slots

				select {
				case r.freed <- struct{}{}:
				default: // The dispatcher knows already.
				}
			})
		}
	}
}

// attempt makes one attempt and records its result. A panic is a failure.
func (d *Dispatcher) attempt(ctx context.Context, due store.DueDelivery) {
	ctx, span := d.continueTrace(ctx, due)
	defer span.End()

	outcome := store.Attempt{Error: sendPanicked}
	if err := guard.Do(func() { outcome = d.send(ctx, due) }); err != nil {
		d.log.LogAttrs(ctx, slog.LevelError, "delivery panicked", slog.String("delivery", due.ID),
			slog.Any("error", err))
	}

	span.SetInt("http.response.status_code", outcome.StatusCode)
	if !outcome.Delivered {
		span.Fail(failureOf(outcome))
	}

	recording, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if ctx.Err() != nil && !outcome.Delivered {
		// The process stops; the response of the receiver is unknown.
		if err := d.store.ReturnAttempt(recording, due); err != nil {
			d.log.LogAttrs(ctx, slog.LevelError, "return attempt failed", slog.String("delivery", due.ID),
				slog.Any("error", err))
		}
		return
	}

	delivery, err := d.store.FinishAttempt(recording, due, outcome)
	switch {
	case errors.Is(err, store.ErrNotFound):
		d.log.LogAttrs(ctx, slog.LevelInfo, "delivery canceled during an attempt", slog.String("delivery", due.ID))
	case err != nil:
		// Its lease runs out, and the attempt is made again.
		d.log.LogAttrs(ctx, slog.LevelError, "record attempt failed", slog.String("delivery", due.ID),
			slog.Any("error", err))
	default:
		d.attempts.WithLabelValues(delivery.Status).Inc()
		d.log.LogAttrs(ctx, slog.LevelInfo, "delivery",
			slog.String("delivery", due.ID), slog.String("event", due.EventID),
			slog.String("type", due.EventType), slog.String("endpoint", due.EndpointID),
			slog.Int("attempt", delivery.Attempts), slog.String("status", delivery.Status),
			slog.Int("code", outcome.StatusCode))
	}
}

// continueTrace continues the trace of the call that the event is about.
func (d *Dispatcher) continueTrace(ctx context.Context, due store.DueDelivery) (context.Context, *telemetry.Span) {
	if d.tracer == nil {
		return ctx, nil
	}

	parent, err := d.store.EventTrace(ctx, due.EventID)
	if err != nil { // costs the connection of the two, and not the attempt
		d.log.LogAttrs(ctx, slog.LevelWarn, "read trace of event failed", slog.String("event", due.EventID),
			slog.Any("error", err))
	}

	ctx, span := d.tracer.Follow(ctx, parent, "delivery", telemetry.Client, 0)
	span.Set("relaypdf.delivery", due.ID)
	span.Set("relaypdf.event", due.EventType)
	span.SetInt("relaypdf.attempt", due.Attempts+1)
	return ctx, span
}

// failureOf returns one word for the cause of a failed attempt.
func failureOf(outcome store.Attempt) string {
	if outcome.StatusCode != 0 {
		return strconv.Itoa(outcome.StatusCode)
	}
	return "unreachable"
}
