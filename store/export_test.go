package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"
)

// The tests of this package live outside of it, because their databases come
// from a package that imports it. What they need of its inside is here.

// Renew renews the lease now.
func (l *Lease) Renew(ctx context.Context) error { return l.renew(ctx) }

// RenewEvery makes leases that are acquired from now on be renewed more often.
func (s *Store) RenewEvery(every time.Duration) { s.renewEvery = every }

// Watched does what the lease does when it has watched an earlier one.
func (l *Lease) Watched(ctx context.Context) error { return l.watched(ctx) }

// Abandon leaves the lease as a process does that is killed: its lock is free,
// its row and its calls stay.
func (l *Lease) Abandon() error {
	l.stop()
	<-l.done
	return l.file.Close()
}

// DB returns the connection that writes, for tests that spoil or inspect rows.
func (s *Store) DB() *bun.DB { return s.write }

// InTx runs do in one writing transaction, as every method does.
func (s *Store) InTx(ctx context.Context, do func(context.Context, bun.Tx) error) error {
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
func (s *Store) SpoilCommits(spoil func(error) error) { s.writer.spoil = spoil }

// IDTime is how ids of the time begin, after their kind.
func IDTime(at time.Time) string { return idTime(at) }

// SweepBlobs is DeleteOrphanBlobs that looks at so many blobs.
func (s *Store) SweepBlobs(ctx context.Context, most int) (int, error) {
	return s.sweepBlobs(ctx, most, 1000)
}
