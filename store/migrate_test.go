package store_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestMigrationLockEndsWithItsTransaction: no connection of the pool keeps the
// lock, whichever of them a pooler hands it out on.
func TestMigrationLockEndsWithItsTransaction(t *testing.T) {
	t.Parallel()
	s := storetest.BarePostgres(t).Open(t, nil)
	var held int
	err := s.DB().NewRaw("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").Scan(t.Context(), &held)
	if err != nil || held != 0 {
		t.Errorf("got %d advisory locks after the start, %v; want none", held, err)
	}
}

// TestMigrationLetsReadersPass: a migration that waits for a long reader of a table
// keeps no other reader waiting, and succeeds when the long one ends.
func TestMigrationLetsReadersPass(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	db := storetest.Postgres(t)
	raw := operator(t, db)
	db.Open(t, nil) // where the server was given, it has no tables before
	execute(t, raw, "DELETE FROM bun_migrations")
	release := hold(t, raw, "SELECT count(*) FROM jobs")
	var logged storetest.Log
	opened := make(chan error, 1)
	go func() {
		s, err := store.Open(context.WithoutCancel(t.Context()), store.Config{URL: db.URL, DataDir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	awaitLocked(t, raw, 1)
	for range 3 {
		var n int
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := raw.QueryRowContext(ctx, "SELECT count(*) FROM jobs").Scan(&n)
		cancel()
		if err != nil {
			t.Fatalf("a reader beside the migration: %v", err)
		}
	}
	select {
	case err := <-opened:
		t.Fatalf("the migration did not wait for the long reader: %v", err)
	default:
	}
	release()
	if err := <-opened; err != nil {
		t.Errorf("the migration after the reader's end: %v", err)
	}
	if !strings.Contains(logged.String(), "waiting for a lock of the database") {
		t.Errorf("nobody is told of the wait: %q", logged.String())
	}
}

// TestSchemaOfBeforeTheReleaseIsRefused: a database that has migrations of before 1.0 is
// not opened, and stays as it is.
func TestSchemaOfBeforeTheReleaseIsRefused(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := db.Open(t, nil)
		if _, err := s.DB().ExecContext(t.Context(), "UPDATE bun_migrations SET name = '0087' WHERE name = '0123'"); err != nil {
			t.Fatal(err)
		}
		_, err := store.Open(t.Context(), store.Config{URL: db.URL, DataDir: db.DataDir})
		if !errors.Is(err, store.ErrBeforeRelease) {
			t.Errorf("got %v, want ErrBeforeRelease", err)
		}
		var applied []string
		err = s.DB().NewRaw("SELECT name FROM bun_migrations ORDER BY name").Scan(t.Context(), &applied)
		if err != nil || slices.Contains(applied, "0123") || !slices.Contains(applied, "0087") {
			t.Errorf("applied migrations are %v, %v; want them left alone", applied, err)
		}
	})
}

// TestInitialMigrationCompletesOlderDatabases opens a database that has only the first of the migrations that were
// folded into the initial one, and lacks what later ones made.
func TestInitialMigrationCompletesOlderDatabases(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := db.Open(t, nil)
		for _, statement := range []string{
			"UPDATE bun_migrations SET name = '0100' WHERE name = '0123'",
			"DROP TABLE agreements",
			"DROP TABLE bulk_chunks",
			"DROP INDEX requests_account",
		} {
			if _, err := s.DB().ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}

		completed := db.Open(t, nil)
		for _, query := range []string{"SELECT count(*) FROM agreements", "SELECT count(*) FROM bulk_chunks"} {
			var rows int
			if err := completed.DB().NewRaw(query).Scan(t.Context(), &rows); err != nil {
				t.Errorf("%s: %v", query, err)
			}
		}
		if _, err := completed.DB().ExecContext(t.Context(), "DROP INDEX requests_account"); err != nil {
			t.Errorf("the index is not there again: %v", err)
		}
	})
}

// TestOlderReleaseBesideNewerSchema: a release works on tables that have columns it does not know. Some statements ran
// before the columns were added.
func TestOlderReleaseBesideNewerSchema(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		made := f.newTemplate(t, "invoice", "first")
		change := func(html string) {
			t.Helper()
			if _, err := f.UpdateTemplate(ctx, f.acc.ID, made.ID, 0, store.TemplateChange{HTML: &html}); err != nil {
				t.Fatalf("save the template: %v", err)
			}
			if _, err := f.PublishTemplate(ctx, f.acc.ID, made.ID, 0, "", nil); err != nil {
				t.Fatalf("publish the template: %v", err)
			}
		}
		change("second")
		if _, err := f.RecordPaymentError(ctx, store.PaymentError{Subject: "pi_1"}); err != nil {
			t.Fatal(err)
		}

		for _, table := range []string{"templates", "payment_errors"} {
			if _, err := f.DB().ExecContext(ctx, "ALTER TABLE "+table+" ADD COLUMN later INTEGER NOT NULL DEFAULT 0"); err != nil {
				t.Fatal(err)
			}
		}

		change("third")
		if _, err := f.PaymentErrors(ctx, 10); err != nil {
			t.Errorf("list payment errors: %v", err)
		}
	})
}

// TestColumnIsAddedOnce runs the recipe of CONTRIBUTING.md for a new column three times: on a table that the same
// migration creates, on the table of the first run, and when the process ended before the migration was recorded.
func TestColumnIsAddedOnce(t *testing.T) {
	t.Parallel()
	migration := func(name string) fstest.MapFS {
		return fstest.MapFS{name: {Data: []byte(`
CREATE TABLE IF NOT EXISTS samples (id {{.ID}} NOT NULL PRIMARY KEY){{.Strict}};

--bun:split

{{if .Lacks "samples" "locked"}}
ALTER TABLE samples ADD COLUMN locked {{.Bool}} NOT NULL DEFAULT FALSE;
{{end}}
`)}}
	}
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := db.Open(t, nil)
		for _, name := range []string{"9000_first.tx.up.sql", "9001_second.tx.up.sql", "9001_second.tx.up.sql"} {
			if err := s.Migrate(t.Context(), migration(name)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if _, err := s.DB().ExecContext(t.Context(), "DELETE FROM bun_migrations WHERE name = '9001'"); err != nil {
				t.Fatal(err)
			}
		}

		var locked bool
		if _, err := s.DB().ExecContext(t.Context(), "INSERT INTO samples (id) VALUES ('a')"); err != nil {
			t.Fatal(err)
		}
		if err := s.DB().NewRaw("SELECT locked FROM samples").Scan(t.Context(), &locked); err != nil || locked {
			t.Errorf("got %v, %v; want false", locked, err)
		}
	})
}
