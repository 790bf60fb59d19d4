package store_test

import (
	"testing"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestStatementsAreNotPreparedForAPooler carries out a call and a job on a URL
// that forbids prepared statements, and on one that does not.
func TestStatementsAreNotPreparedForAPooler(t *testing.T) {
	t.Parallel()
	for suffix, prepared := range map[string]bool{"": true, "&default_query_exec_mode=exec": false} {
		db := storetest.Postgres(t)
		db.URL += suffix
		f := newFixture(t, db)
		if got := store.Prepares(f.Store); got != prepared {
			t.Errorf("with %q: statements are prepared: %v, want %v", suffix, got, prepared)
		}
		f.settle(t, f.begin(t, f.newCall(100)).ID, 100)
		job := f.newCall(50)
		job.Mode, job.Lease, job.Job = store.Async, "", &store.NewJob{Input: []byte("sealed")}
		f.begin(t, job)
		got, err := f.ClaimJob(t.Context(), f.lease)
		if err != nil || got.Call.ID != job.ID || string(got.Input) != "sealed" || got.Tries != 1 {
			t.Fatalf("with %q: ClaimJob: %+v, %v; want %s", suffix, got, err, job.ID)
		}
		f.settle(t, job.ID, 50)
		f.wallet(t, trial-150, 0, 150)
		f.sound(t)
	}
}
