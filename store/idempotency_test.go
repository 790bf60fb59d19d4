package store_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

// keyed returns a call with the idempotency key "once".
func (f *fixture) keyed(body string) store.NewCall {
	c := f.newCall(1000)
	c.IdempotencyKey, c.BodyHash = "once", []byte(body)
	return c
}

// claimed begins a call whose idempotency key another call must hold.
func (f *fixture) claimed(t testing.TB, holder store.NewCall, state string) {
	t.Helper()
	var got *store.ClaimedError
	err := f.Begin(t.Context(), f.keyed("other body"))
	if !errors.As(err, &got) || got.Claim.CallID != holder.ID || got.Claim.State != state || !bytes.Equal(got.Claim.BodyHash, holder.BodyHash) {
		t.Errorf("Begin: got %+v (%v), want the claim of %s, %s", got, err, holder.ID, state)
	}
}

func TestIdempotencyKey(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		first := f.begin(t, f.keyed("body"))
		f.claimed(t, first, store.ClaimRunning)
		f.wallet(t, trial-1000, 1000, 1000)
		f.settle(t, first.ID, 1000)
		f.claimed(t, first, store.ClaimDone)
		f.wallet(t, trial-1000, 0, 1000)

		got, err := f.Claim(t.Context(), f.acc.ID, "once")
		if err != nil || got.CallID != first.ID || got.State != store.ClaimDone || !got.ExpiresAt.Equal(noon.Add(24*time.Hour)) {
			t.Errorf("Claim: got %+v, %v", got, err)
		}
	})
}

func TestFailedCallFreesItsKey(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.release(t, f.begin(t, f.keyed("body")).ID)
		if _, err := f.Claim(t.Context(), f.acc.ID, "once"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Claim after a failure: got %v, want ErrNotFound", err)
		}
		again := f.begin(t, f.keyed("body"))
		f.settle(t, again.ID, 1000)
		f.wallet(t, trial-1000, 0, 1000)
	})
}

func TestExpiredClaimIsReplaced(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		old := f.begin(t, f.keyed("old body"))
		f.clock.Advance(24*time.Hour - time.Microsecond)
		f.claimed(t, old, store.ClaimRunning)
		f.clock.Advance(time.Microsecond)
		if _, err := f.Claim(t.Context(), f.acc.ID, "once"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an expired claim: got %v, want ErrNotFound", err)
		}
		newer := f.begin(t, f.keyed("new body"))
		// The old call's end must not touch the new call's claim.
		f.release(t, old.ID)
		f.claimed(t, newer, store.ClaimRunning)
		f.settle(t, newer.ID, 1000)
		f.claimed(t, newer, store.ClaimDone)
	})
}

func TestOtherAccountsKeyIsIndependent(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.begin(t, f.keyed("body"))
		other := f.newAccount(t, "bob@example.com", trial)
		c := f.keyed("body")
		c.AccountID, c.KeyID = other.ID, ""
		f.begin(t, c)
		got, err := f.Claim(t.Context(), other.ID, "once")
		if err != nil || got.CallID != c.ID {
			t.Errorf("Claim: got %+v, %v; want %s", got, err, c.ID)
		}
	})
}

// TestClaimRace begins calls with one key at once: one wins, and is the only
// one that is charged.
func TestClaimRace(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		const racers = 8
		var wg sync.WaitGroup
		won, held := make(chan string, racers), make(chan string, racers)
		for range racers {
			wg.Go(func() {
				c := f.keyed("body")
				var lost *store.ClaimedError
				switch err := f.Begin(t.Context(), c); {
				case err == nil:
					won <- c.ID
				case errors.As(err, &lost):
					held <- lost.Claim.CallID
				default:
					t.Errorf("Begin: %v", err)
				}
			})
		}
		wg.Wait()
		close(held)
		if len(won) != 1 {
			t.Fatalf("%d calls won the key, want 1", len(won))
		}
		winner := <-won
		for holder := range held {
			if holder != winner {
				t.Errorf("a loser saw %s as the holder, want %s", holder, winner)
			}
		}
		f.settle(t, winner, 1000)
		f.wallet(t, trial-1000, 0, 1000)
	})
}

func TestReapDeletesExpiredClaims(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.settle(t, f.begin(t, f.keyed("body")).ID, 1000)
		f.clock.Advance(24 * time.Hour)
		if _, err := f.Reap(t.Context()); err != nil {
			t.Fatal(err)
		}
		count, err := f.DB().NewSelect().Table("idempotency").Count(t.Context())
		if err != nil || count != 0 {
			t.Errorf("claims after Reap: got %d, %v; want none", count, err)
		}
	})
}
