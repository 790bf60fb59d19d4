package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/internal/guard"
)

const (
	// LeaseTerm is the lifetime of a lease without renewal: the holds of a process that is lost with its machine
	// are released after this time.
	LeaseTerm = 10 * time.Minute
	// leaseEvery is the interval at which a lease is renewed.
	leaseEvery = time.Minute
	// leaseWatch is the time for which a lease must not be renewed before its process counts as dead.
	leaseWatch = 2*leaseEvery + 30*time.Second
	// leaseSlots bounds the processes that share one folder of lock files.
	leaseSlots = 1024
	// reapBatch bounds the calls that one query of the reaper lists, and the
	// expired rows that one statement deletes.
	reapBatch = 100
)

// Abandoned is the failure of calls whose process ended before they did.
var Abandoned = Failure{
	Code:    "internal_error",
	Message: "The server stopped before the call finished. The call was not charged. Send it again.",
}

// Lease is the heartbeat of a process. Calls carry its ID, and are released when it is gone.
type Lease struct {
	store *Store
	id    string
	file  *os.File // holds the lock that proves that the process lives
	stop  context.CancelFunc
	done  chan struct{}
	close sync.Once
	err   error
	// previous is the lease that the lock file named, where its process may live.
	previous string
	seen     int64 // when that lease would have expired
}

type leaseRow struct {
	bun.BaseModel `bun:"table:leases,alias:le"`

	ID        string `bun:",pk"`
	CreatedAt int64
	ExpiresAt int64
}

// Acquire takes a lease for this process, in the first free lock file of dir, and renews it until it is closed,
// however long the end of the process takes. If the file contains the lease of an earlier process, that process is
// dead, because the lock was free: its holds are released at once. If the folder is a copy, or came from another
// machine, the earlier process may still run elsewhere: its lease ends when it has not been renewed for a time.
func (s *Store) Acquire(ctx context.Context, dir string) (*Lease, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("acquire lease: %w; choose a folder that this user may write to", err)
	}

	file, err := lockSlot(dir)
	if err != nil {
		return nil, fmt.Errorf("acquire lease: %w", err)
	}

	l := &Lease{store: s, id: s.NewID("lease"), file: file, done: make(chan struct{})}
	if err := l.takeOver(ctx); err != nil {
		return nil, fmt.Errorf("acquire lease: %w", errors.Join(err, file.Close()))
	}

	ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	every := s.renewEvery
	go func() {
		defer close(l.done)
		guard.Loop(ctx, s.log, "lease", func(ctx context.Context) { l.renewLoop(ctx, every) })
	}()

	return l, nil
}

// lockSlot opens and locks the first free lock file of dir.
func lockSlot(dir string) (*os.File, error) {
	for n := range leaseSlots {
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("lease-%d.lock", n)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}

		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}

	return nil, fmt.Errorf("all %d lock files in %s are held by running processes", leaseSlots, dir)
}

// takeOver ends the lease named in the lock file and writes the new one there.
// The new id is on disk before any call can carry it.
func (l *Lease) takeOver(ctx context.Context) error {
	previous, err := io.ReadAll(io.LimitReader(l.file, 200))
	if err != nil {
		return err
	}
	place, err := placeOf(l.file)
	if err != nil {
		return err
	}

	if id, where, _ := strings.Cut(strings.TrimSpace(string(previous)), " "); id != "" {
		err := untilUnlocked(ctx, l.store.log, func() error { return l.succeed(ctx, id, where == place) })
		if err != nil {
			return err
		}
	}

	if err := untilUnlocked(ctx, l.store.log, func() error { return l.renew(ctx) }); err != nil {
		return err
	}

	if err := l.file.Truncate(0); err != nil {
		return err
	}
	if _, err := l.file.WriteAt([]byte(l.id+" "+place+"\n"), 0); err != nil {
		return err
	}
	return l.file.Sync()
}

// placeOf distinguishes the lock file from a copy of it, and this machine since its start from others.
func placeOf(file *os.File) (string, error) {
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(file.Fd()), &stat); err != nil {
		return "", err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		boot = []byte("unknown") // then the file alone identifies it
	}
	return fmt.Sprintf("%d:%d:%s", stat.Dev, stat.Ino, strings.TrimSpace(string(boot))), nil
}

// succeed ends the lease of an earlier process: at once if that process is certainly dead, and otherwise after a
// while.
func (l *Lease) succeed(ctx context.Context, id string, here bool) error {
	expires, err := l.store.leaseExpiry(ctx, id)
	if err != nil {
		return err
	}

	renewed := fromMicros(expires).Add(-LeaseTerm)
	if here || expires == 0 || l.store.now().Sub(renewed) > leaseWatch {
		return l.store.endLease(ctx, id)
	}

	l.previous = id
	l.seen = expires
	return nil
}

// watched ends the earlier process's lease if it has not been renewed meanwhile.
func (l *Lease) watched(ctx context.Context) error {
	expires, err := l.store.leaseExpiry(ctx, l.previous)
	if err == nil && expires != l.seen {
		l.store.log.Warn("the data folder is a copy of one that is in use; whose lease it named goes on",
			"lease", l.previous)
		return nil
	}
	return errors.Join(err, l.store.endLease(ctx, l.previous))
}

// leaseExpiry returns when a lease expires; 0 if there is none.
func (s *Store) leaseExpiry(ctx context.Context, id string) (expires int64, err error) {
	err = s.write.NewSelect().Model((*leaseRow)(nil)).Column("expires_at").Where("id = ?", id).Scan(ctx, &expires)
	if errors.Is(notFound(err), ErrNotFound) {
		return 0, nil
	}
	return expires, err
}

// ID returns the id that the process's calls carry.
func (l *Lease) ID() string { return l.id }

// Close ends the lease: renewal stops, calls that still carry it are released,
// and the lock file is free.
func (l *Lease) Close() error {
	l.close.Do(func() {
		l.stop()
		<-l.done
		ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
		defer cancel()
		l.err = errors.Join(l.store.endLease(ctx, l.id), l.file.Close())
	})
	return l.err
}

// renewLoop renews the lease, each time after every, until ctx ends.
func (l *Lease) renewLoop(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	watch := time.NewTimer(leaseWatch)
	defer watch.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-watch.C:
			if l.previous == "" {
				continue
			}

			if err := l.watched(ctx); err != nil && ctx.Err() == nil {
				l.store.log.Error("end lease of earlier process failed; it ends by itself",
					"lease", l.previous, "error", err)
			}

		case <-tick.C:
			if err := l.renew(ctx); err != nil && ctx.Err() == nil {
				l.store.log.Error("renew lease failed; without renewal its calls are released when it expires",
					"lease", l.id, "term", LeaseTerm, "error", err)
			}
		}
	}
}

// renew extends the lease. One that expired during a long pause comes back:
// its calls of before may have been released, its new ones are safe.
func (l *Lease) renew(ctx context.Context) error {
	now := l.store.now()
	row := leaseRow{ID: l.id, CreatedAt: toMicros(now), ExpiresAt: toMicros(now.Add(LeaseTerm))}
	return l.store.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewInsert().Model(&row).On("CONFLICT (id) DO UPDATE").Set("expires_at = EXCLUDED.expires_at").
			Exec(ctx)
		return err
	})
}

// endLease removes a lease and releases the calls that carry it.
func (s *Store) endLease(ctx context.Context, id string) error {
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewDelete().Model((*leaseRow)(nil)).Where("id = ?", id).Exec(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("end lease: %w", err)
	}

	if _, err := s.releaseAll(ctx, holder{Kind: holderProcess, Lease: id, Silent: true}); err != nil {
		return fmt.Errorf("end lease: %w", err)
	}
	return nil
}

// Reap releases the running calls whose lease is missing or has expired, except those that OrphanedCalls and
// OrphanedJobs return, and deletes expired leases and idempotency keys. It returns how many calls it released. Any
// number of processes may reap at once.
func (s *Store) Reap(ctx context.Context) (int, error) {
	now := toMicros(s.now())
	released, err := s.releaseAll(ctx, holder{Kind: holderDeadProcess, Silent: true})
	if err != nil {
		return released, fmt.Errorf("reap: %w", err)
	}

	for _, sweep := range []string{
		"DELETE FROM leases WHERE id IN (SELECT id FROM leases WHERE expires_at <= ?0 LIMIT ?1)",
		`DELETE FROM idempotency WHERE expires_at <= ?0 AND (account_id, idem_key) IN
			(SELECT account_id, idem_key FROM idempotency WHERE expires_at <= ?0 LIMIT ?1)`,
	} {
		if err := s.deleteInBatches(ctx, sweep, now); err != nil {
			return released, fmt.Errorf("reap: %w", err)
		}
	}

	return released, nil
}

// releaseAll releases the running calls of a holder, each in its own transaction, which checks again that the
// holder has it. So no transaction is long and none locks the rows of two accounts. It returns the number of calls.
func (s *Store) releaseAll(ctx context.Context, h holder) (int, error) {
	released := 0
	after := ""

	for {
		var rows []callRow
		condition, args := h.condition(toMicros(s.now()))
		err := s.write.NewSelect().Model(&rows).Column("id", "account_id").
			Where("status = ? AND id > ?", CallRunning, after).
			Where(condition, args...).Order("id").Limit(reapBatch).Scan(ctx)
		if err != nil || len(rows) == 0 {
			return released, err
		}

		for _, row := range rows {
			ok, err := s.releaseCall(ctx, ending{
				callID:    row.ID,
				accountID: row.AccountID,
				failure:   Abandoned,
				holder:    h,
			})
			if err != nil {
				return released, err
			}
			if ok {
				released++
				s.dropResult(ctx, row.ID, 0)
			}

			after = row.ID
		}
	}
}

// deleteInBatches repeats a DELETE with the arguments now and reapBatch until
// nothing is left for it.
func (s *Store) deleteInBatches(ctx context.Context, query string, now int64) error {
	for {
		var n int64
		err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
			res, err := tx.NewRaw(query, now, reapBatch).Exec(ctx)
			if err != nil {
				return err
			}

			n, err = res.RowsAffected()
			return err
		})
		if err != nil || n < reapBatch {
			return err
		}
	}
}
