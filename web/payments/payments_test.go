package payments_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/fakestripe"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
	"github.com/relaypdf/relaypdf/web/mail"
	"github.com/relaypdf/relaypdf/web/payments"
)

const (
	secretKey     = "sk_test_" + "of-these-tests"
	webhookSecret = "whsec_" + "of-these-tests"
	trial         = 5 * credit.Dollar
)

// shop is payments with a store, and Stripe's stand-in, which holds its events back until a test sends them.
type shop struct {
	*store.Store
	pay     *payments.Payments
	fake    *fakestripe.Server
	webhook string
	clock   *storetest.Clock
	account store.Account
	fault   atomic.Pointer[func(r *http.Request, done bool) bool]
}

// Seal stores only the subject of an email, readable.
func (s *shop) Seal(letter mail.Message) (store.QueuedEmail, error) {
	return store.QueuedEmail{ID: s.NewID("let"), Sealed: []byte(letter.Subject)}, nil
}

// Wake is of no use: nothing is sent.
func (s *shop) Wake() {}

func eachShop(t *testing.T, test func(t *testing.T, s *shop)) {
	t.Helper()
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		test(t, newShop(t, db))
	})
}

func newShop(t *testing.T, db storetest.DB) *shop {
	t.Helper()
	// The middle of a month, so that a test's hours stay in it.
	clock := storetest.NewClock(time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC))
	s := &shop{Store: db.Open(t, clock), clock: clock}
	s.fake = fakestripe.New(fakestripe.Config{SecretKey: secretKey, WebhookSecret: webhookSecret, PageURL: "https://stripe.example", Now: clock.Now})
	s.fake.Fault = func(r *http.Request, done bool) bool {
		fault := s.fault.Load()
		return fault != nil && (*fault)(r, done)
	}
	api := httptest.NewServer(s.fake.API())
	t.Cleanup(api.Close)
	var err error
	s.pay, err = payments.New(payments.Config{
		Store: s.Store, SecretKey: secretKey, WebhookSecret: webhookSecret, APIURL: api.URL, BaseURL: "https://pdf.example", Mail: s,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: clock.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	hook := httptest.NewServer(s.pay)
	t.Cleanup(hook.Close)
	s.webhook = hook.URL
	s.account = s.newAccount(t, "maya@example.com")
	return s
}

// newAccount makes an account with an owner and an endpoint.
func (s *shop) newAccount(t *testing.T, email string) store.Account {
	t.Helper()
	account, err := s.CreateAccount(t.Context(), email, trial)
	if err != nil {
		t.Fatal(err)
	}
	person, err := s.CreateUser(t.Context(), store.NewUser{Email: email, Name: "Maya"})
	if err == nil {
		err = s.AddMember(t.Context(), account.ID, person.ID, store.RoleOwner)
	}
	if err == nil {
		_, err = s.CreateWebhook(t.Context(), store.NewWebhook{
			ID: store.NewID("we"), AccountID: account.ID, URL: "https://hooks.example/", Secret: []byte("sealed"), SecretPrefix: "whsec_",
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return account
}

// open begins a top-up and returns Stripe's page and our payment.
func (s *shop) open(t *testing.T, account store.Account, amount credit.Amount) (session string, payment store.Payment) {
	t.Helper()
	s.clock.Advance(time.Second) // Ids of one millisecond have no order.
	page, err := s.pay.TopUp(t.Context(), account, amount)
	if err != nil {
		t.Fatal(err)
	}
	payment = s.payments(t, account)[0]
	s.clock.Advance(time.Second)
	return page[strings.LastIndexByte(page, '/')+1:], payment
}

// payments are an account's, the newest first.
func (s *shop) payments(t *testing.T, account store.Account) []store.Payment {
	t.Helper()
	page, err := s.Payments(t.Context(), store.PaymentFilter{AccountID: account.ID, List: store.List{Limit: store.MaxList}})
	if err != nil {
		t.Fatal(err)
	}
	return page.Items
}

// send posts events as Stripe does, and wants a status.
func (s *shop) send(t *testing.T, status int, events ...[]byte) {
	t.Helper()
	for _, event := range events {
		s.post(t, status, event, s.fake.Sign(event, time.Now()))
	}
}

func (s *shop) post(t *testing.T, status int, event []byte, signature string) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, s.webhook, bytes.NewReader(event))
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("Stripe-Signature", signature)
	response, err := (&http.Client{Timeout: 5 * time.Minute}).Do(r)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode != status {
		t.Errorf("event %s: got status %d %s, want %d", event, response.StatusCode, text, status)
	}
}

// has checks the balance, the debt and the ledger of the account.
func (s *shop) has(t *testing.T, account store.Account, balance, owed credit.Amount) {
	t.Helper()
	a, err := s.Account(t.Context(), account.ID)
	if err != nil || a.Balance != balance || a.Owed != owed {
		t.Errorf("the wallet has %s and owes %s (%v), want %s and %s", a.Balance, a.Owed, err, balance, owed)
	}
	if report, err := s.CheckLedger(t.Context()); err != nil || !report.OK() {
		t.Errorf("the ledger: %+v, %v", report, err)
	}
}

// It counts the events of the outbox by type.
func (s *shop) told(t *testing.T) map[string]int {
	t.Helper()
	page, err := s.Deliveries(t.Context(), store.DeliveryFilter{AccountID: s.account.ID, List: store.List{Limit: store.MaxList}})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, d := range page.Items {
		count[d.EventType]++
	}
	return count
}

func (s *shop) wantTold(t *testing.T, want map[string]int) {
	t.Helper()
	if got := s.told(t); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("events: got %v, want %v", got, want)
	}
}

// wrote checks the subjects of the queued emails, in any order.
func (s *shop) wrote(t *testing.T, want ...string) {
	t.Helper()
	kept, err := s.ClaimEmails(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, letter := range kept {
		got = append(got, string(letter.Sealed))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("letters: got %q, want %q", got, want)
	}
}

// spend settles a call that costs the amount.
func (s *shop) spend(t *testing.T, amount credit.Amount) error {
	t.Helper()
	result := s.NewID("file")
	call := store.NewCall{ID: store.CallID(result), ResultID: result, AccountID: s.account.ID, Operation: "pdf.create", Mode: "binary", Lease: "lease_test", Quote: amount}
	if err := s.Begin(t.Context(), call); err != nil {
		return err
	}
	return s.Settle(t.Context(), store.Settlement{CallID: call.ID, Charge: amount})
}

// permutations calls do with every order of 0 to n-1.
func permutations(n int, do func(order []int)) {
	order := make([]int, 0, n)
	var next func()
	next = func() {
		if len(order) == n {
			do(order)
			return
		}
		for i := range n {
			if !slices.Contains(order, i) {
				order = append(order, i)
				next()
				order = order[:len(order)-1]
			}
		}
	}
	next()
}

// TestTopUp: page, payment, signed events in either order and twice, balance,
// event, receipt, saved card.
func TestTopUp(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		balance, count := trial, 0
		permutations(2, func(order []int) {
			session, payment := s.open(t, s.account, 20*credit.Dollar)
			if payment.State != store.PaymentOpen || payment.Session != session || payment.Amount != 20*credit.Dollar {
				t.Fatalf("the payment is %+v", payment)
			}
			s.has(t, s.account, balance, 0)
			if !s.fake.Pay(session, fakestripe.CardWorks) {
				t.Fatal("the page was not paid")
			}
			events := s.fake.Events()
			if len(events) != 2 {
				t.Fatalf("%d events, want the payment's and the page's", len(events))
			}
			for range 2 {
				s.send(t, http.StatusOK, events[order[0]], events[order[1]], events[order[1]], events[order[0]])
			}
			balance += 20 * credit.Dollar
			count++
			s.has(t, s.account, balance, 0)
			payment = s.payments(t, s.account)[0]
			if payment.State != store.PaymentPaid || payment.Card != "Visa ending 4242" || !strings.HasPrefix(payment.ReceiptURL, "https://stripe.example/receipt/ch_") {
				t.Errorf("the payment is %+v, want it paid with a card and a receipt", payment)
			}
			s.wantTold(t, map[string]int{store.EventWalletTopUp: count})
		})
		buyer, err := s.Customer(t.Context(), s.account.ID)
		if err != nil || buyer.Method != fakestripe.CardWorks || buyer.Card != "Visa ending 4242, until Nov 2028" {
			t.Errorf("the customer is %+v, %v; want a saved card", buyer, err)
		}
		if n := s.fake.Requests("POST /v1/customers"); n != 1 {
			t.Errorf("%d customers were made for one account", n)
		}
		for _, amount := range []credit.Amount{5*credit.Dollar - 10_000, 1000*credit.Dollar + 10_000, 0} {
			if _, err := s.pay.TopUp(t.Context(), s.account, amount); err == nil {
				t.Errorf("a top-up of %s was begun", amount)
			}
		}
	})
}

// TestPageEnds: a card that is declined leaves the page open; an unpaid page expires, and a late payment still
// counts.
func TestPageEnds(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		session, _ := s.open(t, s.account, 5*credit.Dollar)
		s.fake.Pay(session, fakestripe.CardDeclined)
		s.send(t, http.StatusOK, s.fake.Events()...)
		if p := s.payments(t, s.account)[0]; p.State != store.PaymentOpen || p.Reason != "Your card was declined." {
			t.Errorf("the payment is %+v, want it open with the reason", p)
		}
		s.fake.Pay(session, fakestripe.CardWorks)
		s.send(t, http.StatusOK, s.fake.Events()...)
		s.has(t, s.account, trial+5*credit.Dollar, 0)
		session, _ = s.open(t, s.account, 5*credit.Dollar)
		s.fake.Expire(session)
		s.send(t, http.StatusOK, s.fake.Events()...)
		if p := s.payments(t, s.account)[0]; p.State != store.PaymentExpired {
			t.Errorf("the payment is %+v, want it expired", p)
		}
		// Slow payments: the page is complete before the money comes.
		session, _ = s.open(t, s.account, 5*credit.Dollar)
		s.fake.Pay(session, fakestripe.CardWorks)
		events := s.fake.Events()
		slow := bytes.Replace(events[1], []byte(`"payment_status":"paid"`), []byte(`"payment_status":"unpaid"`), 1)
		s.send(t, http.StatusOK, slow)
		s.has(t, s.account, trial+5*credit.Dollar, 0)
		failed := bytes.Replace(slow, []byte(`"checkout.session.completed"`), []byte(`"checkout.session.async_payment_failed"`), 1)
		s.send(t, http.StatusOK, bytes.Replace(failed, []byte(`"evt_`), []byte(`"evt_failed`), 1))
		if p := s.payments(t, s.account)[0]; p.State != store.PaymentFailed {
			t.Errorf("the payment is %+v, want it failed", p)
		}
		came := bytes.Replace(events[1], []byte(`"checkout.session.completed"`), []byte(`"checkout.session.async_payment_succeeded"`), 1)
		s.send(t, http.StatusOK, bytes.Replace(came, []byte(`"evt_`), []byte(`"evt_came`), 1))
		s.has(t, s.account, trial+10*credit.Dollar, 0)
	})
}

// TestEveryOrder sends all events of a payment that is refunded twice and
// disputed, in every order, some of them twice: the end is the same.
func TestEveryOrder(t *testing.T) {
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
					intent := s.lastIntent(t)
					s.fake.Refund(intent, 300)
					s.fake.Refund(intent, 200)
					s.fake.CloseDispute(s.fake.Dispute(intent), won)
					events := s.fake.Events()
					if len(events) != 6 {
						t.Fatalf("%d events, want 6", len(events))
					}
					// The two events of the payment stay together: their content is the same.
					groups := [][][]byte{events[:2], events[2:4], events[4:5], events[5:6]}
					for _, at := range order {
						s.send(t, http.StatusOK, groups[at]...)
						s.send(t, http.StatusOK, groups[at][0])
					}
					want, owed := trial+15*credit.Dollar, credit.Amount(0)
					if !won {
						want = trial
					}
					a, err := s.Account(t.Context(), account.ID)
					if err != nil || a.Balance != want || a.Owed != owed {
						t.Errorf("order %v: the wallet has %s and owes %s (%v), want %s and %s", order, a.Balance, a.Owed, err, want, owed)
					}
				})
				s.has(t, s.account, trial, 0)
			})
		})
	}
}

// TestRefundFails: a refund that the bank finally rejects is back in the wallet, once, whatever the order of events,
// and the next refund of the same amount counts.
func TestRefundFails(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		n := 0
		permutations(4, func(order []int) {
			n++
			account := s.newAccount(t, fmt.Sprintf("order%d@example.com", n))
			session, _ := s.open(t, account, 20*credit.Dollar)
			s.fake.Pay(session, fakestripe.CardWorks)
			intent := s.lastIntent(t)
			paid := s.fake.Events()
			first := s.fake.Refund(intent, 500)
			refunded := s.fake.Events()
			if n%2 == 0 {
				// Events from before the bank has rejected the refund are applied meanwhile.
				s.send(t, http.StatusOK, slices.Concat(paid, refunded)...)
			}
			s.fake.FailRefund(first)
			failed := s.fake.Events()
			s.fake.Refund(intent, 500)
			groups := [][][]byte{paid, refunded, failed, s.fake.Events()}
			for _, at := range order {
				s.send(t, http.StatusOK, groups[at]...)
				s.send(t, http.StatusOK, groups[at][0])
			}
			a, err := s.Account(t.Context(), account.ID)
			if want := trial + 15*credit.Dollar; err != nil || a.Balance != want || a.Owed != 0 {
				t.Errorf("order %v: the wallet has %s and owes %s (%v), want %s", order, a.Balance, a.Owed, err, want)
			}
			if p := s.payments(t, account)[0]; p.Refunded != 5*credit.Dollar {
				t.Errorf("order %v: the payment says that %s went back, want $5.00", order, p.Refunded)
			}
		})
		s.has(t, s.account, trial, 0)
	})
}

// TestRefundFailsUntold: a refund fails weeks after it was made, without an event, and the wallet gets the money
// back.
func TestRefundFailsUntold(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		session, _ := s.open(t, s.account, 20*credit.Dollar)
		s.fake.Pay(session, fakestripe.CardWorks)
		refund := s.fake.Refund(s.lastIntent(t), 700)
		s.send(t, http.StatusOK, s.fake.Events()...)
		s.has(t, s.account, trial+13*credit.Dollar, 0)
		for _, want := range []credit.Amount{13, 20, 20} {
			s.clock.Advance(10 * 24 * time.Hour)
			if err := s.pay.Reconcile(t.Context()); err != nil {
				t.Error(err)
			}
			s.has(t, s.account, trial+want*credit.Dollar, 0)
			s.fake.FailRefund(refund)
			s.fake.Events()
		}
		// Stripe does not answer: it is asked to send the event again.
		again := s.fake.Refund(s.lastIntent(t), 100)
		silent := func(*http.Request, bool) bool { return true }
		s.fault.Store(&silent)
		event := s.fake.Events()[0]
		s.send(t, http.StatusInternalServerError, event)
		s.has(t, s.account, trial+20*credit.Dollar, 0)
		s.fault.Store(nil)
		s.send(t, http.StatusOK, event, event)
		s.has(t, s.account, trial+19*credit.Dollar, 0)
		s.fake.FailRefund(again)
		s.send(t, http.StatusOK, s.fake.Events()...)
		s.has(t, s.account, trial+20*credit.Dollar, 0)
	})
}

// lastIntent is the id of the newest of Stripe's PaymentIntents.
func (s *shop) lastIntent(t *testing.T) string {
	t.Helper()
	all := s.fake.Find("payment_intent")
	if len(all) == 0 {
		t.Fatal("Stripe has no payment")
	}
	id, _ := all[len(all)-1]["id"].(string)
	return id
}

// TestOwed: the missing amount of a refund becomes debt, blocks spending, and is repaid first by the next top-up.
func TestOwed(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		session, _ := s.open(t, s.account, 20*credit.Dollar)
		s.fake.Pay(session, fakestripe.CardWorks)
		intent := s.lastIntent(t)
		s.send(t, http.StatusOK, s.fake.Events()...)
		if err := s.spend(t, 22*credit.Dollar); err != nil {
			t.Fatal(err)
		}
		s.fake.Refund(intent, 1000)
		s.send(t, http.StatusOK, s.fake.Events()...)
		s.has(t, s.account, 0, 7*credit.Dollar)
		if err := s.spend(t, 1); err == nil {
			t.Error("an account that owes has spent")
		}
		session, _ = s.open(t, s.account, 10*credit.Dollar)
		s.fake.Pay(session, fakestripe.CardWorks)
		s.send(t, http.StatusOK, s.fake.Events()...)
		s.has(t, s.account, 3*credit.Dollar, 0)
		if err := s.spend(t, 1); err != nil {
			t.Errorf("an account that owes no more cannot spend: %v", err)
		}
	})
}

// TestRefusedEvents: a bad signature, an old one, the wrong mode, currency and
// amount change nothing.
func TestRefusedEvents(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		session, _ := s.open(t, s.account, 20*credit.Dollar)
		s.fake.Pay(session, fakestripe.CardWorks)
		events := s.fake.Events()
		event := events[0]
		now := time.Now()
		s.post(t, http.StatusBadRequest, event, "")
		s.post(t, http.StatusBadRequest, event, fmt.Sprintf("t=%d,v1=%064d", now.Unix(), 0))
		s.post(t, http.StatusBadRequest, event, s.fake.Sign(append(event, ' '), now))
		s.post(t, http.StatusBadRequest, event, s.fake.Sign(event, now.Add(-301*time.Second)))
		s.post(t, http.StatusBadRequest, []byte("{"), s.fake.Sign([]byte("{"), now))
		for from, to := range map[string]string{
			`"livemode":false`: `"livemode":true`, `"currency":"usd"`: `"currency":"eur"`, `"amount_received":2000`: `"amount_received":200000`,
			`"amount_total":2000`: `"amount_total":1`,
		} {
			for _, event := range events {
				if spoilt := bytes.ReplaceAll(event, []byte(from), []byte(to)); !bytes.Equal(spoilt, event) {
					s.send(t, http.StatusBadRequest, spoilt)
				}
			}
		}
		s.has(t, s.account, trial, 0)
		s.wantTold(t, map[string]int{})
		// An event of another business at the same Stripe account.
		foreign := bytes.ReplaceAll(event, []byte("relaypdf_payment"), []byte("other"))
		s.send(t, http.StatusOK, foreign, bytes.ReplaceAll(foreign, []byte(`"usd"`), []byte(`"eur"`)), bytes.Replace(event, []byte("payment_intent.succeeded"), []byte("customer.created"), 1))
		s.has(t, s.account, trial, 0)
		s.post(t, http.StatusOK, event, s.fake.Sign(event, now.Add(-290*time.Second))+",v1=00,v0=ff")
		s.has(t, s.account, trial+20*credit.Dollar, 0)
	})
}

// TestReconcile: no event ever comes, and everything is made good.
func TestReconcile(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		reconcile := func() {
			t.Helper()
			s.clock.Advance(time.Hour)
			if err := s.pay.Reconcile(t.Context()); err != nil {
				t.Error(err)
			}
			s.fake.Events()
		}
		session, _ := s.open(t, s.account, 20*credit.Dollar)
		s.fake.Pay(session, fakestripe.CardWorks)
		intent := s.lastIntent(t)
		s.open(t, s.account, 50*credit.Dollar)
		reconcile()
		s.has(t, s.account, trial+20*credit.Dollar, 0)
		if p := s.payments(t, s.account); p[1].ReceiptURL == "" || p[0].State != store.PaymentOpen {
			t.Errorf("the payments are %+v, want one paid with a receipt, and one open", p)
		}
		if buyer, err := s.Customer(t.Context(), s.account.ID); err != nil || buyer.Method == "" {
			t.Errorf("the customer is %+v, %v; want a saved card", buyer, err)
		}
		s.clock.Advance(9 * 24 * time.Hour)
		s.fake.Refund(intent, 100)
		lost, won := s.fake.Dispute(intent), s.fake.Dispute(intent)
		s.fake.CloseDispute(lost, false)
		reconcile()
		s.has(t, s.account, 0, 14*credit.Dollar) // twice 19 dollars, and one
		s.clock.Advance(9 * 24 * time.Hour)
		s.fake.CloseDispute(won, true)
		reconcile()
		s.has(t, s.account, 5*credit.Dollar, 0)
		if p := s.payments(t, s.account)[0]; p.State != store.PaymentOpen {
			t.Errorf("Stripe's page is open, the payment %s", p.State)
		}
		for _, o := range s.fake.Find("checkout.session") {
			id, _ := o["id"].(string)
			s.fake.Expire(id)
		}
		reconcile()
		if p := s.payments(t, s.account)[0]; p.State != store.PaymentExpired {
			t.Errorf("the payment is %s, want it expired", p.State)
		}
		s.wantTold(t, map[string]int{store.EventWalletTopUp: 1})
	})
}

// TestRandomInterleavings lets customers, banks and Stripe act at any time, with events lost, doubled, late and at
// once: every payment is credited once, and the ledger is right to the microdollar.
func TestRandomInterleavings(t *testing.T) {
	eachShop(t, func(t *testing.T, s *shop) {
		for seed := range uint64(6) {
			random := rand.New(rand.NewPCG(seed, 11))
			account := s.newAccount(t, fmt.Sprintf("random%d@example.com", seed))
			var sessions, disputes []string
			var events [][]byte
			for range 30 {
				switch random.IntN(7) {
				case 0, 1:
					session, _ := s.open(t, account, credit.Amount(5+random.IntN(40))*credit.Dollar)
					sessions = append(sessions, session)
				case 2:
					if len(sessions) > 0 {
						s.fake.Pay(sessions[random.IntN(len(sessions))], []string{fakestripe.CardWorks, fakestripe.CardDeclined}[random.IntN(2)])
					}
				case 3:
					if all := s.fake.Find("payment_intent"); len(all) > 0 {
						intent, _ := all[len(all)-1]["id"].(string)
						s.fake.Refund(intent, int64(1+random.IntN(400)))
					}
				case 4:
					if all := s.fake.Find("payment_intent"); len(all) > 0 {
						intent, _ := all[len(all)-1]["id"].(string)
						if id := s.fake.Dispute(intent); id != "" {
							disputes = append(disputes, id)
						}
					}
				case 5:
					if len(disputes) > 0 {
						s.fake.CloseDispute(disputes[len(disputes)-1], random.IntN(2) == 0)
						disputes = disputes[:len(disputes)-1]
					}
				case 6:
					if all := s.fake.Find("refund"); len(all) > 0 {
						id, _ := all[random.IntN(len(all))]["id"].(string)
						s.fake.FailRefund(id)
					}
				}
				for _, event := range s.fake.Events() {
					for range random.IntN(3) { // lost, once or twice
						events = append(events, event)
					}
				}
				random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
				var wg sync.WaitGroup
				for _, event := range events[:random.IntN(len(events)+1)] {
					wg.Go(func() { s.post(t, http.StatusOK, event, s.fake.Sign(event, time.Now())) })
				}
				wg.Wait()
			}
			if err := s.pay.Reconcile(t.Context()); err != nil {
				t.Error(err)
			}
			s.send(t, http.StatusOK, events...)
			s.agrees(t, account, seed)
		}
		s.has(t, s.account, trial, 0)
	})
}

// agrees checks the wallet against Stripe's records.
func (s *shop) agrees(t *testing.T, account store.Account, seed uint64) {
	t.Helper()
	buyer, err := s.Customer(t.Context(), account.ID)
	if err != nil {
		return // It has never begun a top-up.
	}
	mine, want := map[any]bool{}, int64(trial/(credit.Dollar/100))
	for _, charge := range s.fake.Find("charge") {
		if charge["customer"] == buyer.ID {
			amount, _ := charge["amount"].(int64)
			back, _ := charge["amount_refunded"].(int64)
			want += amount - back
			mine[charge["id"]] = true
		}
	}
	for _, dispute := range s.fake.Find("dispute") {
		if amount, _ := dispute["amount"].(int64); mine[dispute["charge"]] && dispute["status"] != "won" {
			want -= amount
		}
	}
	a, err := s.Account(t.Context(), account.ID)
	if got := int64((a.Balance - a.Owed) / (credit.Dollar / 100)); err != nil || got != want || a.Balance != 0 && a.Owed != 0 {
		t.Errorf("seed %d: the wallet has %s and owes %s (%v), and Stripe says %d cents", seed, a.Balance, a.Owed, err, want)
	}
	credited := map[string]int{}
	page, err := s.Postings(t.Context(), store.PostingFilter{AccountID: account.ID, Kinds: []string{store.KindPayment}, List: store.List{Limit: store.MaxList}})
	if err != nil || len(page.Items) != len(mine) {
		t.Errorf("seed %d: %d payments were credited (%v), and Stripe took %d", seed, len(page.Items), err, len(mine))
	}
	for _, p := range page.Items {
		if credited[p.Reference]++; credited[p.Reference] > 1 {
			t.Errorf("seed %d: %s was credited twice", seed, p.Reference)
		}
	}
}
