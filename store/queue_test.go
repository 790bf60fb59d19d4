package store_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"relaypdf/store"
	"relaypdf/store/storetest"
)

// TestWaitingJobsWakeAllWorkers: jobs that wait when a process begins to work are
// taken on by as many workers as there are.
func TestWaitingJobsWakeAllWorkers(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		const workers = 4
		for range workers {
			f.begin(t, f.newJob(t))
		}
		if got := f.workTogether(t, workers); got != workers {
			t.Errorf("%d jobs ran at once, want %d", got, workers)
		}
	})
}

// workTogether runs a queue until that many jobs are under way at once, and
// returns how many were. It ends them.
func (f *fixture) workTogether(t testing.TB, workers int) int {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	var busy atomic.Int64
	err := f.RunQueue(ctx, store.QueueConfig{Workers: workers, Grace: 10 * time.Second, Work: func(life context.Context, _ <-chan struct{}) {
		job, err := f.ClaimJob(life, f.lease)
		if err != nil {
			return
		}
		if busy.Add(1) == int64(workers) {
			stop()
		}
		<-ctx.Done()
		if err := f.Release(life, job.Call.ID, store.Failure{Code: "x"}, nil); err != nil {
			t.Error(err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return int(busy.Load())
}

// TestEveryWakeUpIsNotified: on PostgreSQL other processes are told of a job that
// is accepted just after another one.
func TestEveryWakeUpIsNotified(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	f := newFixture(t, db)
	listener, err := pgx.Connect(t.Context(), db.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close(context.WithoutCancel(t.Context()))
	if _, err := listener.Exec(t.Context(), "LISTEN relaypdf_jobs"); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		f.begin(t, f.newJob(t))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		_, err := listener.WaitForNotification(ctx)
		cancel()
		if err != nil {
			t.Fatalf("nobody was told of job %d: %v", n+1, err)
		}
	}
}
