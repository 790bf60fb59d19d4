package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Lag holds the ages of the oldest waiting job, delivery and task.
type Lag struct {
	// OldestJob is the waiting time of the oldest waiting job.
	OldestJob time.Duration
	// Outbox is the delay of the most overdue delivery attempt.
	Outbox time.Duration
	// Tasks is the delay of the most overdue periodic task that no process runs.
	Tasks time.Duration
}

// Lag reads the ages of the oldest waiting work, for all processes together.
func (s *Store) Lag(ctx context.Context) (lag Lag, err error) {
	now := toMicros(s.now())
	for _, part := range []struct {
		into  *time.Duration
		query string
	}{
		{&lag.OldestJob, "SELECT MIN(created_at) FROM jobs WHERE state = 'queued'"},
		{&lag.Outbox, `SELECT MIN(at) FROM (SELECT MIN(next_attempt_at) AS at FROM deliveries
			WHERE status = 'pending' AND ready
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

// Pools returns the connection pools by purpose.
func (s *Store) Pools() map[string]*sql.DB {
	pools := map[string]*sql.DB{"write": s.write.DB, "reports": s.reports.DB, "pages": s.pages.DB}
	if s.read != s.write {
		pools["read"] = s.read.DB
	}
	return pools
}

// LedgerProblems returns the number of contradictions that this process found in its latest check of a closed
// month.
func (s *Store) LedgerProblems() int64 { return s.drift.Load() }
