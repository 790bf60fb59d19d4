package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// skewed opens the database as a machine does whose clock is off.
func skewed(t *testing.T, db storetest.DB, off time.Duration) *store.Store {
	t.Helper()
	return db.OpenAs(t, store.Config{Machine: func() time.Time { return time.Now().Add(off) }})
}

// TestWrongClocks runs a process with a wrong clock along with one with a right one: it must not reap or expire
// anything of the other, and its own rows have the database's time and day.
func TestWrongClocks(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{11 * time.Minute, 24 * time.Hour, 365 * 24 * time.Hour, -time.Hour} {
		t.Run(fmt.Sprint(off), func(t *testing.T) {
			t.Parallel()
			db := storetest.Postgres(t)
			right := &fixture{Store: db.Open(t, nil)}
			right.acc = right.newAccount(t, "ada@example.com", trial)
			lease, err := right.Acquire(t.Context(), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = lease.Close() })
			right.lease = lease.ID()
			c := right.newCall(1000)
			c.KeyID, c.IdempotencyKey, c.BodyHash = "", "once", []byte("hash")
			right.begin(t, c)

			wrong := &fixture{Store: skewed(t, db, off), acc: right.acc, lease: right.lease}
			var fault *store.ClockError
			if err := wrong.CheckClock(t.Context()); !errors.As(err, &fault) || (fault.Off-off).Abs() > time.Minute {
				t.Errorf("CheckClock: got %v, want a clock that is %v off", err, off)
			}
			if got := wrong.ClockOff(); (got - off).Abs() > time.Minute {
				t.Errorf("ClockOff: got %v, want %v", got, off)
			}
			if err := right.CheckClock(t.Context()); err != nil {
				t.Errorf("CheckClock of the right one: %v", err)
			}
			if got := right.ClockOff(); got.Abs() > store.MaxClockError {
				t.Errorf("ClockOff of the right one: %v", got)
			}
			done, err := wrong.RunTask(t.Context(), store.Task{Name: "reap", Every: time.Minute, Do: func(context.Context) error {
				t.Error("a task was done by a wrong clock")
				return nil
			}})
			if done || !errors.As(err, &fault) {
				t.Errorf("RunTask: got %v, %v; want a *ClockError", done, err)
			}
			// Even if it reaps when it should not, it does no damage.
			if n, err := wrong.Reap(t.Context()); err != nil || n != 0 {
				t.Errorf("Reap: got %d, %v; want nothing", n, err)
			}
			right.status(t, c.ID, store.CallRunning)
			if again := right.newCall(1000); true {
				again.KeyID, again.IdempotencyKey, again.BodyHash = "", "once", []byte("hash")
				var claimed *store.ClaimedError
				if err := right.Begin(t.Context(), again); !errors.As(err, &claimed) {
					t.Errorf("the idempotency key: got %v, want it to be claimed", err)
				}
			}

			wrong.takesNothingOn(t, right)

			own := wrong.newCall(1000)
			own.KeyID = ""
			wrong.begin(t, own)
			got, err := right.Call(t.Context(), own.ID)
			if err != nil || time.Since(got.CreatedAt).Abs() > 5*time.Minute {
				t.Errorf("a call of the wrong clock: created at %v, %v; want now", got.CreatedAt, err)
			}
			var days int
			err = right.DB().NewRaw("SELECT count(*) FROM calls WHERE day = floor(extract(epoch FROM now()) / 86400) OR day = floor(extract(epoch FROM now()) / 86400) - 1").
				Scan(t.Context(), &days)
			if err != nil || days != 4 {
				t.Errorf("got %d calls that count today, %v; want 4", days, err)
			}
		})
	}
}

// takesNothingOn checks that a process with a wrong clock leaves a job and a delivery to another, whose clock is right.
func (f *fixture) takesNothingOn(t *testing.T, right *fixture) {
	t.Helper()
	job := right.newCall(1)
	job.KeyID, job.Lease, job.Mode, job.Job = "", "", store.Async, &store.NewJob{Input: []byte("input")}
	right.begin(t, job)
	ended := right.newCall(1)
	ended.KeyID, ended.CallbackURL = "", "https://example.com/callback"
	right.begin(t, ended)
	if err := right.Release(t.Context(), ended.ID, store.Failure{Code: "x"}, &store.Outbox{Data: "ended"}); err != nil {
		t.Fatal(err)
	}

	if got, err := f.ClaimJob(t.Context(), f.lease); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("ClaimJob by a wrong clock: %+v, %v", got, err)
	}
	if due := f.claim(t, f.Store); len(due) > 0 {
		t.Errorf("deliveries claimed by a wrong clock: %+v", due)
	}

	claimed, err := right.ClaimJob(t.Context(), right.lease)
	if err != nil || claimed.Call.ID != job.ID {
		t.Errorf("ClaimJob by the right one: %+v, %v", claimed, err)
	}
	right.claimOne(t)
	if err := right.ReleaseJob(t.Context(), claimed, store.Failure{Code: "x"}, nil); err != nil {
		t.Error(err)
	}
}

// TestSmallClockErrors leaves a clock alone that is as right as can be asked for.
func TestSmallClockErrors(t *testing.T) {
	t.Parallel()
	s := skewed(t, storetest.Postgres(t), -2*time.Second)
	if err := s.CheckClock(t.Context()); err != nil {
		t.Errorf("got %v, want none", err)
	}
	if off := time.Since(s.Now()).Abs(); off > time.Minute {
		t.Errorf("the store's time is %v off", off)
	}
}
