package store_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"relaypdf/store"
	"relaypdf/store/credit"
	"relaypdf/store/storetest"
)

// balances reads the balances of the account's postings, the oldest first: those
// noted, and those that the postings up to each sum to.
func (f *fixture) balances(t testing.TB) (noted []*credit.Amount, summed []credit.Amount) {
	t.Helper()
	var rows []struct {
		Balance *credit.Amount
		Wallet  credit.Amount
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

// TestPostingsNoteTheBalance: every way in which money moves notes what the wallet
// had afterwards.
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
		f.apply(t, store.PaymentNotice{Intent: paid.Intent, Refunded: 4 * credit.Dollar})
		for i, p := range []store.Posting{{Kind: store.KindGrant, Amount: credit.Dollar}, {Kind: store.KindAdjustment, Amount: -credit.Dollar}, {Kind: store.KindAI, Amount: 40 * credit.Dollar}, {Kind: store.KindGrant, Amount: 50 * credit.Dollar}} {
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
			if balance == nil || *balance != summed[i] {
				t.Errorf("posting %d notes %v, want %s", i, balance, summed[i])
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

// TestStatementOfOldPostings: postings of before balances were noted have the ones
// that they had, alone and among newer ones.
func TestStatementOfOldPostings(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for i := range 12 {
			f.clock.Advance(time.Second)
			f.settle(t, f.begin(t, f.newCall(2000)).ID, credit.Amount(i*100))
			f.clock.Advance(time.Second)
			if err := f.Credit(t.Context(), f.acc.ID, credit.Dollar, fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		filters := []store.PostingFilter{{}, {WithoutCalls: true}, {Kind: store.KindPayment}}
		read := func(f *fixture) (all []credit.Amount) {
			t.Helper()
			for _, filter := range filters {
				filter.AccountID, filter.Limit = f.acc.ID, 5
				for {
					page, err := f.Statement(t.Context(), filter)
					if err != nil {
						t.Fatal(err)
					}
					for _, p := range page.Items {
						all = append(all, p.Balance)
					}
					if filter.Cursor = page.Next; page.Next == "" {
						break
					}
				}
			}
			return all
		}
		want := read(f)
		for _, condition := range []string{"id < (SELECT MAX(id) FROM journal WHERE kind = 'payment')", "wallet > 0", "TRUE"} {
			if _, err := f.DB().ExecContext(t.Context(), "UPDATE journal SET balance = NULL WHERE "+condition); err != nil {
				t.Fatal(err)
			}
			if got := read(f); !slices.Equal(got, want) {
				t.Errorf("without the balances where %s: got %v, want %v", condition, got, want)
			}
			for range 4 {
				if err := f.NoteBalances(t.Context(), 5); err != nil {
					t.Fatal(err)
				}
			}
			var left int
			if err := f.DB().NewRaw("SELECT COUNT(*) FROM journal WHERE balance IS NULL AND kind NOT IN ('hold', 'settle', 'release')").Scan(t.Context(), &left); err != nil || left != 0 {
				t.Errorf("%d postings without calls have no balance (%v)", left, err)
			}
			if got := read(f); !slices.Equal(got, want) {
				t.Errorf("after the balances were noted: got %v, want %v", got, want)
			}
		}
	})
}

// TestIndexesComeLater: a database of before gets them, and every partition, old or
// new, has its own.
func TestIndexesComeLater(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	f := newFixture(t, db)
	if _, err := f.DB().ExecContext(t.Context(), "DROP INDEX journal_shown"); err != nil {
		t.Fatal(err)
	}
	// Another process died while it made them.
	if _, err := f.DB().ExecContext(t.Context(), "CREATE INDEX journal_default_shown ON journal_default (id)"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		db.Open(t, f.clock)
		var parts, indexed int
		var valid bool
		err := f.DB().NewRaw(`SELECT (SELECT COUNT(*) FROM pg_inherits WHERE inhparent = 'journal'::regclass),
			(SELECT COUNT(*) FROM pg_inherits WHERE inhparent = 'journal_shown'::regclass), (SELECT indisvalid FROM pg_index WHERE indexrelid = 'journal_shown'::regclass)`).
			Scan(t.Context(), &parts, &indexed, &valid)
		if err != nil || !valid || parts != indexed || parts < 4 {
			t.Errorf("%d of %d partitions have the index, which is valid: %v (%v)", indexed, parts, valid, err)
		}
		f.clock.Advance(100 * 24 * time.Hour)
		if err := f.MakePartitions(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
