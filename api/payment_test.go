package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"relaypdf/api"
	"relaypdf/api/apitest"
	"relaypdf/api/call"
	"relaypdf/api/fault"
	"relaypdf/api/wire"
	"relaypdf/store"
	"relaypdf/store/credit"
	"relaypdf/store/storetest"
)

// reloading starts a server whose account refills its wallet with 20 dollars
// when it falls below its trial balance.
func reloading(t *testing.T, db storetest.DB, answer func(context.Context, call.Charge) error) (*apitest.Server, *apitest.Payments, *apitest.Receiver) {
	t.Helper()
	payments := &apitest.Payments{Answer: answer}
	s := apitest.New(t, apitest.Options{DB: &db, Change: func(cfg *api.Config) { cfg.NoRateLimits, cfg.Payments = true, payments }})
	receiver := subscribe(t, s)
	err := s.Store.SetAutoReload(t.Context(), s.Account.ID, &store.AutoReload{Threshold: apitest.Trial, Amount: 20 * credit.Dollar, Method: "card_1"})
	if err != nil {
		t.Fatal(err)
	}
	return s, payments, receiver
}

// subscribe sends the wallet's events to a receiver.
func subscribe(t *testing.T, s *apitest.Server) *apitest.Receiver {
	t.Helper()
	receiver := apitest.NewReceiver(t, nil)
	s.NewWebhook(t, `{"url":"`+receiver.URL+`","events":["wallet.topup","wallet.auto_reload","wallet.auto_reload_failed","wallet.payment_required"]}`)
	s.Deliver(t)
	return receiver
}

// news reads the next event that a receiver gets.
func news(t *testing.T, receiver *apitest.Receiver) (kind string, data store.WalletNews) {
	t.Helper()
	var event struct {
		Type string
		Data store.WalletNews
	}
	if err := json.Unmarshal(receiver.Next(t).Body, &event); err != nil {
		t.Fatal(err)
	}
	return event.Type, event.Data
}

// told lists the events of the server's account, the first first.
func told(t *testing.T, s *apitest.Server) []string {
	t.Helper()
	var types []string
	for _, effect := range s.Effects(t) {
		if kind, ok := strings.CutPrefix(effect, "event "); ok {
			types = append(types, kind)
		}
	}
	return types
}

// TestAutoReload makes calls at once, each of which leaves the wallet low: it
// is refilled once.
func TestAutoReload(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s, payments, _ := reloading(t, db, nil)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if got := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`}); got.Status != http.StatusOK {
					t.Errorf("got %d %s", got.Status, got.Body)
				}
			})
		}
		wg.Wait()
		waitForCalls(t, s)
		paid := payments.Paid()
		if len(paid) != 1 || paid[0].AccountID != s.Account.ID || paid[0].Amount != 20*credit.Dollar || paid[0].Method != "card_1" {
			t.Errorf("charged %+v, want 20 dollars once", paid)
		}
		expectBalance(t, s, apitest.Trial+20*credit.Dollar-5*apitest.EchoPrice)
		if got, want := told(t, s), []string{store.EventAutoReload}; !slices.Equal(got, want) {
			t.Errorf("told of %v, want %v", got, want)
		}
		account, err := s.Client().Account(t.Context())
		if err != nil || account.RateTier != "paid" || account.Plan != "paid" || !account.Wallet.AutoReloadEnabled {
			t.Errorf("the account is %+v, %v", account, err)
		}
	})
}

// TestAutoReloadOfAnEmptyWallet: the refused call is what begins the refilling.
func TestAutoReloadOfAnEmptyWallet(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s, payments, _ := reloading(t, db, nil)
		if err := s.Store.SetAutoReload(t.Context(), s.Account.ID, nil); err != nil {
			t.Fatal(err)
		}
		drain(t, s)
		if err := s.Store.SetAutoReload(t.Context(), s.Account.ID, &store.AutoReload{Threshold: 1, Amount: credit.Dollar, Method: "card_1"}); err != nil {
			t.Fatal(err)
		}
		s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`}).Refused(t, fault.PaymentRequired)
		waitForCalls(t, s)
		s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`}).OK(t)
		if len(payments.Paid()) != 1 {
			t.Errorf("charged %+v, want one dollar", payments.Paid())
		}
		expectBalance(t, s, credit.Dollar-apitest.EchoPrice)
	})
}

// drain empties the wallet.
func drain(t *testing.T, s *apitest.Server) {
	t.Helper()
	balance, _ := s.Balance(t)
	result := store.NewID("file")
	call := store.NewCall{
		ID: store.CallID(result), ResultID: result, AccountID: s.Account.ID, Operation: "test.drain", Mode: "binary",
		Lease: "lease_drain", Quote: credit.Amount(balance),
	}
	if err := s.Store.Begin(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if err := s.Store.Settle(t.Context(), store.Settlement{CallID: call.ID, Charge: call.Quote}); err != nil {
		t.Fatal(err)
	}
}

// TestAutoReloadFails: the call succeeds, the owner is told, and the provider is
// asked again after an hour: for a new payment where the first was declined,
// and for the same one where it gave no answer.
func TestAutoReloadFails(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]struct {
		cause  error
		reason string
		same   bool
	}{
		"declined":  {fmt.Errorf("provider: %w", &call.DeclinedError{Reason: "The card was declined."}), "The card was declined.", false},
		"no answer": {errors.New("secret host unreachable"), "The provider of payments gave no answer; it will be asked again.", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
				var asked []string
				var works atomic.Bool
				s, payments, receiver := reloading(t, db, func(_ context.Context, c call.Charge) error {
					asked = append(asked, c.ID)
					if works.Load() {
						return nil
					}
					return q.cause
				})
				call := func() {
					s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`}).OK(t)
					waitForCalls(t, s)
					s.API.Calls.Reaper().Once(t.Context())
				}
				call()
				// It is read now: of two events that are due, either may come first.
				want := store.WalletNews{AmountMicrodollars: 20 * credit.Dollar, BalanceMicrodollars: apitest.Trial - apitest.EchoPrice, Reason: q.reason}
				if kind, data := news(t, receiver); kind != store.EventAutoReloadFailed || data != want {
					t.Errorf("the owner was told %s %+v, want %+v", kind, data, want)
				}
				s.Clock.Advance(time.Hour - time.Second)
				call()
				if len(asked) != 1 {
					t.Fatalf("the provider was asked %d times within the hour, want once", len(asked))
				}
				works.Store(true)
				s.Clock.Advance(time.Second)
				s.API.Calls.Reaper().Once(t.Context())
				if len(asked) != 2 || (asked[0] == asked[1]) != q.same {
					t.Errorf("the provider was asked for %v; want twice, for the same payment: %v", asked, q.same)
				}
				if len(payments.Paid()) != 1 {
					t.Errorf("charged %+v, want one payment", payments.Paid())
				}
				if got, want := told(t, s), []string{store.EventAutoReloadFailed, store.EventAutoReload}; !slices.Equal(got, want) {
					t.Errorf("told of %v, want %v", got, want)
				}
				expectBalance(t, s, apitest.Trial+20*credit.Dollar-2*apitest.EchoPrice)
			})
		})
	}
}

// TestAutoReloadOutlivesItsProcess: a process has charged, and died before it
// wrote that down. The provider is asked again for the same payment.
func TestAutoReloadOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s, payments, _ := reloading(t, db, nil)
		result := store.NewID("file")
		held := store.NewCall{
			ID: store.CallID(result), ResultID: result, AccountID: s.Account.ID, Operation: "test.drain", Mode: "binary",
			Lease: "lease_dead", Quote: apitest.EchoPrice,
		}
		if err := s.Store.Begin(t.Context(), held); err != nil {
			t.Fatal(err)
		}
		attempt, err := s.Store.ClaimReload(t.Context(), s.Account.ID)
		if err != nil {
			t.Fatal(err)
		}
		charge := call.Charge{ID: attempt.ID, AccountID: s.Account.ID, Method: attempt.Method, Amount: attempt.Amount}
		if _, err := payments.Charge(t.Context(), charge); err != nil {
			t.Fatal(err)
		}
		s.API.Calls.Reaper().Once(t.Context()) // which also returns the dead process's hold
		expectBalance(t, s, apitest.Trial)
		s.Clock.Advance(2 * time.Minute)
		s.API.Calls.Reaper().Once(t.Context())
		s.API.Calls.Reaper().Once(t.Context())
		if paid := payments.Paid(); len(paid) != 1 || paid[0] != charge {
			t.Errorf("charged %+v, want %+v once", paid, charge)
		}
		expectBalance(t, s, apitest.Trial+20*credit.Dollar)
		if got, want := told(t, s), []string{store.EventAutoReload}; !slices.Equal(got, want) {
			t.Errorf("told of %v, want %v", got, want)
		}
	})
}

// TestTopUp goes the way of a customer who pays: a page, and the provider's
// notice, which comes twice.
func TestTopUp(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: func(cfg *api.Config) { cfg.Payments = &apitest.Payments{} }})
	page, err := s.API.Calls.Wallets().StartTopUp(t.Context(), s.Account, 10*credit.Dollar)
	if want := "https://pay.example/" + s.Account.ID + "/10000000"; err != nil || page != want {
		t.Errorf("the page is %q, %v; want %q", page, err, want)
	}
	for _, want := range []bool{true, false} {
		p := store.Payment{AccountID: s.Account.ID, Reference: "pay_1", Kind: store.PaymentTopUp, Amount: 10 * credit.Dollar}
		if got, err := s.API.Calls.Wallets().ReceivePayment(t.Context(), p); err != nil || got != want {
			t.Errorf("ReceivePayment: got %v, %v; want %v", got, err, want)
		}
	}
	expectBalance(t, s, apitest.Trial+10*credit.Dollar)
	without := apitest.New(t, apitest.Options{})
	if _, err := without.API.Calls.Wallets().StartTopUp(t.Context(), without.Account, credit.Dollar); err == nil {
		t.Error("a page was made without a provider")
	}
	if _, err := without.API.Calls.Wallets().ReceivePayment(t.Context(), store.Payment{}); err == nil {
		t.Error("a payment was received without a provider")
	}
}

// TestEmptyWalletIsTold: first and then hourly, for the balance and for no cap.
func TestEmptyWalletIsTold(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		subscribe(t, s)
		refuse := func(header http.Header) {
			t.Helper()
			for _, body := range []string{`{"text":"a"}`, async} {
				s.Send(t, apitest.Request{Path: echo, Body: body, Header: header}).Refused(t, fault.PaymentRequired)
			}
		}
		refuse(http.Header{"X-Service-Max-Charge-Microdollars": {"1"}})
		one := credit.Amount(1)
		for _, limits := range []store.Limits{{MaxJob: &one}, {MaxDay: &one}} {
			if err := s.Store.SetLimits(t.Context(), s.Account.ID, limits); err != nil {
				t.Fatal(err)
			}
			refuse(nil)
		}
		if err := s.Store.SetLimits(t.Context(), s.Account.ID, store.Limits{}); err != nil {
			t.Fatal(err)
		}
		if got := told(t, s); len(got) != 0 {
			t.Errorf("caps told of %v, want nothing", got)
		}
		drain(t, s)
		refuse(nil)
		s.Clock.Advance(time.Hour - time.Second)
		refuse(nil)
		if got, want := told(t, s), []string{store.EventPaymentRequired}; !slices.Equal(got, want) {
			t.Errorf("within the hour told of %v, want %v", got, want)
		}
		s.Clock.Advance(time.Second)
		refuse(nil)
		if got := told(t, s); len(got) != 2 {
			t.Errorf("an hour later told of %v, want it twice", got)
		}
	})
}

// TestDayLimitCountsJobs: a job counts while it waits, and no more when it has
// failed.
func TestDayLimitCountsJobs(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s, fail := failing(t, db)
		var reason error = &fault.Error{Code: fault.ProcessingFailed, Message: "The file is damaged."}
		fail.Store(&reason)
		limit := apitest.EchoPrice
		if _, err := s.Client().SetLimits(t.Context(), wire.Limits{MaxDayMicrodollars: &limit}); err != nil {
			t.Fatal(err)
		}
		job := s.Enqueue(t, apitest.Request{Path: echo, Body: async})
		for _, body := range []string{async, `{"text":"a"}`} {
			failure := s.Send(t, apitest.Request{Path: echo, Body: body}).Refused(t, fault.PaymentRequired)
			if len(failure.Details) != 1 || failure.Details[0].Field != "maxDayMicrodollars" {
				t.Errorf("details %+v, want the day's limit", failure.Details)
			}
		}
		s.Work(t)
		if job = s.Await(t, job.ID); job.Status != "failed" {
			t.Fatalf("the job is %+v, want it failed", job)
		}
		var none error
		fail.Store(&none)
		again := s.Enqueue(t, apitest.Request{Path: echo, Body: async})
		if again = s.Await(t, again.ID); again.Status != "completed" {
			t.Errorf("the job is %+v, want it completed", again)
		}
		s.Send(t, apitest.Request{Path: echo, Body: async}).Refused(t, fault.PaymentRequired)
		s.Clock.Advance(12 * time.Hour) // midnight
		s.Enqueue(t, apitest.Request{Path: echo, Body: async})
	})
}
