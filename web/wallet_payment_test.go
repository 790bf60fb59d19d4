package web_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/fakestripe"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
	"github.com/relaypdf/relaypdf/web"
	"github.com/relaypdf/relaypdf/web/payments"
)

// till is a house that takes payments.
type till struct {
	*house
	pay  *payments.Payments
	fake *fakestripe.Server
}

func eachTill(t *testing.T, test func(t *testing.T, h *till)) {
	t.Helper()
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		clock := storetest.NewClock(time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC))
		h := &till{}
		h.house = newHouse(t, db.Open(t, clock), clock, func(cfg *web.Config) {
			const key, secret = "sk_test_" + "pages", "whsec_" + "pages"
			h.fake = fakestripe.New(fakestripe.Config{SecretKey: key, WebhookSecret: secret, PageURL: "https://checkout.stripe.com", Now: clock.Now})
			stripe := httptest.NewServer(h.fake.API())
			t.Cleanup(stripe.Close)
			var err error
			h.pay, err = payments.New(payments.Config{
				Store: cfg.Store, SecretKey: key, WebhookSecret: secret, APIURL: stripe.URL, BaseURL: cfg.BaseURL, Mail: cfg.Mail.(*letters), Logger: cfg.Logger, Now: clock.Now,
			})
			if err != nil {
				t.Fatal(err)
			}
			cfg.Payments = h.pay
		})
		test(t, h)
	})
}

// tell posts Stripe's events.
func (h *till) tell(t *testing.T) {
	t.Helper()
	for _, event := range h.fake.Events() {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, payments.WebhookPath, bytes.NewReader(event))
		r.Header.Set("Stripe-Signature", h.fake.Sign(event, time.Now()))
		w := httptest.NewRecorder()
		if h.pay.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Errorf("event %s: got status %d", event, w.Code)
		}
	}
}

// TestTopUpOnThePages: form, Stripe's page, signed event, balance, receipt,
// ledger with a running balance.
func TestTopUpOnThePages(t *testing.T) {
	eachTill(t, func(t *testing.T, h *till) {
		v := h.join(t, "maya@example.com")
		v.sees("/dashboard/wallet", "$5.00", "Top up", "10,000 PDFs", "Pay with Stripe", "Test mode", "Uses the card of your next top-up")
		for _, form := range []url.Values{
			{}, {"amount": {"1"}}, {"amount": {"other"}}, {"amount": {"other"}, "other": {"1000.01"}}, {"amount": {"other"}, "other": {"7.505"}}, {"amount": {"lots"}}, {"amount": {"-5"}},
		} {
			v.post("/dashboard/wallet/topup", http.StatusUnprocessableEntity, form)
		}
		if a := v.post("/dashboard/wallet/topup", http.StatusUnprocessableEntity, url.Values{"amount": {"other"}, "other": {"4.99"}}); !strings.Contains(a.body, `value="4.99"`) || !strings.Contains(textOf(a.body), "Amount must be between $5 and $1,000.") {
			t.Errorf("what was typed is lost, or not said to be wrong: %s", textOf(a.body))
		}
		a := v.post("/dashboard/wallet/topup", http.StatusSeeOther, url.Values{"amount": {"20"}})
		session, ok := strings.CutPrefix(a.header.Get("Location"), "https://checkout.stripe.com/pay/")
		if !ok {
			t.Fatalf("the form leads to %q", a.header.Get("Location"))
		}
		page, err := h.Payments(t.Context(), store.PaymentFilter{AccountID: h.mayas(t).ID})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("payments: %+v, %v", page, err)
		}
		back := "/dashboard/wallet?payment=" + page.Items[0].ID
		if waiting := v.sees(back, "Waiting for Stripe", "Reload", "$5.00"); !strings.Contains(waiting.body, "data-refresh") {
			t.Error("the page does not wait for the payment")
		}
		h.clock.Advance(time.Second)
		h.fake.Pay(session, fakestripe.CardWorks)
		h.tell(t)
		got := v.sees(back, "Payment received. $20.00 was added", "$25.00", "Visa ending 4242, until Nov 2028", "Top-up", "Paid", "Receipt")
		if strings.Contains(got.body, "data-refresh") {
			t.Error("the page still waits for the payment")
		}
		if !strings.Contains(got.body, `href="https://checkout.stripe.com/receipt/ch_`) {
			t.Error("the page has no link to the receipt")
		}
		if ledger := textOf(got.body); !strings.Contains(ledger, "+$20.00 00 $25.00 00") || !strings.Contains(ledger, "+$5.00 00 $5.00 00") {
			t.Errorf("the ledger has no running balance: %s", ledger)
		}
		v.sees("/dashboard/wallet?kind=payments", "+$20.00 00 $25.00 00")
		v.sees("/dashboard/wallet/receipts", "Receipts", "Top-up", "$20.00")
		if other := h.join(t, "eve@example.com").get(back); strings.Contains(other.body, "$20.00 was added") {
			t.Error("another account's payment is told of")
		}
		h.clock.Advance(time.Second)
		h.fake.Refund(h.fake.Find("payment_intent")[0]["id"].(string), 500)
		h.tell(t)
		v.sees("/dashboard/wallet", "$20.00", "Partly refunded", "Refund to the card")
		h.clock.Advance(time.Second)
		if err := h.spend(t, 18*credit.Dollar); err != nil {
			t.Fatal(err)
		}
		h.fake.Dispute(h.fake.Find("payment_intent")[0]["id"].(string))
		h.tell(t)
		v.sees("/dashboard/wallet", "owed after a refund or dispute", "Disputed", "$13.00")
		if got := h.actions(t, h.mayas(t).ID); !slices.Contains(got, "payment.begun") {
			t.Errorf("the audit log tells of %q", got)
		}
	})
}

// spend settles a call of Maya's account.
func (h *till) spend(t *testing.T, amount credit.Amount) error {
	t.Helper()
	result := h.NewID("file")
	call := store.NewCall{ID: store.CallID(result), ResultID: result, AccountID: h.mayas(t).ID, Operation: "pdf.create", Mode: "binary", Lease: "lease_test", Quote: amount}
	if err := h.Begin(t.Context(), call); err != nil {
		return err
	}
	return h.Settle(t.Context(), store.Settlement{CallID: call.ID, Charge: amount})
}

// TestAutoReloadOnThePages: settings, a payment to confirm, why it went off.
func TestAutoReloadOnThePages(t *testing.T) {
	eachTill(t, func(t *testing.T, h *till) {
		v := h.join(t, "maya@example.com")
		const path = "/dashboard/wallet/reload"
		for _, form := range []url.Values{
			{"on": {"on"}}, {"threshold": {"0"}, "reload": {"20"}, "cap": {"100"}}, {"threshold": {"30"}, "reload": {"20"}, "cap": {"100"}},
			{"threshold": {"5"}, "reload": {"20"}, "cap": {"10"}}, {"threshold": {"5"}, "reload": {"20.005"}, "cap": {"100"}}, {"threshold": {"5"}, "reload": {"2000"}, "cap": {"5000"}},
			{"threshold": {"a"}, "reload": {"20"}, "cap": {"100"}},
		} {
			v.post(path, http.StatusUnprocessableEntity, form)
		}
		v.post(path, http.StatusSeeOther, url.Values{"on": {"on"}, "threshold": {"10"}, "reload": {"40"}, "cap": {"90"}})
		account := h.mayas(t)
		reload, err := h.AutoReload(t.Context(), account.ID)
		want := store.AutoReload{Threshold: 10 * credit.Dollar, Amount: 40 * credit.Dollar, Monthly: 90 * credit.Dollar, On: true}
		if err != nil || reload != want {
			t.Errorf("auto-reload is %+v, %v; want %+v", reload, err, want)
		}
		a := v.post("/dashboard/wallet/topup", http.StatusSeeOther, url.Values{"amount": {"5"}})
		h.fake.Pay(strings.TrimPrefix(a.header.Get("Location"), "https://checkout.stripe.com/pay/"), fakestripe.CardWorks)
		h.tell(t)
		if a := v.post("/dashboard/wallet/portal", http.StatusSeeOther, url.Values{}); !strings.HasPrefix(a.header.Get("Location"), "https://checkout.stripe.com/card/") {
			t.Errorf("the form leads to %q", a.header.Get("Location"))
		}
		buyer, err := h.Customer(t.Context(), account.ID)
		if err != nil {
			t.Fatal(err)
		}
		h.fake.SetCard(buyer.ID, fakestripe.CardAction)
		if a := v.get("/dashboard/wallet/card"); a.status != http.StatusSeeOther {
			t.Errorf("back from Stripe: got status %d", a.status)
		}
		h.clock.Advance(time.Second)
		if err := h.spend(t, credit.Dollar); err != nil {
			t.Fatal(err)
		}
		if err := h.pay.Reload(t.Context(), account.ID); err != nil {
			t.Fatal(err)
		}
		page := v.sees("/dashboard/wallet", "Confirm the payment of $40.00.", "Visa ending 3184", "Auto-reload", "$40.00 charged this month")
		if !strings.Contains(page.body, `href="https://checkout.stripe.com/confirm/pi_`) {
			t.Error("the page has no link to confirm the payment")
		}
		h.fake.Confirm(h.fake.Find("payment_intent")[1]["id"].(string), true)
		h.tell(t)
		v.sees("/dashboard/wallet", "$49.00", "Auto-reload")
		h.fake.Dispute(h.fake.Find("payment_intent")[1]["id"].(string))
		h.tell(t)
		v.sees("/dashboard/wallet", "Auto-reload is off. A payment is disputed at the bank.")
		if got := h.mail.last(t, "maya@example.com").Subject; got != "Auto-reload was turned off" {
			t.Errorf("the last letter is about %q", got)
		}
	})
}
