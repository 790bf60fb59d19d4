package store_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// post makes a posting that must be accepted, and reports whether it was new.
func (f *fixture) post(t testing.TB, kind string, amount credit.Amount, reference string) bool {
	t.Helper()
	posted, err := f.Post(t.Context(), store.NewPosting{AccountID: f.acc.ID, Kind: kind, Amount: amount, Reference: reference})
	if err != nil {
		t.Fatalf("post %s %s: %v", kind, reference, err)
	}
	return posted
}

// owes checks the balance and the debt of the fixture's account.
func (f *fixture) owes(t testing.TB, balance, owed credit.Amount) {
	t.Helper()
	acc, err := f.Account(t.Context(), f.acc.ID)
	if err != nil || acc.Balance != balance || acc.Owed != owed {
		t.Errorf("got a balance of %d and %d owed, %v; want %d and %d", acc.Balance, acc.Owed, err, balance, owed)
	}
}

// TestChargebackIsOwed takes a payment back that was spent.
func TestChargebackIsOwed(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		const dollar = credit.Dollar
		f.post(t, store.KindPayment, 10*dollar, "pay_1")
		f.settle(t, f.begin(t, f.newCall(12*dollar)).ID, 12*dollar)
		running := f.begin(t, f.newCall(dollar))
		f.post(t, store.KindChargeback, 10*dollar, "dp_1")
		f.owes(t, 0, 8*dollar)
		f.release(t, running.ID) // the released amount repays nothing yet, and cannot be spent
		f.owes(t, dollar, 8*dollar)
		var funds *store.FundsError
		if err := f.Begin(t.Context(), f.newCall(1)); !errors.As(err, &funds) || funds.Balance != -7*dollar {
			t.Errorf("a call of an account that owes: got %v, want a balance of -7", err)
		}
		free := f.newCall(0)
		f.begin(t, free)
		f.release(t, free.ID)
		f.post(t, store.KindPayment, 3*dollar, "pay_2")
		f.owes(t, 0, 4*dollar)
		f.post(t, store.KindGrant, 5*dollar, "ticket 7")
		f.owes(t, dollar, 0)
		f.settle(t, f.begin(t, f.newCall(dollar)).ID, dollar)
		f.owes(t, 0, 0)
		report, err := f.CheckLedger(t.Context())
		if err != nil || report.Revenue != 13*dollar || report.Owed != 0 {
			t.Errorf("got %+v, %v; want 13 earned and nothing owed", report, err)
		}
	})
}

func TestPostingsByKind(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for i, p := range []struct {
			kind   string
			amount credit.Amount
			want   []string
		}{
			{store.KindPayment, 100, []string{"payment -100", "wallet 100"}},
			{store.KindTrial, 100, []string{"promotion -100", "wallet 100"}},
			{store.KindGrant, 100, []string{"promotion -100", "wallet 100"}},
			{store.KindPromotion, 100, []string{"promotion -100", "wallet 100"}},
			{store.KindAdjustment, 100, []string{"adjustment -100", "wallet 100"}},
			{store.KindAdjustment, -100, []string{"adjustment 100", "wallet -100"}},
			{store.KindRefund, 100, []string{"payment 100", "wallet -100"}},
			{store.KindAI, 100, []string{"revenue 100", "wallet -100"}},
			{store.KindChargeback, trial + 500, []string{"payment 5000500", "debt -300", "wallet -5000200"}},
		} {
			f.clock.Advance(time.Second)
			f.post(t, p.kind, p.amount, fmt.Sprint("r", i))
			var got []string
			err := f.Ledger(t.Context(), store.LedgerQuery{AccountID: f.acc.ID, From: f.clock.Now()}, func(l store.LedgerEntry) error {
				got = append(got, fmt.Sprintf("%s %d", l.Book, l.Amount))
				if l.Kind != p.kind || l.Reference != fmt.Sprint("r", i) {
					t.Errorf("%s: got kind %s and reference %s", p.kind, l.Kind, l.Reference)
				}
				return nil
			})
			if err != nil || !slices.Equal(got, p.want) {
				t.Errorf("%s %d: got %q, %v; want %q", p.kind, p.amount, got, err, p.want)
			}
			f.sound(t)
		}
		for _, p := range []store.NewPosting{
			{Kind: "bribe", Amount: 1, Reference: "x"}, {Kind: store.KindHold, Amount: 1, Reference: "x"},
			{Kind: store.KindRefund, Amount: -1, Reference: "x"}, {Kind: store.KindPayment, Amount: 1}, {Kind: store.KindAdjustment, Reference: "x"},
		} {
			p.AccountID = f.acc.ID
			if _, err := f.Post(t.Context(), p); err == nil {
				t.Errorf("%+v was posted", p)
			}
		}
	})
}

// TestPostOnce posts one reference many times at once.
func TestPostOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		var fresh atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if f.post(t, store.KindGrant, 100, "ticket") {
					fresh.Add(1)
				}
			})
		}
		wg.Wait()
		if fresh.Load() != 1 {
			t.Errorf("%d of 8 were posted, want 1", fresh.Load())
		}
		f.post(t, store.KindPayment, 100, "ticket") // another kind
		f.wallet(t, trial+200, 0, 0)
		_, err := f.Post(t.Context(), store.NewPosting{AccountID: f.acc.ID, Kind: store.KindGrant, Amount: 101, Reference: "ticket"})
		if !errors.Is(err, store.ErrExists) {
			t.Errorf("another amount: got %v, want ErrExists", err)
		}
		f.acc = f.newAccount(t, "eve@example.com", 0)
		if !f.post(t, store.KindGrant, 100, "ticket") {
			t.Error("another account's reference was taken for the same")
		}
	})
}
