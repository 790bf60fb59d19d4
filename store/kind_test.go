package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"relaypdf/store"
	"relaypdf/store/storetest"
)

// TestUnknownKindsAreLeft: a worker of the release before claims what it knows,
// also of an account whose first jobs it does not know, and leaves the rest.
func TestUnknownKindsAreLeft(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		queue := func(account store.Account, kind string) string {
			c := f.newJob(t)
			c.AccountID, c.KeyID, c.Job.Kind = account.ID, "", kind
			return f.begin(t, c).ID
		}
		other := f.newAccount(t, "bob@example.com", trial)
		first := queue(f.acc, "pdf.create/2")
		second := queue(f.acc, "pdf.redact/1")
		third := queue(f.acc, "pdf.create/1")
		fourth := queue(other, "pdf.create/1")
		unsaid := queue(other, "") // by a release that did not write kinds
		claim := func(known ...string) string {
			t.Helper()
			job, err := f.ClaimJob(t.Context(), f.lease, known...)
			if errors.Is(err, store.ErrNotFound) {
				return ""
			}
			if err != nil {
				t.Fatal(err)
			}
			return job.Call.ID
		}
		got := map[string]bool{claim("pdf.create/1"): true, claim("pdf.create/1"): true, claim("pdf.create/1"): true}
		if !got[third] || !got[fourth] || !got[unsaid] {
			t.Errorf("the old worker claimed %v, want %s, %s and %s", got, third, fourth, unsaid)
		}
		if id := claim("pdf.create/1"); id != "" {
			t.Errorf("the old worker claimed %s, which it does not know", id)
		}
		if got := []string{claim("pdf.create/2", "pdf.redact/1"), claim("pdf.create/2", "pdf.redact/1")}; got[0] != first || got[1] != second {
			t.Errorf("the new worker claimed %v, want %s and %s", got, first, second)
		}
		for _, id := range []string{first, second, third, fourth, unsaid} {
			f.release(t, id)
		}
	})
}

// TestIndexesAreMadeBesideWriters migrates while a transaction that has queued a
// job is open, as on a database in use: others queue jobs meanwhile.
func TestIndexesAreMadeBesideWriters(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	f := newFixture(t, db)
	for _, statement := range []string{"DROP INDEX jobs_oldest", "DELETE FROM bun_migrations WHERE name = '0061'"} {
		if _, err := f.DB().ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	f.begin(t, f.newJob(t))
	tx, err := f.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), "UPDATE jobs SET tries = tries"); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		s, err := store.Open(context.WithoutCancel(t.Context()), store.Config{URL: db.URL, DataDir: db.DataDir})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	building := func() (n int) {
		err := f.DB().NewRaw("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONCURRENTLY%' AND state = 'active'").
			Scan(t.Context(), &n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for deadline := time.Now().Add(5 * time.Minute); building() == 0; <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the index is not being made")
		}
	}
	f.begin(t, f.newJob(t)) // An index made in a transaction would keep it waiting.
	if building() == 0 {
		t.Error("the migration did not wait for the open transaction")
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	var valid bool
	err = f.DB().NewRaw("SELECT indisvalid FROM pg_index WHERE indexrelid = 'jobs_oldest'::regclass").Scan(t.Context(), &valid)
	if err != nil || !valid {
		t.Errorf("the index is there and valid: %v, %v", valid, err)
	}
}
