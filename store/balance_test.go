package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// balances reads the balances of the account's postings, the oldest first: those
// noted, and those that the postings up to each sum to.
func (f *fixture) balances(t testing.TB) (noted, summed []credit.Amount) {
	t.Helper()
	var rows []struct {
		Balance, Wallet credit.Amount
	}
	err := f.DB().NewRaw("SELECT balance, wallet FROM journal WHERE account_id = ? ORDER BY id", f.acc.ID).Scan(t.Context(), &rows)
	if err != nil {
		t.Fatal(err)
	}
	var sum credit.Amount
	for _, r := range rows {
		sum += r.Wallet
		noted, summed = append(noted, r.Balance), append(summed, sum)
	}
	return noted, summed
}

// TestPostingsNoteTheBalance: every movement of money records the wallet's balance after it.
func TestPostingsNoteTheBalance(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		step := func() { f.clock.Advance(time.Second) }
		step()
		f.settle(t, f.begin(t, f.newCall(2000)).ID, 2000)
		step()
		f.settle(t, f.begin(t, f.newCall(2000)).ID, 500)
		step()
		c := f.begin(t, f.newCall(3000))
		step()
		if err := f.Release(t.Context(), c.ID, store.Failure{Code: "render_failed"}, nil); err != nil {
			t.Fatal(err)
		}
		step()
		paid := f.topUp(t)
		f.apply(t, paid)
		step()
		f.apply(t, store.PaymentReport{Intent: paid.Intent, Refunded: 4 * credit.Dollar})
		for i, p := range []store.NewPosting{{Kind: store.KindGrant, Amount: credit.Dollar}, {Kind: store.KindAdjustment, Amount: -credit.Dollar}, {Kind: store.KindAI, Amount: 40 * credit.Dollar}, {Kind: store.KindGrant, Amount: 50 * credit.Dollar}} {
			step()
			p.AccountID, p.Reference = f.acc.ID, fmt.Sprint(i)
			if _, err := f.Post(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		noted, summed := f.balances(t)
		if len(noted) < 12 {
			t.Fatalf("%d postings, want more", len(noted))
		}
		for i, balance := range noted {
			if balance != summed[i] {
				t.Errorf("posting %d notes %s, want %s", i, balance, summed[i])
			}
		}
	})
}

// TestNotedBalancesUnderLoad: calls at once note balances that the wallet had, each
// one once: the sum of all and the last one are right.
func TestNotedBalancesUnderLoad(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for i := range 6 {
					c := f.newCall(1000)
					if err := f.Begin(context.WithoutCancel(t.Context()), c); err != nil {
						t.Error(err)
						return
					}
					var err error
					if i%2 == 0 {
						err = f.Settle(context.WithoutCancel(t.Context()), store.Settlement{CallID: c.ID, Charge: 400})
					} else {
						err = f.Release(context.WithoutCancel(t.Context()), c.ID, store.Failure{Code: "x"}, nil)
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		var rows []struct{ Balance, Wallet credit.Amount }
		if err := f.DB().NewRaw("SELECT balance, wallet FROM journal WHERE account_id = ?", f.acc.ID).Scan(t.Context(), &rows); err != nil {
			t.Fatal(err)
		}
		// Each posting leads from one balance of the wallet to the next: before and after
		// are the same amounts but for the first and the last.
		count := map[credit.Amount]int{}
		for _, r := range rows {
			count[r.Balance]++
			count[r.Balance-r.Wallet]--
		}
		a, err := f.Account(t.Context(), f.acc.ID)
		if err != nil {
			t.Fatal(err)
		}
		count[0]++
		count[a.Balance]--
		for balance, n := range count {
			if n != 0 {
				t.Errorf("the wallet came to %s and left it %d times apart", balance, n)
			}
		}
	})
}
