package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

func TestOpenAgainKeepsEverything(t *testing.T) {
	t.Parallel()
	storetest.EachBareDB(t, func(t *testing.T, db storetest.DB) {
		for n := range 3 {
			s, err := store.Open(t.Context(), store.Config{URL: db.URL, DataDir: db.DataDir})
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				if _, err := s.CreateAccount(t.Context(), "ada@example.com", trial); err != nil {
					t.Error(err)
				}
			}
			if acc, err := s.AccountByEmail(t.Context(), "ada@example.com"); err != nil || acc.Balance != trial {
				t.Errorf("opened %d times: got %+v, %v", n+1, acc, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestOpenConcurrently(t *testing.T) {
	t.Parallel()
	storetest.EachBareDB(t, func(t *testing.T, db storetest.DB) {
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				s, err := store.Open(t.Context(), store.Config{URL: db.URL, DataDir: db.DataDir})
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Ping(t.Context()); err != nil {
					t.Error(err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

// TestOpenAfterUnmarkedMigration repeats a migration that was committed but not
// marked as applied.
func TestOpenAfterUnmarkedMigration(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := db.Open(t, nil)
		if _, err := s.DB().NewRaw("DELETE FROM bun_migrations").Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		db.Open(t, nil)
	})
}

func TestSQLiteLocations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := filepath.Join(t.TempDir(), "odd %20 näme", "x.db")
	for url, want := range map[string]string{
		"":                  filepath.Join(dir, "relaypdf.db"),
		"sqlite:other.db":   filepath.Join(dir, "other.db"),
		"sqlite://" + other: other,
		"sqlite:" + other:   other,
	} {
		s, err := store.Open(t.Context(), store.Config{URL: url, DataDir: dir})
		if err != nil {
			t.Errorf("%q: %v", url, err)
			continue
		}
		info, err := os.Stat(want)
		if err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
			t.Errorf("%q: got %v, %v; want the database with mode 0600 in %s", url, info, err, want)
		}
		if s.Dialect() != store.SQLite {
			t.Errorf("dialect: got %s", s.Dialect())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSQLitePragmas checks the settings on which durability and consistency
// rest.
func TestSQLitePragmas(t *testing.T) {
	t.Parallel()
	s := storetest.SQLite(t).Open(t, nil)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "10000"} {
		var got string
		if err := s.DB().NewRaw("PRAGMA "+pragma).Scan(t.Context(), &got); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", pragma, got, err, want)
		}
	}
	if mode, err := s.Synchronous(t.Context()); err != nil || mode != 2 {
		t.Errorf("the writer begins with synchronous=%d, %v; want 2", mode, err)
	}
}

func TestOpenErrorsNameTheFix(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("not a database, but long enough to be taken for one"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		cfg  store.Config
		want string
	}{
		"no folder":      {store.Config{}, "name one that this user may write to"},
		"folder in file": {store.Config{DataDir: file + "/x"}, "choose a folder that this user may write to"},
		"other database": {store.Config{DataDir: t.TempDir(), URL: "mysql://root:hunter2@db/x"}, "must start with sqlite: or postgres://"},
		"parameters":     {store.Config{DataDir: t.TempDir(), URL: "sqlite:x.db?mode=memory"}, "without parameters"},
		"not a database": {store.Config{DataDir: t.TempDir(), URL: "sqlite://" + file}, "check that this user can write"},
		"no server":      {store.Config{DataDir: t.TempDir(), URL: "postgres://u:hunter2@127.0.0.1:1/x?connect_timeout=5"}, "check that PostgreSQL runs"},
		"bad address":    {store.Config{DataDir: t.TempDir(), URL: "postgres://u:hunter2@127.0.0.1:bad/x"}, "database URL"},
	} {
		s, err := store.Open(t.Context(), test.cfg)
		if err == nil {
			_ = s.Close()
			t.Errorf("%s: no error", name)
			continue
		}
		if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %q; want %q in it, and no password", name, err, test.want)
		}
	}
}

// TestCheckLedgerFindsFaults corrupts the ledger behind the store's back.
func TestCheckLedgerFindsFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ spoil, want string }{
		"balance":     {"UPDATE accounts SET balance = balance + 1", "the balance of account"},
		"held":        {"UPDATE accounts SET held = held + 1", "held entries sum to"},
		"day":         {"UPDATE accounts SET day_spent = day_spent + 1", "spent on its last day"},
		"key":         {"UPDATE keys SET spent = spent + 1", "its calls sum to"},
		"owed":        {"UPDATE accounts SET owed = owed + 1", "owes"},
		"revenue":     {"UPDATE journal SET revenue = revenue + 1, wallet = wallet - 1 WHERE kind = 'settle'", "earned"},
		"trial":       {"UPDATE journal SET promotion = promotion - 1, wallet = wallet + 1 WHERE kind = 'trial'", "its wallet entries sum to"},
		"end":         {"INSERT INTO journal (id, account_id, kind, cause, reference, reason, currency, promotion, payment, adjustment, held, revenue, debt, wallet, balance, created_at) SELECT id || 'x', account_id, kind, cause, reference, reason, currency, promotion, payment, adjustment, held, revenue, debt, wallet, balance, created_at FROM journal WHERE kind = 'settle'", "was ended 2 times"},
		"usage":       {"UPDATE usage_days SET calls = calls + 1", "since the last closing"},
		"charge":      {"UPDATE calls SET charge = charge - 1 WHERE status = 'done'", "earned"},
		"status":      {"UPDATE calls SET status = 'failed' WHERE status = 'running'", "in its held entries"},
		"idempotency": {"UPDATE idempotency SET state = 'done'", "idempotency key of call"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
				f := newFixture(t, db)
				f.settle(t, f.begin(t, f.newCall(1000)).ID, 900)
				f.begin(t, f.keyed("body"))
				f.sound(t)
				if _, err := f.DB().NewRaw(test.spoil).Exec(t.Context()); err != nil {
					t.Fatal(err)
				}
				report, err := f.CheckLedger(t.Context())
				if err != nil || report.OK() || !strings.Contains(strings.Join(report.Problems, "\n"), test.want) {
					t.Errorf("got %+v, %v; want a problem with %q", report, err, test.want)
				}
			})
		})
	}
}
