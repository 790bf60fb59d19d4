package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"relaypdf/store"
	"relaypdf/store/storetest"
)

// TestReportsKeepNobodyWaiting holds up forty reports, and authenticates beside
// them.
func TestReportsKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storetest.Postgres(t))
	_, secret, err := f.CreateKey(t.Context(), store.NewKey{AccountID: f.acc.ID, Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := f.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "LOCK TABLE usage_days IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	var reports sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer reports.Wait()
	defer cancel()
	for range 40 {
		reports.Go(func() {
			if _, err := f.Usage(ctx, f.acc.ID, f.clock.Now(), f.clock.Now()); err == nil {
				t.Error("a report was made although its table is locked")
			}
		})
	}
	waiting := func() (n int) {
		err := tx.NewRaw("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'usage_days'::regclass").Scan(t.Context(), &n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for deadline := time.Now().Add(5 * time.Minute); waiting() < 4; <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d reports wait for the table, want 4", waiting())
		}
	}
	patience, done := context.WithTimeout(t.Context(), 10*time.Second) // less than a report may take
	defer done()
	for range 20 {
		if _, _, err := f.KeyBySecret(patience, secret); err != nil {
			t.Fatalf("KeyBySecret beside the reports: %v", err)
		}
	}
	cancel()
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
}
