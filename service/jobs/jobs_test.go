package jobs_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/service/jobs"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// patience limits the wait for an expected event.
const patience = 5 * time.Minute

// fixture is a process that accepts jobs and has no workers.
type fixture struct {
	*store.Store

	db      storetest.DB
	account store.Account
	lease   string
}

func newFixture(t *testing.T, db storetest.DB) *fixture {
	t.Helper()
	f := &fixture{Store: db.Open(t, nil), db: db}
	lease, err := f.Acquire(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lease.Close() })
	f.lease = lease.ID()
	if f.account, err = f.CreateAccount(t.Context(), "ada@example.com", 5*credit.Dollar); err != nil {
		t.Fatal(err)
	}
	return f
}

// enqueue accepts a job, and returns its call.
func (f *fixture) enqueue(t testing.TB) string {
	t.Helper()
	result := f.NewID("file")
	call := store.NewCall{
		ID: store.CallID(result), ResultID: result, AccountID: f.account.ID, Operation: "pdf.create", Mode: store.Async,
		RequestID: "req-1", Quote: 100, Job: &store.NewJob{Input: []byte("input"), Kind: "pdf.create/1"},
	}
	if err := f.Begin(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	return call.ID
}

// start runs a worker process on a store until stop is called, which waits for its end.
func (f *fixture) start(t testing.TB, s *store.Store, workers int, grace time.Duration, handle func(ctx context.Context, job store.Job)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	done := make(chan error, 1)
	go func() {
		done <- jobs.Run(ctx, jobs.Config{
			Store: s, Lease: f.lease, Kinds: []string{"pdf.create/1"}, Workers: workers, Handle: handle, Grace: grace, Logger: slog.New(slog.DiscardHandler),
		})
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// end ends a job.
func (f *fixture) end(ctx context.Context, t testing.TB, job store.Job) {
	t.Helper()
	if err := f.Release(context.WithoutCancel(ctx), job.Call.ID, store.Failure{Code: "x"}, nil); err != nil {
		t.Error(err)
	}
}

// await returns the next value.
func await[T any](t testing.TB, from <-chan T, what string) (next T) {
	t.Helper()
	select {
	case next = <-from:
	case <-time.After(patience):
		t.Fatalf("%s: nothing for %s", what, patience)
	}
	return next
}

// TestWaitingJobsStartAllWorkers: jobs that wait when a process starts are claimed by as
// many workers as it has.
func TestWaitingJobsStartAllWorkers(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		const workers = 4
		f := newFixture(t, db)
		for range workers {
			f.enqueue(t)
		}
		begun, end := make(chan struct{}), make(chan struct{})
		f.start(t, db.Open(t, nil), workers, patience, func(ctx context.Context, job store.Job) {
			begun <- struct{}{}
			<-end
			f.end(ctx, t, job)
		})
		for n := range workers {
			await(t, begun, fmt.Sprintf("job %d of %d at once", n+1, workers))
		}
		close(end)
	})
}

// TestJobsOfOtherProcessesAreFound: a process finds the jobs that another one accepts, on
// SQLite without a notification.
func TestJobsOfOtherProcessesAreFound(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		ended := make(chan string, 1)
		f.start(t, db.Open(t, nil), 1, patience, func(ctx context.Context, job store.Job) {
			f.end(ctx, t, job)
			ended <- job.Call.ID
		})
		for range 3 {
			if want, got := f.enqueue(t), await(t, ended, "a job"); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
}

// TestPanicStopsNoOtherJob: a job that panics costs the worker nothing.
func TestPanicStopsNoOtherJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storetest.SQLite(t))
	first, second := f.enqueue(t), f.enqueue(t)
	ended := make(chan string, 2)
	f.start(t, f.Store, 1, patience, func(ctx context.Context, job store.Job) {
		f.end(ctx, t, job)
		ended <- job.Call.ID
		panic("bug")
	})
	for _, want := range []string{first, second, f.enqueue(t)} {
		if got := await(t, ended, "a job"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestStopLetsJobsEnd: a process that stops claims nothing more, and waits for the job
// under way.
func TestStopLetsJobsEnd(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		f.enqueue(t)
		begun, end := make(chan struct{}), make(chan struct{})
		var ended atomic.Int64
		stop := f.start(t, f.Store, 1, patience, func(ctx context.Context, job store.Job) {
			begun <- struct{}{}
			<-end
			if ctx.Err() != nil {
				t.Error("the job was cut off within the grace")
			}
			f.end(ctx, t, job)
			ended.Add(1)
		})
		await(t, begun, "a job")
		f.enqueue(t)
		time.AfterFunc(50*time.Millisecond, func() { close(end) })
		stop()
		if got := ended.Load(); got != 1 {
			t.Errorf("%d jobs ended, want 1", got)
		}
		if waiting, err := f.JobsWait(t.Context(), "pdf.create/1"); !waiting || err != nil {
			t.Errorf("the second job waits: %v, %v; want it to wait", waiting, err)
		}
	})
}

// TestStopCutsJobsOff: a job that is under way after the grace is cut off, and another
// process claims it once it is returned.
func TestStopCutsJobsOff(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		f := newFixture(t, db)
		call := f.enqueue(t)
		begun := make(chan struct{})
		stop := f.start(t, f.Store, 1, time.Millisecond, func(ctx context.Context, job store.Job) {
			begun <- struct{}{}
			<-ctx.Done()
			if err := f.ReturnJob(context.WithoutCancel(ctx), job); err != nil {
				t.Error(err)
			}
		})
		await(t, begun, "a job")
		ended := make(chan store.Job, 1)
		f.start(t, db.Open(t, nil), 1, patience, func(ctx context.Context, job store.Job) {
			f.end(ctx, t, job)
			ended <- job
		})
		stop()
		if job := await(t, ended, "the returned job"); job.Call.ID != call || job.Tries != 1 {
			t.Errorf("got %s at try %d, want %s at try 1", job.Call.ID, job.Tries, call)
		}
	})
}

// statementCount counts statements outside of the paid path. Worker processes make one
// for each poll and for each claim that finds nothing.
type statementCount struct{ atomic.Int64 }

func (c *statementCount) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context {
	c.Add(1)
	return ctx
}

func (c *statementCount) AfterQuery(context.Context, *bun.QueryEvent) {}

// fleet are worker processes with one worker each that share a queue.
type fleet struct {
	processes int
	count     statementCount
	ended     chan struct{} // has an entry for each job
	began     time.Time
	stops     []func()
}

func (f *fixture) fleet(t *testing.T, processes int) *fleet {
	t.Helper()
	q := &fleet{processes: processes, ended: make(chan struct{}, 1000)}
	var stores []*store.Store
	for range processes {
		stores = append(stores, f.db.OpenAs(t, store.Config{Watch: &q.count, Now: time.Now}))
	}
	q.count.Store(0) // without the statements of opening
	q.began = time.Now()
	for _, s := range stores {
		q.stops = append(q.stops, f.start(t, s, 1, patience, func(ctx context.Context, job store.Job) {
			f.end(ctx, t, job)
			q.ended <- struct{}{}
		}))
	}
	return q
}

// stop ends the processes, and returns how many statements they made that found no job,
// without polls.
func (q *fleet) stop() int64 {
	for _, stop := range q.stops {
		stop()
	}
	polls := int64(q.processes) * (int64(time.Since(q.began)/(750*time.Millisecond)) + 1)
	return q.count.Load() - polls
}

// TestIdleProcessesLetOthersGoFirst: all idle processes are notified of a job. Claims that
// find nothing are bounded in time, however many jobs come one after another.
func TestIdleProcessesLetOthersGoFirst(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	const processes, count = 8, 200
	f := newFixture(t, storetest.Postgres(t))
	q := f.fleet(t, processes)
	f.enqueue(t)
	await(t, q.ended, "the first job")
	begin := time.Now()
	for range count {
		f.enqueue(t)
		await(t, q.ended, "a job")
	}
	took := time.Since(begin)
	futile := q.stop()
	t.Logf("%d jobs one after another in %v at %d idle processes: %d claims found nothing", count, took, processes, futile)
	// The process that ended a job makes a claim for the next. The others wait 50 ms on
	// average before each of theirs, but for the first ones. Some claims are made again.
	if limit := 2*count + processes*(10+int64(took/(20*time.Millisecond))); futile > limit {
		t.Errorf("%d claims found nothing, want %d at most", futile, limit)
	}
}

// TestProcessesClaimJobsOnce: processes that share a queue do not make more claims for
// each job the more of them there are.
func TestProcessesClaimJobsOnce(t *testing.T) {
	t.Parallel()
	const processes, count = 4, 80
	f := newFixture(t, storetest.Postgres(t))
	for range count {
		f.enqueue(t)
	}
	q := f.fleet(t, processes)
	for range count {
		await(t, q.ended, "a job")
	}
	futile := q.stop()
	t.Logf("%d jobs at %d processes: %d claims found nothing", count, processes, futile)
	// A claim may meet another one for the last job that waits, and is made again then.
	if limit := int64(25 * processes); futile > limit {
		t.Errorf("%d claims found nothing, want %d at most", futile, limit)
	}
}
