package payments_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/fakestripe"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// wantErrors checks which subjects are recorded for operators.
func (s *shop) wantErrors(t *testing.T, want ...string) {
	t.Helper()
	list, err := s.PaymentErrors(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, e := range list {
		got = append(got, e.Subject)
		if e.Text == "" {
			t.Errorf("the error of %s has no text", e.Subject)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("payment errors: got %v, want %v", got, want)
	}
}

// TestBuyersCurrency: the page charges dollars, even for a buyer to whom Stripe would offer another currency.
func TestBuyersCurrency(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		s.fake.BuyersCurrency = "eur"
		session, _ := s.open(t, s.account, 20*credit.Dollar)
		s.fake.Pay(session, fakestripe.CardWorks)
		s.send(t, http.StatusOK, s.fake.Events()...)
		s.has(t, s.account, trial+20*credit.Dollar, 0)
		s.wantErrors(t)
	})
}

// TestForeignPayment: a payment in another currency is its own error, which operators see until it is given back;
// reconciliation and its mark go on.
func TestForeignPayment(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		session, _ := s.open(t, s.account, 20*credit.Dollar)
		s.fake.Reprice(session, "eur")
		s.fake.Pay(session, fakestripe.CardWorks)
		intent := s.lastIntent(t)
		events := s.fake.Events()
		s.send(t, http.StatusBadRequest, events...)
		s.wantErrors(t, intent)
		other, _ := s.open(t, s.account, 5*credit.Dollar)
		s.fake.Pay(other, fakestripe.CardWorks)
		s.fake.Events()
		for range 3 {
			s.clock.Advance(24 * time.Hour)
			if err := s.pay.Reconcile(t.Context()); err != nil {
				t.Errorf("reconcile: %v", err)
			}
			if mark, err := s.Mark(t.Context(), "reconciled"); err != nil || !mark.Equal(s.clock.Now()) {
				t.Errorf("the mark is %v, %v; want %v", mark, err, s.clock.Now())
			}
			s.has(t, s.account, trial+5*credit.Dollar, 0)
			s.wantErrors(t, intent)
		}
		if n := s.CountPaymentErrors(); n != 1 {
			t.Errorf("the metric counts %d errors, want 1", n)
		}
		s.fake.Refund(intent, 500)
		s.send(t, http.StatusOK, s.fake.Events()...)
		s.wantErrors(t, intent)
		s.fake.Refund(intent, 1500)
		s.send(t, http.StatusOK, s.fake.Events()...)
		s.wantErrors(t)
		// Stripe sends refused events again.
		s.send(t, http.StatusOK, events...)
		if err := s.pay.Reconcile(t.Context()); err != nil {
			t.Errorf("reconcile: %v", err)
		}
		s.wantErrors(t)
		s.has(t, s.account, trial+5*credit.Dollar, 0)
	})
}

// TestForeignRefund: a refund or a dispute in another currency takes nothing, and is
// reported.
func TestForeignRefund(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		session, _ := s.open(t, s.account, 20*credit.Dollar)
		s.fake.Pay(session, fakestripe.CardWorks)
		intent := s.lastIntent(t)
		s.send(t, http.StatusOK, s.fake.Events()...)
		s.fake.Dispute(intent)
		event := bytes.ReplaceAll(s.fake.Events()[0], []byte(`"currency":"usd"`), []byte(`"currency":"eur"`))
		s.send(t, http.StatusBadRequest, event)
		dispute := fmt.Sprint(s.fake.Find("dispute")[0]["id"])
		s.wantErrors(t, dispute)
		s.has(t, s.account, trial+20*credit.Dollar, 0)
		s.fake.Recurrency("eur")
		refund := s.fake.Refund(intent, 300)
		s.fake.Events()
		s.clock.Advance(time.Hour)
		if err := s.pay.Reconcile(t.Context()); err != nil {
			t.Errorf("reconcile: %v", err)
		}
		if refund == "" {
			t.Fatal("nothing was refunded")
		}
		list, err := s.PaymentErrors(t.Context(), 10)
		if err != nil || len(list) != 2 || !strings.Contains(list[0].Text+list[1].Text, refund) {
			t.Errorf("the errors are %+v, %v; want the dispute's and the refund's", list, err)
		}
	})
}

// forget removes the rows that a backup from before the payments does not have.
func forget(t *testing.T, db storetest.DB) {
	t.Helper()
	driver, address := "pgx", db.URL
	if path, ok := strings.CutPrefix(db.URL, "sqlite://"); ok {
		driver, address = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"
	}
	raw, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	for _, table := range []string{"payments", "stripe_customers"} {
		if _, err := raw.ExecContext(t.Context(), "DELETE FROM "+table); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRestoredBackup: a payment whose row is gone is rebuilt from Stripe's metadata
// and credited once, whatever reports it and however often.
func TestRestoredBackup(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := newShop(t, db)
		credited := trial
		for _, way := range []string{"events", "reconciliation", "both"} {
			session, payment := s.open(t, s.account, 20*credit.Dollar)
			s.fake.Pay(session, fakestripe.CardWorks)
			events := s.fake.Events()
			forget(t, db)
			s.clock.Advance(40 * 24 * time.Hour) // longer than the period of a first look
			var all sync.WaitGroup
			for range 3 {
				if way != "reconciliation" {
					for _, event := range events {
						all.Go(func() { s.post(t, http.StatusOK, event, s.fake.Sign(event, time.Now())) })
					}
				}
				if way != "events" {
					all.Go(func() {
						if err := s.pay.Reconcile(t.Context()); err != nil {
							t.Errorf("reconcile: %v", err)
						}
					})
				}
			}
			all.Wait()
			if err := s.pay.Reconcile(t.Context()); err != nil {
				t.Errorf("reconcile: %v", err)
			}
			s.send(t, http.StatusOK, events...)
			credited += 20 * credit.Dollar
			s.has(t, s.account, credited, 0)
			rebuilt, err := s.Payment(t.Context(), payment.ID)
			if err != nil || rebuilt.State != store.PaymentPaid || rebuilt.Amount != payment.Amount || rebuilt.Kind != payment.Kind || rebuilt.Customer != payment.Customer || rebuilt.Card == "" {
				t.Errorf("%s: the payment is %+v, %v; want it as it was, paid", way, rebuilt, err)
			}
			if buyer, err := s.Customer(t.Context(), s.account.ID); err != nil || buyer.ID != payment.Customer {
				t.Errorf("%s: the customer is %+v, %v", way, buyer, err)
			}
		}
		s.wantErrors(t)
	})
}

// TestPaymentsOfUnknownAccounts: a payment of an account that is gone too is reported, and
// keeps no other from being credited.
func TestPaymentsOfUnknownAccounts(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		session, _ := s.open(t, s.account, 20*credit.Dollar)
		s.fake.Pay(session, fakestripe.CardWorks)
		intent := s.lastIntent(t)
		before := newShop(t, storetest.SQLite(t)) // as a backup from before the account
		for _, event := range s.fake.Events() {
			before.post(t, http.StatusBadRequest, event, s.fake.Sign(event, time.Now()))
		}
		before.wantErrors(t, intent)
		before.has(t, before.account, trial, 0)
		if _, err := before.PaymentByIntent(t.Context(), intent); err == nil {
			t.Error("the payment of nobody has a row")
		}
	})
}

// TestDisputeDecidedAgain sends the events of a dispute that was lost and then won,
// and of one that was won and then lost, in every order and twice: the last decision
// counts.
func TestDisputeDecidedAgain(t *testing.T) {
	t.Parallel()
	for _, won := range []bool{true, false} {
		t.Run(fmt.Sprintf("won=%v", won), func(t *testing.T) {
			eachShop(t, func(t *testing.T, s *shop) {
				n := 0
				permutations(4, func(order []int) {
					n++
					account := s.newAccount(t, fmt.Sprintf("order%d@example.com", n))
					session, _ := s.open(t, account, 20*credit.Dollar)
					s.fake.Pay(session, fakestripe.CardWorks)
					dispute := s.fake.Dispute(s.lastIntent(t))
					for _, decision := range []bool{!won, won} {
						s.clock.Advance(time.Minute)
						s.fake.CloseDispute(dispute, decision)
					}
					events := s.fake.Events()
					groups := [][][]byte{events[:2], events[2:3], events[3:4], events[4:]}
					for _, at := range order {
						s.send(t, http.StatusOK, groups[at]...)
						s.send(t, http.StatusOK, groups[at][0])
					}
					want := trial
					if won {
						want += 20 * credit.Dollar
					}
					a, err := s.Account(t.Context(), account.ID)
					if err != nil || a.Balance != want || a.Owed != 0 {
						t.Errorf("order %v: the wallet has %s and owes %s (%v), want %s", order, a.Balance, a.Owed, err, want)
					}
				})
				s.has(t, s.account, trial, 0)
			})
		})
	}
}

// TestDisputeWonUntold: no event reports that a lost dispute was won months later.
func TestDisputeWonUntold(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		session, _ := s.open(t, s.account, 20*credit.Dollar)
		s.fake.Pay(session, fakestripe.CardWorks)
		dispute := s.fake.Dispute(s.lastIntent(t))
		s.fake.CloseDispute(dispute, false)
		s.send(t, http.StatusOK, s.fake.Events()...)
		s.has(t, s.account, trial, 0)
		s.fake.CloseDispute(dispute, true)
		s.clock.Advance(60 * 24 * time.Hour)
		for range 2 {
			if err := s.pay.Reconcile(t.Context()); err != nil {
				t.Error(err)
			}
			s.has(t, s.account, trial+20*credit.Dollar, 0)
		}
	})
}
