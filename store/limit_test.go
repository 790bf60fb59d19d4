package store_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

func amount(a credit.Amount) *credit.Amount { return &a }

// midnight returns the end of the clock's UTC day.
func (f *fixture) midnight() time.Time {
	const day = 24 * time.Hour
	return f.clock.Now().UTC().Truncate(day).Add(day)
}

// refused begins a call that a limit must refuse, and changes nothing.
func (f *fixture) refused(t testing.TB, c store.NewCall, want store.LimitError) {
	t.Helper()
	var got *store.LimitError
	if err := f.Begin(t.Context(), c); !errors.As(err, &got) || *got != want {
		t.Errorf("Begin: got %+v (%v), want %+v", got, err, want)
	}
	if _, err := f.Call(t.Context(), c.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the refused call was recorded: %v", err)
	}
}

func TestEmptyWallet(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.begin(t, f.newCall(trial-10))
		c := f.newCall(11)
		c.IdempotencyKey, c.BodyHash = "retry-me", []byte("hash")
		var got *store.FundsError
		if err := f.Begin(t.Context(), c); !errors.As(err, &got) || *got != (store.FundsError{Quote: 11, Balance: 10}) {
			t.Errorf("Begin: got %+v (%v), want the quote 11 and the balance 10", got, err)
		}
		f.wallet(t, 10, trial-10, trial-10)
		if _, err := f.Claim(t.Context(), f.acc.ID, "retry-me"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the refused call kept the idempotency key: %v", err)
		}
		f.begin(t, f.newCall(10))
		f.wallet(t, 0, trial, trial)
	})
}

func TestJobLimit(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		if err := f.SetLimits(t.Context(), store.Author{AccountID: f.acc.ID}, store.Limits{MaxJob: amount(1000)}); err != nil {
			t.Fatal(err)
		}
		f.begin(t, f.newCall(1000))
		f.refused(t, f.newCall(1001), store.LimitError{Limit: store.LimitMaxJob, Microdollars: 1000, Quote: 1001})
		f.wallet(t, trial-1000, 1000, 1000)
		if err := f.SetLimits(t.Context(), store.Author{AccountID: f.acc.ID}, store.Limits{}); err != nil {
			t.Fatal(err)
		}
		f.begin(t, f.newCall(1001))
		if err := f.SetLimits(t.Context(), store.Author{AccountID: f.acc.ID}, store.Limits{MaxDay: amount(-1)}); err == nil {
			t.Error("a negative limit was accepted")
		}
	})
}

func TestDayLimitCountsHolds(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		if err := f.SetLimits(t.Context(), store.Author{AccountID: f.acc.ID}, store.Limits{MaxDay: amount(3000)}); err != nil {
			t.Fatal(err)
		}
		running := f.begin(t, f.newCall(2000))
		over := store.LimitError{Limit: store.LimitMaxDay, Microdollars: 3000, Spent: 2000, Quote: 1001, Renews: f.midnight()}
		f.refused(t, f.newCall(1001), over)
		f.settle(t, running.ID, 1500) // 1500 are spent
		released := f.begin(t, f.newCall(1500))
		over.Spent, over.Quote = 3000, 1
		f.refused(t, f.newCall(1), over)
		f.release(t, released.ID)
		f.begin(t, f.newCall(1500))
		f.wallet(t, trial-3000, 1500, 3000)
	})
}

// TestDayLimitAtMidnight checks that a day ends at midnight UTC, also for holds
// that are settled or released after it.
func TestDayLimitAtMidnight(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		if err := f.SetLimits(t.Context(), store.Author{AccountID: f.acc.ID}, store.Limits{MaxDay: amount(3000)}); err != nil {
			t.Fatal(err)
		}
		f.clock.Advance(12*time.Hour - time.Microsecond)
		settledLater, releasedLater := f.begin(t, f.newCall(1000)), f.begin(t, f.newCall(2000))
		f.refused(t, f.newCall(1), store.LimitError{Limit: store.LimitMaxDay, Microdollars: 3000, Spent: 3000, Quote: 1, Renews: f.midnight()})
		f.clock.Advance(time.Microsecond)
		f.wallet(t, trial-3000, 3000, 0)
		f.begin(t, f.newCall(2500))
		f.settle(t, settledLater.ID, 400)
		f.release(t, releasedLater.ID)
		f.wallet(t, trial-400-2500, 2500, 2500)
		over := store.LimitError{Limit: store.LimitMaxDay, Microdollars: 3000, Spent: 2500, Quote: 501, Renews: f.midnight()}
		f.refused(t, f.newCall(501), over)

		// Another machine, whose clock is behind, does not begin the old day again.
		f.clock.Advance(-time.Second)
		f.refused(t, f.newCall(501), over)
	})
}

func TestKeySpendLimit(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		key, _, err := f.CreateKey(t.Context(), store.NewKey{AccountID: f.acc.ID, SpendLimit: amount(2000)})
		if err != nil {
			t.Fatal(err)
		}
		f.key = key
		running := f.begin(t, f.newCall(1500))
		f.refused(t, f.newCall(501), store.LimitError{Limit: store.LimitKeySpend, Microdollars: 2000, Spent: 1500, Quote: 501})
		f.wallet(t, trial-1500, 1500, 1500) // the refusal undid its hold
		f.release(t, running.ID)
		f.settle(t, f.begin(t, f.newCall(2000)).ID, 1999)
		f.clock.Advance(48 * time.Hour) // the limit is for the key's life
		f.refused(t, f.newCall(2), store.LimitError{Limit: store.LimitKeySpend, Microdollars: 2000, Spent: 1999, Quote: 2})
		f.settle(t, f.begin(t, f.newCall(1)).ID, 1)
		f.spent(t, 2000)
	})
}

// TestLimitsHoldUnderConcurrency begins more calls at once than either limit
// allows.
func TestLimitsHoldUnderConcurrency(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		key, _, err := f.CreateKey(t.Context(), store.NewKey{AccountID: f.acc.ID, SpendLimit: amount(7 * 100)})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.SetLimits(t.Context(), store.Author{AccountID: f.acc.ID}, store.Limits{MaxDay: amount(12 * 100)}); err != nil {
			t.Fatal(err)
		}
		var begun [2]atomic.Int64
		var wg sync.WaitGroup
		for n := range 32 {
			wg.Go(func() {
				c := f.newCall(100)
				if n%2 == 0 {
					c.KeyID = key.ID
				}
				var limit *store.LimitError
				switch err := f.Begin(t.Context(), c); {
				case err == nil:
					begun[n%2].Add(1)
				case !errors.As(err, &limit):
					t.Errorf("Begin: got %v, want a LimitError", err)
				}
			})
		}
		wg.Wait()
		limited, free := begun[0].Load(), begun[1].Load()
		if limited > 7 || limited+free != 12 {
			t.Errorf("begun: %d with the limited key, %d with the other; want at most 7, and 12 together", limited, free)
		}
	})
}
