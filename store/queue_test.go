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

// TestAJobIsToldToOneProcess: on PostgreSQL each accepted job is announced to one of the processes that have reported
// that they are idle, the latest of them.
func TestAJobIsToldToOneProcess(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	f := newFixture(t, db)
	names := []string{"worker_a", "worker_b", "worker_c"}
	var listeners []*pgx.Conn
	for since, name := range names {
		listener, err := pgx.Connect(t.Context(), db.URL)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close(context.WithoutCancel(t.Context())) })
		if _, err := listener.Exec(t.Context(), "LISTEN "+name); err != nil {
			t.Fatal(err)
		}
		if _, err := listener.Exec(t.Context(), "INSERT INTO idle_processes (name, since) VALUES ($1, $2)", name, since); err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, listener)
	}
	hear := func(listener int) string {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		n, err := listeners[listener].WaitForNotification(ctx)
		if err != nil {
			t.Fatalf("%s was told nothing: %v", names[listener], err)
		}
		return n.Payload
	}
	for _, latest := range []int{2, 1, 0} {
		f.begin(t, f.newJob(t))
		if got := hear(latest); got != "" {
			t.Errorf("%s heard %q, want of a job", names[latest], got)
		}
	}
	for n, name := range names {
		if _, err := listeners[0].Exec(t.Context(), "SELECT pg_notify($1, 'end')", name); err != nil {
			t.Fatal(err)
		}
		if got := hear(n); got != "end" {
			t.Errorf("%s was told twice", name)
		}
	}
}

// sharedQueue are processes with one worker each that share a queue, and end each job
// that they claim.
type sharedQueue struct {
	stores  []*store.Store
	waiting statementCount // how often they asked whether jobs wait
	asked   atomic.Int64   // claims
	began   time.Time
	ended   chan struct{} // has an entry for each job
	running sync.WaitGroup
}

// share opens processes on the database of the fixture. They work until ctx ends.
func (f *fixture) share(ctx context.Context, t *testing.T, db storetest.DB, processes int) *sharedQueue {
	t.Helper()
	q := &sharedQueue{ended: make(chan struct{}, 1000)}
	for range processes {
		q.stores = append(q.stores, db.OpenAs(t, store.Config{Watch: &q.waiting, Now: f.clock.Now}))
	}
	q.waiting.Store(0) // Opening is not asking.
	q.began = time.Now()
	for _, s := range q.stores {
		work := func(life context.Context, _ <-chan struct{}) {
			for {
				q.asked.Add(1)
				job, err := s.ClaimJob(life, f.lease)
				if err != nil {
					return
				}
				if err := f.Release(life, job.Call.ID, store.Failure{Code: "x"}, nil); err != nil {
					t.Error(err)
				}
				q.ended <- struct{}{}
			}
		}
		q.running.Go(func() {
			if err := s.RunQueue(ctx, store.QueueConfig{Workers: 1, Grace: time.Minute, Work: work}); err != nil {
				t.Error(err)
			}
		})
	}
	return q
}

// looks is how often all of them may have looked for jobs by the clock so far: each
// once in a second.
func (q *sharedQueue) looks() int64 {
	return int64(len(q.stores)) * (int64(time.Since(q.began)/time.Second) + 1)
}

// await waits until so many jobs have ended.
func (q *sharedQueue) await(ctx context.Context, t *testing.T, jobs int) {
	t.Helper()
	for n := range jobs {
		select {
		case <-q.ended:
		case <-ctx.Done():
			t.Fatalf("%d jobs ended, want %d", n, jobs)
		}
	}
}

// TestAJobWakesOneProcess: a job that comes while processes have nothing to do is asked
// for by one of them, and not by all.
func TestAJobWakesOneProcess(t *testing.T) {
	t.Parallel()
	const processes, jobs = 8, 40
	db := storetest.Postgres(t)
	f := newFixture(t, db)
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	q := f.share(ctx, t, db, processes)
	idle := func() (n int) {
		if err := f.DB().NewRaw("SELECT count(*) FROM idle_processes").Scan(t.Context(), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range jobs {
		for idle() < processes {
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
				t.Fatalf("%d processes have said that they are idle, want %d", idle(), processes)
			}
		}
		f.begin(t, f.newJob(t))
		q.await(ctx, t, 1)
	}
	stop()
	q.running.Wait()
	t.Logf("%d jobs, one after another: claims %d, looks by the clock %d at most", jobs, q.asked.Load(), q.looks())
	// The worker of a job asks for the next; polling may wake another worker as well, which asks twice.
	if most := 2*jobs + 2*q.looks() + 2*processes; q.asked.Load() > most {
		t.Errorf("%d jobs took %d claims, want %d at most", jobs, q.asked.Load(), most)
	}
	if n := idle(); n != 0 {
		t.Errorf("%d processes are idle that have stopped", n)
	}
}

// TestKilledProcessesAreForgotten: what a killed process said goes after a day, while one
// that has had nothing to do for longer says that it is idle all the same.
func TestKilledProcessesAreForgotten(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	f := newFixture(t, db)
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	if _, err := f.DB().ExecContext(t.Context(), "INSERT INTO idle_processes (name, since) VALUES ('worker_killed', ?)", f.clock.Now().UnixMicro()); err != nil {
		t.Fatal(err)
	}
	q := f.share(ctx, t, db, 1)
	said := func() (at int64) {
		if err := f.DB().NewRaw("SELECT COALESCE(MAX(since), 0) FROM idle_processes WHERE name <> 'worker_killed'").Scan(t.Context(), &at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	for range 2 {
		f.clock.Advance(25 * time.Hour)
		for said() < f.clock.Now().UnixMicro() {
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
				t.Fatal("the process does not say any more that it is idle")
			}
		}
	}
	if err := f.DeleteExpired(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	var left []string
	if err := f.DB().NewRaw("SELECT name FROM idle_processes").Scan(t.Context(), &left); err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || left[0] == "worker_killed" {
		t.Errorf("%q are idle, want the one that lives", left)
	}
	stop()
	q.running.Wait()
}

// TestProcessesAskForJobsOnce: the number of queries for each job does not grow with the number of processes that
// share a queue. In addition, each process polls for waiting jobs once a second.
func TestProcessesAskForJobsOnce(t *testing.T) {
	t.Parallel()
	const processes, jobs = 4, 80
	db := storetest.Postgres(t)
	f := newFixture(t, db)
	for range jobs {
		f.begin(t, f.newJob(t))
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	q := f.share(ctx, t, db, processes)
	q.await(ctx, t, jobs)
	stop()
	q.running.Wait()
	looks := q.looks()
	t.Logf("%d jobs: claims %d, looks whether any wait %d of which %d by the clock at most", jobs, q.asked.Load(), q.waiting.Load(), looks)
	// A claim may meet another one for the last job that waits, and is made again then.
	const others = 25 * processes
	if q.asked.Load() > jobs+others || q.waiting.Load() > looks+others {
		t.Errorf("%d jobs took %d claims and %d looks whether any wait, want %d and %d at most", jobs, q.asked.Load(), q.waiting.Load(), jobs+others, looks+others)
	}
}
