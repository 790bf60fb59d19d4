package store

import (
	"context"
	"database/sql/driver"
	"io/fs"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// The tests of this package are in an external package, because their databases come from a package that imports this
// one. This file exports the internals that they need.

// Renew renews the lease now.
func (l *Lease) Renew(ctx context.Context) error { return l.renew(ctx) }

// RenewEvery makes leases that are acquired from now on be renewed more often.
func (s *Store) RenewEvery(every time.Duration) { s.renewEvery = every }

// Watched does the work of the lease after it has watched an earlier one.
func (l *Lease) Watched(ctx context.Context) error { return l.watched(ctx) }

// Abandon leaves the lease as a process does that is killed: its lock is free,
// its row and its calls stay.
func (l *Lease) Abandon() error {
	l.stop()
	<-l.done
	return l.file.Close()
}

// EndLease ends the lease of a process, as its successor does.
func (s *Store) EndLease(ctx context.Context, id string) error { return s.endLease(ctx, id) }

// Connect opens a connection of a pool whose connections come from the given connector.
func Connect(ctx context.Context, from driver.Connector) error {
	_, err := connector{Connector: from, outage: &outage{}}.Connect(ctx)
	return err
}

// Tx is the argument of a transaction's body.
type Tx = txn

// DB returns connections that write, for tests that spoil or inspect rows.
func (s *Store) DB() *bun.DB { return s.write }

// Migrate runs migrations that the database does not have.
func (s *Store) Migrate(ctx context.Context, files fs.FS) error {
	m, err := newMigrator(ctx, s.write, s.dialect, files)
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx)
	return err
}

// PagesDB returns the connections of pages.
func (s *Store) PagesDB() *bun.DB { return s.pages }

// InTx runs do in one writing transaction, as every method does.
func (s *Store) InTx(ctx context.Context, do func(context.Context, Tx) error) error {
	return s.inTx(ctx, do)
}

// Waiting returns how many transactions wait for SQLite's writer.
func (s *Store) Waiting() int {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return len(s.writer.queue)
}

// Prepares reports whether the store's statements are prepared.
func Prepares(s *Store) bool { return len(s.writing) > 0 }

// SpoilCommits replaces the answers to SQLite's commits.
func (s *Store) SpoilCommits(spoil func(error) error) { s.writer.commitHook = spoil }

// Synchronous returns how SQLite's writer has brought its last commit to the disk.
func (s *Store) Synchronous(ctx context.Context) (mode int, err error) {
	s.writer.turn <- struct{}{}
	defer func() { <-s.writer.turn }()
	err = s.writer.writeConn.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&mode)
	return mode, err
}

// OnLine runs statements on the connection of SQLite's writer, behind its back.
func (s *Store) OnLine(ctx context.Context, statements ...string) error {
	s.writer.turn <- struct{}{}
	defer func() { <-s.writer.turn }()
	for _, statement := range statements {
		if _, err := s.writer.writeConn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// IDTime returns the beginning of IDs of the time, without the kind.
func IDTime(at time.Time) string { return idTime(at) }

// SweepBlobs is DeleteOrphanBlobs that looks at so many blobs.
func (s *Store) SweepBlobs(ctx context.Context, maximum int) (int, error) {
	return s.sweepBlobs(ctx, maximum, 1000)
}

// ExcessRequests and OldRequests delete logged requests.
const ExcessRequests, OldRequests = excessRequests, oldRequests

// RegionOf returns the region that an id was made in, and false for a text of
// another form.
func RegionOf(id string) (string, bool) {
	_, body, _ := strings.Cut(id, "_")
	if len(body) != idChars || strings.Trim(body[:timeChars], crockford) != "" {
		return "", false
	}
	region := body[timeChars : timeChars+regionChars]
	return region, CheckRegion(region) == nil
}

// ProbeOnce has a doubtful database probed once, by a function.
func (s *Store) ProbeOnce(probe func() error) {
	done := make(chan struct{})
	s.outage.probe = func(context.Context) error {
		defer close(done)
		return probe()
	}
	s.outage.suspect()
	<-done
}
