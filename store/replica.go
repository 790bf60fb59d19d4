package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// A replica is a copy of the PostgreSQL database near by that follows it. Lists that
// may be late are read there; everything else, and what the replica does not answer
// in time, is read from the primary. How late it is needs no clock but this process's:
// the primary says again and again how far its log has grown, and the replica, how
// far it has come.

const (
	// MaxReplicaLag is how late what is read from the replica may be.
	MaxReplicaLag = 5 * time.Second
	// replicaEvery is how often the replica is looked at.
	replicaEvery = time.Second
	// replicaPatience bounds a read from it: the primary may take as long besides.
	replicaPatience = time.Second
	// replicaSamples bounds what is remembered of the primary's log.
	replicaSamples = 120
)

var (
	errUnseen  = errors.New("it was not looked at yet")
	errPrimary = errors.New("it is no replica: it takes writes")
)

type replica struct {
	db   *bun.DB
	most time.Duration // how late it may be

	mu sync.Mutex
	// samples are the ends of the primary's log, the oldest first: of those that the
	// replica has reached, the last.
	samples []logEnd
	trouble error // of the last look or read; nil while it is read
	reads   atomic.Int64
}

// logEnd is how far the primary's log had grown at a time.
type logEnd struct {
	at  time.Time
	end int64
}

// openReplica returns the replica at the address, which need not be there yet.
func openReplica(address string, conns int) (*replica, error) {
	way, err := parseRoute(address)
	if err != nil {
		return nil, err
	}
	way.ConnectTimeout = replicaPatience
	way.pooled = true // What is read there is short and locks nothing.
	return &replica{
		db: bun.NewDB(way.open(workBounds, poolSize(way.ConnConfig, conns)), pgdialect.New()), most: MaxReplicaLag,
		trouble: errUnseen,
	}, nil
}

// readLate reads from the replica where that may be late and there is one, or from
// the database: lists have the connections of reports, so that they take none of the
// paid path's. What read has read before it fails is read again.
func readLate(ctx context.Context, s *core, late bool, read func(context.Context, bun.IDB) error) error {
	if r := s.replica; late && r != nil && r.State().Trouble == nil {
		near, cancel := context.WithTimeout(ctx, replicaPatience)
		err := read(near, r.db)
		cancel()
		if err == nil {
			r.reads.Add(1)
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		r.note(ctx, s.log, err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.readTimeout)
	defer cancel()
	return read(ctx, s.reports)
}

// ReplicaState is how the replica does.
type ReplicaState struct {
	Reads   int64 // that it has answered
	Lag     time.Duration
	Trouble error // why it is not read
}

// Replica tells how the replica does, where there is one.
func (s UpkeepStore) Replica() (ReplicaState, bool) {
	if s.replica == nil {
		return ReplicaState{}, false
	}
	return s.replica.State(), true
}

// State tells how the replica does.
func (r *replica) State() ReplicaState {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := ReplicaState{Reads: r.reads.Load(), Trouble: r.trouble}
	if len(r.samples) > 0 {
		state.Lag = time.Since(r.samples[0].at)
	}
	if state.Trouble == nil && state.Lag > r.most {
		state.Trouble = r.late(state.Lag)
	}
	return state
}

func (r *replica) late(lag time.Duration) error {
	return fmt.Errorf("it is %v late, and %v are allowed", lag.Round(time.Second), r.most)
}

// note takes down what a look or a read has come to, and says when that changes.
func (r *replica) note(ctx context.Context, log *slog.Logger, trouble error) {
	r.mu.Lock()
	before := r.trouble
	r.trouble = trouble
	r.mu.Unlock()
	switch {
	case ctx.Err() != nil:
	case trouble != nil && (before == nil || before == errUnseen): //nolint:errorlint // nobody wraps it
		log.LogAttrs(ctx, slog.LevelWarn, "the replica is not read; the primary is", slog.Any("error", trouble))
	case trouble == nil && before != nil:
		log.LogAttrs(ctx, slog.LevelInfo, "lists are read from the replica")
	}
}

// watchReplica looks at the replica again and again until ctx ends.
func (s UpkeepStore) watchReplica(ctx context.Context) {
	for ctx.Err() == nil {
		s.replica.note(ctx, s.log, s.replica.look(ctx, s.write.DB))
		pause(ctx, replicaEvery)
	}
}

// CheckReplica looks at the replica once, and tells what is wrong with it.
func (s UpkeepStore) CheckReplica(ctx context.Context) error {
	return s.replica.look(ctx, s.write.DB)
}

// look compares the replica with the primary, and tells what is wrong with it.
func (r *replica) look(ctx context.Context, primary *sql.DB) error {
	sample := logEnd{at: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, r.most)
	defer cancel()
	const written = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"
	if err := primary.QueryRowContext(ctx, written).Scan(&sample.end); err != nil {
		return fmt.Errorf("ask the primary how far its log has grown: %w", err)
	}
	near, cancel := context.WithTimeout(ctx, replicaPatience)
	defer cancel()
	var follows bool
	var reached int64
	const replayed = "SELECT pg_is_in_recovery(), COALESCE(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0'), 0)::bigint"
	if err := r.db.QueryRowContext(near, replayed).Scan(&follows, &reached); err != nil {
		return err
	}
	if !follows {
		return errPrimary
	}
	r.mu.Lock()
	r.samples = append(r.samples, sample)
	for len(r.samples) > 1 && r.samples[1].end <= reached {
		r.samples = r.samples[1:]
	}
	fresh := r.samples[0].end <= reached
	if len(r.samples) > replicaSamples {
		r.samples = append(r.samples[:1], r.samples[2:]...)
	}
	r.mu.Unlock()
	if lag := r.State().Lag; !fresh || lag > r.most {
		return r.late(lag)
	}
	return nil
}
