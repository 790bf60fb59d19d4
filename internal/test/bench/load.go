package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relaypdf/relaypdf/internal/guard"
)

// work makes one document; worker is the number of the concurrent caller.
type work func(ctx context.Context, worker int) error

// side is one of the two things that a row compares.
type side struct {
	do   work
	root int // process whose tree's processor time counts; 0 is none
	size int // documents that one call of do makes; 0 means one

	rates     []float64
	latencies []time.Duration
	cpu       time.Duration
	timed     int // the documents that cpu is of
}

// interleave measures the sides in alternating rounds, so that a drift of the machine meets both. A round keeps
// atOnce callers busy for span, each with one document after the other; with a span of one nanosecond each makes one.
func interleave(ctx context.Context, rounds, atOnce, warm int, span time.Duration, sides ...*side) error {
	for _, s := range sides {
		if err := repeat(ctx, atOnce, warm, s.do); err != nil {
			return err
		}
	}
	for range rounds {
		for _, s := range sides {
			if err := s.round(ctx, atOnce, span); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *side) round(ctx context.Context, atOnce int, span time.Duration) error {
	before := cpuOf(s.root)
	latencies, rate, err := closedLoop(ctx, atOnce, span, s.do)
	if err != nil {
		return err
	}
	// The time of a process that ended and that no parent waited for is lost; the round then reports nothing.
	if cpu := cpuOf(s.root) - before; cpu > 0 {
		s.cpu += cpu
		s.timed += len(latencies)
	}
	s.rates = append(s.rates, rate*float64(max(1, s.size)))
	s.latencies = append(s.latencies, latencies...)
	return nil
}

func (s *side) percentile(p int) float64 { return ms(percentile(s.latencies, p)) }

// cpuMS is the processor time of a document in milliseconds.
func (s *side) cpuMS() float64 { return ms(s.cpu) / float64(max(1, s.timed)*max(1, s.size)) }

// rateRow compares documents a second.
func rateRow(name, against string, goal Goal, floor, ours *side) Row {
	r := Row{Name: name, Floor: against, Unit: "/s", Goal: goal, FloorFigure: median(floor.rates), OurFigure: median(ours.rates)}
	if ours.size > 1 {
		r.Note = fmt.Sprintf("%d rounds of %d", len(ours.rates), ours.size)
	} else {
		r.Note = fmt.Sprintf("p50 %s / %s ms, p95 %s / %s ms", figure(floor.percentile(50)), figure(ours.percentile(50)), figure(floor.percentile(95)), figure(ours.percentile(95)))
	}
	if floor.timed > 0 && ours.timed > 0 {
		r.Note += fmt.Sprintf(", processors %s / %s ms each", figure(floor.cpuMS()), figure(ours.cpuMS()))
	}
	return r
}

// timeRow compares the medians of times.
func timeRow(name, against string, goal Goal, floor, ours *side) Row {
	return Row{
		Name: name, Floor: against, Unit: "ms p50", Goal: goal, FloorFigure: floor.percentile(50), OurFigure: ours.percentile(50),
		Note: fmt.Sprintf("p95 %s / %s ms", figure(floor.percentile(95)), figure(ours.percentile(95))),
	}
}

// closedLoop keeps c callers busy for a time and returns when their last documents are done. The rate is the sum of
// the callers' own, so that the wait for the slowest does not count against it.
func closedLoop(ctx context.Context, c int, d time.Duration, do work) (latencies []time.Duration, rate float64, err error) {
	callers, ctx := guard.WithContext(ctx)
	var mu sync.Mutex
	for w := range c {
		callers.Go(func() error {
			var mine []time.Duration
			start := time.Now()
			last := start
			for last.Sub(start) < d {
				if err := do(ctx, w); err != nil {
					return err
				}
				now := time.Now()
				mine = append(mine, now.Sub(last))
				last = now
			}
			mu.Lock()
			defer mu.Unlock()
			latencies = append(latencies, mine...)
			rate += float64(len(mine)) / last.Sub(start).Seconds()
			return nil
		})
	}
	err = callers.Wait()
	return latencies, rate, err
}

// repeat makes n documents, c at once.
func repeat(ctx context.Context, c, n int, do work) error {
	callers, ctx := guard.WithContext(ctx)
	var begun atomic.Int64
	for w := range c {
		callers.Go(func() error {
			for begun.Add(1) <= int64(n) {
				if err := do(ctx, w); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return callers.Wait()
}

// percentile returns the smallest value that p of 100 do not exceed, and zero of nothing. It sorts its argument.
func percentile(values []time.Duration, p int) time.Duration {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[max((len(values)*p+99)/100, 1)-1]
}

// median is the middle value, or the mean of the two in the middle.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
