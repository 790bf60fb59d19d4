package payments_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/fakestripe"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// low leaves a wallet with three dollars, a saved card, and auto-reload on: 20
// dollars below five, at most 50 in a month.
func (s *shop) low(t *testing.T, card string) {
	t.Helper()
	session, _ := s.open(t, s.account, 5*credit.Dollar)
	s.fake.Pay(session, fakestripe.CardWorks)
	s.send(t, http.StatusOK, s.fake.Events()...)
	err := s.SetAutoReload(t.Context(), s.account.ID, store.AutoReload{Threshold: 5 * credit.Dollar, Amount: 20 * credit.Dollar, Monthly: 50 * credit.Dollar, On: true})
	if err == nil {
		err = s.spend(t, 7*credit.Dollar)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.chooseCard(t, card)
}

// chooseCard chooses a card, as an owner does in Stripe's portal.
func (s *shop) chooseCard(t *testing.T, card string) {
	t.Helper()
	buyer, err := s.Customer(t.Context(), s.account.ID)
	if err != nil {
		t.Fatal(err)
	}
	s.fake.SetCard(buyer.ID, card)
	if err := s.pay.RefreshCard(t.Context(), s.account); err != nil {
		t.Fatal(err)
	}
}

// refill runs the work of the task.
func (s *shop) refill(t *testing.T) error {
	t.Helper()
	s.clock.Advance(time.Second)
	return s.pay.Tasks()[0].Do(t.Context())
}

// mustRefill is refill where nothing may go wrong.
func (s *shop) mustRefill(t *testing.T) {
	t.Helper()
	if err := s.refill(t); err != nil {
		t.Error(err)
	}
}

// TestAutoReload: many ask at once, and one payment is made; the events of it
// change nothing; the monthly cap holds.
func TestAutoReload(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		s.low(t, fakestripe.CardWorks)
		for round := range 2 {
			var wg sync.WaitGroup
			for range 6 {
				wg.Go(func() {
					if err := s.pay.Reload(t.Context(), s.account.ID); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			s.send(t, http.StatusOK, s.fake.Events()...)
			s.mustRefill(t)
			s.has(t, s.account, 23*credit.Dollar, 0)
			if n := s.fake.Requests("POST /v1/payment_intents"); n != round+1 {
				t.Errorf("%d payments were asked for, want %d", n, round+1)
			}
			if err := s.spend(t, 20*credit.Dollar); err != nil {
				t.Fatal(err)
			}
		}
		if p := s.payments(t, s.account)[0]; p.Kind != store.PaymentAutoReload || p.State != store.PaymentPaid || p.ReceiptURL == "" {
			t.Errorf("the payment is %+v, want it paid with a receipt", p)
		}
		s.mustRefill(t)
		s.mustRefill(t)
		s.has(t, s.account, 3*credit.Dollar, 0)
		s.wantTold(t, map[string]int{store.EventWalletTopUp: 1, store.EventAutoReload: 2, store.EventAutoReloadFailed: 1})
		s.wrote(t, "Your wallet was topped up with $20.00", "Your wallet was topped up with $20.00", "Auto-reload reached its monthly maximum")
		s.clock.Advance(21 * 24 * time.Hour) // December
		s.mustRefill(t)
		s.has(t, s.account, 23*credit.Dollar, 0)
	})
}

// TestAutoReloadFails: three failures in a row, each with its event, switch refilling off.
func TestAutoReloadFails(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		s.low(t, fakestripe.CardDeclined)
		for _, pause := range []time.Duration{time.Hour, 24 * time.Hour, 100 * 24 * time.Hour} {
			s.mustRefill(t)
			events := s.fake.Events()
			s.send(t, http.StatusOK, events...)
			s.send(t, http.StatusOK, events...)
			s.clock.Advance(pause - time.Minute)
			s.mustRefill(t)
			s.clock.Advance(time.Minute)
		}
		s.mustRefill(t)
		if n := s.fake.Requests("POST /v1/payment_intents"); n != 3 {
			t.Errorf("%d payments were asked for, want 3", n)
		}
		reload, err := s.AutoReload(t.Context(), s.account.ID)
		if err != nil || reload.On || !strings.Contains(reload.OffReason, "Your card was declined.") {
			t.Errorf("auto-reload is %+v, %v; want it off, with the reason", reload, err)
		}
		s.wantTold(t, map[string]int{store.EventWalletTopUp: 1, store.EventAutoReloadFailed: 4})
		s.wrote(t, "Auto-reload failed", "Auto-reload failed", "Auto-reload was turned off")
		s.has(t, s.account, 3*credit.Dollar, 0)
		// The owner gives another card, and switches it on.
		s.chooseCard(t, fakestripe.CardWorks)
		reload.On = true
		if err := s.SetAutoReload(t.Context(), s.account.ID, reload); err != nil {
			t.Fatal(err)
		}
		s.mustRefill(t)
		s.has(t, s.account, 23*credit.Dollar, 0)
	})
}

// TestAutoReloadNeedsItsOwner: the bank's question becomes a link; an answer ends it, and so does a day without
// one.
func TestAutoReloadNeedsItsOwner(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		s.low(t, fakestripe.CardAction)
		s.mustRefill(t)
		first := s.payments(t, s.account)[0]
		if first.State != store.PaymentAction || !strings.HasPrefix(first.ActionURL, "https://stripe.example/confirm/pi_") {
			t.Fatalf("the payment is %+v, want a link for its owner", first)
		}
		s.wrote(t, "Confirm a payment of $20.00")
		s.clock.Advance(time.Hour)
		s.mustRefill(t)
		s.fake.Confirm(first.Intent, true)
		s.send(t, http.StatusOK, s.fake.Events()...)
		s.has(t, s.account, 23*credit.Dollar, 0)
		if err := s.spend(t, 20*credit.Dollar); err != nil {
			t.Fatal(err)
		}
		s.mustRefill(t)
		second := s.payments(t, s.account)[0]
		s.fake.Confirm(second.Intent, false)
		s.send(t, http.StatusOK, s.fake.Events()...)
		if p := s.payments(t, s.account)[0]; p.State != store.PaymentFailed || p.ID != second.ID {
			t.Errorf("the payment is %+v, want it failed", p)
		}
		s.clock.Advance(time.Hour)
		s.mustRefill(t)
		third := s.payments(t, s.account)[0]
		s.clock.Advance(store.ReloadActionTime)
		s.mustRefill(t)
		s.fake.Confirm(third.Intent, true)
		s.send(t, http.StatusOK, s.fake.Events()...)
		if p := s.payments(t, s.account)[0]; p.ID != third.ID || p.State != store.PaymentFailed || p.Reason != "The payment was not confirmed within 24 hours." {
			t.Errorf("the payment is %+v, want it cancelled", p)
		}
		s.has(t, s.account, 3*credit.Dollar, 0)
	})
}

// TestAutoReloadOfUnknownOutcome: the connection breaks before or after Stripe
// has charged. The payment is looked up, and charged once.
func TestAutoReloadOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			eachShop(t, func(t *testing.T, s *shop) {
				s.low(t, fakestripe.CardWorks)
				broken := func(r *http.Request, done bool) bool { return done == when && r.Method == http.MethodPost }
				s.fault.Store(&broken)
				if err := s.refill(t); err == nil {
					t.Error("a broken connection is no error")
				}
				s.has(t, s.account, 3*credit.Dollar, 0)
				s.fault.Store(nil)
				s.mustRefill(t) // It rests.
				s.has(t, s.account, 3*credit.Dollar, 0)
				s.clock.Advance(30 * 24 * time.Hour) // Stripe has forgotten the key by then.
				s.mustRefill(t)
				want := 23 * credit.Dollar
				if !when {
					// Nothing was ever made, so that this attempt ends and the next one charges.
					s.has(t, s.account, 3*credit.Dollar, 0)
					s.clock.Advance(time.Hour)
					s.mustRefill(t)
				}
				s.has(t, s.account, want, 0)
				s.send(t, http.StatusOK, s.fake.Events()...)
				s.has(t, s.account, want, 0)
				if n := len(s.fake.Find("charge")); n != 2 {
					t.Errorf("%d charges, want the top-up's and one", n)
				}
			})
		})
	}
}

// TestDisputeEndsAutoReload: a card whose owner disputes a payment is not charged again.
func TestDisputeEndsAutoReload(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		s.low(t, fakestripe.CardWorks)
		s.fake.Dispute(s.lastIntent(t))
		s.send(t, http.StatusOK, s.fake.Events()...)
		s.has(t, s.account, 0, 2*credit.Dollar)
		s.mustRefill(t)
		s.has(t, s.account, 0, 2*credit.Dollar)
		reload, err := s.AutoReload(t.Context(), s.account.ID)
		if err != nil || reload.On || reload.OffReason != "A payment is disputed at the bank." {
			t.Errorf("auto-reload is %+v, %v; want it off", reload, err)
		}
		s.wrote(t, "Auto-reload was turned off")
		s.wantTold(t, map[string]int{store.EventWalletTopUp: 1, store.EventAutoReloadFailed: 1})
	})
}
