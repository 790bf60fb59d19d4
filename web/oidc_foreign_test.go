package web_test

import (
	"bufio"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"relaypdf/web"
	"relaypdf/web/identity"
)

// foreignSecret has what clients have to escape in a header.
const foreignSecret = "a secret & more: +%"

// startForeign starts a provider of identities that others wrote, and returns its
// address.
func startForeign(t *testing.T, redirect string) (issuer string) {
	t.Helper()
	modules, err := filepath.Abs("../.ci/node/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "oidc-provider")); err != nil {
		t.Fatalf("%v: run `make setup`, which installs it", err)
	}
	node := exec.CommandContext(t.Context(), "node", "testdata/oidc_provider.js", redirect, "relaypdf", foreignSecret)
	node.Env = append(os.Environ(), "NODE_PATH="+modules)
	var faults strings.Builder
	node.Stderr = &faults
	in, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := node.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("the provider ended with %v: %s", err, faults.String())
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "http://") {
			return lines.Text()
		}
	}
	t.Fatalf("the provider did not start: %s", faults.String())
	return ""
}

var foreignForm = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)

// agrees goes through the pages of the provider as somebody, and returns where it
// leads back to.
func agrees(t *testing.T, address, who, house string) (back string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), house) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	form := url.Values(nil)
	for range 5 {
		method := http.MethodGet
		if form != nil {
			method = http.MethodPost
		}
		r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if to, ok := strings.CutPrefix(answer.Header.Get("Location"), house); ok {
			return to
		}
		action := foreignForm.FindStringSubmatch(string(page))
		if action == nil {
			t.Fatalf("the provider shows status %d and no form: %s", answer.StatusCode, page)
		}
		address, form = html.UnescapeString(action[1]), url.Values{"prompt": {"consent"}}
		if strings.Contains(string(page), `name="login"`) {
			form = url.Values{"prompt": {"login"}, "login": {who}, "password": {"any"}}
		}
	}
	t.Fatal("the provider asks and asks")
	return ""
}

// TestForeignProvider signs people in by a certified provider, which tells addresses
// when asked for them only, and leaves out whose address it did not confirm.
func TestForeignProvider(t *testing.T) {
	h := sqliteHouse(t, func(cfg *web.Config) {
		redirect := cfg.BaseURL + web.OIDCPath
		cfg.IdentityName = "Example ID"
		cfg.Identities = identity.New(identity.Config{
			Issuer: startForeign(t, redirect), ClientID: "relaypdf", ClientSecret: foreignSecret, RedirectURL: redirect,
		})
	})
	comes := func(v *visitor, who string) answer {
		v.header.Set("Sec-Fetch-Site", "same-origin")
		page := v.post("/login/oidc", http.StatusOK, url.Values{"next": {"/dashboard/keys"}})
		link := leaving.FindStringSubmatch(page.body)
		if link == nil {
			t.Fatalf("no link leads to the provider: %s", textOf(page.body))
		}
		back := agrees(t, html.UnescapeString(link[1]), who, h.url)
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
	person, err := h.People().ByEmail(t.Context(), "maya@example.com")
	if err != nil || person.VerifiedAt == nil || !strings.HasSuffix(person.Identity, " maya") {
		t.Errorf("got %+v, %v", person, err)
	}
	wantNobody(t, h.visitor(t), "an address that was not confirmed", comes(h.visitor(t), "tom"), "does not say that your address is confirmed")
}
