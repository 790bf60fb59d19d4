package store_test

import (
	"errors"
	"testing"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

func TestAccounts(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		got, err := f.AccountByEmail(ctx, " ADA@example.com ")
		if err != nil || got.ID != f.acc.ID || got.Email != "ada@example.com" || got.Plan != store.PlanFree ||
			got.RateTier() != "free" || got.Funded || got.Balance != trial || !got.CreatedAt.Equal(noon) {
			t.Errorf("new account: got %+v, %v", got, err)
		}
		if _, err := f.CreateAccount(ctx, "Ada@Example.com", 0); !errors.Is(err, store.ErrExists) {
			t.Errorf("the same address again: got %v, want ErrExists", err)
		}
		for _, email := range []string{"", "  ", "nul\x00@example.com", "\xff@example.com"} {
			if _, err := f.CreateAccount(ctx, email, 0); err == nil {
				t.Errorf("the address %q was accepted", email)
			}
		}
		if _, err := f.CreateAccount(ctx, "minus@example.com", -1); err == nil {
			t.Error("a negative trial balance was accepted")
		}
		if err := f.Credit(ctx, f.acc.ID, 3*credit.Dollar, "invoice 1"); err != nil {
			t.Fatal(err)
		}
		got, err = f.Account(ctx, f.acc.ID)
		if err != nil || got.Balance != trial+3*credit.Dollar || !got.Funded || got.RateTier() != "paid" || got.Plan != store.PlanPaid {
			t.Errorf("credited account: got %+v, %v", got, err)
		}
		f.newAccount(t, "bob@example.com", 0)
		list, err := f.Accounts(ctx, store.AccountFilter{})
		if err != nil || len(list.Items) != 2 {
			t.Errorf("accounts: got %+v, %v; want two", list, err)
		}
		if tier := (store.Account{AutoReload: true}).RateTier(); tier != "paid" {
			t.Errorf("rate tier with auto-reload: got %s, want paid", tier)
		}
		if err := f.DB().Ping(); err != nil || f.Ping(ctx) != nil {
			t.Errorf("ping: %v", err)
		}
	})
}

func TestCreditIsBounded(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		const maximum = 1_000_000_000 * credit.Dollar
		for _, amount := range []credit.Amount{0, -1, maximum + 1} {
			if err := f.Credit(t.Context(), f.acc.ID, amount, "wrong"); err == nil {
				t.Errorf("a credit of %d was accepted", amount)
			}
		}
		if err := f.Credit(t.Context(), f.acc.ID, maximum, "most"); !errors.Is(err, credit.ErrOverflow) {
			t.Errorf("a credit beyond the largest balance: got %v, want ErrOverflow", err)
		}
		f.wallet(t, trial, 0, 0)
	})
}

func TestUnknownAccount(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		_, _, keyErr := f.CreateKey(ctx, store.NewKey{AccountID: "acc_none"})
		for what, err := range map[string]error{
			"Account":        second(f.Account(ctx, "acc_none")),
			"AccountByEmail": second(f.AccountByEmail(ctx, "none@example.com")),
			"Credit":         f.Credit(ctx, "acc_none", 1, "none"),
			"Suspend":        f.Suspend(ctx, "acc_none", ""),
			"Resume":         f.Resume(ctx, "acc_none"),
			"SetLimits":      f.SetLimits(ctx, store.Author{AccountID: "acc_none"}, store.Limits{}),
			"CreateKey":      keyErr,
		} {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: got %v, want ErrNotFound", what, err)
			}
		}
	})
}

func TestSuspendedAccountsMakeNoCalls(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		running := f.begin(t, f.newCall(100))
		if err := f.Suspend(t.Context(), f.acc.ID, "chargeback"); err != nil {
			t.Fatal(err)
		}
		got, err := f.Account(t.Context(), f.acc.ID)
		if err != nil || !got.Suspended || got.SuspendReason != "chargeback" {
			t.Errorf("suspended account: got %+v, %v", got, err)
		}
		if err := f.Begin(t.Context(), f.newCall(100)); !errors.Is(err, store.ErrSuspended) {
			t.Errorf("Begin: got %v, want ErrSuspended", err)
		}
		f.settle(t, running.ID, 100)
		if err := f.Resume(t.Context(), f.acc.ID); err != nil {
			t.Fatal(err)
		}
		f.release(t, f.begin(t, f.newCall(100)).ID)
		f.wallet(t, trial-100, 0, 100)
	})
}
