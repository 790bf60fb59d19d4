package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/editorlink"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/seal"
)

// TestTemplateSessions creates links to the editor, and reads their permissions.
func TestTemplateSessions(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: func(c *apitest.Settings) { quiet(c); c.BaseURL = "https://pdf.example.com" }})
	id := made(t, s, apitest.Request{Path: "/v1/templates", Body: `{"name":"Mine","html":"x"}`})
	box, err := seal.New(bytes.Repeat([]byte("k"), seal.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(body string) apitest.Response {
		t.Helper()
		return s.Send(t, apitest.Request{Path: "/v1/templates/mine/sessions", Body: body})
	}
	got := ask(`{"capabilities":["preview","edit","edit"],"origin":"HTTPS://App.Example.com:443/","returnUrl":"https://app.example.com/letters?n=1#top","expiresIn":600}`)
	if got.Status != http.StatusCreated {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	answer := decode[wire.TemplateSession](t, got)
	token, ok := strings.CutPrefix(answer.URL, "https://pdf.example.com/embed/")
	if !ok || answer.TemplateID != id || answer.Origin != "https://app.example.com" || *answer.ReturnURL != "https://app.example.com/letters?n=1#top" ||
		!slices.Equal(answer.Capabilities, []string{"edit", "preview"}) || !answer.ExpiresAt.Equal(s.Clock.Now().Add(10*time.Minute)) {
		t.Errorf("got %+v", answer)
	}
	opened, err := editorlink.Open(box, token)
	if err != nil || opened.AccountID != s.Account.ID || opened.KeyID != s.Key.ID || opened.TemplateID != id || opened.Origin != answer.Origin || opened.ReturnURL != *answer.ReturnURL ||
		!opened.May(editorlink.Edit) || opened.May(editorlink.Publish, editorlink.Data, editorlink.Options) || !opened.ExpiresAt.Equal(answer.ExpiresAt) {
		t.Errorf("the token says %+v, %v", opened, err)
	}
	if log := s.Log.String(); strings.Contains(log, token) {
		t.Error("the token is in the log")
	}
	// The audit log has one entry, however often the same is requested.
	ask(`{"capabilities":["edit","preview"],"origin":"https://app.example.com"}`)
	logged, err := s.Store.AuditEntries(t.Context(), s.Account.ID, "", 10)
	logged = slices.DeleteFunc(logged, func(e store.AuditEntry) bool { return e.Action == "template.made" })
	if err != nil || len(logged) != 1 || logged[0].Action != "template.shared" || logged[0].Who != "key "+s.Key.ID || logged[0].Object != "Mine" ||
		logged[0].Note != "https://app.example.com, edit, preview" {
		t.Errorf("the audit log has %+v, %v", logged, err)
	}
	plain := decode[wire.TemplateSession](t, ask(`{"capabilities":[],"origin":"http://localhost:3000"}`))
	if plain.ReturnURL != nil || !plain.ExpiresAt.Equal(s.Clock.Now().Add(time.Hour)) || plain.Origin != "http://localhost:3000" {
		t.Errorf("without more: %+v", plain)
	}
	_, limited := s.NewKey(t, store.NewKey{AccountID: s.Account.ID, Name: "limited", Operations: []string{"test.echo"}})
	refused := s.Send(t, apitest.Request{Path: "/v1/templates/mine/sessions", Body: `{"capabilities":[],"origin":"https://a.example"}`, Header: http.Header{"Authorization": {"Bearer " + limited}}})
	if refused.Status != http.StatusUnauthorized && refused.Status != http.StatusForbidden {
		t.Errorf("a key for one operation: got %d %s", refused.Status, refused.Body)
	}
	s.Send(t, apitest.Request{Path: "/v1/templates/nothing/sessions", Body: `{"capabilities":[],"origin":"https://a.example"}`}).Refused(t, wire.NotFound)
}

// TestTemplateSessionsOfOneOrigin refuses origins that are none, or that the way
// back does not lead to.
func TestTemplateSessionsOfOneOrigin(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: func(c *apitest.Settings) { quiet(c); c.BaseURL = "https://pdf.example.com" }})
	made(t, s, apitest.Request{Path: "/v1/templates", Body: `{"name":"Mine","html":"x"}`})
	for _, q := range []struct{ origin, back, field string }{
		{"", "", "origin"},
		{"*", "", "origin"},
		{"https://*", "", "origin"},
		{"https://*.example.com", "", "origin"},
		{"null", "", "origin"},
		{"app.example.com", "", "origin"},
		{"//app.example.com", "", "origin"},
		{"ftp://app.example.com", "", "origin"},
		{"javascript://app.example.com", "", "origin"},
		{"http://app.example.com", "", "origin"},
		{"http://localhost.example.com", "", "origin"},
		{"https://app.example.com/page", "", "origin"},
		{"https://app.example.com?", "", "origin"},
		{"https://app.example.com#", "", "origin"},
		{"https://user@app.example.com", "", "origin"},
		{"https://app.example.com https://evil.example", "", "origin"},
		{"https://app.example.com;script-src *", "", "origin"},
		{"https://app.example.com, https://evil.example", "", "origin"},
		{"https://app.example.com'self'", "", "origin"},
		{"https://büro.example", "", "origin"},
		{"https://[::1]", "", "origin"},
		{"https://", "", "origin"},
		{"https://app.example.com", "https://evil.example/", "returnUrl"},
		{"https://app.example.com", "https://app.example.com.evil.example/", "returnUrl"},
		{"https://app.example.com", "https://app.example.com@evil.example/", "returnUrl"},
		{"https://app.example.com", `https://app.example.com\@evil.example/`, "returnUrl"},
		{"https://app.example.com", "https://app.example.com:8443/", "returnUrl"},
		{"https://app.example.com", "http://app.example.com/", "returnUrl"},
		{"https://app.example.com", "//app.example.com/", "returnUrl"},
		{"https://app.example.com", "/back", "returnUrl"},
		{"https://app.example.com", "javascript:alert(1)", "returnUrl"},
	} {
		body, err := json.Marshal(map[string]any{"capabilities": []string{}, "origin": q.origin, "returnUrl": q.back})
		if err != nil {
			t.Fatal(err)
		}
		if q.back == "" {
			body = bytes.Replace(body, []byte(`,"returnUrl":""`), nil, 1)
		}
		failure := s.Send(t, apitest.Request{Path: "/v1/templates/mine/sessions", Body: string(body)}).Refused(t, wire.InvalidRequest)
		if len(failure.Details) != 1 || failure.Details[0].Field != q.field {
			t.Errorf("%q, %q: got %+v", q.origin, q.back, failure.Details)
		}
	}
	for _, body := range []string{
		`{"origin":"https://a.example"}`, `{"capabilities":["fly"],"origin":"https://a.example"}`,
		`{"capabilities":[],"origin":"https://a.example","expiresIn":59}`, `{"capabilities":[],"origin":"https://a.example","expiresIn":86401}`,
	} {
		s.Send(t, apitest.Request{Path: "/v1/templates/mine/sessions", Body: body}).Refused(t, wire.InvalidRequest)
	}
}
