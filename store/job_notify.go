package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/internal/guard"
)

// The table of jobs is the queue; a wake-up only means that a claim may succeed. After a transaction that queues a
// job, a free worker of this process is woken. If there is none, other processes are notified, on PostgreSQL. A
// lost wake-up costs time, never a job: workers poll as well (JobsWait).

const (
	// jobsChannel is the channel on which processes notify each other of jobs.
	jobsChannel = "relaypdf_jobs"
	// notifyPause is the minimum time between two notifications of a process. The second one covers all jobs of
	// that time.
	notifyPause = 5 * time.Millisecond
	// listenPause is the time between a broken connection and the next attempt to listen.
	listenPause = time.Second
)

// ListenJobs calls committed after each transaction of this process that lets a job
// wait, until ctx ends. Where committed reports that no worker was free, other processes
// are notified. It calls notified when another process has notified this one, and when
// notifications may have been lost. A store has one listener at a time.
func (s *Store) ListenJobs(ctx context.Context, committed func() (free bool), notified func()) {
	s.committed.Store(&committed)
	defer s.committed.CompareAndSwap(&committed, nil)

	if s.dialect != Postgres {
		<-ctx.Done()
		return
	}

	for logged := false; ctx.Err() == nil; {
		err := guard.Try(func() error {
			return s.listenOnce(ctx, func() {
				logged = false
				notified() // notifications sent while this process did not listen are lost
			}, notified)
		})
		if err != nil && ctx.Err() == nil && !logged {
			logged = true
			s.log.Warn("listen for jobs failed; they are found by polling", "error", err)
		}

		guard.Pause(ctx, listenPause)
	}
}

// listenOnce listens on its own connection until that breaks or ctx ends.
func (s *Store) listenOnce(ctx context.Context, listening, notified func()) error {
	conn, err := s.openListener(ctx)
	if err != nil {
		return err
	}
	defer closeListener(ctx, conn)

	listening()
	for {
		notification, err := awaitNotification(ctx, conn)
		if err != nil {
			return err
		}
		if notification != nil {
			notified()
		}
	}
}

// openListener opens a connection that listens for jobs.
func (s *Store) openListener(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()

	conn, err := pgx.ConnectConfig(ctx, s.session)
	if err != nil {
		return nil, err
	}

	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{jobsChannel}.Sanitize()); err != nil {
		closeListener(ctx, conn)
		return nil, err
	}

	return conn, nil
}

func closeListener(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenPause)
	defer cancel()
	_ = conn.Close(ctx) // It may be dead.
}

// awaitNotification returns the next notification, or nil if none came within listenQuiet
// and the connection is alive.
func awaitNotification(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	quiet, cancel := context.WithTimeout(ctx, listenQuiet)
	defer cancel()
	notification, err := conn.WaitForNotification(quiet)
	if err == nil || quiet.Err() == nil || ctx.Err() != nil {
		return notification, err
	}
	probe, cancelProbe := context.WithTimeout(ctx, probeTimeout)
	defer cancelProbe()
	return nil, conn.Ping(probe)
}

// jobCommitted wakes a worker for a job that waits since a transaction of this process.
func (s *Store) jobCommitted() {
	if committed := s.committed.Load(); committed != nil && (*committed)() {
		return
	}
	select {
	case s.unnotified <- struct{}{}:
	default: // The next notification covers this job as well.
	}
}

// notifyJobs notifies other processes of jobs for which no worker of this one was free, until ctx ends. It does so
// after the transactions, because a transaction that notifies takes a lock that all such commits share.
func (s *Store) notifyJobs(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.unnotified:
		}
		if err := s.notifyOnce(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("notify of jobs failed; other processes find them by polling", "error", err)
		}
		guard.Pause(ctx, notifyPause)
	}
}

func (s *Store) notifyOnce(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, err := s.write.DB.ExecContext(ctx, "SELECT pg_notify($1, '')", jobsChannel)
	return err
}

// JobsWait reports whether jobs of the kinds wait.
func (s *Store) JobsWait(ctx context.Context, kinds ...string) (bool, error) {
	waiting, err := s.read.NewSelect().Model((*jobRow)(nil)).Where("state = ?", jobQueued).
		Where("kind IN (?)", bun.List(claimable(kinds))).Exists(ctx)
	return waiting, wrapped("look for waiting jobs", err)
}
