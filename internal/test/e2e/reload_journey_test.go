package e2e

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/web/payments"
)

// The credentials of the stand-in for Stripe on a developer's server.
const standInKey, standInSecret = app.FakeStripeKey, app.FakeStripeSecret

// reloadForm is the form of auto-reload on the wallet's page.
const reloadForm = `form[action="/dashboard/wallet/reload"]`

// reloads has the wallet refill itself from now on.
func (s *screen) reloads(threshold, amount string) {
	s.t.Helper()
	s.open("/dashboard/wallet")
	s.fillIn(reloadForm, "threshold", threshold)
	s.fillIn(reloadForm, "reload", amount)
	s.fillIn(reloadForm, "cap", "900")
	s.switches(reloadForm+" input[role=switch]", true)
	s.pressIn(reloadForm, "Save auto-reload")
	s.sees("Auto-reload saved.")
}

// switches turns a switch on or off, if it is not.
func (s *screen) switches(selector string, on bool) {
	s.t.Helper()
	if s.isOn(selector) == on {
		return
	}
	field, err := s.page.Timeout(pagePatience).Element(selector)
	if err == nil {
		_, err = field.Eval(`() => this.click()`)
	}
	if err != nil || s.isOn(selector) != on {
		s.t.Fatalf("switch %s: %v", selector, err)
	}
}

func (s *screen) isOn(selector string) bool {
	s.t.Helper()
	field, err := s.page.Timeout(pagePatience).Element(selector)
	if err != nil {
		s.t.Fatalf("no switch %s: %v; the page says %.500s", selector, err, s.text())
	}
	on, err := field.Property("checked")
	if err != nil {
		s.t.Fatal(err)
	}
	return on.Bool()
}

// changesCard chooses another card on the page that replaces Stripe's.
func (s *screen) changesCard(words, shown string) {
	s.t.Helper()
	s.open("/dashboard/wallet")
	s.press("Change card")
	s.sees("No money moves")
	s.press(words)
	s.sees(shown)
}

// TestAutoReload refills a wallet from its saved card: that works, then the card is
// declined until it is switched off, then the bank asks the owner.
func TestAutoReload(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	_, app, maya := startWithReceiver(t)
	account := maya.account()
	_, secret, err := app.Store.CreateKey(t.Context(), store.NewKey{AccountID: account.ID, Name: "website"})
	if err != nil {
		t.Fatal(err)
	}
	calls := credit.Amount(0)
	call := func() {
		t.Helper()
		response, err := paidPost{url: app.URL + "/v1/barcodes", secret: secret}.send(t.Context(), &http.Client{Timeout: pagePatience}, strings.NewReader(`{"type":"qr","text":"hello"}`))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if calls++; response.StatusCode != http.StatusOK {
			t.Fatalf("the call: got status %d", response.StatusCode)
		}
	}
	has := func(amount credit.Amount) {
		t.Helper()
		if got, want := maya.account().Balance, amount-calls*100; got != want {
			t.Errorf("the wallet holds %s, want %s", got, want)
		}
	}
	told := func(event string, want int) {
		t.Helper()
		list, err := app.Store.Deliveries(t.Context(), store.DeliveryFilter{AccountID: account.ID, EventType: event})
		if err != nil || len(list.Items) != want {
			t.Errorf("%d events %s, %v; want %d", len(list.Items), event, err, want)
		}
	}

	maya.open("/dashboard/wallet")
	maya.sees("Uses the card of your next top-up")
	maya.reloads("20", "30")
	call() // without a card yet: nothing is charged
	maya.open("/dashboard/wallet")
	maya.press("Pay $20.00 with Stripe")
	maya.press("Pay with the test card 4242")
	maya.finds("/dashboard/wallet", "Visa ending 4242")
	has(25 * credit.Dollar)
	maya.reloads("26", "30")
	call()
	maya.finds("/dashboard/wallet", "$54.99")
	maya.finds("/dashboard/wallet", "Auto-reload\nVisa ending 4242")
	told(store.EventAutoReload, 1)
	has(55 * credit.Dollar)

	maya.changesCard("A card whose bank asks each time", "Visa ending 3184")
	maya.reloads("60", "60")
	call()
	maya.finds("/dashboard/wallet", "Confirm the payment of $60.00.")
	maya.lookAt("wallet with a payment to confirm")
	told(store.EventAutoReloadFailed, 1)
	has(55 * credit.Dollar)
	maya.open("/dashboard/wallet")
	maya.follow("Confirm payment")
	maya.sees("This stands for the page of the card’s bank.")
	maya.press("Confirm")
	maya.finds("/dashboard/wallet", "$114.99")
	told(store.EventAutoReload, 2)
	has(115 * credit.Dollar)

	maya.changesCard("A card that is declined", "Visa ending 0002")
	maya.reloads("120", "120")
	call()
	maya.finds("/dashboard/wallet", "Your card was declined.")
	maya.sees("Failed")
	maya.lookAt("wallet with a card that was declined")
	told(store.EventAutoReloadFailed, 2)
	maya.finds("/dashboard/deliveries?status=delivered&event="+store.EventAutoReloadFailed, "127.0.0.1")
	// The next attempts are hours and a day apart.
	ahead := time.Duration(0)
	clock := func() time.Time { return time.Now().Add(ahead) }
	later := openLater(t, app, clock)
	pay, err := payments.New(payments.Config{
		Store: later, SecretKey: standInKey, WebhookSecret: standInSecret, APIURL: app.StripeURL, BaseURL: app.BaseURL(), Logger: slog.New(slog.DiscardHandler), Now: clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !maya.account().AutoReload {
			t.Fatal("auto-reload is off before the third failure")
		}
		ahead += 25 * time.Hour
		if err := pay.Reload(t.Context(), account.ID); err != nil {
			t.Fatal(err)
		}
	}
	maya.finds("/dashboard/wallet", "Auto-reload is off. It failed 3 times in a row. The last time: Your card was declined.")
	if maya.isOn(reloadForm + " input[role=switch]") {
		t.Error("the switch is on")
	}
	maya.lookAt("wallet whose reload is off")
	told(store.EventAutoReloadFailed, 5) // each attempt, and that it is off
	call()
	has(115 * credit.Dollar)
	maya.calm("auto-reload")
}
