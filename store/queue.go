package store

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
)

// The table of jobs says what to do; the queue wakes workers to look. Workers of
// the process that accepted a job hear of it at once. On PostgreSQL the others
// are notified; on SQLite, and where a notification was lost or a pooler of
// connections lets none through, they find it by looking. A wake-up therefore
// costs time when it is missed, never a job, and stands for all jobs that wait:
// each worker that finds one wakes the next of its process.

const (
	// jobsChannel is what processes listen to on PostgreSQL.
	jobsChannel = "relaypdf_jobs"
	// notifyPause is the least time between two notifications of a process: one
	// tells of all jobs that wait.
	notifyPause = 5 * time.Millisecond
	// listenPause is how long a process waits before it listens again after its
	// connection broke.
	listenPause = time.Second
)

// lookEvery is how often a process looks for jobs itself.
func (s QueueStore) lookEvery() time.Duration {
	if s.dialect == SQLite {
		return 250 * time.Millisecond
	}
	return time.Second
}

// wake wakes a worker of this process, if it works, and those of the others. It
// is called when the transaction that made a job wait is committed.
func (s *core) wake() {
	s.wakeHere()
	if s.dialect == Postgres {
		select {
		case s.waiting <- struct{}{}:
		default: // The others are about to be told.
		}
	}
}

// wakeHere wakes a worker of this process, if it works.
func (s *core) wakeHere() {
	if wake := s.local.Load(); wake != nil {
		(*wake)()
	}
}

// notifyOthers tells other processes of jobs that wait, until ctx ends.
func (s QueueStore) notifyOthers(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.waiting:
		}
		if _, err := s.write.DB.ExecContext(ctx, "SELECT pg_notify($1, '')", jobsChannel); err != nil && ctx.Err() == nil {
			s.log.Warn("notify of job failed; other processes find it by looking", "error", err)
		}
		pause(ctx, notifyPause)
	}
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// QueueConfig says how a process works.
type QueueConfig struct {
	// Kinds are the kinds of jobs that this process knows.
	Kinds []string
	// Workers is how many jobs run at once.
	Workers int
	// Work takes on jobs until none waits, or until stopping is done; then it
	// finishes the one it has. Its context ends when that takes too long.
	Work func(ctx context.Context, stopping <-chan struct{})
	// Grace is how long jobs may still run when the queue is stopped.
	Grace time.Duration
}

// RunQueue works on jobs until ctx ends; then it lets those under way finish
// within the grace, and cuts off the rest. A store runs one queue at a time.
func (s QueueStore) RunQueue(ctx context.Context, cfg QueueConfig) error {
	g := &gate{limit: cfg.Workers}
	life, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var workers, watchers sync.WaitGroup
	wake := func() {
		workers.Go(func() {
			g.run(func() { cfg.Work(life, ctx.Done()) })
		})
	}
	s.local.Store(&wake)
	watchers.Go(func() { s.lookForJobs(ctx, cfg.Kinds, wake) })
	if s.dialect == Postgres {
		watchers.Go(func() { s.listen(ctx, wake) })
	}
	<-ctx.Done()
	watchers.Wait()
	s.local.Store(nil)
	overdue := time.AfterFunc(cfg.Grace, cut)
	defer overdue.Stop()
	workers.Wait()
	return nil
}

// lookForJobs wakes a worker whenever jobs wait, until ctx ends.
func (s QueueStore) lookForJobs(ctx context.Context, known []string, wake func()) {
	for ctx.Err() == nil {
		// A database that does not answer is told of by whoever takes a job on.
		if waiting, err := s.jobsWait(ctx, known); waiting || err != nil {
			wake()
		}
		pause(ctx, s.lookEvery())
	}
}

// jobsWait reports whether jobs of known kinds wait for a worker.
func (s QueueStore) jobsWait(ctx context.Context, known []string) (bool, error) {
	return s.read.NewSelect().Model((*jobRow)(nil)).Where("state = ?", jobQueued).Where("kind IN (?)", bun.List(append([]string{""}, known...))).Exists(ctx)
}

// listen wakes a worker at each notification, on a connection of its own, until
// ctx ends.
func (s QueueStore) listen(ctx context.Context, wake func()) {
	for told := false; ctx.Err() == nil; {
		err := s.listenOnce(ctx, wake, func() { told = false })
		if err != nil && ctx.Err() == nil && !told {
			told = true
			s.log.Warn("listen for jobs failed; they are found by looking", "error", err)
		}
		pause(ctx, listenPause)
	}
}

func (s QueueStore) listenOnce(ctx context.Context, wake, listening func()) error {
	conn, err := pgx.ConnectConfig(ctx, s.session)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenPause)
		defer cancel()
		_ = conn.Close(closing)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+jobsChannel); err != nil {
		return err
	}
	listening()
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return err
		}
		wake()
	}
}
