package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestForgottenTransactionHoldsUpOneAccount: while someone holds the lock of an
// account, its calls take a part of the connections only, and other accounts' calls
// begin and end.
func TestForgottenTransactionHoldsUpOneAccount(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	f, raw := newFixture(t, db), operator(t, db)
	other := f.newAccount(t, "bob@example.com", trial)
	const calls = 20
	begun := make([]store.NewCall, 2*calls)
	for i := range begun {
		begun[i] = f.begin(t, f.newCall(10))
	}
	for name, do := range map[string]func(n int) error{
		"begin":   func(int) error { return f.Begin(t.Context(), f.newCall(10)) },
		"settle":  func(n int) error { return f.Settle(t.Context(), store.Settlement{CallID: begun[n].ID, Charge: 10}) },
		"release": func(n int) error { return f.Release(t.Context(), begun[calls+n].ID, store.Failure{Code: "x"}, nil) },
	} {
		release := hold(t, raw, "UPDATE accounts SET balance = balance WHERE id = $1", f.acc.ID)
		var blocked sync.WaitGroup
		for n := range calls {
			blocked.Go(func() {
				if err := do(n); err != nil {
					t.Errorf("%s, the lock being free again: %v", name, err)
				}
			})
		}
		awaitLocked(t, raw, store.DefaultConns/4)
		for range calls {
			c := f.newCall(10)
			c.AccountID, c.KeyID = other.ID, ""
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if err := f.Begin(ctx, c); err != nil {
				t.Errorf("%s: another account's Begin: %v", name, err)
			}
			if err := f.Release(ctx, c.ID, store.Failure{Code: "x"}, nil); err != nil {
				t.Errorf("%s: another account's Release: %v", name, err)
			}
			cancel()
		}
		if inUse := f.DB().Stats().InUse; inUse > store.DefaultConns/4 {
			t.Errorf("%s: the account has %d connections", name, inUse)
		}
		release()
		blocked.Wait()
	}
	f.sound(t)
}

// TestPaidPathIsOneRoundTrip: beginning, settling and releasing are one exchange with
// PostgreSQL each, so that no process that is frozen in the middle keeps a lock.
func TestPaidPathIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	db, cutter := storetest.BehindCutter(t, storetest.Postgres(t))
	f := newFixture(t, db)
	for name, do := range map[string]func(store.NewCall) error{
		"begin":  func(c store.NewCall) error { return f.Begin(t.Context(), c) },
		"settle": func(c store.NewCall) error { return f.Settle(t.Context(), store.Settlement{CallID: c.ID, Charge: 10}) },
		"release": func(c store.NewCall) error {
			return f.Release(t.Context(), c.ID, store.Failure{Code: "x"}, &store.Outbox{Event: store.EventJobFailed})
		},
	} {
		more := true
		for range 20 { // The first time it is prepared, and a connection that was idle is probed.
			c := f.newCall(10)
			if name != "begin" {
				f.begin(t, c)
			}
			cutter.At(2, false)
			if err := do(c); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if more = cutter.Disarm(); !more {
				break
			}
		}
		if more {
			t.Errorf("%s takes more than one exchange", name)
		}
	}
	f.sound(t)
}

// TestClaimsSkipLockedRows: a locked receiver or sender does not delay the deliveries of others.
func TestClaimsSkipLockedRows(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]string{
		"receiver": "SELECT FROM receivers WHERE account_id = $1 FOR UPDATE",
		"sender":   "SELECT FROM senders WHERE account_id = $1 FOR UPDATE",
		"delivery": "SELECT FROM deliveries WHERE account_id = $1 FOR UPDATE",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := storetest.Postgres(t)
			f, raw := newFixture(t, db), operator(t, db)
			other := f.newAccount(t, "bob@example.com", trial)
			if _, err := f.TestWebhook(t.Context(), f.acc.ID, f.newWebhook(t, f.acc.ID).ID, nil); err != nil {
				t.Fatal(err)
			}
			bobs, err := f.TestWebhook(t.Context(), other.ID, f.newWebhook(t, other.ID).ID, nil)
			if err != nil {
				t.Fatal(err)
			}
			release := hold(t, raw, lock, f.acc.ID)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			due, err := f.ClaimDeliveries(ctx, 10)
			if err != nil || len(due) != 1 || due[0].ID != bobs.ID {
				t.Fatalf("got %+v, %v; want the other account's delivery", due, err)
			}
			release()
			if got := f.claimOne(t); got.AccountID != f.acc.ID {
				t.Errorf("the lock being free, got %+v", got)
			}
		})
	}
}

// TestWaitsEndDespiteLocks: deliveries whose time has come become ready although that
// of another account is locked.
func TestWaitsEndDespiteLocks(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	f, raw := newFixture(t, db), operator(t, db)
	other := f.newAccount(t, "bob@example.com", trial)
	for _, account := range []string{f.acc.ID, other.ID} {
		if _, err := f.TestWebhook(t.Context(), account, f.newWebhook(t, account).ID, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, due := range f.claim(t, f.Store) {
		f.finish(t, due, failed)
	}
	f.clock.Advance(time.Minute)
	release := hold(t, raw, "SELECT FROM senders WHERE account_id = $1 FOR UPDATE", f.acc.ID)
	if got := f.claimOne(t); got.AccountID != other.ID {
		t.Errorf("got %+v, want the other account's delivery", got)
	}
	release()
	if got := f.claimOne(t); got.AccountID != f.acc.ID {
		t.Errorf("the lock being free, got %+v", got)
	}
}
