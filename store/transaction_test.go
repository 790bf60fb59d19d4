package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// certain are the transactions whose outcome a client learns, each with the expected wallet and holds afterwards.
var certain = []struct {
	name         string
	prepare      bool // begin the call before
	async, keyed bool
	do           func(*testing.T, *fixture, store.NewCall) error
	paid, held   credit.Amount
}{
	{name: "begin", held: 100, do: beginAgain},
	{name: "begin with a key", keyed: true, held: 100, do: beginAgain},
	{name: "begin a job", async: true, held: 100, do: beginAgain},
	{name: "settle", prepare: true, paid: 90, do: func(t *testing.T, f *fixture, c store.NewCall) error {
		return f.Settle(t.Context(), store.Settlement{CallID: c.ID, Charge: 90})
	}},
	{name: "release", prepare: true, keyed: true, do: func(t *testing.T, f *fixture, c store.NewCall) error {
		return f.Release(t.Context(), c.ID, store.Failure{Code: "x"}, nil)
	}},
}

func beginAgain(t *testing.T, f *fixture, c store.NewCall) error {
	t.Helper()
	return f.Begin(t.Context(), c)
}

// TestLostAnswersOfPostgres breaks the connection at each exchange of each transaction, before the server receives
// it and after it has run it: the caller learns the outcome, and it has happened once.
func TestLostAnswersOfPostgres(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"", "&default_query_exec_mode=exec", " through pgbouncer"} {
		behind := storetest.Postgres
		if mode == " through pgbouncer" {
			behind = storetest.Bounced
		}
		db, cutter := storetest.BehindCutter(t, behind(t))
		if behindURL := db.URL + mode; db.SessionURL == "" {
			db.URL = behindURL
		}
		f := newFixture(t, db)
		balance, held := trial, credit.Amount(0)
		for _, test := range certain {
			for _, answer := range []bool{false, true} {
				for n := 1; ; n++ {
					name := fmt.Sprintf("%s%s, exchange %d, answer lost: %v", test.name, mode, n, answer)
					c := f.newCall(100)
					if test.async {
						c = f.newJob(t)
					}
					if test.keyed {
						c.IdempotencyKey, c.BodyHash = c.ID, []byte("hash")
					}
					if test.prepare {
						f.begin(t, c)
					}
					cutter.At(n, answer)
					err := test.do(t, f, c)
					cut := cutter.Disarm()
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					balance, held = balance-test.paid-test.held, held+test.held
					f.wallet(t, balance, held, trial-balance)
					if t.Failed() {
						t.Fatal(name)
					}
					if !cut {
						if n == 1 {
							t.Errorf("%s: nothing was cut", name)
						}
						break
					}
				}
			}
		}
		f.sound(t)
	}
}

// TestLostAnswersOfSQLite spoils the answer to a commit that has happened.
func TestLostAnswersOfSQLite(t *testing.T) {
	t.Parallel()
	f := newFixture(t, storetest.SQLite(t))
	balance, held := trial, credit.Amount(0)
	for _, test := range certain {
		c := f.newCall(100)
		if test.async {
			c = f.newJob(t)
		}
		if test.keyed {
			c.IdempotencyKey, c.BodyHash = c.ID, []byte("hash")
		}
		if test.prepare {
			f.begin(t, c)
		}
		lost := false
		f.SpoilCommits(func(err error) error {
			if err != nil || lost {
				return err
			}
			lost = true
			return &store.UnknownError{Cause: errors.New("the disk does not answer")}
		})
		err := test.do(t, f, c)
		f.SpoilCommits(nil)
		if err != nil || !lost {
			t.Errorf("%s: %v; an answer was lost: %v", test.name, err, lost)
		}
		balance, held = balance-test.paid-test.held, held+test.held
		f.wallet(t, balance, held, trial-balance)
	}
	f.sound(t)
}

// TestUnknownCommitsAreNotRepeated: a transaction that cannot detect whether it has happened does not happen twice.
func TestUnknownCommitsAreNotRepeated(t *testing.T) {
	t.Parallel()
	db, cutter := storetest.BehindCutter(t, storetest.Postgres(t))
	f := newFixture(t, db)
	count := func(ctx context.Context, tx store.Tx) error {
		_, err := tx.NewRaw("UPDATE accounts SET max_job = COALESCE(max_job, 0) + 1").Exec(ctx)
		return err
	}
	for n, want := range []int64{0, 1, 2, 3} { // BEGIN, UPDATE and COMMIT, whose answer is lost
		if n == 0 {
			continue
		}
		cutter.At(n, true)
		err := f.InTx(t.Context(), count)
		if !cutter.Disarm() {
			t.Fatalf("exchange %d was not cut", n)
		}
		var unknown *store.UnknownError
		if isUnknown := errors.As(err, &unknown); isUnknown != (n == 3) || (err != nil) != isUnknown {
			t.Errorf("answer %d lost: got %v", n, err)
		}
		var got int64
		if err := f.DB().NewRaw("SELECT max_job FROM accounts").Scan(t.Context(), &got); err != nil || got != want {
			t.Errorf("answer %d lost: happened %d times in all, %v; want %d", n, got, err, want)
		}
	}
}

// TestOrphansAreFoundWithASetBackClock: a job and a call with a callback that began before the clock was set back are
// found.
func TestOrphansAreFoundWithASetBackClock(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.begin(t, f.newJob(t))
		if _, err := f.ClaimJob(t.Context(), "lease_dead"); err != nil {
			t.Fatal(err)
		}
		call := f.newCall(1000)
		call.Lease, call.CallbackURL = "lease_dead", "https://example.com/callback"
		f.begin(t, call)
		f.clock.Advance(-time.Hour)
		if jobs, err := f.OrphanedJobs(t.Context(), 10); err != nil || len(jobs) != 1 {
			t.Errorf("got %d orphaned jobs, %v; want 1", len(jobs), err)
		}
		if calls, err := f.OrphanedCalls(t.Context(), 10); err != nil || len(calls) != 1 {
			t.Errorf("got %d orphaned calls, %v; want 1", len(calls), err)
		}
	})
}

// TestJobsEndWithTheirWorker: a worker whose lease has ended, and whose job is
// another's, can neither fail nor settle it.
func TestJobsEndWithTheirWorker(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		c := f.begin(t, f.newJob(t))
		asleep, err := f.ClaimJob(t.Context(), "lease_asleep")
		if err != nil {
			t.Fatal(err)
		}
		orphans, err := f.OrphanedJobs(t.Context(), 10)
		if err != nil || len(orphans) != 1 {
			t.Fatalf("got %d orphaned jobs, %v; want 1", len(orphans), err)
		}
		if queued, err := f.RequeueOrphan(t.Context(), orphans[0]); !queued || err != nil {
			t.Fatalf("RequeueOrphan: %v, %v", queued, err)
		}
		for _, state := range []string{"queued", "running"} {
			if err := f.ReleaseJob(t.Context(), asleep, store.Failure{Code: "x"}, nil); err != nil {
				t.Errorf("%s: ReleaseJob: %v", state, err)
			}
			err := f.Settle(t.Context(), store.Settlement{CallID: c.ID, Charge: 100, Job: &asleep})
			if !errors.Is(err, store.ErrCallEnded) {
				t.Errorf("%s: Settle: got %v, want ErrCallEnded", state, err)
			}
			if err := f.ReturnJob(t.Context(), asleep); err != nil {
				t.Errorf("%s: ReturnJob: %v", state, err)
			}
			f.status(t, c.ID, store.CallRunning)
			f.wallet(t, trial-100, 100, 100)
			if state == "running" {
				break
			}
			if asleep2, err := f.ClaimJob(t.Context(), f.lease); err != nil || asleep2.Tries != 2 {
				t.Fatalf("the second worker got %+v, %v", asleep2, err)
			}
		}
	})
}

// TestWorkerReleasesItsOwnJob: the fence lets the worker through that has the job.
func TestWorkerReleasesItsOwnJob(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		c := f.begin(t, f.newJob(t))
		job, err := f.ClaimJob(t.Context(), f.lease)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.ReleaseJob(t.Context(), job, store.Failure{Code: "x"}, nil); err != nil {
			t.Fatal(err)
		}
		f.status(t, c.ID, store.CallFailed)
		f.wallet(t, trial, 0, 0)
		if _, err := f.ClaimJob(t.Context(), f.lease); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the job waits again: %v", err)
		}
	})
}
