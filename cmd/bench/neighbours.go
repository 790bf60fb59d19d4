package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// afterGoal bounds from below the rate of an account that is alone again, in
	// rates from before the others came.
	afterGoal = 0.95
	// newcomerGoal bounds the newcomer's p95, in documents' times.
	newcomerGoal = 1.5
)

// crowds measures accounts beside each other.
type crowds struct{ *lab }

// neighbours measures what accounts cost each other: reports of an account that
// is alone, before and right after eight others were active, and documents of a
// newcomer beside a heavy account.
func (l crowds) neighbours(ctx context.Context, r *report) error {
	long, short := pdfRequest(report50()), pdfRequest(invoice())
	l.say("reports before and after eight other accounts")
	rate := func() (float64, error) {
		s, err := closedLoop(ctx, l.slots, choose(l.lab, 10*time.Second, time.Second), l.own(long))
		return s.rate, err
	}
	var ratios []float64
	for range choose(l.lab, 3, 1) {
		if err := repeat(ctx, l.slots, 2*l.slots, l.own(long)); err != nil {
			return err
		}
		before, err := rate()
		if err == nil {
			err = repeat(ctx, l.slots, 2*inTurn, l.turns(short))
		}
		if err != nil {
			return err
		}
		after, err := rate()
		if err != nil {
			return err
		}
		ratios = append(ratios, after/before)
	}
	r.reach(goalFigures{
		Name: "reports after eight other accounts, against alone", Got: median(ratios), Goal: afterGoal, Unit: "x", AtLeast: true,
		Beside: fmt.Sprintf("median of %d rounds, %d at once", len(ratios), l.slots),
	})
	return l.newcomer(ctx, r, short)
}

// newcomer has a heavy account keep more documents waiting than there are slots,
// and another account send single ones beside it, with pauses. A document's time
// is what both of them together make of a slot.
func (l crowds) newcomer(ctx context.Context, r *report, call request) error {
	l.say("a newcomer beside a heavy account")
	newcomer := func(ctx context.Context, _ int) error { return l.client.make(ctx, l.keys[2], call) }
	crowded, leave := context.WithCancel(ctx)
	defer leave()
	var made atomic.Int64
	heavy := make(chan error, 1)
	go func() {
		heavy <- repeat(crowded, fullPerSlot*l.slots, 1<<20, func(ctx context.Context, _ int) error {
			err := l.client.make(ctx, l.keys[1], call)
			made.Add(1)
			return err
		})
	}()
	if err := newcomer(ctx, 0); err != nil { // Its page is warm then, as the heavy account's are.
		return err
	}
	var took []time.Duration
	begin, before := time.Now(), made.Load()
	for time.Since(begin) < choose(l.lab, 20*time.Second, time.Second) {
		start := time.Now()
		if err := newcomer(ctx, 0); err != nil {
			return err
		}
		took = append(took, time.Since(start))
		select {
		case <-time.After(20 * time.Millisecond):
		case err := <-heavy:
			return err
		}
	}
	total := made.Load() - before + int64(len(took))
	document := time.Since(begin) * time.Duration(l.slots) / time.Duration(max(total, 1))
	leave()
	if err := <-heavy; err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	r.reach(goalFigures{
		Name: "newcomer beside a heavy account, p95 in documents' times", Got: ms(percentile(took, 95)) / ms(document), Goal: newcomerGoal, Unit: "x",
		Beside: fmt.Sprintf("%d documents, p50 %.1f ms; a document takes %.1f ms of a slot", len(took), ms(percentile(took, 50)), ms(document)),
	})
	return nil
}
