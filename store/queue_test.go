package store_test

import (
	"context"
	"sync"
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

// TestProcessesAskForJobsOnce: processes that share a queue do not ask more often for
// each job the more of them there are. What they ask besides is whether jobs wait: each
// once in a second.
func TestProcessesAskForJobsOnce(t *testing.T) {
	t.Parallel()
	const processes, jobs = 4, 80
	db := storetest.Postgres(t)
	f := newFixture(t, db)
	for range jobs {
		f.begin(t, f.newJob(t))
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	var asked, ended atomic.Int64
	var waiting statementCount
	var stores []*store.Store
	for range processes {
		stores = append(stores, db.OpenAs(t, store.Config{Watch: &waiting, Now: f.clock.Now}))
	}
	waiting.Store(0) // Opening is not asking.
	began := time.Now()
	var running sync.WaitGroup
	for _, s := range stores {
		work := func(life context.Context, _ <-chan struct{}) {
			for {
				asked.Add(1)
				job, err := s.ClaimJob(life, f.lease)
				if err != nil {
					return
				}
				if err := f.Release(life, job.Call.ID, store.Failure{Code: "x"}, nil); err != nil {
					t.Error(err)
				}
				if ended.Add(1) == jobs {
					stop()
				}
			}
		}
		running.Go(func() {
			if err := s.RunQueue(ctx, store.QueueConfig{Workers: 1, Grace: time.Minute, Work: work}); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	looks := processes * (int64(time.Since(began)/time.Second) + 1)
	t.Logf("%d jobs: claims %d, looks whether any wait %d of which %d by the clock at most", ended.Load(), asked.Load(), waiting.Load(), looks)
	if ended.Load() != jobs {
		t.Fatalf("%d jobs ended, want %d", ended.Load(), jobs)
	}
	// A claim may meet another one for the last job that waits, and is made again then.
	const others = 25 * processes
	if asked.Load() > jobs+others || waiting.Load() > looks+others {
		t.Errorf("%d jobs took %d claims and %d looks whether any wait, want %d and %d at most", jobs, asked.Load(), waiting.Load(), jobs+others, looks+others)
	}
}
