package store

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/relaypdf/relaypdf/internal/guard"
)

// On PostgreSQL, the database's clock applies to all processes. Reaping, expiry and the day on which a call counts
// must not depend on a machine with a wrong clock. A process measures the difference of its own clock, and corrects
// it. On SQLite there is one machine, and one clock.

const (
	// MaxClockError is the clock error of a process from which it does no periodic work and is not ready.
	MaxClockError = 5 * time.Second
	// clockEvery is the interval at which the clocks are compared.
	clockEvery = 5 * time.Second
	// clockTimeout bounds a comparison.
	clockTimeout = 5 * time.Second
)

// ClockError means that the clock of this machine is wrong.
type ClockError struct {
	// Off is the time by which it is ahead of the database's clock; negative if it is behind.
	Off time.Duration
}

func (e *ClockError) Error() string {
	direction := "ahead of"
	if e.Off < 0 {
		direction = "behind"
	}
	return fmt.Sprintf("the clock of this machine is %v %s the database's, and %v are allowed; set it, and keep it right by NTP",
		e.Off.Abs().Round(time.Millisecond), direction, MaxClockError)
}

// clock derives the database's time from the machine's.
type clock struct {
	machine func() time.Time

	mu   sync.RWMutex
	last reading
}

// reading is one moment by both clocks.
type reading struct {
	here, there time.Time
	within      time.Duration // the error of there is at most this
}

// now is the database's time. It advances with the machine's monotonic clock, which is never set.
func (c *clock) now() time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	here := c.machine()
	if c.last.here.IsZero() {
		return here
	}
	return c.last.there.Add(here.Sub(c.last.here))
}

// off returns how far the machine's clock is ahead. Round removes the monotonic part: only the displayed time
// matters.
func (r reading) off() time.Duration { return r.here.Round(0).Sub(r.there) }

// fault returns a *ClockError if the machine's clock is certainly off by more than is allowed.
func (r reading) fault() error {
	off := r.off()
	if off.Abs()-r.within > MaxClockError {
		return &ClockError{Off: off}
	}
	return nil
}

// compare reads the database's clock, once more if the connection was lost.
func (c *clock) compare(ctx context.Context, db *sql.DB) (r reading, err error) {
	for range 2 {
		if r, err = c.read(ctx, db); err == nil || !lost(err) {
			break
		}
	}
	return r, err
}

// read reads the database's clock.
func (c *clock) read(ctx context.Context, db *sql.DB) (reading, error) {
	ctx, cancel := context.WithTimeout(ctx, clockTimeout)
	defer cancel()

	conn, err := db.Conn(ctx) // the wait for one is not the clock's
	if err != nil {
		return reading{}, err
	}
	defer conn.Close()

	before := c.machine()
	var us int64
	err = conn.QueryRowContext(ctx, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").Scan(&us)
	if err != nil {
		return reading{}, err
	}
	took := c.machine().Sub(before)
	r := reading{here: before.Add(took / 2), there: fromMicros(us), within: took / 2}

	c.mu.Lock()
	defer c.mu.Unlock()
	// A slow reading is less precise than the last one, unless a clock was set.
	if c.last.here.IsZero() || r.within <= MaxClockError/10 || r.fault() != nil {
		c.last = r
	}
	return r, nil
}

// Now returns the time that the store uses: the database's on PostgreSQL.
func (s *Store) Now() time.Time { return s.now() }

// CheckClock compares the clock of this machine with the database's. It returns
// a *ClockError when it is off by more than MaxClockError. On SQLite there is
// nothing to compare it with.
func (s *Store) CheckClock(ctx context.Context) error {
	if s.clock == nil {
		return nil
	}
	r, err := s.clock.compare(ctx, s.write.DB)
	if err != nil {
		return fmt.Errorf("compare the clock with the database's: %w", err)
	}
	return r.fault()
}

// clockIsWrong reports whether the latest comparison found the clock of this machine wrong. Such a process takes on no
// work: it would take certificates and leases of others for expired.
func (s *Store) clockIsWrong() bool {
	if s.clock == nil {
		return false
	}
	s.clock.mu.RLock()
	defer s.clock.mu.RUnlock()
	return s.clock.last.fault() != nil
}

// ClockOff returns the time by which the clock of this machine was ahead of the database's at the latest
// comparison; negative if it was behind, and 0 on SQLite.
func (s *Store) ClockOff() time.Duration {
	if s.clock == nil {
		return 0
	}
	s.clock.mu.RLock()
	defer s.clock.mu.RUnlock()
	return s.clock.last.off()
}

// watchClock compares the clocks again and again until ctx ends, and logs when the machine's clock becomes wrong and
// when it is right again.
func (s *Store) watchClock(ctx context.Context) {
	wrong := false

	for ctx.Err() == nil {
		r, err := s.clock.compare(ctx, s.write.DB)
		switch {
		case err != nil: // callers that need the database report it
		case r.fault() != nil && !wrong:
			wrong = true
			s.log.LogAttrs(ctx, slog.LevelError,
				"this process is not ready: it takes on no jobs and deliveries, and neither reaps nor expires anything",
				slog.Any("error", r.fault()))
		case r.fault() == nil && wrong:
			wrong = false
			s.log.LogAttrs(ctx, slog.LevelInfo, "the clock of this machine is right again")
		}

		guard.Pause(ctx, clockEvery)
	}
}
