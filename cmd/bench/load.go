package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// work makes one document; worker says which of the concurrent ones asks.
type work func(ctx context.Context, worker int) error

// sample is what a closed loop measured.
type sample struct {
	latencies []time.Duration
	rate      float64 // documents a second
}

// closedLoop keeps c workers busy for a time, each with one document after the
// other, and returns when their last ones are done. The rate is the sum of the
// workers' own, so that the wait for the slowest does not count against it.
func closedLoop(ctx context.Context, c int, d time.Duration, do work) (sample, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sample
	var mu sync.Mutex
	var workers sync.WaitGroup
	for w := range c {
		workers.Go(func() {
			mine, err := oneByOne(ctx, w, d, do)
			if err != nil {
				cancel(err)
			}
			mu.Lock()
			defer mu.Unlock()
			all.latencies = append(all.latencies, mine.latencies...)
			all.rate += mine.rate
		})
	}
	workers.Wait()
	return all, context.Cause(ctx)
}

func oneByOne(ctx context.Context, worker int, d time.Duration, do work) (sample, error) {
	var s sample
	start := time.Now()
	last := start
	for last.Sub(start) < d {
		if err := do(ctx, worker); err != nil {
			return s, err
		}
		now := time.Now()
		s.latencies = append(s.latencies, now.Sub(last))
		last = now
	}
	s.rate = float64(len(s.latencies)) / last.Sub(start).Seconds()
	return s, nil
}

// repeat does c workers' share of n documents.
func repeat(ctx context.Context, c, n int, do work) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan struct{}, n)
	for range n {
		next <- struct{}{}
	}
	close(next)
	var workers sync.WaitGroup
	for w := range c {
		workers.Go(func() {
			for range next {
				if err := do(ctx, w); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// percentile returns the smallest value that p of 100 are not above. It sorts
// its argument; of nothing it is zero.
func percentile[T int64 | float64 | time.Duration](values []T, p int) T {
	if len(values) == 0 {
		var zero T
		return zero
	}
	slices.Sort(values)
	rank := (len(values)*p + 99) / 100
	return values[max(rank, 1)-1]
}

// median is the middle value, or the mean of the two in the middle.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// ms is a duration in milliseconds.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
