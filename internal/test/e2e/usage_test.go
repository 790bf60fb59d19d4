package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
)

// TestUsageAndAlerts makes calls with two keys and a template, finds them under Usage, and switches alerts on.
func TestUsageAndAlerts(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app, browser := startPages(t), openBrowser(t)
	maya := openScreen(t, browser, app)
	maya.join("maya@example.com")
	maya.open("/dashboard/usage")
	maya.sees("No calls in the last 30 days.")
	maya.lookAt("usage none")

	account := maya.account().ID
	template, err := app.Store.CreateTemplate(t.Context(), store.NewTemplate{AccountID: account, Name: "Invoice", Content: store.TemplateContent{HTML: "<h1>{{number}}</h1>"}})
	if err == nil {
		_, err = app.Store.PublishTemplate(t.Context(), account, template.ID, 0, "First", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	send := func(secret, path, body string, want int) {
		t.Helper()
		mustSend(t, http.MethodPost, app.URL+path, secret, body, want)
	}
	filled := func(more string) string {
		return fmt.Sprintf(`{"templateId":%q,"templateData":{"number":7}%s}`, template.ID, more)
	}
	for i, name := range []string{"website", "nightly statements"} {
		_, secret, err := app.Store.CreateKey(t.Context(), store.NewKey{AccountID: account, Name: name})
		if err != nil {
			t.Fatal(err)
		}
		send(secret, "/v1/pdf", filled(""), http.StatusOK)
		if i == 1 {
			send(secret, "/v1/images", `{"html":"<h1>Order</h1>"}`, http.StatusOK)
		} else {
			send(secret, "/v1/pdf", filled(`,"strict":true,"options":{"waitForSelector":"#never","timeout":1000}`), http.StatusBadGateway)
			send(secret, "/v1/pdf", filled(`,"response":"async"`), http.StatusAccepted)
		}
	}
	// The job runs on its own, and the counts are written behind.
	maya.finds("/dashboard/usage?by=template&days=7", "Calls, 4")
	maya.sees("Failed, 1")
	maya.lookAt("usage by template")
	maya.follow("Invoice")
	maya.sees("Show all")
	maya.open("/dashboard/usage")
	maya.sees("images.create")
	maya.follow("Key")
	maya.sees("nightly statements")
	maya.follow("website")
	maya.sees("Calls, 3")
	maya.lookAt("usage by key")
	maya.width(390)
	maya.picture("usage-390")
	maya.width(1280)

	_, reader, err := app.Store.CreateKey(t.Context(), store.NewKey{AccountID: account, Name: "reader"})
	if err != nil {
		t.Fatal(err)
	}
	var usage struct {
		Keys      []struct{ Count, Failed int }
		Templates []struct {
			TemplateID    string
			Count, Failed int
		}
	}
	if err := json.Unmarshal(mustSend(t, http.MethodGet, app.URL+"/v1/billing/usage", reader, "", http.StatusOK), &usage); err != nil {
		t.Fatal(err)
	}
	if len(usage.Keys) != 2 || len(usage.Templates) != 1 || usage.Templates[0].TemplateID != template.ID || usage.Templates[0].Count != 3 || usage.Templates[0].Failed != 1 {
		t.Errorf("the API returns %+v", usage)
	}

	maya.fill("day", "120")
	maya.press("Save alerts")
	maya.sees("Enter a whole number from 1 to 100.")
	maya.lookAt("usage alerts wrong")
	maya.fill("day", "80")
	maya.fill("balance", "100")
	maya.press("Save alerts")
	maya.sees("Alerts saved.")
	maya.lookAt("usage alerts")
	maya.calm("usage")
}
