package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"relaypdf/render"
	"relaypdf/store"
	"relaypdf/store/storetest"
)

// jobFigures are those of one kind of job on one database.
type jobFigures struct {
	Database string     `json:"database"`
	Job      string     `json:"job"`
	Ours     queueSpeed `json:"ours"`
}

// queueSpeed is how many jobs a queue takes and brings to their end in a second,
// and how long the work of a single one waits, as a median in milliseconds.
type queueSpeed struct {
	PerSecond float64 `json:"jobsPerSecond"`
	Start     float64 `json:"startMs"`
}

// The kinds of jobs. One that does nothing shows what the queue costs by itself;
// an invoice is printed and stored.
const (
	jobNothing = "nothing"
	jobInvoice = "invoice"
)

const (
	// jobStartGoal is in milliseconds.
	jobStartGoal = 5.0
	// jobPatience bounds the wait for a batch.
	jobPatience = 2 * time.Minute
)

// jobs measures the queue on both databases.
func (l *lab) jobs(ctx context.Context, r *report) (err error) {
	renderer, err := render.New(ctx, render.Config{Engine: []string{l.binary, "engine"}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, renderer.Close()) }()
	for _, database := range []string{store.SQLite, store.Postgres} {
		for _, job := range []jobFigures{{Job: jobNothing}, {Job: jobInvoice}} {
			job.Database = database
			l.say("jobs on %s: %s", database, job.Job)
			if err := measureJobs(ctx, l, &job, renderer); err != nil {
				return fmt.Errorf("%s: %w", database, err)
			}
			r.Jobs = append(r.Jobs, job)
		}
	}
	return nil
}

func measureJobs(ctx context.Context, l *lab, job *jobFigures, renderer *render.Renderer) (err error) {
	n := choose(l, 600, 20)
	if job.Job == jobNothing {
		renderer, n = nil, choose(l, 2000, 100)
	}
	job.Ours, err = ownJobs(ctx, l, job.Database, renderer, n)
	return err
}

// queueUnderTest is a queue, and what is seen of its jobs.
type queueUnderTest struct {
	// insert returns when the job is committed.
	insert work
	// begun and done receive when the work of a job begins, and when it has
	// ended for good.
	begun, done chan time.Time
}

func newQueueUnderTest() queueUnderTest {
	return queueUnderTest{begun: make(chan time.Time, 1<<16), done: make(chan time.Time, 1<<16)}
}

// measureQueue inserts n jobs, as fast as the queue takes them, and then single ones.
func measureQueue(ctx context.Context, l *lab, q queueUnderTest, n int) (speed queueSpeed, err error) {
	ctx, cancel := context.WithTimeout(ctx, jobPatience)
	defer cancel()
	await := func(times <-chan time.Time) (time.Time, error) {
		select {
		case at := <-times:
			return at, nil
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
	batch := func(n int) error {
		failed := make(chan error, 1)
		go func() { failed <- repeat(ctx, inTurn, n, q.insert) }()
		for range n {
			_, err := await(q.begun)
			if err == nil {
				_, err = await(q.done)
			}
			if err != nil {
				return err
			}
		}
		return <-failed
	}
	if err := batch(50); err != nil { // Both are warm then.
		return speed, err
	}
	begin := time.Now()
	if err := batch(n); err != nil {
		return speed, err
	}
	speed.PerSecond = float64(n) / time.Since(begin).Seconds()
	var waits []time.Duration
	for range choose(l, 50, 5) {
		<-time.After(30 * time.Millisecond) // The queue is to be idle, as after a pause.
		if err := q.insert(ctx, 0); err != nil {
			return speed, err
		}
		committed := time.Now()
		at, err := await(q.begun)
		if err == nil {
			_, err = await(q.done)
		}
		if err != nil {
			return speed, err
		}
		waits = append(waits, max(0, at.Sub(committed)))
	}
	speed.Start = ms(percentile(waits, 50))
	return speed, nil
}

// ownJobs measures the service, with an account for each client. Without a
// renderer its jobs do nothing.
func ownJobs(ctx context.Context, l *lab, database string, renderer *render.Renderer, n int) (speed queueSpeed, err error) {
	cfg := bareConfig{outbound: noWayOut{}, accounts: inTurn, render: renderer}
	if database == store.Postgres {
		var drop func() error
		if cfg.database, drop, err = storetest.NewDatabase(); err != nil {
			return speed, err
		}
		defer func() { err = errors.Join(err, drop()) }()
	}
	q := newQueueUnderTest()
	cfg.afterStep = func(step string) {
		switch step {
		case "claimed":
			q.begun <- time.Now()
		case "settle":
			q.done <- time.Now()
		}
	}
	b, err := startBare(ctx, l, cfg)
	if err != nil {
		return speed, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	body, err := json.Marshal(map[string]string{"html": invoice(), "response": "async"})
	if err != nil {
		return speed, err
	}
	q.insert = b.accept(request{path: "/v1/pdf", body: body})
	working, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- b.api.Calls.Work(working, 0, time.Second) }()
	defer func() {
		stop()
		err = errors.Join(err, <-done)
	}()
	return measureQueue(ctx, l, q, n)
}

// accept makes calls that must be accepted as jobs.
func (b *bare) accept(r request) work {
	return func(ctx context.Context, worker int) error {
		a, err := b.client.post(ctx, b.keys[worker%len(b.keys)], r)
		if err == nil && a.status != http.StatusAccepted {
			err = fmt.Errorf("%s: status %d: %s", r.path, a.status, a.text)
		}
		return err
	}
}
