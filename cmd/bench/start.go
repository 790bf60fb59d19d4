package main

import (
	"context"
	"errors"
	"os"
	"time"
)

// startFigures are the times from starting the program to the end of its first
// PDF, in milliseconds.
type startFigures struct {
	Median float64   `json:"medianMs"`
	Each   []float64 `json:"eachMs"`
	Goal   float64   `json:"goalMs"`
}

const startGoal = 1000.0 // milliseconds

// starts measures how long a start takes on a data folder that exists.
func (l *lab) starts(ctx context.Context, r *report) error {
	l.say("start to first PDF")
	figures := &startFigures{Goal: startGoal}
	for range choose(l, 5, 1) {
		took, err := startOnce(ctx, l.options)
		if err != nil {
			return err
		}
		figures.Each = append(figures.Each, ms(took))
	}
	figures.Median = median(figures.Each)
	r.Start = figures
	return nil
}

func startOnce(ctx context.Context, o options) (took time.Duration, err error) {
	dir, keys, err := newDataDir(ctx, o.dir, 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	begin := time.Now()
	s, err := startServer(ctx, o, dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := newClient(s.url).make(ctx, keys[0], pdfRequest(invoice())); err != nil {
		return 0, err
	}
	return time.Since(begin), nil
}
