package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"relaypdf/store"
	"relaypdf/store/credit"
)

// listen gives the fixture's account an endpoint, without which there are no
// events.
func (f *fixture) listen(t testing.TB, events ...string) {
	t.Helper()
	_, err := f.CreateWebhook(t.Context(), store.NewWebhook{
		ID: store.NewID("we"), AccountID: f.acc.ID, URL: "https://hooks.example/", Events: events, Secret: []byte("sealed"), SecretPrefix: "whsec_",
	})
	if err != nil {
		t.Fatal(err)
	}
}

// told is an event of a wallet, as its endpoints receive it.
type told struct {
	Type string           `json:"type"`
	Data store.WalletNews `json:"data"`
}

// events checks which events there are, in their order, and what they say.
func (f *fixture) events(t testing.TB, want ...told) {
	t.Helper()
	var bodies [][]byte
	if err := f.DB().NewRaw("SELECT body FROM events ORDER BY created_at, id").Scan(t.Context(), &bodies); err != nil {
		t.Fatal(err)
	}
	var got []told
	for _, body := range bodies {
		var event told
		if err := json.Unmarshal(body, &event); err != nil {
			t.Fatal(err)
		}
		got = append(got, event)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("events: got %+v, want %+v", got, want)
	}
}

// ledgerOf lists the entries of one kind: book and amount.
func (f *fixture) ledgerOf(t testing.TB, kind string) []string {
	t.Helper()
	var lines []string
	err := f.Ledger(t.Context(), store.LedgerQuery{AccountID: f.acc.ID}, func(l store.LedgerLine) error {
		if l.Kind == kind {
			lines = append(lines, fmt.Sprintf("%s %d %s", l.Book, l.Amount, l.Reason))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func (f *fixture) payment() store.Payment {
	return store.Payment{AccountID: f.acc.ID, Provider: "test", Reference: "pay_1", Kind: store.PaymentTopUp, Amount: 10 * credit.Dollar}
}

// TestTopUpOnce notifies of one payment many times at once, and again later.
func TestTopUpOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.listen(t)
		var credited atomic.Int64
		var wg sync.WaitGroup
		notify := func() {
			ok, err := f.TopUp(t.Context(), f.payment())
			if err != nil {
				t.Errorf("TopUp: %v", err)
			}
			if ok {
				credited.Add(1)
			}
		}
		for range 8 {
			wg.Go(notify)
		}
		wg.Wait()
		f.clock.Advance(100 * 24 * time.Hour)
		notify()
		if got := credited.Load(); got != 1 {
			t.Errorf("credited %d times, want once", got)
		}
		f.wallet(t, trial+10*credit.Dollar, 0, 0)
		if got, want := f.ledgerOf(t, store.KindPayment), []string{"payment -10000000 test pay_1", "wallet 10000000 test pay_1"}; !slices.Equal(got, want) {
			t.Errorf("ledger: got %q, want %q", got, want)
		}
		acc, err := f.Account(t.Context(), f.acc.ID)
		if err != nil || !acc.Funded || acc.Plan != store.PlanPaid || acc.RateTier() != "paid" {
			t.Errorf("the account is %+v, %v; want it funded and paid", acc, err)
		}
		f.events(t, told{store.EventWalletTopUp, store.WalletNews{AmountMicrodollars: 10 * credit.Dollar, BalanceMicrodollars: 15 * credit.Dollar}})
	})
}

func TestTopUpRefusals(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.listen(t)
		for name, spoil := range map[string]func(*store.Payment){
			"nothing":      func(p *store.Payment) { p.Amount = 0 },
			"less":         func(p *store.Payment) { p.Amount = -1 },
			"too much":     func(p *store.Payment) { p.Amount = 2_000_000_000 * credit.Dollar },
			"no reference": func(p *store.Payment) { p.Reference = "" },
			"no provider":  func(p *store.Payment) { p.Provider = "" },
			"a NUL":        func(p *store.Payment) { p.Reference = "a\x00" },
			"no kind":      func(p *store.Payment) { p.Kind = "gift" },
			"an overflow":  func(p *store.Payment) { p.Amount = 1_000_000_000 * credit.Dollar },
		} {
			p := f.payment()
			spoil(&p)
			if ok, err := f.TopUp(t.Context(), p); err == nil || ok {
				t.Errorf("%s: got %v, %v; want an error", name, ok, err)
			}
		}
		p := f.payment()
		p.AccountID = "acc_none"
		if _, err := f.TopUp(t.Context(), p); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an unknown account: got %v, want ErrNotFound", err)
		}
		f.wallet(t, trial, 0, 0)
		f.events(t)
		if ok, err := f.TopUp(t.Context(), f.payment()); err != nil || !ok {
			t.Errorf("after the refusals: got %v, %v; want it credited", ok, err)
		}
		p = f.payment()
		p.Amount++
		if _, err := f.TopUp(t.Context(), p); !errors.Is(err, store.ErrExists) {
			t.Errorf("another amount: got %v, want ErrExists", err)
		}
		p = f.payment()
		p.AccountID = f.newAccount(t, "eve@example.com", 0).ID
		if _, err := f.TopUp(t.Context(), p); !errors.Is(err, store.ErrExists) {
			t.Errorf("another account: got %v, want ErrExists", err)
		}
		p.Provider = "other"
		if ok, err := f.TopUp(t.Context(), p); err != nil || !ok {
			t.Errorf("another provider: got %v, %v; want it credited", ok, err)
		}
		f.wallet(t, trial+10*credit.Dollar, 0, 0)
	})
}

// TestCreditIsTold: what the operator credits is a payment as well.
func TestCreditIsTold(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.listen(t, store.EventWalletTopUp)
		if err := f.Credit(t.Context(), f.acc.ID, credit.Dollar, "by hand"); err != nil {
			t.Fatal(err)
		}
		f.events(t, told{store.EventWalletTopUp, store.WalletNews{AmountMicrodollars: credit.Dollar, BalanceMicrodollars: 6 * credit.Dollar}})
	})
}

// TestEmptyWalletIsToldHourly: first, and then at most once an hour.
func TestEmptyWalletIsToldHourly(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.listen(t)
		var want []told
		for _, step := range []struct {
			wait time.Duration
			told bool
		}{{0, true}, {time.Minute, false}, {59*time.Minute - time.Microsecond, false}, {time.Microsecond, true}, {59 * time.Minute, false}, {48 * time.Hour, true}} {
			f.clock.Advance(step.wait)
			if err := f.AlertEmptyWallet(t.Context(), f.acc.ID, 2000); err != nil {
				t.Fatal(err)
			}
			if step.told {
				want = append(want, told{store.EventPaymentRequired, store.WalletNews{
					AmountMicrodollars: 2000, BalanceMicrodollars: trial, Reason: "the wallet does not cover a call",
				}})
			}
			f.events(t, want...)
		}
		if err := f.AlertEmptyWallet(t.Context(), "acc_none", 1); err == nil {
			t.Error("an unknown account was told")
		}
	})
}

func TestAutoReloadSettings(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		good := store.AutoReload{Threshold: 5 * credit.Dollar, Amount: 20 * credit.Dollar, Method: "card_1"}
		for name, spoil := range map[string]func(*store.AutoReload){
			"no threshold":         func(r *store.AutoReload) { r.Threshold = 0 },
			"less than it takes":   func(r *store.AutoReload) { r.Amount = r.Threshold - 1 },
			"more than a wallet":   func(r *store.AutoReload) { r.Amount = 2_000_000_000 * credit.Dollar },
			"no method":            func(r *store.AutoReload) { r.Method = "" },
			"a method with a NUL":  func(r *store.AutoReload) { r.Method = "\x00" },
			"a negative threshold": func(r *store.AutoReload) { r.Threshold = -1 },
		} {
			bad := good
			spoil(&bad)
			if err := f.SetAutoReload(t.Context(), f.acc.ID, &bad); err == nil {
				t.Errorf("%s: accepted", name)
			}
		}
		if err := f.SetAutoReload(t.Context(), "acc_none", &good); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an unknown account: got %v, want ErrNotFound", err)
		}
		check := func(want *store.AutoReload) {
			t.Helper()
			got, err := f.AutoReload(t.Context(), f.acc.ID)
			acc, accErr := f.Account(t.Context(), f.acc.ID)
			if accErr != nil || acc.AutoReload != (want != nil) {
				t.Errorf("the account's auto-reload is %v (%v), want %v", acc.AutoReload, accErr, want != nil)
			}
			if want == nil && !errors.Is(err, store.ErrNotFound) || want != nil && (err != nil || got != *want) {
				t.Errorf("AutoReload: got %+v, %v; want %+v", got, err, want)
			}
		}
		check(nil)
		for _, setting := range []*store.AutoReload{&good, {Threshold: 1, Amount: 1, Method: "card_2"}, nil, nil, &good} {
			if err := f.SetAutoReload(t.Context(), f.acc.ID, setting); err != nil {
				t.Fatal(err)
			}
			check(setting)
		}
	})
}

// low turns auto-reload on and leaves the wallet below the threshold.
func (f *fixture) low(t testing.TB) {
	t.Helper()
	err := f.SetAutoReload(t.Context(), f.acc.ID, &store.AutoReload{Threshold: credit.Dollar, Amount: 20 * credit.Dollar, Method: "card_1"})
	if err != nil {
		t.Fatal(err)
	}
	f.due(t, false)
	f.settle(t, f.begin(t, f.newCall(trial-credit.Dollar+1)).ID, trial-credit.Dollar+1)
	f.due(t, true)
}

// due checks whether the account's wallet is to be refilled now.
func (f *fixture) due(t testing.TB, want bool) {
	t.Helper()
	ids, err := f.DueReloads(t.Context(), 10)
	if err != nil || slices.Contains(ids, f.acc.ID) != want {
		t.Errorf("DueReloads: got %v, %v; want the account in it: %v", ids, err, want)
	}
	if got, err := f.ReloadDue(t.Context(), f.acc.ID); err != nil || got != want {
		t.Errorf("ReloadDue: got %v, %v; want %v", got, err, want)
	}
	if want {
		return
	}
	if r, err := f.ClaimReload(t.Context(), f.acc.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("ClaimReload: got %+v, %v; want ErrNotFound", r, err)
	}
}

func (f *fixture) claimReload(t testing.TB) store.Reload {
	t.Helper()
	r, err := f.ClaimReload(t.Context(), f.acc.ID)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestReloadOnce claims from many sides: one attempt is made, one payment
// credited, one event told.
func TestReloadOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.listen(t)
		f.low(t)
		for round := range 3 {
			var attempts atomic.Int64
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					r, err := f.ClaimReload(t.Context(), f.acc.ID)
					if errors.Is(err, store.ErrNotFound) {
						return
					}
					attempts.Add(1)
					if err != nil || r.AccountID != f.acc.ID || r.Amount != 20*credit.Dollar || r.Method != "card_1" {
						t.Errorf("ClaimReload: got %+v, %v", r, err)
					}
					if ok, err := f.FinishReload(t.Context(), r, "test", r.ID); err != nil || !ok {
						t.Errorf("FinishReload: got %v, %v", ok, err)
					}
				})
			}
			wg.Wait()
			if got := attempts.Load(); got != 1 {
				t.Errorf("round %d: %d attempts, want one", round, got)
			}
			f.due(t, false)
			f.settle(t, f.begin(t, f.newCall(20*credit.Dollar)).ID, 20*credit.Dollar)
			f.clock.Advance(time.Minute)
		}
		news := told{store.EventAutoReload, store.WalletNews{AmountMicrodollars: 20 * credit.Dollar, BalanceMicrodollars: 21*credit.Dollar - 1}}
		f.events(t, news, news, news)
	})
}

// TestReloadFails: nobody tries again for an hour, unless the owner has changed
// the settings.
func TestReloadFails(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.listen(t)
		f.low(t)
		first := f.claimReload(t)
		f.due(t, false)
		for range 2 { // The second time it has ended, and nothing happens.
			if err := f.FailReload(t.Context(), first, store.ReloadFailure{Reason: "The card was declined.", Final: true}); err != nil {
				t.Fatal(err)
			}
		}
		news := told{store.EventAutoReloadFailed, store.WalletNews{
			AmountMicrodollars: 20 * credit.Dollar, BalanceMicrodollars: credit.Dollar - 1, Reason: "The card was declined.",
		}}
		f.events(t, news)
		f.clock.Advance(time.Hour - time.Microsecond)
		f.due(t, false)
		f.clock.Advance(time.Microsecond)
		f.due(t, true)
		second := f.claimReload(t)
		if second.ID == first.ID {
			t.Error("a declined attempt is repeated under its own id, which the provider would decline for ever")
		}
		if err := f.FailReload(t.Context(), second, store.ReloadFailure{Reason: "No answer."}); err != nil {
			t.Fatal(err)
		}
		if err := f.SetAutoReload(t.Context(), f.acc.ID, &store.AutoReload{Threshold: credit.Dollar, Amount: credit.Dollar, Method: "card_2"}); err != nil {
			t.Fatal(err)
		}
		if third := f.claimReload(t); third != second {
			t.Errorf("an attempt of which nobody knows how it ended is repeated as %+v, want %+v", third, second)
		}
		f.wallet(t, credit.Dollar-1, 0, trial-credit.Dollar+1)
	})
}

// TestReloadOutlivesItsProcess: an attempt whose process died is finished by
// another under the same id, although the wallet was filled meanwhile.
func TestReloadOutlivesItsProcess(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.low(t)
		first := f.claimReload(t)
		if _, err := f.TopUp(t.Context(), f.payment()); err != nil {
			t.Fatal(err)
		}
		f.due(t, false)
		f.clock.Advance(2 * time.Minute)
		f.due(t, true)
		if second := f.claimReload(t); second != first {
			t.Errorf("the attempt goes on as %+v, want %+v", second, first)
		}
		// Both processes hear from the provider, and so does its notice.
		for n, want := range []bool{true, false} {
			if ok, err := f.FinishReload(t.Context(), first, "test", "ch_1"); err != nil || ok != want {
				t.Errorf("FinishReload %d: got %v, %v; want %v", n, ok, err, want)
			}
		}
		notice := store.Payment{AccountID: f.acc.ID, Provider: "test", Reference: "ch_1", Kind: store.PaymentAutoReload, Amount: 20 * credit.Dollar}
		if ok, err := f.TopUp(t.Context(), notice); err != nil || ok {
			t.Errorf("the provider's notice: got %v, %v; want nothing credited", ok, err)
		}
		f.wallet(t, 31*credit.Dollar-1, 0, trial-credit.Dollar+1)
		f.due(t, false)
	})
}

func TestReloadNeedsConsent(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.low(t)
		if err := f.Suspend(t.Context(), f.acc.ID, ""); err != nil {
			t.Fatal(err)
		}
		f.due(t, false)
		if err := f.Resume(t.Context(), f.acc.ID); err != nil {
			t.Fatal(err)
		}
		f.due(t, true)
		r := f.claimReload(t)
		if err := f.SetAutoReload(t.Context(), f.acc.ID, nil); err != nil {
			t.Fatal(err)
		}
		f.clock.Advance(time.Hour)
		f.due(t, false)
		// What was taken before is credited all the same.
		if ok, err := f.FinishReload(t.Context(), r, "test", "ch_1"); err != nil || !ok {
			t.Errorf("FinishReload: got %v, %v", ok, err)
		}
	})
}
