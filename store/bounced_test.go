package store_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestStartThroughPooler starts more processes at once than the pooler has
// connections, with a way for sessions and without one, and leaves no lock.
func TestStartThroughPooler(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	db := storetest.Bounced(t)
	alone := store.Config{URL: db.URL + "&default_query_exec_mode=exec", DataDir: db.DataDir}
	both := store.Config{URL: db.URL, SessionURL: db.SessionURL, DataDir: db.DataDir, Conns: 2}
	var all sync.WaitGroup
	for n := range 12 {
		cfg := alone
		if n%2 == 1 {
			cfg = both
		}
		all.Go(func() {
			s, err := store.Open(t.Context(), cfg)
			if err != nil {
				t.Error(err)
				return
			}
			if err := errors.Join(s.Ping(t.Context()), s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var held int
	err := db.Open(t, nil).DB().NewRaw("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").Scan(t.Context(), &held)
	if err != nil || held != 0 {
		t.Errorf("got %d advisory locks after the start, %v; want none", held, err)
	}
}

// TestPoolOptions: pool options of other clients in a URL are ignored.
func TestPoolOptions(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	db.URL += "&pool_max_conns=1&pool_min_conns=3&pool_mode=transaction&pool_max_conn_lifetime=1h"
	s := db.Open(t, nil)
	if got := s.DB().Stats().MaxOpenConnections; got != 2 {
		t.Errorf("got a pool of %d, want the least that works, 2", got)
	}
	db = storetest.Postgres(t)
	if got := db.OpenAs(t, store.Config{Conns: 7}).DB().Stats().MaxOpenConnections; got != 7 {
		t.Errorf("got a pool of %d, want 7", got)
	}
}

// TestMoneyThroughPooler holds, settles, releases and claims concurrently through the pooler, and checks the
// ledger.
func TestMoneyThroughPooler(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storetest.Bounced(t))
	const sides, rounds = 12, 5
	var all sync.WaitGroup
	for range sides {
		all.Go(func() {
			for range rounds {
				done, failed := f.newCall(10), f.newCall(10)
				if err := errors.Join(f.Begin(t.Context(), done), f.Begin(t.Context(), failed)); err != nil {
					t.Errorf("Begin: %v", err)
					return
				}
				err := errors.Join(f.Settle(t.Context(), store.Settlement{CallID: done.ID, Charge: 7}),
					f.Release(t.Context(), failed.ID, store.Failure{Code: "render_failed"}, nil))
				if err != nil {
					t.Errorf("Settle and Release: %v", err)
				}
			}
		})
		all.Go(func() {
			if err := f.Begin(t.Context(), f.newJob(t)); err != nil {
				t.Errorf("Begin of a job: %v", err)
			}
		})
	}
	all.Wait()
	jobs := map[string]bool{}
	var mu sync.Mutex
	for range sides {
		all.Go(func() {
			job, err := f.ClaimJob(t.Context(), f.lease)
			if err != nil {
				t.Errorf("ClaimJob: %v", err)
				return
			}
			mu.Lock()
			jobs[job.Call.ID] = true
			mu.Unlock()
			if err := f.Settle(t.Context(), store.Settlement{CallID: job.Call.ID, Charge: job.Call.Quote, Job: &job}); err != nil {
				t.Errorf("Settle of a job: %v", err)
			}
		})
	}
	all.Wait()
	if len(jobs) != sides {
		t.Errorf("%d jobs were claimed, want %d", len(jobs), sides)
	}
	f.sound(t)
}
