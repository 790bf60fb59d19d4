package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store/credit"
)

// TestRefundInTheWallet pays, and has the operator refund a part of the payment at Stripe.
func TestRefundInTheWallet(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	program := startPages(t, func(c *app.Config) { c.Dev = true })
	maya := openScreen(t, openBrowser(t), program)
	maya.join("maya@example.com")
	before := maya.account().Balance
	maya.open("/dashboard/wallet")
	maya.press("Pay $20.00 with Stripe")
	maya.press("Pay with the test card 4242")
	maya.sees("$20.00 was added to the wallet.")
	stripe := func(method, path, form string, into any) {
		t.Helper()
		answer := sends(t, method, program.StripeURL+path, app.FakeStripeKey, "application/x-www-form-urlencoded", form)
		defer answer.Body.Close()
		if err := json.NewDecoder(answer.Body).Decode(into); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: got status %d, %v", method, path, answer.StatusCode, err)
		}
	}
	var paid struct{ Data []struct{ ID string } }
	if stripe(http.MethodGet, "/v1/payment_intents", "", &paid); len(paid.Data) != 1 {
		t.Fatalf("got %d payments at Stripe, want 1", len(paid.Data))
	}
	var refund struct{ Status string }
	stripe(http.MethodPost, "/v1/refunds", "payment_intent="+paid.Data[0].ID+"&amount=500", &refund)
	maya.finds("/dashboard/wallet?kind=payments", "Partly refunded") // The page reads the ledger after the payments.
	maya.sees("Refund to the card")
	maya.sees("−$5.00")
	maya.lookAt("wallet after a refund")
	if got, want := maya.account().Balance, before+15*credit.Dollar; got != want || refund.Status != "succeeded" {
		t.Errorf("after the refund (%s), the wallet holds %s, want %s", refund.Status, got, want)
	}
	maya.calm("a refund")
}

// sends requests a URL with a key.
func sends(t *testing.T, method, url, key, contentType, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", contentType)
	answer, err := (&http.Client{Timeout: pagePatience}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// mustSend sends JSON with a key, and returns the response, which must have that status.
func mustSend(t *testing.T, method, url, key, body string, want int) []byte {
	t.Helper()
	answer := sends(t, method, url, key, "application/json", body)
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != want {
		t.Fatalf("%s %s: got status %d and %v, want %d: %.300s", url, body, answer.StatusCode, err, want, content)
	}
	return content
}

// TestRevokedKeyInABrowser creates a key, calls with it, and revokes it: the next call is refused, and the log has its
// cause.
func TestRevokedKeyInABrowser(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	program := startPages(t)
	maya := openScreen(t, openBrowser(t), program)
	maya.join("maya@example.com")
	maya.open("/dashboard/keys/new")
	maya.fill("name", "website")
	maya.press("Create key")
	maya.sees("Key “website” created")
	maya.lookAt("new key")
	shown, err := maya.page.Eval(`() => document.body.innerText.match(/pdf_live_\w+/)[0]`)
	if err != nil {
		t.Fatal(err)
	}
	call := func(want int) {
		t.Helper()
		mustSend(t, http.MethodPost, program.URL+"/v1/barcodes", shown.Value.Str(), `{"type":"qr","text":"https://example.com"}`, want)
	}
	call(http.StatusOK)
	maya.finds("/dashboard/keys", "website")
	maya.pressWhere(`a[href$="/revoke"]`, "Revoke")
	maya.lookAt("revoke a key")
	maya.fill("confirm", "wrong")
	maya.press("Revoke")
	maya.sees("website") // the form names the text to type
	call(http.StatusOK)
	maya.fill("confirm", "website")
	maya.press("Revoke")
	maya.sees("” revoked")
	maya.lookAt("revoked key")
	call(http.StatusUnauthorized)
	maya.finds("/dashboard/requests?code=unauthorized", "POST /v1/barcodes")
	maya.follow("POST /v1/barcodes")
	maya.sees("The API key is unknown or revoked.")
	keys, err := program.Store.Keys(t.Context(), maya.account().ID)
	if err != nil || len(keys) != 1 || keys[0].RevokedAt == nil {
		t.Errorf("got keys %+v, %v", keys, err)
	}
	maya.calm("revoking a key")
}
