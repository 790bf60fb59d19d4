package store_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// here are the locks in the test's own database: what is copied from one template has
// the same numbers in each of a cluster.
const here = "database = (SELECT oid FROM pg_database WHERE datname = current_database())"

// TestReportsDoNotDelayCalls blocks forty reports, and authenticates meanwhile.
func TestReportsDoNotDelayCalls(t *testing.T) {
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
	waiting := func() (n int) {
		err := tx.NewRaw("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'usage_days'::regclass AND "+here).Scan(t.Context(), &n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const asked = 40
	// The function looks up keys during the reports, and returns whether as many as can wait for the table did so
	// from before until afterwards.
	beside := func() bool {
		var reports sync.WaitGroup
		var ended atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		defer reports.Wait()
		defer cancel()
		for range asked {
			reports.Go(func() {
				defer ended.Add(1)
				if _, err := f.Usage(ctx, f.acc.ID, f.clock.Now(), f.clock.Now()); err == nil {
					t.Error("a report was made although its table is locked")
				}
			})
		}
		for ; waiting() < 4; <-time.After(10 * time.Millisecond) {
			if ended.Load() == asked {
				return false
			}
		}
		for range 20 {
			if _, _, err := f.KeyBySecret(t.Context(), secret); err != nil {
				t.Fatalf("KeyBySecret beside the reports: %v", err)
			}
		}
		return waiting() >= 4
	}
	// A report gives up after 20 seconds: a key that has waited for it is found
	// afterwards, every time. A machine that stalls gets another chance.
	for tries := 1; !beside(); tries++ {
		if tries == 6 {
			t.Fatal("no keys were found while reports waited")
		}
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
}
