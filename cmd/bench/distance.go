package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"relaypdf/store/storetest"
)

const (
	hotGoal  = 350 // calls a second of one account on PostgreSQL
	hotCalls = 8   // of it at once
	// tripsGoal bounds the round trips of hold and of settle.
	tripsGoal = 2
)

// distances are the round trips to the database.
func distances() []time.Duration {
	return []time.Duration{0, 10 * time.Millisecond, 80 * time.Millisecond}
}

// databases measures what the database has to do.
type databases struct{ *lab }

// hotAccount measures the calls of one account on PostgreSQL, all of which move
// the same wallet, and how they hold and settle when the database is far away.
func (l databases) hotAccount(ctx context.Context, r *report) (err error) {
	database, drop, err := storetest.NewDatabase()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	l.say("one hot account on PostgreSQL")
	b, err := startBare(ctx, l.lab, bareConfig{outbound: noWayOut{}, database: database})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	call := b.make(pdfRequest("<p>hot"))
	if err := repeat(ctx, hotCalls, 10*hotCalls, call); err != nil {
		return err
	}
	s, err := closedLoop(ctx, hotCalls, choose(l.lab, 5*time.Second, time.Second), call)
	if err != nil {
		return err
	}
	r.reach(goalFigures{
		Name: "calls of one hot account on PostgreSQL", Got: s.rate, Goal: hotGoal, Unit: "/s", AtLeast: true,
		Beside: fmt.Sprintf("%d at once, p50 %.1f ms", hotCalls, ms(percentile(s.latencies, 50))),
	})
	return nil
}

// distance measures hold and settle with PostgreSQL near and far.
func (l databases) distance(ctx context.Context, r *report) error {
	var near map[string]float64
	for _, rtt := range distances() {
		l.say("PostgreSQL at a distance of %v", rtt)
		means, err := l.stepsAt(ctx, rtt)
		if err != nil {
			return fmt.Errorf("at %v: %w", rtt, err)
		}
		if rtt == 0 {
			near = means
			continue
		}
		for _, step := range []string{"hold", "settle"} {
			r.reach(goalFigures{
				Name: fmt.Sprintf("round trips of %s, PostgreSQL at %v", step, rtt), Got: (means[step] - near[step]) / ms(rtt), Goal: tripsGoal,
				Beside: fmt.Sprintf("means: %.1f ms, %.1f ms without the distance", means[step], near[step]),
			})
		}
	}
	return nil
}

// stepsAt returns the means of the steps of calls whose database is a round trip
// away, in milliseconds.
func (l databases) stepsAt(ctx context.Context, rtt time.Duration) (means map[string]float64, err error) {
	database, drop, err := storetest.NewDatabase()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	far, err := storetest.NewFar(ctx, database, rtt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, far.Close()) }()
	b, err := startBare(ctx, l.lab, bareConfig{outbound: noWayOut{}, database: far.URL})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	call := b.make(pdfRequest("<p>far"))
	if err := repeat(ctx, 1, choose(l.lab, 20, 3), call); err != nil { // The statements are prepared then.
		return nil, err
	}
	before, err := b.stepSums()
	if err != nil {
		return nil, err
	}
	if err := repeat(ctx, 1, choose(l.lab, 50, 3), call); err != nil {
		return nil, err
	}
	after, err := b.stepSums()
	means = map[string]float64{}
	for step, sum := range after {
		means[step] = sum.over(before[step])
	}
	return means, err
}

// stepSum is what the API's metrics say about a step.
type stepSum struct {
	seconds float64
	count   uint64
}

// over is the mean of what came after before, in milliseconds.
func (s stepSum) over(before stepSum) float64 {
	return 1000 * (s.seconds - before.seconds) / float64(max(1, s.count-before.count))
}

// stepSums reads the API's own metrics.
func (b *bare) stepSums() (map[string]stepSum, error) {
	families, err := b.registry.Gather()
	if err != nil {
		return nil, err
	}
	sums := map[string]stepSum{}
	for _, family := range families {
		if family.GetName() != "relaypdf_step_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if h := metric.GetHistogram(); label.GetName() == "step" {
					sums[label.GetValue()] = stepSum{h.GetSampleSum(), h.GetSampleCount()}
				}
			}
		}
	}
	return sums, nil
}
