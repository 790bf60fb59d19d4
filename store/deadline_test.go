package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// lossy opens the database at the far end of a link.
func lossy(t *testing.T, near storetest.DB) (storetest.DB, *storetest.Link) {
	t.Helper()
	link, err := storetest.NewFar(context.WithoutCancel(t.Context()), near.URL, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = link.Close() })
	near.URL = link.URL
	return near, link.Link
}

// TestDeadConnectionsFailNoPage: all connections of a pool die silently. After the first that does not answer, the
// others are not tried: probing two takes longer than a page may.
func TestDeadConnectionsFailNoPage(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	through, link := lossy(t, storetest.Postgres(t))
	f := newFixture(t, through)
	var busy sync.WaitGroup
	for range 3 {
		busy.Go(func() {
			if _, err := f.PagesDB().ExecContext(t.Context(), "SELECT pg_sleep(0.5)"); err != nil {
				t.Error(err)
			}
		})
	}
	busy.Wait()
	link.Lose()
	<-time.After(1500 * time.Millisecond) // Younger connections are not probed.
	if _, err := f.ForPages().Account(t.Context(), f.acc.ID); err != nil {
		t.Errorf("a page after its connections died: %v", err)
	}
}

// TestListeningContinuesAfterItsConnectionDied: the connection on which a process listens drops its data and is not
// closed. The process finds that out, and listens on another.
func TestListeningContinuesAfterItsConnectionDied(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	near := storetest.Postgres(t)
	through, link := lossy(t, near)
	f := newFixture(t, through)
	watching := near.Open(t, nil)
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	var listening sync.WaitGroup
	listening.Go(func() { f.ListenJobs(ctx, func() bool { return false }, func() {}) })
	listeners := func() (n int) {
		t.Helper()
		const query = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'"
		if err := watching.DB().NewRaw(query).Scan(t.Context(), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for listeners() == 0 && ctx.Err() == nil {
		<-time.After(10 * time.Millisecond)
	}
	link.Lose() // The session of the lost connection stays, and has listened last.
	for listeners() < 2 && ctx.Err() == nil {
		<-time.After(100 * time.Millisecond)
	}
	if ctx.Err() != nil {
		t.Error("the process does not listen again")
	}
	stop()
	listening.Wait()
}
