package payments_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/fakestripe"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
	"github.com/relaypdf/relaypdf/web/payments"
)

var mockListens = regexp.MustCompile(`Listening for HTTP at address: \S+:(\d+)`)

// startStripeMock starts Stripe's own server for tests, which compares requests
// with Stripe's OpenAPI document and remembers nothing, and returns its address.
func startStripeMock(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and starts stripe-mock")
	}
	program := filepath.Join(t.TempDir(), "stripe-mock")
	build := exec.CommandContext(t.Context(), "go", "build", "-modfile=../../.ci/tools.mod", "-o", program, "github.com/stripe/stripe-mock")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make builds, whose cache it shares
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build stripe-mock: %v\n%s", err, out)
	}
	mock := exec.Command(program, "-http-addr", "127.0.0.1:0", "-https-addr", "127.0.0.1:0")
	lines, err := mock.StdoutPipe()
	if err == nil {
		err = mock.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = mock.Process.Kill(), mock.Wait() })
	reader := bufio.NewReader(lines)
	for {
		line, err := reader.ReadString('\n')
		if found := mockListens.FindStringSubmatch(line); found != nil {
			go func() { _, _ = io.Copy(io.Discard, reader) }()
			return "http://127.0.0.1:" + found[1]
		}
		if err != nil {
			t.Fatalf("stripe-mock ended: %v", err)
		}
	}
}

// TestTopUpThroughStripeMock: Stripe's own test server accepts the requested page, and shows it; signed events
// replace the steps that it does not support, paying and reporting the payment.
func TestTopUpThroughStripeMock(t *testing.T) {
	t.Parallel()
	mock := startStripeMock(t)
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := newShop(t, db)
		pay, err := payments.New(payments.Config{
			Store: s.Store, SecretKey: secretKey, WebhookSecret: webhookSecret, APIURL: mock, BaseURL: "https://pdf.example", Mail: s,
			Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: s.clock.Now,
		})
		if err != nil {
			t.Fatal(err)
		}
		hook := httptest.NewServer(pay)
		defer hook.Close()
		s.webhook = hook.URL
		page, err := pay.TopUp(t.Context(), s.account, 20*credit.Dollar)
		if err != nil || !strings.HasPrefix(page, "https://checkout.stripe.com/") {
			t.Fatalf("the page is at %q, %v", page, err)
		}
		p := s.payments(t, s.account)[0]
		if p.State != store.PaymentOpen || !strings.HasPrefix(p.Session, "cs_test_") {
			t.Fatalf("the payment is %+v", p)
		}
		s.has(t, s.account, trial, 0)
		paid := fmt.Appendf(nil, `{"id":"evt_1","object":"event","type":"checkout.session.completed","livemode":false,"api_version":"2023-10-16","data":{"object":{
			"id":%q,"object":"checkout.session","mode":"payment","payment_status":"paid","currency":"usd","amount_total":2000,"livemode":false,
			"client_reference_id":%q,"metadata":{"relaypdf_payment":%q},"payment_intent":"pi_1"}}}`, p.Session, p.ID, p.ID)
		s.send(t, http.StatusOK, paid, paid)
		s.has(t, s.account, trial+20*credit.Dollar, 0)
		s.wantTold(t, map[string]int{store.EventWalletTopUp: 1})
		if p := s.payments(t, s.account)[0]; p.State != store.PaymentPaid || p.Intent != "pi_1" {
			t.Errorf("the payment is %+v", p)
		}
		if page, err := pay.Portal(t.Context(), s.account); err != nil || !strings.HasPrefix(page, "https://") {
			t.Errorf("the page of cards is at %q, %v", page, err)
		}
	})
}

// TestStripeKnowsEveryRequest sends all requests for Stripe to its own test server, which validates them, before the
// stand-in responds.
func TestStripeKnowsEveryRequest(t *testing.T) {
	t.Parallel()
	mock := startStripeMock(t)
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := newShop(t, db)
		asked := map[string]bool{}
		var one sync.Mutex // an aborted connection is not ordered before the next
		behind := s.fake.API()
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			one.Lock()
			defer one.Unlock()
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			known, err := http.NewRequestWithContext(r.Context(), r.Method, mock+r.URL.RequestURI(), bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			known.Header = r.Header.Clone()
			answer, err := (&http.Client{Timeout: 5 * time.Minute}).Do(known)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = answer.Body.Close() }()
			if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
				t.Errorf("Stripe does not know %s %s %s: status %d %s", r.Method, r.URL, body, answer.StatusCode, text)
			}
			asked[r.Method+" "+regexp.MustCompile(`/[a-z]+_[a-z0-9_]+`).ReplaceAllStringFunc(r.URL.Path, func(part string) string {
				if len(part) > 24 {
					return "/ID"
				}
				return part
			})] = true
			r.Body = io.NopCloser(bytes.NewReader(body))
			behind.ServeHTTP(w, r)
		}))
		defer front.Close()
		pay, err := payments.New(payments.Config{
			Store: s.Store, SecretKey: secretKey, WebhookSecret: webhookSecret, APIURL: front.URL, BaseURL: "https://pdf.example", Mail: s,
			Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: s.clock.Now,
		})
		if err != nil {
			t.Fatal(err)
		}
		hook := httptest.NewServer(pay)
		defer hook.Close()
		s.webhook, s.pay = hook.URL, pay

		session, _ := s.open(t, s.account, 20*credit.Dollar)
		s.fake.Pay(session, fakestripe.CardWorks)
		s.send(t, http.StatusOK, s.fake.Events()...)
		intent := s.lastIntent(t)
		if _, err := pay.Portal(t.Context(), s.account); err != nil {
			t.Error(err)
		}
		buyer, err := s.Customer(t.Context(), s.account.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, card := range []string{"", fakestripe.CardAction} {
			if card != "" {
				s.fake.SetCard(buyer.ID, card)
			}
			if err := pay.RefreshCard(t.Context(), s.account); err != nil {
				t.Error(err)
			}
		}
		// A saved card is charged, the bank asks for a confirmation, none comes, and the payment is cancelled.
		reload := store.AutoReload{On: true, Threshold: 30 * credit.Dollar, Amount: 30 * credit.Dollar, Monthly: 100 * credit.Dollar}
		if err := s.SetAutoReload(t.Context(), s.account.ID, reload); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := pay.Reload(t.Context(), s.account.ID); err != nil {
				t.Error(err)
			}
			s.clock.Advance(25 * time.Hour)
		}
		// One whose answer is lost is looked for among the customer's.
		lost := true
		drop := func(r *http.Request, done bool) bool {
			if lost && done && r.Method == http.MethodPost && r.URL.Path == "/v1/payment_intents" {
				lost = false
				return true
			}
			return false
		}
		s.fault.Store(&drop)
		s.fake.SetCard(buyer.ID, fakestripe.CardWorks)
		if err := pay.RefreshCard(t.Context(), s.account); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := pay.Reload(t.Context(), s.account.ID); err != nil {
				t.Log(err)
			}
			s.clock.Advance(time.Hour)
		}
		s.fake.Refund(intent, 500)
		s.fake.Dispute(intent)
		s.send(t, http.StatusOK, s.fake.Events()...)
		s.open(t, s.account, 5*credit.Dollar)
		s.clock.Advance(time.Hour)
		if err := pay.Reconcile(t.Context()); err != nil {
			t.Error(err)
		}
		one.Lock()
		defer one.Unlock()
		for _, want := range []string{
			"POST /v1/customers", "GET /v1/customers/ID", "GET /v1/customers/ID/payment_methods", "POST /v1/checkout/sessions", "GET /v1/checkout/sessions/ID",
			"POST /v1/billing_portal/sessions", "POST /v1/payment_intents", "GET /v1/payment_intents", "GET /v1/payment_intents/ID", "POST /v1/payment_intents/ID/cancel",
			"GET /v1/refunds", "GET /v1/disputes", "GET /v1/disputes/ID",
		} {
			if !asked[want] {
				t.Errorf("nothing asked %s; asked were %v", want, asked)
			}
		}
	})
}
