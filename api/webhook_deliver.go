package api

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"relaypdf/store"
)

const (
	// maxAttempts bounds the attempts that this process has under way. Many
	// receivers may stall at once, two attempts each, without delaying others;
	// an attempt costs a connection and some tens of kilobytes.
	maxAttempts = 1000
	// claimBatch bounds the attempts that are taken on at once.
	claimBatch = 100
	// deliverEvery is how often deliveries are looked for that other processes
	// have written, or whose next attempt has become due.
	deliverEvery = time.Second
)

// dispatcher makes the attempts of a process.
type dispatcher struct {
	*API

	life    context.Context // of the attempts under way
	slots   chan struct{}   // one token for each
	running sync.WaitGroup
	freed   chan struct{} // tells that an attempt has ended
}

// Deliver sends events to endpoints and callbacks until ctx ends. Then the
// attempts under way have the grace to end; those that do not are given back.
// Any number of processes may deliver at once.
func (a *API) Deliver(ctx context.Context, grace time.Duration) {
	life, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	d := &dispatcher{API: a, life: life, slots: make(chan struct{}, maxAttempts), freed: make(chan struct{}, 1)}
	ticker := time.NewTicker(deliverEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		d.dispatch(ctx)
		select {
		case <-ctx.Done():
		case <-a.store.NewDeliveries():
		case <-d.freed:
		case <-ticker.C:
		}
	}
	timer := time.AfterFunc(grace, cut)
	defer timer.Stop()
	d.running.Wait()
}

// dispatch begins all attempts that are due and have room.
func (d *dispatcher) dispatch(ctx context.Context) {
	for ctx.Err() == nil {
		room := min(claimBatch, cap(d.slots)-len(d.slots))
		if room == 0 {
			return
		}
		due, err := d.store.ClaimDeliveries(ctx, room)
		if err != nil {
			if ctx.Err() == nil {
				d.log.LogAttrs(ctx, slog.LevelError, "no deliveries taken on", slog.Any("error", err))
			}
			return
		}
		if len(due) == 0 {
			return
		}
		for _, delivery := range due {
			d.slots <- struct{}{}
			d.running.Go(func() {
				d.attempt(d.life, delivery)
				<-d.slots
				select {
				case d.freed <- struct{}{}:
				default: // The dispatcher knows already.
				}
			})
		}
	}
}

// attempt makes one attempt and records what came of it.
func (a *API) attempt(ctx context.Context, due store.DueDelivery) {
	outcome := a.send(ctx, due)
	recording, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwardsTimeout)
	defer cancel()
	if ctx.Err() != nil && !outcome.Delivered {
		// The process stops; what the receiver would have said is not known.
		if err := a.store.ReturnAttempt(recording, due); err != nil {
			a.log.LogAttrs(ctx, slog.LevelError, "attempt not given back", slog.String("delivery", due.ID), slog.Any("error", err))
		}
		return
	}
	delivery, err := a.store.FinishAttempt(recording, due, outcome)
	switch {
	case errors.Is(err, store.ErrNotFound):
		a.log.LogAttrs(ctx, slog.LevelInfo, "delivery canceled during an attempt", slog.String("delivery", due.ID))
	case err != nil:
		// Its lease runs out, and the attempt is made again.
		a.log.LogAttrs(ctx, slog.LevelError, "attempt not recorded", slog.String("delivery", due.ID), slog.Any("error", err))
	default:
		a.metrics.attempt(delivery.Status)
		a.log.LogAttrs(ctx, slog.LevelInfo, "delivery", slog.String("delivery", due.ID), slog.String("event", due.EventID),
			slog.String("type", due.EventType), slog.String("endpoint", due.EndpointID), slog.Int("attempt", delivery.Attempts),
			slog.String("status", delivery.Status), slog.Int("code", outcome.StatusCode))
	}
}
