package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/web"
)

// TestUsageOnThePages: the page shows the calls of a period by operation, key and template, and so does its file.
func TestUsageOnThePages(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		v.sees("/dashboard/usage", "No calls in the last 30 days.", "All calls")
		v.sees("/dashboard/usage?by=template&days=7", "No calls with a template in the last 7 days.")
		account, lease := h.mayas(t), acquire(t, h)
		key, _, err := h.CreateKey(t.Context(), store.NewKey{AccountID: account.ID, Name: "production"})
		if err != nil {
			t.Fatal(err)
		}
		template, err := h.CreateTemplate(t.Context(), store.NewTemplate{AccountID: account.ID, Name: "=Invoice"})
		if err != nil {
			t.Fatal(err)
		}
		pay := func(operation, keyID string) {
			t.Helper()
			result := h.NewID("file")
			err := h.Begin(t.Context(), store.NewCall{ID: store.CallID(result), ResultID: result, AccountID: account.ID, KeyID: keyID, Operation: operation, Mode: "binary", RequestID: "r", Quote: 2000, Lease: lease})
			if err == nil {
				err = h.Settle(t.Context(), store.Settlement{CallID: store.CallID(result), Charge: 2000})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		pay("pdf.create", key.ID)
		pay("pdf.create", key.ID)
		pay("images.create", "")
		h.CountUsage(store.EndedCall{AccountID: account.ID, Operation: "pdf.create", KeyID: key.ID, TemplateID: template.ID, Charge: 2000})
		h.CountUsage(store.EndedCall{AccountID: account.ID, Operation: "pdf.create", KeyID: key.ID, TemplateID: template.ID, Failed: true})
		for by, row := range map[string]string{"operation": "pdf.create 3 1", "key": "production 3 1", "template": "=Invoice 2 1"} {
			for end := time.Now().Add(time.Minute); !strings.Contains(textOf(v.get("/dashboard/usage?by="+by).body), row); <-time.After(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("the counts by %s were not written", by)
				}
			}
		}
		for path, words := range map[string][]string{
			"/dashboard/usage": {"Calls, 4", "Failed, 1", "Spend, $0.0060", "pdf.create 3 1 $0.0040", "images.create 1 – $0.0020"},
			"/dashboard/usage?by=operation&of=images.create":         {"Calls, 1", "Failed, 0", "Show all", "pdf.create 3 1 $0.0040"},
			"/dashboard/usage?by=key&days=90":                        {"production 3 1 $0.0040", "dashboard 1 – $0.0020"},
			"/dashboard/usage?by=key&of=dashboard":                   {"Calls, 1", "Spend, $0.0020"},
			"/dashboard/usage?by=template":                           {"Calls with templates", "=Invoice 2 1 $0.0020"},
			"/dashboard/usage?by=template&days=7&of=" + template.ID:  {"Calls, 2", "Failed, 1"},
			"/dashboard/usage?by=template&of=none":                   {"Calls, 0"},
			"/dashboard/usage?by=wrong&days=1000000&of=%3Cb%3Ewrong": {"By operation", "&lt;b&gt;wrong", "Calls, 0"},
		} {
			v.sees(path, words...)
		}
		day := h.clock.Now().UTC().Format(time.DateOnly)
		for path, want := range map[string]string{
			"?by=key":      "day,key,name,calls,failed,charge_usd\n" + day + ",dashboard,dashboard,1,0,0.002000\n" + day + "," + key.ID + ",production,3,1,0.004000\n",
			"?by=template": "day,template,name,calls,failed,charge_usd\n" + day + "," + template.ID + ",'=Invoice,2,1,0.002000\n",
			"":             "day,operation,name,calls,failed,charge_usd\n" + day + ",images.create,images.create,1,0,0.002000\n" + day + ",pdf.create,pdf.create,3,1,0.004000\n",
		} {
			if a := v.get("/dashboard/usage.csv" + path); a.status != http.StatusOK || a.body != want {
				t.Errorf("%s: got %d, %q; want %q", path, a.status, a.body, want)
			}
		}
		if a := h.join(t, "other@example.com").get("/dashboard/usage"); !strings.Contains(a.body, "No calls") {
			t.Error("another account sees the calls")
		}
	})
}

// TestAlertsOnThePages: an owner sets alerts, which are sent by email and as events.
func TestAlertsOnThePages(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		account := h.mayas(t)
		v.sees("/dashboard/usage", "Save alerts", "The balance is $5.00.", "Needs a daily spending limit")
		const path = "/dashboard/usage/alerts"
		for _, form := range []url.Values{{"day": {"0"}}, {"day": {"101"}}, {"failures": {"1.5"}}, {"balance": {"0"}}, {"balance": {"x"}}} {
			if a := v.post(path, http.StatusUnprocessableEntity, form); !strings.Contains(a.body, `aria-invalid="true"`) {
				t.Errorf("%v: no field is marked", form)
			}
		}
		limit := 15 * credit.Dollar
		if err := h.SetLimits(t.Context(), store.Author{AccountID: account.ID}, store.Limits{MaxDay: &limit}); err != nil {
			t.Fatal(err)
		}
		v.post(path, http.StatusSeeOther, url.Values{"day": {"80 %"}, "balance": {"7.50"}, "failures": {""}})
		if a := v.sees("/dashboard/usage", "Alerts saved.", "The daily limit is $15.00."); !strings.Contains(a.body, `value="80"`) || !strings.Contains(a.body, `value="7.50"`) {
			t.Error("the page does not show the thresholds")
		}
		if got := h.actions(t, account.ID); !slices.Contains(got, "alerts.changed") {
			t.Errorf("the audit log has %v", got)
		}
		if _, err := h.CreateWebhook(t.Context(), store.NewWebhook{ID: h.NewID("we"), AccountID: account.ID, URL: "https://hooks.example/", Secret: []byte("sealed"), SecretPrefix: "whsec_", Events: []string{store.EventAccountAlert}}); err != nil {
			t.Fatal(err)
		}
		task := web.AlertTask(h.Store, h.mail, h.url)
		if err := task.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
		if letter := h.mail.last(t, "maya@example.com"); letter.Subject != "Your wallet balance is below $7.50" || !strings.HasSuffix(letter.Link.URL, "/dashboard/wallet") {
			t.Errorf("the email is %+v", letter)
		}
		v.sees("/dashboard/deliveries", "account.alert")

		person, err := h.CreateUser(t.Context(), store.NewUser{Email: "bill@example.com", Verified: true})
		if err == nil {
			err = h.AddMember(t.Context(), account.ID, person.ID, store.RoleBilling)
		}
		if err != nil {
			t.Fatal(err)
		}
		billing := h.signedIn(t, person)
		if a := billing.sees("/dashboard/usage", "Only owners can change alerts."); strings.Contains(a.body, "Save alerts") {
			t.Error("a billing member sees the button")
		}
		billing.post(path, http.StatusForbidden, url.Values{})
		v.post(path, http.StatusSeeOther, url.Values{})
		if got, err := h.Alerts(t.Context(), account.ID); err != nil || len(got) != 0 {
			t.Errorf("the alerts are %v, %v", got, err)
		}
	})
}
