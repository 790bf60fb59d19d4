// Package storetest gives tests real databases: SQLite in a temporary folder,
// and PostgreSQL in a throw-away cluster or on a given server.
package storetest

import (
	"sync"
	"testing"
	"time"

	"relaypdf/store"
)

// DB is an empty database that lives as long as its test.
type DB struct {
	URL     string // for store.Config.URL
	DataDir string // for store.Config.DataDir
	// SessionURL is for store.Config.SessionURL.
	SessionURL string
}

// SQLite returns an empty SQLite database in a temporary folder.
func SQLite(t testing.TB) DB {
	t.Helper()
	dir := t.TempDir()
	return DB{URL: "sqlite://" + dir + "/relaypdf.db", DataDir: dir}
}

// Postgres returns an empty PostgreSQL database, dropped at the end of the
// test. RELAYPDF_TEST_POSTGRES_URL names the server; where it is not set, one
// throw-away cluster serves all tests of the process and ends with it.
func Postgres(t testing.TB) DB {
	t.Helper()
	return DB{URL: createDatabase(t), DataDir: t.TempDir()}
}

// Bounced returns an empty PostgreSQL database by way of pgbouncer in transaction
// mode, with the direct way as the one for sessions.
func Bounced(t testing.TB) DB {
	t.Helper()
	db := Postgres(t)
	through, err := bounced(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	db.URL, db.SessionURL = through, db.URL
	return db
}

// Open opens the database with the clock (nil is the real one) and closes it at
// the end of the test.
func (db DB) Open(t testing.TB, clock *Clock) *store.Store {
	t.Helper()
	cfg := store.Config{}
	if clock != nil {
		cfg.Now = clock.Now
	}
	return db.OpenAs(t, cfg)
}

// OpenAs opens the database as the settings say, and closes it at the end of the
// test.
func (db DB) OpenAs(t testing.TB, cfg store.Config) *store.Store {
	t.Helper()
	cfg.URL, cfg.DataDir, cfg.SessionURL = db.URL, db.DataDir, db.SessionURL
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("open the store: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}

// Each runs the test with an empty store on either database.
func Each(t *testing.T, test func(t *testing.T, s *store.Store)) {
	t.Helper()
	EachDB(t, func(t *testing.T, db DB) {
		t.Helper()
		test(t, db.Open(t, nil))
	})
}

// EachDB runs the test with an empty database of either kind.
func EachDB(t *testing.T, test func(t *testing.T, db DB)) {
	t.Helper()
	t.Run(store.SQLite, func(t *testing.T) {
		t.Parallel()
		test(t, SQLite(t))
	})
	t.Run(store.Postgres, func(t *testing.T) {
		t.Parallel()
		test(t, Postgres(t))
	})
}

// Clock is a clock that stands still until it is told to move. It is safe for
// concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows the time.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now returns the time the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock by d.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
