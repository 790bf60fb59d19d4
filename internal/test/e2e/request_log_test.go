package e2e

import (
	"net/http"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
)

// TestFailedRequestToItsCause sends requests that fail, and finds the cause of each in the log of the dashboard.
func TestFailedRequestToItsCause(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	maya.open("/dashboard/requests")
	maya.sees("No requests yet")
	maya.lookAt("requests none")
	key, secret, err := app.Store.CreateKey(t.Context(), store.NewKey{AccountID: maya.account().ID, Name: "website"})
	if err != nil {
		t.Fatal(err)
	}
	send := func(path, body string, want int) (requestID string) {
		t.Helper()
		answer := sends(t, http.MethodPost, app.URL+path, secret, "application/json", body)
		defer answer.Body.Close()
		if answer.StatusCode != want {
			t.Fatalf("%s: got status %d, want %d", path, answer.StatusCode, want)
		}
		return answer.Header.Get("X-Request-Id")
	}
	send("/v1/pdf", `{"html":"<h1>Order</h1>","filename":"order-1042","response":"url"}`, http.StatusOK)
	wrong := send("/v1/pdf", `{"html":"<h1>Order</h1>","options":{"formt":"A4"}}`, http.StatusBadRequest)
	send("/v1/pdf/shred", `{}`, http.StatusNotFound)
	if err := app.Store.RevokeKey(t.Context(), maya.account().ID, key.ID); err != nil {
		t.Fatal(err)
	}
	send("/v1/pdf", `{"html":"<h1>Order</h1>"}`, http.StatusUnauthorized)

	maya.finds("/dashboard/requests?code=unauthorized", "POST /v1/pdf")
	maya.open("/dashboard/requests")
	maya.sees("POST /v1/pdf/shred")
	maya.lookAt("requests")
	maya.width(390)
	maya.picture("requests-390")
	maya.width(1280)
	maya.choose("select[name=status]", "Succeeded")
	maya.sees("Clear") // the script sends the form
	maya.finds("/dashboard/requests?status=succeeded&q=order-1042", "POST /v1/pdf")
	maya.follow("POST /v1/pdf")
	maya.sees("View document")
	maya.follow("View document")
	maya.sees("order-1042.pdf")
	maya.follow("View request")
	maya.sees("POST /v1/pdf")

	maya.open("/dashboard/requests?q=" + wrong)
	maya.follow("POST /v1/pdf")
	maya.sees("options.formt is not a known field")
	maya.lookAt("request that failed")
	maya.width(390)
	maya.picture("request-that-failed-390")
	maya.width(1280)
	maya.follow("About this error")
	maya.sees("invalid_request")
	maya.open("/dashboard/requests?code=unauthorized")
	maya.follow("POST /v1/pdf")
	maya.sees("The API key is unknown or revoked.")
	maya.follow("website")
	maya.sees("Revoked")
	maya.calm("the log of requests")
}
