package web_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
)

func TestExportHoldsEverythingAndNoSecret(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		account := h.mayas(t)
		_, secret, err := h.CreateKey(t.Context(), store.NewKey{AccountID: account.ID, Name: "production"})
		if err != nil {
			t.Fatal(err)
		}
		made := v.once("/dashboard/webhooks", url.Values{"url": {"https://hooks.example/in"}})
		v.post("/dashboard/connections", http.StatusSeeOther, url.Values{"kind": {"s3"}, "name": {"archive"}, "s3.bucket": {"abc"}, "s3.accessKeyId": {"k"}, "s3.secretAccessKey": {"canary"}})
		lease := acquire(t, h)
		for range store.MaxList + 5 {
			result := h.NewID("file")
			if err := h.Begin(t.Context(), store.NewCall{ID: store.CallID(result), ResultID: result, AccountID: account.ID, Operation: "pdf.create", Mode: "binary", RequestID: "r", Quote: 2000, Lease: lease}); err != nil {
				t.Fatal(err)
			}
			h.clock.Advance(time.Millisecond)
		}
		if err := h.AddRequests(t.Context(), []store.Request{{AccountID: account.ID, Path: "/v1/pdf"}}); err != nil {
			t.Fatal(err)
		}
		got := v.get("/dashboard/settings/export")
		if got.status != http.StatusOK || got.header.Get("Content-Type") != "application/zip" || !strings.HasPrefix(got.header.Get("Content-Disposition"), "attachment") {
			t.Fatalf("got status %d, %v", got.status, got.header)
		}
		files := unzip(t, got.body)
		for name, want := range map[string]int{
			"account.json": 1, "members.json": 1, "keys.json": 1, "endpoints.json": 1, "connections.json": 1, "templates.json": 0, "calls.json": store.MaxList + 5, "requests.json": 1,
			"ledger.json": store.MaxList + 6, "deliveries.json": 0, "audit.json": 4,
		} {
			var list []map[string]any
			if err := json.Unmarshal(files[name], &list); err != nil || len(list) != want {
				t.Errorf("%s has %d entries, %v, want %d", name, len(list), err, want)
			}
		}
		for name, text := range files {
			for _, hidden := range []string{secret, signingSecret.FindString(made.body), "canary", "argon2", password} {
				if bytes.Contains(text, []byte(hidden)) {
					t.Errorf("%s holds the secret %.12s…", name, hidden)
				}
			}
		}
		for range 9 {
			v.get("/dashboard/settings/export")
		}
		if a := v.get("/dashboard/settings/export"); a.status != http.StatusTooManyRequests {
			t.Errorf("the eleventh export of an hour: got status %d", a.status)
		}
	})
}

func unzip(t *testing.T, body string) map[string][]byte {
	t.Helper()
	archive, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if _, err := text.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		files[f.Name] = text.Bytes()
	}
	return files
}

func TestDeleteAccount(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		v := h.join(t, "maya@example.com")
		_, secret, err := h.CreateKey(t.Context(), store.NewKey{AccountID: h.mayas(t).ID, Name: "production"})
		if err != nil {
			t.Fatal(err)
		}
		v.post("/dashboard/settings/delete", http.StatusUnprocessableEntity, url.Values{"confirm": {"another"}})
		if _, _, err := h.KeyBySecret(t.Context(), secret); err != nil {
			t.Fatalf("the key was refused before: %v", err)
		}
		v.post("/dashboard/settings/delete", http.StatusSeeOther, url.Values{"confirm": {"maya@example.com"}})
		if _, _, err := h.KeyBySecret(t.Context(), secret); err == nil {
			t.Error("the key still works")
		}
		v.sees("/dashboard", "will be deleted on")
		if letter := h.mail.last(t, "maya@example.com"); letter.Subject != "Your account will be deleted" {
			t.Errorf("the owner was sent %q", letter.Subject)
		}
		v.sees("/dashboard/settings/data", "Cancel deletion of maya@example.com")
		v.post("/dashboard/settings/delete/undo", http.StatusSeeOther, url.Values{})
		if page := v.get("/dashboard"); strings.Contains(page.body, "will be deleted on") {
			t.Error("the account is still to be deleted")
		}
		v.post("/dashboard/settings/delete", http.StatusSeeOther, url.Values{"confirm": {"maya@example.com"}})
		h.clock.Advance(store.AccountGrace)
		if err := h.DeleteExpired(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		again := h.visitor(t)
		again.post("/login", http.StatusUnprocessableEntity, url.Values{"email": {"maya@example.com"}, "password": {password}})
		h.join(t, "maya@example.com") // the address is free again
	})
}

func TestNewDevicesAreNotified(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.join(t, "maya@example.com")
		letters := func() int { h.mail.mu.Lock(); defer h.mail.mu.Unlock(); return len(h.mail.sent) }
		signIn := func(agent string) {
			t.Helper()
			v := h.visitor(t)
			if agent != "" {
				v.header.Set("User-Agent", agent)
			}
			v.post("/login", http.StatusSeeOther, url.Values{"email": {"maya@example.com"}, "password": {password}})
		}
		before := letters()
		signIn("")
		if letters() != before {
			t.Errorf("a device that is known was told of: %q", h.mail.last(t, "maya@example.com").Subject)
		}
		const phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1"
		signIn(phone)
		letter := h.mail.last(t, "maya@example.com")
		if letter.Subject != "New login with Safari on iPhone" || !strings.Contains(letter.Lines[0], "203.0.113.40") {
			t.Errorf("the letter is %+v", letter)
		}
		before = letters()
		signIn(phone)
		h.clock.Advance(time.Hour)
		signIn("")
		if letters() != before {
			t.Error("a device was told of twice")
		}
	})
}
