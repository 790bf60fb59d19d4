package web_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

// endSessions ends all sessions of a user, as time or another window does.
func (h *house) endSessions(t *testing.T, email string) {
	t.Helper()
	person, err := h.UserByEmail(t.Context(), email)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.EndOtherSessions(t.Context(), person.ID, ""); err != nil {
		t.Fatal(err)
	}
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)

// TestTypedTextOutlivesItsSession sends a form when the session has ended, logs in, and sends the stored form.
func TestTypedTextOutlivesItsSession(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		h.endSessions(t, "maya@example.com")
		v.header.Set("Referer", h.url+"/dashboard/webhooks/new")
		typed := url.Values{"url": {"https://hooks.example/in?a=1&b=\"2\""}, "events": {store.EventJobCompleted, store.EventJobFailed}}
		a := v.post("/dashboard/webhooks", http.StatusSeeOther, typed)
		if to := a.header.Get("Location"); to != "/login?next=%2Fdashboard%2Fresume" {
			t.Fatalf("sent to %q", to)
		}
		v.sees("/login", "Log in to send the form that you filled in.")
		if a := v.get("/dashboard/resume"); a.status != http.StatusSeeOther {
			t.Errorf("nobody sees what was kept: got status %d", a.status)
		}
		login := url.Values{"email": {"maya@example.com"}, "password": {password}, "next": {"/dashboard/resume"}}
		if a := v.post("/login", http.StatusSeeOther, login); a.header.Get("Location") != "/dashboard/resume" {
			t.Fatalf("sent on to %q", a.header.Get("Location"))
		}
		page := v.sees("/dashboard/resume", "Continue where you left off", "hooks.example/in", "Discard form")
		if !strings.Contains(page.body, `action="/dashboard/webhooks"`) || !strings.Contains(page.body, `href="/dashboard/webhooks/new"`) {
			t.Errorf("the form goes elsewhere: %s", page.body)
		}
		again := url.Values{}
		for _, field := range hiddenField.FindAllStringSubmatch(page.body, -1) {
			again.Add(field[1], html.UnescapeString(field[2]))
		}
		v.once("/dashboard/webhooks", again)
		list, err := h.Webhooks(t.Context(), h.mayas(t).ID)
		if err != nil || len(list) != 1 || list[0].URL != typed.Get("url") || len(list[0].Events) != 2 {
			t.Errorf("got %+v, %v", list, err)
		}
		if a := v.get("/dashboard/resume"); a.status != http.StatusSeeOther {
			t.Errorf("what was sent is still kept: got status %d", a.status)
		}
	})
}

// TestSecretsAndOldFormsAreNotStored: forms with a password, without anything typed,
// too large, or from an hour ago.
func TestSecretsAndOldFormsAreNotStored(t *testing.T) {
	h := sqliteHouse(t, nil)
	h.join(t, "maya@example.com")
	for name, form := range map[string]struct {
		path   string
		values url.Values
	}{
		"password": {"/dashboard/settings/password", url.Values{"current": {password}, "password": {"another password"}}},
		"nothing":  {"/dashboard/settings/sessions/end", url.Values{}},
		"large":    {"/dashboard/keys", url.Values{"name": {strings.Repeat("x", 70_000)}}},
	} {
		v := h.visitor(t)
		v.header.Set("Referer", h.url+"/dashboard/settings?a=b")
		if a := v.post(form.path, http.StatusSeeOther, form.values); a.header.Get("Location") != "/login?next=%2Fdashboard%2Fsettings%3Fa%3Db" || a.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: sent to %q, with the cookie %q", name, a.header.Get("Location"), a.header.Get("Set-Cookie"))
		}
	}
	v := h.visitor(t)
	v.header.Set("Referer", "https://evil.example/dashboard")
	v.post("/dashboard/keys", http.StatusSeeOther, url.Values{"name": {"website"}})
	h.clock.Advance(61 * time.Minute)
	v.post("/login", http.StatusSeeOther, url.Values{"email": {"maya@example.com"}, "password": {password}})
	if a := v.get("/dashboard/resume"); a.status != http.StatusSeeOther || a.header.Get("Location") != "/dashboard" {
		t.Errorf("an old form: got status %d, %q", a.status, a.header.Get("Location"))
	}
}
