package web_test

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/service/editorlink"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/seal"
)

const hostOrigin = "https://app.example.com"

// linkLab makes links to the editor of one template.
type linkLab struct {
	*house
	t        *testing.T
	box      *seal.Box
	account  store.Account
	key      store.Key
	template store.Template
	frame    *visitor // a browser without any cookie
}

func newLinkLab(t *testing.T, h *house) *linkLab {
	t.Helper()
	box, err := seal.New([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	l := &linkLab{house: h, t: t, box: box}
	if l.account, err = h.CreateAccount(t.Context(), "host@example.com", 0); err != nil {
		t.Fatal(err)
	}
	if l.key, _, err = h.CreateKey(t.Context(), store.NewKey{AccountID: l.account.ID, Name: "links"}); err != nil {
		t.Fatal(err)
	}
	l.template = l.newTemplate(l.account, "letter")
	l.frame = h.visitor(t)
	l.frame.header = http.Header{"Sec-Fetch-Dest": {"iframe"}}
	return l
}

func (l *linkLab) newTemplate(account store.Account, slug string) store.Template {
	l.t.Helper()
	made, err := l.CreateTemplate(l.t.Context(), store.NewTemplate{
		AccountID: account.ID, Slug: slug, Name: "Letter", Content: store.TemplateContent{HTML: "<p>{{a}}</p>", SampleData: json.RawMessage(`{"a":1}`), Options: json.RawMessage(`{"format":"A5"}`)},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return made
}

// link returns the path of the editor with capabilities, after a change.
func (l *linkLab) link(may []editorlink.Capability, change func(*editorlink.Session)) string {
	l.t.Helper()
	s := editorlink.Session{
		ID: editorlink.NewID(), AccountID: l.account.ID, KeyID: l.key.ID, TemplateID: l.template.ID, Capabilities: may,
		Origin: hostOrigin, ExpiresAt: l.clock.Now().Add(time.Hour),
	}
	if change != nil {
		change(&s)
	}
	token, err := s.Token(l.box)
	if err != nil {
		l.t.Fatal(err)
	}
	return editorlink.Path + token
}

// fields sends the fields of the frame of HTML.
func (l *linkLab) fields(path string, fields map[string]string) answer {
	l.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range fields {
		if err := form.WriteField(name, value); err != nil {
			l.t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		l.t.Fatal(err)
	}
	return l.frame.upload(path, form.FormDataContentType(), &body)
}

// linkRequest is one thing that is asked through a link.
type linkRequest struct {
	name  string
	needs []editorlink.Capability // all of them
	send  func(l *linkLab, path string) answer
}

func sends(below, body string) func(*linkLab, string) answer {
	return func(l *linkLab, path string) answer { return l.frame.send(path+below, body) }
}

var linkRequests = []linkRequest{
	{"change the HTML", []editorlink.Capability{editorlink.Edit}, sends("/draft", `{"html":"<b>new</b>"}`)},
	{"change the data", []editorlink.Capability{editorlink.Data}, sends("/draft", `{"sampleData":{"a":2}}`)},
	{"change the options", []editorlink.Capability{editorlink.Options}, sends("/draft", `{"options":{"format":"A4"}}`)},
	{"change all", []editorlink.Capability{editorlink.Edit, editorlink.Data, editorlink.Options}, sends("/draft", `{"html":"<b>all</b>","sampleData":{"a":3},"options":{}}`)},
	{"see the stored pages", []editorlink.Capability{editorlink.Preview}, sends("/pages", `{}`)},
	{"see pages of other HTML", []editorlink.Capability{editorlink.Preview, editorlink.Edit}, sends("/pages", `{"html":"x"}`)},
	{"see pages of other data", []editorlink.Capability{editorlink.Preview, editorlink.Data}, sends("/pages", `{"sampleData":{}}`)},
	{"see pages of other options", []editorlink.Capability{editorlink.Preview, editorlink.Options}, sends("/pages", `{"options":{}}`)},
	{"see places", []editorlink.Capability{editorlink.Preview}, sends("/pages?places=1", `{}`)},
	{"see the stored HTML in a frame", []editorlink.Capability{editorlink.Preview}, func(l *linkLab, path string) answer { return l.fields(path+"/filled", nil) }},
	{"see other HTML in a frame", []editorlink.Capability{editorlink.Preview, editorlink.Edit}, func(l *linkLab, path string) answer {
		return l.fields(path+"/filled", map[string]string{"html": "x"})
	}},
	{"see other data in a frame", []editorlink.Capability{editorlink.Preview, editorlink.Data}, func(l *linkLab, path string) answer {
		return l.fields(path+"/filled", map[string]string{"sampleData": "{}"})
	}},
	{"check other HTML", []editorlink.Capability{editorlink.Edit}, sends("/check", `{"html":"x"}`)},
	{"check other data", []editorlink.Capability{editorlink.Data}, sends("/check", `{"sampleData":{}}`)},
	{"ask to publish", []editorlink.Capability{editorlink.Publish}, func(l *linkLab, path string) answer { return l.frame.get(path + "/publish") }},
	{"publish", []editorlink.Capability{editorlink.Publish}, sends("/publish", `{"comment":"mine"}`)},
}

// TestLinksPermitOnlyTheirCapabilities tries every request with every set of capabilities: requests without the
// capability are refused, and nothing is written.
func TestLinksPermitOnlyTheirCapabilities(t *testing.T) {
	h := sqliteHouse(t, nil)
	l := newLinkLab(t, h)
	all := editorlink.Capabilities()
	stored := func() store.Template {
		t.Helper()
		found, err := h.Template(t.Context(), l.account.ID, l.template.ID)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for set := range 1 << len(all) {
		var may []editorlink.Capability
		for i, c := range all {
			if set&(1<<i) != 0 {
				may = append(may, c)
			}
		}
		path := l.link(may, nil)
		for _, q := range linkRequests {
			permitted := !slices.ContainsFunc(q.needs, func(c editorlink.Capability) bool { return !slices.Contains(may, c) })
			before := stored()
			got := q.send(l, path)
			// The server has no renderer: permitted requests that need one fail.
			if fine := got.status == http.StatusOK || got.status == http.StatusServiceUnavailable || got.status == http.StatusNoContent; permitted != fine || !permitted && got.status != http.StatusForbidden {
				t.Errorf("a link for %v may %s: %v; got status %d %s", may, q.name, permitted, got.status, textOf(got.body))
			}
			if after := stored(); !permitted && (after.Revision != before.Revision || after.PublishedVersion != before.PublishedVersion) {
				t.Errorf("a link for %v that may not %s has written", may, q.name)
			}
		}
		if got := l.frame.get(path); got.status != http.StatusOK {
			t.Errorf("a link for %v shows nothing: status %d", may, got.status)
		}
		// No pages are stored yet.
		want := http.StatusForbidden
		if slices.Contains(may, editorlink.Preview) {
			want = http.StatusNotFound
		}
		if got := l.frame.get(path + "/pages/1"); got.status != want {
			t.Errorf("a link for %v: got status %d for the last pages, want %d", may, got.status, want)
		}
	}
	// A link cannot change names or use the account's other permissions.
	full := l.link(all, nil)
	for _, body := range []string{`{"name":"stolen"}`, `{"slug":"stolen"}`, `{"html":"x","category":"stolen"}`, `{"HTML":"x"}`, `{}`, `[]`, `null`, `{`} {
		if got := l.frame.send(full+"/draft", body); got.status != http.StatusBadRequest {
			t.Errorf("the draft %s: got status %d", body, got.status)
		}
	}
	for _, below := range []string{"/pdf", "/describe", "/settings", "/versions", "/restore", "/discard", "/nothing"} {
		if got := l.frame.send(full+below, `{}`); got.status != http.StatusNotFound {
			t.Errorf("%s: got status %d", below, got.status)
		}
	}
	if got := stored(); got.Name != "Letter" || got.Slug != "letter" || got.PublishedVersion != 0 {
		t.Errorf("the template is %+v now", got)
	}
}

// TestLinksEnd opens the editor by links that have expired, were changed, are of
// another account's template, and whose key, template or account is gone.
func TestLinksEnd(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		l := newLinkLab(t, h)
		all := editorlink.Capabilities()
		good := l.link(all, nil)
		is := func(what, path string, status int) {
			t.Helper()
			for _, got := range []answer{l.frame.get(path), l.frame.get(path + "/draft"), l.frame.send(path+"/draft", `{"html":"<i>written</i>"}`), l.frame.send(path+"/pages", `{}`), l.frame.send(path+"/publish", `{}`)} {
				if got.status != status {
					t.Errorf("%s: got status %d, want %d: %s", what, got.status, status, textOf(got.body))
				}
			}
		}
		other, err := h.CreateAccount(t.Context(), "other@example.com", 0)
		if err != nil {
			t.Fatal(err)
		}
		theirs := l.newTemplate(other, "theirs")
		is("another account's template", l.link(all, func(s *editorlink.Session) { s.TemplateID = theirs.ID }), http.StatusNotFound)
		is("another account's key", l.link(all, func(s *editorlink.Session) { s.AccountID, s.TemplateID = other.ID, theirs.ID }), http.StatusGone)
		is("no template", l.link(all, func(s *editorlink.Session) { s.TemplateID = "nothing" }), http.StatusNotFound)
		is("expired", l.link(all, func(s *editorlink.Session) { s.ExpiresAt = l.clock.Now() }), http.StatusGone)
		for i := len(editorlink.Path); i < len(good); i += 1 + len(good)/20 {
			letter := byte('A')
			if good[i] == letter {
				letter = 'B'
			}
			is("tampered", good[:i]+string(letter)+good[i+1:], http.StatusNotFound)
		}
		is("cut off", good[:len(good)-2], http.StatusNotFound)
		is("made up", editorlink.Path+"eyJpZCI6ImVtYl8xIn0", http.StatusNotFound)
		sealed, err := l.box.Seal("webhook we_1", []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		is("sealed for something else", editorlink.Path+url.PathEscape(string(sealed)), http.StatusNotFound)

		if got := l.frame.get(good); got.status != http.StatusOK {
			t.Fatalf("the good link: got status %d", got.status)
		}
		if err := h.Suspend(t.Context(), l.account.ID, "late"); err != nil {
			t.Fatal(err)
		}
		is("a suspended account", good, http.StatusForbidden)
		if err := h.Resume(t.Context(), l.account.ID); err != nil {
			t.Fatal(err)
		}
		if got := l.frame.send(good+"/draft", `{"html":"<i>mine</i>"}`); got.status != http.StatusOK {
			t.Errorf("after the suspension: got status %d", got.status)
		}
		if err := h.DeleteTemplate(t.Context(), l.account.ID, l.template.ID); err != nil {
			t.Fatal(err)
		}
		is("a deleted template", good, http.StatusNotFound)
		if err := h.RevokeKey(t.Context(), l.account.ID, l.key.ID); err != nil {
			t.Fatal(err)
		}
		is("a revoked key", good, http.StatusGone)
		if found, err := h.Template(t.Context(), other.ID, theirs.ID); err != nil || found.Revision != theirs.Revision {
			t.Errorf("the other account's template is %+v, %v", found, err)
		}

		soon := l.clock.Now().Add(time.Minute)
		for what, n := range map[string]store.NewKey{"an expired key": {ExpiresAt: &soon}, "a key for one operation": {Operations: []string{"pdf.create"}}} {
			n.AccountID, n.Name = l.account.ID, what
			key, _, err := h.CreateKey(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			l.clock.Advance(2 * time.Minute)
			is(what, l.link(all, func(s *editorlink.Session) { s.KeyID = key.ID }), http.StatusGone)
		}
		// The links of a deleted account do not work, nor when its owner restores it.
		last, _, err := h.CreateKey(t.Context(), store.NewKey{AccountID: l.account.ID, Name: "last"})
		if err != nil {
			t.Fatal(err)
		}
		again := l.newTemplate(l.account, "again")
		path := l.link(all, func(s *editorlink.Session) { s.KeyID, s.TemplateID = last.ID, again.ID })
		if got := l.frame.get(path); got.status != http.StatusOK {
			t.Fatalf("before the account ends: got status %d", got.status)
		}
		if _, err := h.ScheduleDeletion(t.Context(), l.account.ID); err != nil {
			t.Fatal(err)
		}
		is("an account that ends", path, http.StatusGone)
		if err := h.CancelDeletion(t.Context(), l.account.ID); err != nil {
			t.Fatal(err)
		}
		is("an account that was kept", path, http.StatusGone)
	})
}

// TestLinksAreFramedByTheirOriginOnly checks the headers of all responses through a link, and the cookies.
func TestLinksAreFramedByTheirOriginOnly(t *testing.T) {
	h := sqliteHouse(t, nil)
	l := newLinkLab(t, h)
	good := l.link(editorlink.Capabilities(), nil)
	ancestors := regexp.MustCompile(`frame-ancestors ([^;]*)`)
	framed := func(what string, a answer, want string) {
		t.Helper()
		policies := a.header.Values("Content-Security-Policy")
		if len(policies) != 1 || len(ancestors.FindAllString(policies[0], -1)) != 1 || ancestors.FindStringSubmatch(policies[0])[1] != want {
			t.Errorf("%s: framed by %q, want %s", what, policies, want)
		}
		if got := a.header.Get("X-Frame-Options"); (got != "") != (want == "'none'") {
			t.Errorf("%s: X-Frame-Options is %q beside %s", what, got, want)
		}
		if a.header.Get("Set-Cookie") != "" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: sets the cookie %q, Cache-Control %q", what, a.header.Get("Set-Cookie"), a.header.Get("Cache-Control"))
		}
	}
	page := l.frame.get(good)
	framed("the editor", page, hostOrigin)
	for _, word := range []string{`data-origin="` + hostOrigin + `"`, "data-publish", "data-done", ">Letter</h1>"} {
		if !strings.Contains(page.body, word) {
			t.Errorf("the editor lacks %s", word)
		}
	}
	if found := regexp.MustCompile(`(?:href|action)="/(?:dashboard|login|admin)[^"]*"|host@example\.com`).FindString(page.body); found != "" {
		t.Errorf("the editor leads to %s", found)
	}
	framed("an expired link", l.frame.get(l.link(nil, func(s *editorlink.Session) { s.ExpiresAt = l.clock.Now() })), hostOrigin)
	framed("a refusal", l.frame.send(l.link(nil, nil)+"/draft", `{"html":"x"}`), hostOrigin)
	framed("no link", l.frame.get(editorlink.Path+"nothing"), "'none'")
	l.frame.header.Set("Sec-Fetch-Dest", "document")
	if got := l.frame.get(good); got.status != http.StatusForbidden || !strings.Contains(got.body, "opens inside another page") {
		t.Errorf("a tab of its own: got status %d", got.status)
	}
	l.frame.header.Set("Sec-Fetch-Dest", "iframe")

	// In a frame a signed-in user is anonymous, and the user's own pages cannot be framed.
	maya := h.join(t, "maya@example.com")
	maya.header = http.Header{"Sec-Fetch-Dest": {"iframe"}}
	if got := maya.get(good); got.status != http.StatusOK || strings.Contains(got.body, "maya@example.com") {
		t.Errorf("with a session: got status %d", got.status)
	}
	framed("the same with a session", maya.get(good), hostOrigin)
	if policy := maya.get("/dashboard").header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("the dashboard's policy is %q", policy)
	}

	if a := l.frame.get(l.link([]editorlink.Capability{editorlink.Data}, nil)); strings.Contains(a.body, "data-publish ") || !strings.Contains(a.body, "data-unseen") ||
		!regexp.MustCompile(`name="html"[^>]* readonly`).MatchString(a.body) || regexp.MustCompile(`name="sampleData"[^>]* readonly`).MatchString(a.body) {
		t.Error("a link for the data shows more than that")
	}
}

// TestLinksAreCounted: actions through a link are in the audit log, and a link that is used too often is refused.
func TestLinksAreCounted(t *testing.T) {
	h := sqliteHouse(t, nil)
	l := newLinkLab(t, h)
	path := l.link([]editorlink.Capability{editorlink.Edit}, nil)
	if got := l.frame.send(path+"/draft", `{"html":"<p>{{b}}</p>"}`); got.status != http.StatusOK || got.header.Get("ETag") == "" {
		t.Fatalf("the draft: %d %s", got.status, got.body)
	}
	if got := h.actions(t, l.account.ID); !slices.Contains(got, "template.changed") {
		t.Errorf("the audit log has %v", got)
	}
	l.frame.header.Set("If-Match", `"1"`)
	if got := l.frame.send(path+"/draft", `{"html":"late"}`); got.status != http.StatusPreconditionFailed {
		t.Errorf("a late draft: got status %d", got.status)
	}
	for range 600 {
		if got := l.frame.get(path + "/draft"); got.status == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("one link is asked 600 times in a minute")
}
