package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// refiller replaces the refilling of wallets; package payments has its own tests.
type refiller struct {
	mu    sync.Mutex
	asked []string
	do    func(ctx context.Context, accountID string) error
}

// Refill notes who it was asked for.
func (r *refiller) Reload(ctx context.Context, accountID string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, accountID)
	return r.do(ctx, accountID)
}

// reloading starts a server whose account has auto-reload on.
func reloading(t *testing.T, db storetest.DB) (*apitest.Server, *refiller) {
	t.Helper()
	payments := &refiller{do: func(context.Context, string) error { return nil }}
	s := apitest.New(t, apitest.Options{DB: &db, Change: func(cfg *apitest.Settings) { cfg.NoRateLimits, cfg.Payments = true, payments }})
	err := s.Store.SetAutoReload(t.Context(), s.Account.ID, store.AutoReload{Threshold: apitest.Trial, Amount: 20 * credit.Dollar, Monthly: 100 * credit.Dollar, On: true})
	if err != nil {
		t.Fatal(err)
	}
	return s, payments
}

// subscribe sends the wallet's events to a receiver.
func subscribe(t *testing.T, s *apitest.Server) *apitest.Receiver {
	t.Helper()
	receiver := apitest.NewReceiver(t, nil)
	s.NewWebhook(t, `{"url":"`+receiver.URL+`","events":["wallet.topup","wallet.auto_reload","wallet.auto_reload_failed","wallet.payment_required"]}`)
	s.Deliver(t)
	return receiver
}

// It lists the events of the server's account, oldest first.
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

// TestCallsAskForReloads: each call of an account with auto-reload asks for it,
// a refused one too, and none of an account without.
func TestCallsAskForReloads(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s, payments := reloading(t, db)
		wants := func(want int) {
			t.Helper()
			waitForCalls(t, s)
			payments.mu.Lock()
			defer payments.mu.Unlock()
			if len(payments.asked) != want || want > 0 && payments.asked[want-1] != s.Account.ID {
				t.Errorf("asked for %q, want the account %d times", payments.asked, want)
			}
		}
		s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`}).OK(t)
		wants(1)
		payments.do = func(context.Context, string) error { return errors.New("no answer") }
		s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`}).OK(t)
		wants(2)
		drain(t, s)
		payments.do = func(ctx context.Context, accountID string) error {
			return s.Store.Credit(ctx, accountID, credit.Dollar, "reload")
		}
		s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`}).Refused(t, wire.PaymentRequired)
		wants(3)
		s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`}).OK(t)
		wants(4)
		expectBalance(t, s, credit.Dollar-apitest.EchoPrice)
		account, err := s.Client().Account().Get(t.Context())
		if err != nil || account.RateTier != "paid" || !account.Wallet.AutoReloadEnabled {
			t.Errorf("the account is %+v, %v", account, err)
		}
		off := store.AutoReload{Threshold: 1, Amount: credit.Dollar, Monthly: credit.Dollar}
		if err := s.Store.SetAutoReload(t.Context(), s.Account.ID, off); err != nil {
			t.Fatal(err)
		}
		s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`}).OK(t)
		wants(4)
	})
}

// drain empties the wallet.
func drain(t *testing.T, s *apitest.Server) {
	t.Helper()
	balance, _ := s.Balance(t)
	result := s.Store.NewID("file")
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

// TestEmptyWalletIsNotified: first and then hourly, for the balance and for no cap.
func TestEmptyWalletIsNotified(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		subscribe(t, s)
		refuse := func(header http.Header) {
			t.Helper()
			for _, body := range []string{`{"text":"a"}`, async} {
				s.Send(t, apitest.Request{Path: echo, Body: body, Header: header}).Refused(t, wire.PaymentRequired)
			}
		}
		refuse(http.Header{"X-Service-Max-Charge-Microdollars": {"1"}})
		one := credit.Amount(1)
		for _, limits := range []store.Limits{{MaxJob: &one}, {MaxDay: &one}} {
			if err := s.Store.SetLimits(t.Context(), store.Author{AccountID: s.Account.ID}, limits); err != nil {
				t.Fatal(err)
			}
			refuse(nil)
		}
		if err := s.Store.SetLimits(t.Context(), store.Author{AccountID: s.Account.ID}, store.Limits{}); err != nil {
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
		var reason error = &wire.Error{Code: wire.ProcessingFailed, Message: "The file is damaged."}
		fail.Store(&reason)
		limit := apitest.EchoPrice
		limits := client.BillingLimitsUpdateInput{MaxDayMicrodollars: client.Set(int64(limit))}
		if _, err := s.Client().Billing().LimitsUpdate(t.Context(), limits); err != nil {
			t.Fatal(err)
		}
		job := s.Enqueue(t, apitest.Request{Path: echo, Body: async})
		midnight := s.Clock.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		spent := fmt.Sprintf("This call costs %v, but maxDayMicrodollars allows %v, of which %v is spent or held; it renews at %s.",
			apitest.EchoPrice, limit, apitest.EchoPrice, midnight.Format(time.RFC3339))
		for _, body := range []string{async, `{"text":"a"}`} {
			failure := s.Send(t, apitest.Request{Path: echo, Body: body}).Refused(t, wire.PaymentRequired)
			if len(failure.Details) != 1 || failure.Details[0].Field != "maxDayMicrodollars" {
				t.Errorf("details %+v, want the day's limit", failure.Details)
			}
			if failure.Message != spent {
				t.Errorf("got %q, want %q", failure.Message, spent)
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
		s.Send(t, apitest.Request{Path: echo, Body: async}).Refused(t, wire.PaymentRequired)
		s.Clock.Advance(12 * time.Hour) // midnight
		s.Enqueue(t, apitest.Request{Path: echo, Body: async})
	})
}
