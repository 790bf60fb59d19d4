package store

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"time"
)

// Lag is how far what waits is behind.
type Lag struct {
	// OldestJob is how long the job has waited that has waited the longest.
	OldestJob time.Duration
	// Outbox is how long the most overdue attempt of a delivery has been due.
	Outbox time.Duration
	// Tasks is how long the most overdue periodic task has been due that nobody
	// is at.
	Tasks time.Duration
}

// Lag reads how far what waits is behind, for all processes together.
func (s UpkeepStore) Lag(ctx context.Context) (lag Lag, err error) {
	now := toMicros(s.now())
	for _, part := range []struct {
		into  *time.Duration
		query string
	}{
		{&lag.OldestJob, oldestJob(s.dialect)},
		{&lag.Outbox, `SELECT MIN(at) FROM (SELECT MIN(next_attempt_at) AS at FROM deliveries WHERE status = 'pending' AND ready
			UNION ALL SELECT MIN(next_attempt_at) FROM deliveries WHERE status = 'pending' AND NOT ready) AS due`},
		{&lag.Tasks, "SELECT MIN(due_at) FROM tasks WHERE leased_until <= ?0"},
	} {
		var since sql.NullInt64
		if err := s.reports.NewRaw(part.query, now).Scan(ctx, &since); err != nil {
			return lag, fmt.Errorf("read how far what waits is behind: %w", err)
		}
		if since.Valid {
			*part.into = time.Duration(max(0, now-since.Int64)) * time.Microsecond
		}
	}
	return lag, nil
}

// oldestJob is the query for when the oldest job was queued that waits.
func oldestJob(dialect string) string {
	const free = "SELECT MIN(created_at) FROM jobs WHERE state = 'queued'"
	if dialect == SQLite {
		return free
	}
	return "SELECT MIN(at) FROM ((" + free + ") UNION ALL SELECT MIN(at) FROM (" + oldestBound + ") AS bound) AS waiting (at)"
}

// oldestBound selects when the oldest job was queued that waits for each region, by
// an index for each.
const oldestBound = `SELECT (SELECT MIN(created_at) FROM jobs WHERE state = 'bound' AND region = waited.region) AS at, region
	FROM (SELECT DISTINCT region FROM bound_turns WHERE queued > 0) AS waited`

// boundPatience is how long a job may wait for its region before it is told of.
const boundPatience = 5 * time.Minute

// tellBound says in the log which regions have jobs waiting that nobody else can run:
// they may have no worker.
func (s UpkeepStore) tellBound(ctx context.Context) error {
	var waited []struct {
		At     int64
		Region string
	}
	now := s.now()
	err := s.reports.NewRaw("SELECT * FROM ("+oldestBound+") AS oldest WHERE at < ? ORDER BY region", toMicros(now.Add(-boundPatience))).Scan(ctx, &waited)
	for _, w := range waited {
		s.log.LogAttrs(ctx, slog.LevelWarn, "jobs wait for a region that alone can run them: has it a worker?",
			slog.String("region", w.Region), slog.Duration("oldest", now.Sub(fromMicros(w.At)).Round(time.Second)))
	}
	return err
}

// Pools returns the pools of connections by what they are for.
func (s UpkeepStore) Pools() map[string]*sql.DB {
	pools := map[string]*sql.DB{"write": s.write.DB, "reports": s.reports.DB, "pages": s.pages.DB}
	if s.read != s.write {
		pools["read"] = s.read.DB
	}
	return pools
}

// LedgerProblems is how many contradictions the last check of a closed month has
// found that this process did.
func (s UpkeepStore) LedgerProblems() int64 { return s.drift.Load() }
