package web_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/fakeoidc"
	"github.com/relaypdf/relaypdf/web"
	"github.com/relaypdf/relaypdf/web/identity"
)

// foreignSecret contains characters that clients have to escape in a header.
const foreignSecret = "a secret & more: +%"

// TestForeignProvider signs users in by a certified provider, which returns email addresses only on request, and
// leaves out unconfirmed ones.
func TestForeignProvider(t *testing.T) {
	h := sqliteHouse(t, func(cfg *web.Config) {
		redirect := cfg.BaseURL + web.OIDCPath
		cfg.Identities = identity.New(identity.Config{
			Name: "Example ID", Issuer: fakeoidc.StartForeign(t, "..", redirect, foreignSecret), ClientID: "relaypdf", ClientSecret: foreignSecret, RedirectURL: redirect,
		})
	})
	comes := func(v *visitor, who string) answer {
		v.header.Set("Sec-Fetch-Site", "same-origin")
		page := v.post("/login/oidc", http.StatusOK, url.Values{"next": {"/dashboard/keys"}})
		link := leaving.FindStringSubmatch(page.body)
		if link == nil {
			t.Fatalf("no link leads to the provider: %s", textOf(page.body))
		}
		back := fakeoidc.Agrees(t, html.UnescapeString(link[1]), who, h.url)
		v.header.Set("Sec-Fetch-Site", "cross-site")
		defer v.header.Set("Sec-Fetch-Site", "same-origin")
		return v.get(back)
	}
	for range 2 { // The second time the identity is known.
		v := h.visitor(t)
		if a := comes(v, "maya"); a.status != http.StatusSeeOther || a.header.Get("Location") != "/dashboard/keys" {
			t.Fatalf("got status %d, %q: %s", a.status, a.header.Get("Location"), textOf(a.body))
		}
		v.sees("/dashboard/settings", "maya@example.com")
	}
	person, err := h.UserByEmail(t.Context(), "maya@example.com")
	if err != nil || person.VerifiedAt == nil || !strings.HasSuffix(person.Identity, " maya") {
		t.Errorf("got %+v, %v", person, err)
	}
	wantNobody(t, h.visitor(t), "an address that was not confirmed", comes(h.visitor(t), "tom"), "has not verified your email address")
}
