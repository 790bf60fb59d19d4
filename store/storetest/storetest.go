// Package storetest gives tests real databases: SQLite in a temporary folder,
// and PostgreSQL in a throw-away cluster or on a given server.
package storetest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

// DB is an empty database for the duration of its test.
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

// Postgres returns a PostgreSQL database whose tables are made and empty, dropped at the end of the test.
// RELAYPDF_TEST_POSTGRES_URL names the server; if it is not set, one throw-away cluster serves all tests of the
// process and ends with it.
func Postgres(t testing.TB) DB {
	t.Helper()
	return DB{URL: createDatabase(t, theServer, migrated), DataDir: t.TempDir()}
}

// BarePostgres is Postgres without tables.
func BarePostgres(t testing.TB) DB {
	t.Helper()
	return DB{URL: createDatabase(t, theServer, empty), DataDir: t.TempDir()}
}

// Bounced returns a PostgreSQL database without tables by way of pgbouncer in transaction
// mode, with the direct way as the one for sessions.
func Bounced(t testing.TB) DB {
	t.Helper()
	db := BarePostgres(t)
	through, err := bounced(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	db.SessionURL = db.URL
	db.URL = through
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

// OpenAs opens the database with the settings, and closes it at the end of the test.
func (db DB) OpenAs(t testing.TB, cfg store.Config) *store.Store {
	t.Helper()
	cfg.URL = db.URL
	cfg.DataDir = db.DataDir
	cfg.SessionURL = db.SessionURL

	if err := db.fill(); err != nil {
		t.Fatalf("copy a migrated database: %v", err)
	}

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

// fill makes a missing SQLite database a copy of a migrated one, which is faster than migrating.
func (db DB) fill() error {
	path, ok := strings.CutPrefix(db.URL, "sqlite://")
	if !ok {
		return nil
	}

	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	content, err := migratedFile()
	if err != nil {
		return err
	}

	// Others may open it at the same time: it is there as a whole, once.
	part, err := os.CreateTemp(filepath.Dir(path), "template-")
	if err != nil {
		return err
	}

	_, err = part.Write(content)
	if err = errors.Join(err, part.Close()); err == nil {
		if err = os.Link(part.Name(), path); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	return errors.Join(err, os.Remove(part.Name()))
}

// migratedFile returns the content of a SQLite database with our tables.
var migratedFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "relaypdf-template-")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "relaypdf.db")
	if err := migrate(DB{URL: "sqlite://" + path, DataDir: dir}); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	content, err := os.ReadFile(path)
	return content, errors.Join(err, os.RemoveAll(dir))
})

// migrate makes the tables of a database.
func migrate(db DB) error {
	s, err := store.Open(context.Background(), store.Config{URL: db.URL, DataDir: db.DataDir})
	if err != nil {
		return err
	}
	return s.Close()
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

// EachBareDB runs the test with a database of either kind that has no tables, for
// tests that open it as they like.
func EachBareDB(t *testing.T, test func(t *testing.T, db DB)) {
	t.Helper()
	t.Run(store.SQLite, func(t *testing.T) {
		t.Parallel()
		test(t, SQLite(t))
	})
	t.Run(store.Postgres, func(t *testing.T) {
		t.Parallel()
		test(t, BarePostgres(t))
	})
}

// Clock is a clock that moves only on request. It is safe for concurrent use.
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
