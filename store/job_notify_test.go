package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// listenJobs has a store listen for jobs until the test ends, and returns a channel with an entry for each
// notification.
func listenJobs(t *testing.T, s *store.Store, free bool) <-chan struct{} {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	notified := make(chan struct{}, 1000)
	var listening sync.WaitGroup
	listening.Go(func() {
		s.ListenJobs(ctx, func() bool { return free }, func() { notified <- struct{}{} })
	})
	t.Cleanup(func() { stop(); listening.Wait() })
	if s.Dialect() == store.Postgres {
		heard(t, notified) // It listens.
	}
	return notified
}

func heard(t *testing.T, notified <-chan struct{}) {
	t.Helper()
	select {
	case <-notified:
	case <-time.After(5 * time.Minute):
		t.Fatal("no notification came")
	}
}

// TestOthersAreNotifiedWhereNoWorkerIsFree: a process notifies others of a job if it has
// no free worker itself, and only then.
func TestOthersAreNotifiedWhereNoWorkerIsFree(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) storetest.DB{"postgres": storetest.Postgres, "pgbouncer": storetest.Bounced} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			f, other := newFixture(t, db), db.Open(t, nil)
			free := db.OpenAs(t, store.Config{Now: f.clock.Now})
			notified := listenJobs(t, other, true)
			listenJobs(t, free, true)
			if err := free.Begin(t.Context(), f.newJob(t)); err != nil {
				t.Fatal(err)
			}
			select {
			case <-notified:
				t.Error("another process was notified of a job that a worker was free for")
			case <-time.After(100 * time.Millisecond):
			}
			f.begin(t, f.newJob(t))
			heard(t, notified)
			job, err := f.ClaimJob(t.Context(), f.lease)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.ReturnJob(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			heard(t, notified)
		})
	}
}

// TestJobsWaitForKnownKinds: only jobs that a worker could claim count as waiting.
func TestJobsWaitForKnownKinds(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		waiting := func() bool {
			t.Helper()
			waiting, err := f.JobsWait(t.Context(), "pdf.create/1")
			if err != nil {
				t.Fatal(err)
			}
			return waiting
		}
		for kind, want := range map[string]bool{"pdf.create/2": false, "pdf.create/1": true, "": true} {
			c := f.newJob(t)
			c.Job.Kind = kind
			f.begin(t, c)
			if got := waiting(); got != want {
				t.Errorf("kind %q: jobs wait is %v, want %v", kind, got, want)
			}
			f.release(t, c.ID)
		}
	})
}
