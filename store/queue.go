package store

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"

	"relaypdf/internal/guard"
)

// The table of jobs is the source of truth; the queue wakes workers to look. A process that accepted a job wakes one
// of its own workers. If none is free, it notifies another process on PostgreSQL: one of those that have reported
// that they found no job (idle_processes), the latest first, because its browsers are warm. On SQLite, and if a
// notification was lost or a connection pooler lets none through, polling finds the jobs. A missed wake-up therefore
// costs time, never a job: each worker that finds one wakes the next of its process.

const (
	// jobsChannel is the channel on which processes of the previous release announce jobs.
	jobsChannel = "relaypdf_jobs"
	// notifyPause is the minimum time between two statements of a process that announce jobs: the next one announces
	// all jobs that came meanwhile.
	notifyPause = 5 * time.Millisecond
	// listenPause is how long a process waits before it listens again after its
	// connection broke.
	listenPause = time.Second
	// idleAgain is how long a process counts as idle after it has reported so; then it reports again. Rows of killed
	// processes are deleted after idleLeft.
	idleAgain = time.Hour
	idleLeft  = 24 * time.Hour
)

// idleness is what a process that works says to others of its workers, and what it
// asks of theirs. PostgreSQL only.
type idleness struct {
	// name is the channel on which this process receives job announcements; nil while it does not listen.
	name atomic.Pointer[string]
	// said is set from the report that a worker is idle until the next announcement of a job.
	said atomic.Bool
	// untold counts jobs that need a process; tell has an entry while untold is not 0.
	untold atomic.Int64
	tell   chan struct{}
}

// ask announces that many jobs to other processes.
func (i *idleness) ask(jobs int64) {
	i.untold.Add(jobs)
	select {
	case i.tell <- struct{}{}:
	default: // an announcement is already due
	}
}

// lookEvery is how often a process looks for jobs itself.
func (s *Store) lookEvery() time.Duration {
	if s.dialect == SQLite {
		return 250 * time.Millisecond
	}
	return time.Second
}

// wake wakes a worker of this process, or else one of another. It is called when the
// transaction that made a job wait is committed.
func (s *Store) wake() {
	if !s.wakeHere() && s.dialect == Postgres {
		s.idle.ask(1)
	}
}

// wakeHere wakes a worker of this process, and reports whether one was free.
func (s *Store) wakeHere() bool {
	g := s.local.Load()
	return g != nil && g.wake()
}

// tellOne takes as many idle processes as requested, the latest first, and announces a job to each.
const tellOne = `WITH told AS (
	DELETE FROM idle_processes WHERE name = ANY(ARRAY(SELECT name FROM idle_processes ORDER BY since DESC LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING name
) SELECT pg_notify(name, '') FROM told`

// tellOthers announces waiting jobs to other processes until ctx ends.
func (s *Store) tellOthers(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.idle.tell:
		}
		if err := s.tellIdle(ctx, s.idle.untold.Swap(0)); err != nil && ctx.Err() == nil {
			s.log.Warn("notify of job failed; other processes find it by looking", "error", err)
		}
		pause(ctx, notifyPause)
	}
}

// tellIdle notifies as many idle processes as there are jobs.
func (s *Store) tellIdle(ctx context.Context, jobs int64) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, err := s.write.DB.ExecContext(ctx, tellOne, jobs)
	return err
}

// sayIdle registers this process for the next job that no other process takes, if it listens. The caller looks for
// jobs once more afterwards: an earlier job was announced to no one.
func (s *Store) sayIdle(ctx context.Context) error {
	name := s.idle.name.Load()
	if name == nil || !s.idle.said.CompareAndSwap(false, true) {
		return nil
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, err := s.write.DB.ExecContext(ctx, "INSERT INTO idle_processes (name, since) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET since = EXCLUDED.since",
		*name, toMicros(s.now()))
	if err != nil {
		s.idle.said.Store(false)
	}
	return err
}

// sayGone withdraws the report that a worker of this process is idle. If a job was announced to it that it does not
// take any more, the job goes to another process.
func (s *Store) sayGone(ctx context.Context) {
	name := s.idle.name.Swap(nil)
	if name == nil || !s.idle.said.Swap(false) {
		return
	}
	ctx, cancel := bounded(context.WithoutCancel(ctx))
	defer cancel()
	result, err := s.write.DB.ExecContext(ctx, "DELETE FROM idle_processes WHERE name = $1", *name)
	if err != nil {
		s.log.Warn("notify of idle workers failed; a job may be told to a process that has stopped, and is found by looking", "error", err)
		return
	}
	if n, err := result.RowsAffected(); err == nil && n == 0 {
		s.idle.ask(1)
	}
}

// forgetIdle removes processes that have not said for long that they are idle: they
// were killed.
func (s *Store) forgetIdle(ctx context.Context) error {
	if s.dialect != Postgres {
		return nil
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, err := s.write.DB.ExecContext(ctx, "DELETE FROM idle_processes WHERE since < $1", toMicros(s.now().Add(-idleLeft)))
	return wrapped("forget idle processes", err)
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
func (s *Store) RunQueue(ctx context.Context, cfg QueueConfig) error {
	life, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	g := &gate{limit: cfg.Workers, work: func() {
		if err := guard.Do(func() { cfg.Work(life, ctx.Done()) }); err != nil {
			s.log.Error("worker panicked", "error", err)
		}
	}}
	s.local.Store(g)
	var watchers sync.WaitGroup
	watchers.Go(func() { s.lookForJobs(ctx, cfg.Kinds, g) })
	if s.dialect == Postgres {
		watchers.Go(func() { s.listen(ctx, g) })
	}
	<-ctx.Done()
	g.close()
	watchers.Wait()
	s.local.Store(nil)
	overdue := time.AfterFunc(cfg.Grace, cut)
	defer overdue.Stop()
	g.workers.Wait()
	return nil
}

// lookForJobs wakes a worker whenever jobs wait, until ctx ends.
func (s *Store) lookForJobs(ctx context.Context, known []string, g *gate) {
	again := s.now().Add(idleAgain)
	for ctx.Err() == nil {
		var waiting bool
		err := guard.Try(func() (err error) {
			waiting, err = s.jobsWait(ctx, known)
			return err
		})
		stale := s.now().After(again)
		if stale {
			again = s.now().Add(idleAgain)
			s.idle.said.Store(false) // a worker that finds no job reports idle again
		}
		// The worker that takes the next job reports a database error.
		if waiting || err != nil || stale {
			g.wake()
		}
		pause(ctx, s.lookEvery())
	}
}

// jobsWait reports whether jobs of known kinds wait.
func (s *Store) jobsWait(ctx context.Context, known []string) (bool, error) {
	kinds := bun.List(append([]string{""}, known...))
	return s.read.NewSelect().Model((*jobRow)(nil)).Where("state = ?", jobQueued).Where("kind IN (?)", kinds).Exists(ctx)
}

// listen wakes a worker when a job is announced to this process, on its own connection, until ctx ends.
func (s *Store) listen(ctx context.Context, g *gate) {
	defer s.sayGone(ctx)
	name := s.NewID("worker")
	for told := false; ctx.Err() == nil; {
		err := guard.Try(func() error { return s.listenOnce(ctx, name, g, func() { told = false }) })
		if err != nil && ctx.Err() == nil && !told {
			told = true
			s.log.Warn("listen for jobs failed; they are found by looking", "error", err)
		}
		pause(ctx, listenPause)
	}
}

func (s *Store) listenOnce(ctx context.Context, name string, g *gate, listening func()) error {
	conn, err := s.openListener(ctx, name)
	if err != nil {
		return err
	}
	defer closeListener(ctx, conn)
	listening()
	s.idle.name.Store(&name)
	// Reports on a broken connection may be lost. A worker that finds no job reports idle again.
	s.idle.said.Store(false)
	g.wake()
	for {
		n, err := hear(ctx, conn)
		if err != nil {
			return err
		}
		if n == nil {
			continue
		}
		if n.Channel == name {
			s.idle.said.Store(false)
		}
		if !g.wake() && n.Channel == name {
			s.idle.ask(1) // All have become busy meanwhile.
		}
	}
}

// openListener opens a connection that listens for this process.
func (s *Store) openListener(ctx context.Context, name string) (*pgx.Conn, error) {
	begin, cancel := bounded(ctx)
	defer cancel()
	conn, err := pgx.ConnectConfig(begin, s.session)
	if err != nil {
		return nil, err
	}
	for _, channel := range []string{name, jobsChannel} {
		if _, err := conn.Exec(begin, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
			closeListener(ctx, conn)
			return nil, err
		}
	}
	return conn, nil
}

func closeListener(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenPause)
	defer cancel()
	_ = conn.Close(ctx) // It may be dead.
}

// hear returns the next notification, or nil where none came for listenQuiet and the
// connection is alive.
func hear(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	quiet, cancel := context.WithTimeout(ctx, listenQuiet)
	defer cancel()
	n, err := conn.WaitForNotification(quiet)
	if err == nil || quiet.Err() == nil || ctx.Err() != nil {
		return n, err
	}
	asked, cancelAsked := context.WithTimeout(ctx, probeTimeout)
	defer cancelAsked()
	return nil, conn.Ping(asked)
}
