// Package jobs runs asynchronous calls: it claims jobs of the store in fair order, hands
// each to the code that carries it out, and drains when the process stops. The table of
// jobs is the queue. Wake-ups only shorten the wait; polling finds what they miss.
//
//	err := jobs.Run(ctx, jobs.Config{Store: s, Lease: lease.ID(), Kinds: kinds, Handle: run, Grace: 30 * time.Second, Logger: log})
package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/store"
)

// workersPerCore is the number of concurrent jobs per core. While one job is rendered, another is read or stored.
const workersPerCore = 2

// endTimeout bounds the wait for jobs that were cut off and return themselves to the
// queue. It is longer than their last writes may take.
const endTimeout = time.Minute

// Config holds the settings of a worker process.
type Config struct {
	Store *store.Store
	// Lease is the ID of the process's lease, which its jobs carry.
	Lease string
	// Kinds are the kinds of jobs that this process can run.
	Kinds []string
	// Workers is the number of concurrent jobs; default: 2 per core.
	Workers int
	// Handle carries out a job and ends it, or returns it to the queue if ctx ends first.
	Handle func(ctx context.Context, job store.Job)
	// Grace is the maximum time for which running jobs continue after the process begins to stop.
	Grace  time.Duration
	Logger *slog.Logger
}

// loop is one run of a process's workers.
type loop struct {
	Config

	pool    pool
	claimed atomic.Int64 // jobs
	// notified has an entry while a notification of another process is not followed.
	notified chan struct{}
}

// Run runs jobs until ctx ends. Then running jobs may finish within the grace period, and are cancelled afterwards.
// It returns an error if a job does not end even then.
func Run(ctx context.Context, cfg Config) error {
	life, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	l := &loop{Config: cfg, notified: make(chan struct{}, 1)}
	l.pool = pool{limit: cmp.Or(cfg.Workers, workersPerCore*runtime.NumCPU()), work: func() {
		guard.Log(l.Logger, "worker", func() { l.work(life, ctx.Done()) })
	}}

	l.awaitJobs(ctx)
	l.pool.close()
	defer time.AfterFunc(cfg.Grace, cut).Stop()
	return l.drain(cfg.Grace + endTimeout)
}

// awaitJobs wakes workers until ctx ends.
func (l *loop) awaitJobs(ctx context.Context) {
	var watchers sync.WaitGroup
	watch := func(name string, run func(context.Context)) {
		watchers.Go(func() { guard.Loop(ctx, l.Logger, name, run) })
	}

	watch("polling for jobs", l.poll)
	watch("following notifications of jobs", l.follow)
	watch("listening for jobs", func(ctx context.Context) { l.Store.ListenJobs(ctx, l.pool.wake, l.notify) })
	watchers.Wait()
}

// drain waits until no worker runs.
func (l *loop) drain(timeout time.Duration) error {
	ended := make(chan struct{})
	go func() {
		l.pool.workers.Wait()
		close(ended)
	}()

	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-ended:
		return nil
	case <-timer.C:
		return fmt.Errorf("stop workers: a job did not end within %s", timeout)
	}
}

// work runs jobs until none waits or the process stops.
func (l *loop) work(life context.Context, stopping <-chan struct{}) {
	for life.Err() == nil {
		select {
		case <-stopping:
			return
		default:
		}

		job, err := l.Store.ClaimJob(life, l.Lease, l.Kinds...)
		if err != nil {
			if !errors.Is(err, store.ErrNotFound) && life.Err() == nil {
				l.Logger.LogAttrs(life, slog.LevelError, "claim job failed", slog.Any("error", err))
			}
			return
		}

		l.claimed.Add(1)
		l.pool.wakeNext() // More may wait than there were wake-ups.
		guard.Log(l.Logger, "job", func() { l.Handle(life, job) })
	}
}
