package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
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

// An event of a wallet, as its endpoints receive it.
type told struct {
	Type string            `json:"type"`
	Data store.WalletEvent `json:"data"`
}

// events checks the events, their order and their content.
func (f *fixture) events(t testing.TB, want ...told) {
	t.Helper()
	var rows []struct {
		Body      []byte
		CreatedAt int64
	}
	if err := f.DB().NewRaw("SELECT body, created_at FROM events ORDER BY created_at").Scan(t.Context(), &rows); err != nil {
		t.Fatal(err)
	}
	got := make([]told, len(rows))
	for i, row := range rows {
		if err := json.Unmarshal(row.Body, &got[i]); err != nil {
			t.Fatal(err)
		}
	}
	// Events of the same moment have no order.
	want = slices.Clone(want)
	for from, to := 0, 0; from < len(rows) && len(got) == len(want); from = to {
		for to < len(rows) && rows[to].CreatedAt == rows[from].CreatedAt {
			to++
		}
		for _, same := range [][]told{got[from:to], want[from:to]} {
			slices.SortFunc(same, func(a, b told) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("events: got %+v, want %+v", got, want)
	}
}

// ledgerOf lists the entries of one kind: book and amount.
func (f *fixture) ledgerOf(t testing.TB, kind string) []string {
	t.Helper()
	var lines []string
	err := f.Ledger(t.Context(), store.LedgerQuery{AccountID: f.acc.ID}, func(l store.LedgerEntry) error {
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

// topUp opens a payment of ten dollars and returns the notice that it was paid.
func (f *fixture) topUp(t testing.TB) store.PaymentReport {
	t.Helper()
	p, err := f.OpenTopUp(t.Context(), f.acc.ID, "cus_1", 10*credit.Dollar)
	if err != nil {
		t.Fatal(err)
	}
	return store.PaymentReport{PaymentID: p.ID, Intent: "pi_" + p.ID, State: store.PaymentPaid, Amount: p.Amount}
}

func (f *fixture) apply(t testing.TB, n store.PaymentReport) store.PaymentChange {
	t.Helper()
	change, err := f.ApplyPayment(t.Context(), n)
	if err != nil {
		t.Fatalf("ApplyPayment %+v: %v", n, err)
	}
	return change
}

// TestTopUpOnce notifies of one payment many times at once, by different events,
// and again later.
func TestTopUpOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.listen(t)
		paid := f.topUp(t)
		var credited atomic.Int64
		var wg sync.WaitGroup
		notify := func(event string) {
			n := paid
			n.Event, n.EventType = event, "payment_intent.succeeded"
			change, err := f.ApplyPayment(t.Context(), n)
			if err != nil {
				t.Errorf("ApplyPayment: %v", err)
			}
			if change.Credited {
				credited.Add(1)
			}
		}
		for n := range 8 {
			wg.Go(func() { notify(fmt.Sprintf("evt_%d", n/2)) })
		}
		wg.Wait()
		f.clock.Advance(100 * 24 * time.Hour)
		notify("")
		if got := credited.Load(); got != 1 {
			t.Errorf("credited %d times, want once", got)
		}
		f.wallet(t, trial+10*credit.Dollar, 0, 0)
		reference := "stripe " + paid.Intent
		if got, want := f.ledgerOf(t, store.KindPayment), []string{"payment -10000000 Top-up", "wallet 10000000 Top-up"}; !slices.Equal(got, want) {
			t.Errorf("ledger: got %q, want %q (%s)", got, want, reference)
		}
		acc, err := f.Account(t.Context(), f.acc.ID)
		if err != nil || !acc.Funded || acc.Plan != store.PlanPaid || acc.RateTier() != "paid" {
			t.Errorf("the account is %+v, %v; want it funded and paid", acc, err)
		}
		f.events(t, told{store.EventWalletTopUp, store.WalletEvent{AmountMicrodollars: 10 * credit.Dollar, BalanceMicrodollars: 15 * credit.Dollar}})
	})
}

func TestTopUpRefusals(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.listen(t)
		for _, amount := range []credit.Amount{0, -credit.Dollar, credit.Dollar + 1, 2_000_000_000 * credit.Dollar} {
			if _, err := f.OpenTopUp(t.Context(), f.acc.ID, "cus_1", amount); err == nil {
				t.Errorf("a payment of %d microdollars was opened", amount)
			}
		}
		if _, err := f.OpenTopUp(t.Context(), "acc_none", "cus_1", credit.Dollar); err == nil {
			t.Error("a payment of an unknown account was opened")
		}
		paid := f.topUp(t)
		for name, spoil := range map[string]func(*store.PaymentReport){
			"another amount": func(n *store.PaymentReport) { n.Amount++ },
			"a NUL":          func(n *store.PaymentReport) { n.Intent = "a\x00" },
		} {
			n := paid
			spoil(&n)
			if change, err := f.ApplyPayment(t.Context(), n); err == nil || change.Credited {
				t.Errorf("%s: got %+v, %v; want an error", name, change, err)
			}
		}
		unknown := paid
		unknown.PaymentID, unknown.Intent = "pay_none", "pi_none"
		if change, err := f.ApplyPayment(t.Context(), unknown); !errors.Is(err, store.ErrNoOrigin) || change.Known {
			t.Errorf("an unknown payment: got %+v, %v; want ErrNoOrigin", change, err)
		}
		f.wallet(t, trial, 0, 0)
		f.events(t)
		if !f.apply(t, paid).Credited {
			t.Error("after the refusals the payment was not credited")
		}
		second := paid
		second.Intent = "pi_second"
		if _, err := f.ApplyPayment(t.Context(), second); !errors.Is(err, store.ErrOtherPayment) {
			t.Errorf("another intent of the payment: got %v, want ErrOtherPayment", err)
		}
		f.wallet(t, trial+10*credit.Dollar, 0, 0)
	})
}

// TestMoneyIsReturned: refunds add up, disputes debit and may credit again, and a missing amount becomes debt,
// blocks spending, and is repaid first. Notices come in any order, and twice.
func TestMoneyIsReturned(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		paid := f.topUp(t)
		refund := func(n credit.Amount) store.PaymentReport {
			return store.PaymentReport{Intent: paid.Intent, Refunded: n * credit.Dollar}
		}
		dispute := func(state string) store.PaymentReport {
			return store.PaymentReport{Intent: paid.Intent, Dispute: &store.Dispute{ID: "du_1", State: state, Amount: 6 * credit.Dollar}}
		}
		for _, n := range []store.PaymentReport{refund(3), dispute(store.DisputeOpen), refund(1)} {
			if f.apply(t, n).Known {
				t.Errorf("%+v is known before the payment is", n)
			}
		}
		if change := f.apply(t, paid); !change.Credited || change.Taken != 9*credit.Dollar {
			t.Errorf("the payment changed %+v, want it credited and 9 dollars taken", change)
		}
		f.wallet(t, trial+credit.Dollar, 0, 0)
		f.apply(t, refund(2))
		f.apply(t, dispute(store.DisputeOpen))
		f.wallet(t, trial+credit.Dollar, 0, 0)
		f.settle(t, f.begin(t, f.newCall(trial)).ID, trial)
		if change := f.apply(t, refund(4)); change.Taken != credit.Dollar {
			t.Errorf("the refund took %s, want a dollar", change.Taken)
		}
		f.apply(t, refund(10))
		acc, err := f.Account(t.Context(), f.acc.ID)
		if err != nil || acc.Balance != 0 || acc.Owed != 6*credit.Dollar {
			t.Errorf("the wallet has %s and owes %s (%v), want 0 and 6 dollars", acc.Balance, acc.Owed, err)
		}
		if err := f.Begin(t.Context(), f.newCall(1)); err == nil {
			t.Error("an account that owes has spent")
		}
		f.apply(t, f.topUp(t))
		if acc, err = f.Account(t.Context(), f.acc.ID); err != nil || acc.Balance != 4*credit.Dollar || acc.Owed != 0 {
			t.Errorf("after a top-up of 10 dollars the wallet has %s and owes %s (%v), want 4 dollars and nothing", acc.Balance, acc.Owed, err)
		}
		for range 2 {
			f.apply(t, dispute(store.DisputeWon))
			f.apply(t, dispute(store.DisputeOpen)) // late
			f.apply(t, dispute(store.DisputeLost))
		}
		if acc, err = f.Account(t.Context(), f.acc.ID); err != nil || acc.Balance != 10*credit.Dollar {
			t.Errorf("after the dispute was won the wallet has %s (%v), want 10 dollars", acc.Balance, err)
		}
		report, err := f.CheckLedger(t.Context())
		if err != nil || !report.OK() {
			t.Errorf("the ledger: %+v, %v", report, err)
		}
	})
}

// TestCreditIsNotified: a credit of the operator is a payment as well.
func TestCreditIsNotified(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.listen(t, store.EventWalletTopUp)
		if err := f.Credit(t.Context(), f.acc.ID, credit.Dollar, "by hand"); err != nil {
			t.Fatal(err)
		}
		f.events(t, told{store.EventWalletTopUp, store.WalletEvent{AmountMicrodollars: credit.Dollar, BalanceMicrodollars: 6 * credit.Dollar}})
	})
}

// TestEmptyWalletIsNotifiedHourly: first, and then at most once an hour.
func TestEmptyWalletIsNotifiedHourly(t *testing.T) {
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
				want = append(want, told{store.EventPaymentRequired, store.WalletEvent{
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
		good := store.AutoReload{Threshold: 5 * credit.Dollar, Amount: 20 * credit.Dollar, Monthly: 100 * credit.Dollar, On: true}
		for name, spoil := range map[string]func(*store.AutoReload){
			"no threshold":         func(r *store.AutoReload) { r.Threshold = 0 },
			"less than it takes":   func(r *store.AutoReload) { r.Amount = r.Threshold - 1 },
			"parts of a cent":      func(r *store.AutoReload) { r.Amount++ },
			"more than a wallet":   func(r *store.AutoReload) { r.Amount = 2_000_000_000 * credit.Dollar },
			"a cap below it":       func(r *store.AutoReload) { r.Monthly = r.Amount - 1 },
			"a negative threshold": func(r *store.AutoReload) { r.Threshold = -1 },
			"a cap above all":      func(r *store.AutoReload) { r.Monthly = 2_000_000_000 * credit.Dollar },
		} {
			bad := good
			spoil(&bad)
			if err := f.SetAutoReload(t.Context(), f.acc.ID, bad); err == nil {
				t.Errorf("%s: accepted", name)
			}
		}
		if err := f.SetAutoReload(t.Context(), "acc_none", good); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an unknown account: got %v, want ErrNotFound", err)
		}
		if _, err := f.AutoReload(t.Context(), f.acc.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("before anything was set: got %v, want ErrNotFound", err)
		}
		off := good
		off.On = false
		for _, want := range []store.AutoReload{good, {Threshold: 1, Amount: credit.Dollar, Monthly: credit.Dollar, On: true}, off, off, good} {
			if err := f.SetAutoReload(t.Context(), f.acc.ID, want); err != nil {
				t.Fatal(err)
			}
			got, err := f.AutoReload(t.Context(), f.acc.ID)
			acc, accErr := f.Account(t.Context(), f.acc.ID)
			if err != nil || got != want || accErr != nil || acc.AutoReload != want.On {
				t.Errorf("AutoReload: got %+v, %v, %v; want %+v", got, err, accErr, want)
			}
		}
	})
}

// low turns auto-reload on and leaves the wallet below the threshold.
func (f *fixture) low(t testing.TB) {
	t.Helper()
	err := f.SetAutoReload(t.Context(), f.acc.ID, store.AutoReload{Threshold: credit.Dollar, Amount: 20 * credit.Dollar, Monthly: 100 * credit.Dollar, On: true})
	if err != nil {
		t.Fatal(err)
	}
	f.due(t, false)
	f.settle(t, f.begin(t, f.newCall(trial-credit.Dollar+1)).ID, trial-credit.Dollar+1)
	f.due(t, false) // without a card
	if _, err := f.AddCustomer(t.Context(), f.acc.ID, "cus_1"); err != nil {
		t.Fatal(err)
	}
	if err := f.SetCard(t.Context(), f.acc.ID, "card_1", "Visa ending 4242"); err != nil {
		t.Fatal(err)
	}
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
	if r, err := f.ClaimReload(t.Context(), f.acc.ID, nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("ClaimReload: got %+v, %v; want ErrNotFound", r, err)
	}
}

func (f *fixture) claimReload(t testing.TB) store.Reload {
	t.Helper()
	r, err := f.ClaimReload(t.Context(), f.acc.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func paidReload(r store.Reload) store.PaymentReport {
	return store.PaymentReport{PaymentID: r.ID, Intent: "pi_" + r.ID, State: store.PaymentPaid, Amount: r.Amount}
}

// TestReloadOnce claims from many goroutines: one attempt is made, one payment credited, one event sent; and no more
// in a month than its cap.
func TestReloadOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.listen(t)
		f.low(t)
		news := told{store.EventAutoReload, store.WalletEvent{AmountMicrodollars: 20 * credit.Dollar, BalanceMicrodollars: 21*credit.Dollar - 1}}
		var all []told
		for round := range 5 {
			var attempts atomic.Int64
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					r, err := f.ClaimReload(t.Context(), f.acc.ID, nil)
					if errors.Is(err, store.ErrNotFound) {
						return
					}
					attempts.Add(1)
					if err != nil || r.AccountID != f.acc.ID || r.Amount != 20*credit.Dollar || r.Method != "card_1" || r.Customer != "cus_1" || r.Repeated {
						t.Errorf("ClaimReload: got %+v, %v", r, err)
						return
					}
					f.apply(t, paidReload(r))
				})
			}
			wg.Wait()
			if got := attempts.Load(); got != 1 {
				t.Errorf("round %d: %d attempts, want one", round, got)
			}
			f.due(t, false)
			f.settle(t, f.begin(t, f.newCall(20*credit.Dollar)).ID, 20*credit.Dollar)
			f.clock.Advance(time.Second)
			all = append(all, news)
		}
		if _, err := f.ClaimReload(t.Context(), f.acc.ID, nil); !errors.Is(err, store.ErrMonthlyCap) {
			t.Errorf("above the cap: got %v, want ErrMonthlyCap", err)
		}
		f.due(t, false)
		f.events(t, append(all, told{store.EventAutoReloadFailed, store.WalletEvent{
			AmountMicrodollars: 20 * credit.Dollar, BalanceMicrodollars: credit.Dollar - 1, Reason: "Auto-reload has taken $100.00 this month, of at most $100.00.",
		}})...)
		f.clock.Advance(32 * 24 * time.Hour)
		f.due(t, true)
	})
}

// TestReloadFails: the next attempt is allowed after an hour, then after a day, and then never, unless the owner has
// changed the settings.
func TestReloadFails(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.listen(t)
		f.low(t)
		news := told{store.EventAutoReloadFailed, store.WalletEvent{AmountMicrodollars: 20 * credit.Dollar, BalanceMicrodollars: credit.Dollar - 1, Reason: "Declined."}}
		decline := func() store.PaymentChange {
			t.Helper()
			r := f.claimReload(t)
			f.due(t, false)
			declined := store.PaymentReport{PaymentID: r.ID, State: store.PaymentDeclined, Reason: "Declined."}
			change := f.apply(t, declined)
			if again := f.apply(t, declined); again.Failed || !change.Failed {
				t.Errorf("a failure told twice: %+v, %+v", change, again)
			}
			return change
		}
		var all []told
		for _, pause := range []time.Duration{time.Hour, 24 * time.Hour} {
			if change := decline(); change.OffReason != "" {
				t.Errorf("switched off: %q", change.OffReason)
			}
			f.clock.Advance(pause - time.Microsecond)
			f.due(t, false)
			f.clock.Advance(time.Microsecond)
			f.due(t, true)
			all = append(all, news)
		}
		change := decline()
		off := news
		off.Data.Reason = "Auto-reload is off. " + change.OffReason
		if change.OffReason == "" {
			t.Error("the third failure did not switch auto-reload off")
		}
		f.clock.Advance(100 * 24 * time.Hour)
		f.due(t, false)
		got, err := f.AutoReload(t.Context(), f.acc.ID)
		if err != nil || got.On || got.OffReason != change.OffReason {
			t.Errorf("AutoReload: got %+v, %v; want it off with a reason", got, err)
		}
		f.clock.Advance(time.Second)
		f.events(t, append(all, news, off)...)
		got.On = true
		if err := f.SetAutoReload(t.Context(), f.acc.ID, got); err != nil {
			t.Fatal(err)
		}
		f.due(t, true)
		// The money of a declined attempt came after all.
		first := f.claimReload(t)
		f.apply(t, store.PaymentReport{PaymentID: first.ID, State: store.PaymentDeclined, Reason: "Declined."})
		if !f.apply(t, paidReload(first)).Credited {
			t.Error("money that came late was not credited")
		}
	})
}

// TestReloadOutlivesItsProcess: an attempt whose process died is finished by
// another under the same id, although the wallet was filled meanwhile.
func TestReloadOutlivesItsProcess(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.low(t)
		first := f.claimReload(t)
		f.apply(t, f.topUp(t))
		f.due(t, false)
		f.clock.Advance(2 * time.Minute)
		f.due(t, true)
		second := f.claimReload(t)
		if second.Payment != first.Payment || !second.Repeated {
			t.Errorf("the attempt goes on as %+v, want %+v", second, first)
		}
		if err := f.PutOffReload(t.Context(), second, time.Minute); err != nil {
			t.Fatal(err)
		}
		f.due(t, false)
		f.clock.Advance(time.Minute)
		f.due(t, true)
		for n, want := range []bool{true, false} {
			if got := f.apply(t, paidReload(first)).Credited; got != want {
				t.Errorf("notice %d: credited %v, want %v", n, got, want)
			}
		}
		f.wallet(t, 31*credit.Dollar-1, 0, trial-credit.Dollar+1)
		f.due(t, false)
	})
}

// TestReloadWaitsForItsOwner: a payment to be confirmed rests for a day.
func TestReloadWaitsForItsOwner(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.low(t)
		r := f.claimReload(t)
		wait := store.PaymentReport{PaymentID: r.ID, Intent: "pi_1", State: store.PaymentAction, ActionURL: "https://bank.example/", Reason: "Confirm it."}
		if change := f.apply(t, wait); !change.Action || change.Payment.ActionURL != wait.ActionURL {
			t.Errorf("the change is %+v, want an action", change)
		}
		f.clock.Advance(store.ReloadActionTime - time.Microsecond)
		f.due(t, false)
		f.clock.Advance(time.Microsecond)
		f.due(t, true)
		if again := f.claimReload(t); again.ID != r.ID || !again.Repeated || again.Intent != "pi_1" {
			t.Errorf("claimed %+v, want the same payment again", again)
		}
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
		settings, err := f.AutoReload(t.Context(), f.acc.ID)
		if err != nil || settings.Taken != r.Amount {
			t.Fatalf("AutoReload: got %+v, %v; want what is under way counted as taken", settings, err)
		}
		settings.On = false
		if err := f.SetAutoReload(t.Context(), f.acc.ID, settings); err != nil {
			t.Fatal(err)
		}
		// An earlier attempt is finished all the same.
		f.clock.Advance(time.Hour)
		f.due(t, true)
		if !f.apply(t, paidReload(f.claimReload(t))).Credited {
			t.Error("what was taken was not credited")
		}
		f.due(t, false)
	})
}

// TestDisputeAndRefund: a refund and a dispute each move money at the provider, so
// that both are taken; a dispute that changes its decision moves its own part only.
func TestDisputeAndRefund(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		paid := f.topUp(t)
		f.apply(t, paid)
		at := f.clock.Now()
		dispute := func(state string) {
			t.Helper()
			at = at.Add(time.Minute)
			f.apply(t, store.PaymentReport{Intent: paid.Intent, Dispute: &store.Dispute{ID: "du_1", State: state, Amount: 6 * credit.Dollar, At: at}})
		}
		f.apply(t, store.PaymentReport{Intent: paid.Intent, Refunded: 4 * credit.Dollar})
		for _, step := range []struct {
			state   string
			balance credit.Amount
		}{
			{store.DisputeOpen, 0}, {store.DisputeLost, 0}, {store.DisputeWon, 6}, {store.DisputeWon, 6}, {store.DisputeLost, 0}, {store.DisputeOpen, 0}, {store.DisputeWon, 6}, {store.DisputeLost, 0},
		} {
			dispute(step.state)
			f.wallet(t, trial+step.balance*credit.Dollar, 0, 0)
		}
		report, err := f.CheckLedger(t.Context())
		if err != nil || !report.OK() {
			t.Errorf("the ledger: %+v, %v", report, err)
		}
	})
}
