package web_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/relaypdf/relaypdf/internal/test/fakeoidc"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/web"
	"github.com/relaypdf/relaypdf/web/identity"
)

// desk is a house with an identity provider.
type desk struct {
	*house
	provider *fakeoidc.Provider
}

var (
	maya = fakeoidc.Person{Subject: "1001", Name: "Maya Lind", Email: "Maya@Example.com", Verified: true}
	tom  = fakeoidc.Person{Subject: "1002", Name: "Tom Okafor", Email: "tom@example.com", Verified: true}
)

func newDesk(t *testing.T, change func(*web.Config)) *desk {
	t.Helper()
	d := &desk{provider: fakeoidc.New(t, time.Now)}
	d.provider.People = map[string]fakeoidc.Person{"maya": maya, "tom": tom}
	d.house = sqliteHouse(t, func(cfg *web.Config) {
		d.provider.Redirect = cfg.BaseURL + web.OIDCPath
		cfg.Identities = identity.New(identity.Config{
			Name: "Example ID", Issuer: d.provider.URL, ClientID: fakeoidc.ClientID, ClientSecret: fakeoidc.ClientSecret, RedirectURL: d.provider.Redirect,
		})
		if change != nil {
			change(cfg)
		}
	})
	return d
}

var leaving = regexp.MustCompile(`<a class="btn primary block" href="([^"]+)" rel="noreferrer">`)

// goes sends a visitor to the provider by a form, where they log in, and returns the URL that they are redirected
// to.
func (d *desk) goes(v *visitor, form, who string) (back string) {
	v.t.Helper()
	page := v.post(form, http.StatusOK, url.Values{"next": {"/dashboard/keys"}, "password": {password}})
	link := leaving.FindStringSubmatch(page.body)
	if link == nil {
		v.t.Fatalf("no link leads to the provider: %s", textOf(page.body))
	}
	address := html.UnescapeString(link[1])
	if refresh := page.header.Get("Refresh"); refresh != "0; url="+address {
		v.t.Errorf("the page leads to %q by itself, its link to %q", refresh, address)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, address, strings.NewReader(url.Values{"who": {who}}.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	_ = answer.Body.Close()
	to, ok := strings.CutPrefix(answer.Header.Get("Location"), d.url)
	if answer.StatusCode != http.StatusFound || !ok {
		v.t.Fatalf("the provider answers with status %d and %q", answer.StatusCode, to)
	}
	return to
}

// comes comes back from the provider.
func (d *desk) comes(v *visitor, who string) answer {
	v.t.Helper()
	// The browser reports requests from another site.
	v.header.Set("Sec-Fetch-Site", "same-origin")
	back := d.goes(v, "/login/oidc", who)
	v.header.Set("Sec-Fetch-Site", "cross-site")
	defer v.header.Set("Sec-Fetch-Site", "same-origin")
	return v.get(back)
}

// wantNobody fails the test if a user was logged in.
func wantNobody(t *testing.T, v *visitor, why string, got answer, words string) {
	t.Helper()
	if got.status != http.StatusForbidden || !strings.Contains(textOf(got.body), words) {
		t.Errorf("%s: got status %d, %s", why, got.status, textOf(got.body))
	}
	if a := v.get("/dashboard"); a.status != http.StatusSeeOther {
		t.Errorf("%s: somebody is logged in", why)
	}
}

func TestConfirmedAddressesGetAnAccount(t *testing.T) {
	d := newDesk(t, nil)
	for _, later := range []bool{false, true} {
		d.provider.TellLater = later
		v := d.visitor(t)
		who, email := "maya", "maya@example.com"
		if later {
			who, email = "tom", "tom@example.com"
		}
		v.sees("/login", "Continue with Example ID")
		v.sees("/signup", "Continue with Example ID")
		if a := d.comes(v, who); a.status != http.StatusSeeOther || a.header.Get("Location") != "/dashboard/keys" {
			t.Fatalf("got status %d, %q: %s", a.status, a.header.Get("Location"), textOf(a.body))
		}
		v.sees("/dashboard", "$5.00")
		person, err := d.UserByEmail(t.Context(), email)
		if err != nil || person.VerifiedAt == nil || person.Password != "" || !strings.HasPrefix(person.Identity, d.provider.URL+" 100") {
			t.Errorf("got %+v, %v", person, err)
		}
		account, err := d.AccountByEmail(t.Context(), email)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"identity.linked", "session.begun"} {
			if got := d.actions(t, account.ID); !slices.Contains(got, want) {
				t.Errorf("the audit log says %q, and not %s", got, want)
			}
		}
		// Without a password the identity is the only way in.
		v.post("/dashboard/settings/identity/end", http.StatusSeeOther, url.Values{})
		v.sees("/dashboard/settings/security", "Set a password first")
		v.sees("/dashboard/settings/audit", "Login linked with Example ID")
		again := d.visitor(t)
		if a := d.comes(again, who); a.header.Get("Location") != "/dashboard/keys" {
			t.Errorf("the second time: got status %d, %s", a.status, textOf(a.body))
		}
		again.sees("/dashboard/keys")
	}
}

// TestAccountsCannotBeTakenOver: the owner of an email address keeps it, whatever a provider reports about others.
func TestAccountsCannotBeTakenOver(t *testing.T) {
	d := newDesk(t, nil)
	d.join(t, "maya@example.com")
	v := d.visitor(t)
	wantNobody(t, v, "a known address", d.comes(v, "maya"), "maya@example.com already has an account here. Log in")
	// An address that the operator has made a member of an account.
	made, err := d.CreateUser(t.Context(), store.NewUser{Email: "tom@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.AddMember(t.Context(), d.mayas(t).ID, made.ID, store.RoleViewer); err != nil {
		t.Fatal(err)
	}
	wantNobody(t, v, "an address that is not verified here", d.comes(v, "tom"), "has an account here")
	for name, person := range map[string]fakeoidc.Person{
		"unverified": {Subject: "7", Email: "new@example.com"}, "nobody's": {Subject: "8", Verified: true}, "broken": {Subject: "9", Email: "no address", Verified: true},
	} {
		d.provider.People["x"] = person
		wantNobody(t, v, name, d.comes(v, "x"), "has not verified your email address")
	}
	if people, err := d.Users(t.Context()); err != nil || len(people) != 2 {
		t.Errorf("there are %d people, %v", len(people), err)
	}
}

func TestClosedSignUpRefusesNewAccounts(t *testing.T) {
	d := newDesk(t, func(cfg *web.Config) { cfg.SignUp = web.SignUpInvite })
	v := d.visitor(t)
	wantNobody(t, v, "a stranger", d.comes(v, "tom"), "sign-up is closed")
}

// TestIdentitiesAreLinkedBySignedInUsersOnly links one, logs in with it, has the
// second factor asked for, and unlinks it.
func TestIdentitiesAreLinkedBySignedInUsersOnly(t *testing.T) {
	d := newDesk(t, nil)
	v := d.join(t, "maya@example.com")
	if a := d.visitor(t).do(http.MethodPost, "/dashboard/settings/identity", url.Values{}); a.status != http.StatusSeeOther || !strings.HasPrefix(a.header.Get("Location"), "/login") {
		t.Errorf("nobody links an identity: got status %d", a.status)
	}
	v.sees("/dashboard/settings/security", "Log in with Example ID", "Link Example ID")
	back := d.goes(v, "/dashboard/settings/identity", "tom") // whatever its address is
	if a := v.get(back); a.header.Get("Location") != "/dashboard/settings/security" {
		t.Fatalf("got status %d: %s", a.status, textOf(a.body))
	}
	v.sees("/dashboard/settings/security", "Example ID linked. You can now log in with it.", "Unlink")
	v.sees("/dashboard/settings/audit", "Login linked with Example ID")
	if letter := d.mail.last(t, "maya@example.com"); letter.Subject != "Login with Example ID was turned on" {
		t.Errorf("the owner was sent %q", letter.Subject)
	}
	other := d.visitor(t)
	const phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1"
	other.header.Set("User-Agent", phone)
	d.comes(other, "tom")
	other.sees("/dashboard/settings", "maya@example.com")
	if letter := d.mail.last(t, "maya@example.com"); letter.Subject != "New login with Safari on iPhone" {
		t.Errorf("the owner was sent %q", letter.Subject)
	}

	setup := v.sees("/dashboard/settings/factor", "Set up two-factor authentication")
	code := func() string {
		code, err := totp.GenerateCode(secretText.FindStringSubmatch(setup.body)[1], d.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	v.once("/dashboard/settings/factor", url.Values{"code": {code()}, "password": {password}})
	third := d.visitor(t)
	if a := d.comes(third, "tom"); !strings.HasPrefix(a.header.Get("Location"), "/login/code") {
		t.Fatalf("with a second factor: got status %d, %q", a.status, a.header.Get("Location"))
	}
	if a := third.get("/dashboard"); a.status != http.StatusSeeOther {
		t.Error("the provider alone opens the dashboard")
	}
	d.clock.Advance(time.Minute)
	third.post("/login/code", http.StatusSeeOther, url.Values{"code": {code()}})
	third.sees("/dashboard/settings", "maya@example.com")

	nina := d.join(t, "nina@example.com")
	if a := nina.get(d.goes(nina, "/dashboard/settings/identity", "tom")); a.header.Get("Location") != "/dashboard/settings/security" {
		t.Errorf("got status %d", a.status)
	}
	nina.sees("/dashboard/settings/security", "belongs to another user")

	v.post("/dashboard/settings/identity/end", http.StatusOK, url.Values{}) // asks for the password
	v.post("/dashboard/settings/identity/end", http.StatusUnprocessableEntity, url.Values{"password": {"wrong password"}})
	v.post("/dashboard/settings/identity/end", http.StatusSeeOther, url.Values{"password": {password}})
	v.sees("/dashboard/settings/security", "with your password only")
	v.sees("/dashboard/settings/audit", "Login unlinked from Example ID")
	gone := d.visitor(t)
	d.provider.People["tom"] = fakeoidc.Person{Subject: tom.Subject, Email: "maya@example.com", Verified: true}
	wantNobody(t, gone, "an identity that was unlinked", d.comes(gone, "tom"), "has an account here")
}

// TestALinkIsNotForOthers: the response that comes back belongs to the user, the browser and the moment that asked.
func TestALinkIsNotForOthers(t *testing.T) {
	d := newDesk(t, nil)
	v, mallory := d.join(t, "maya@example.com"), d.join(t, "mallory@example.com")
	// Mallory begins, and makes Maya's browser open the resulting URL.
	if a := v.get(d.goes(mallory, "/dashboard/settings/identity", "tom")); a.status != http.StatusForbidden {
		t.Errorf("another browser: got status %d", a.status)
	}
	back := d.goes(v, "/dashboard/settings/identity", "tom")
	v.post("/logout", http.StatusSeeOther, url.Values{})
	if a := v.get(back); a.status != http.StatusForbidden {
		t.Errorf("after logging out: got status %d", a.status)
	}
	if _, err := d.UserByIdentity(t.Context(), d.provider.URL+" "+tom.Subject); err == nil {
		t.Error("the identity was linked")
	}
}

// TestForgedResponsesDoNotSignIn tries responses that were refused, altered, used, late, or signed by someone else.
func TestForgedResponsesDoNotSignIn(t *testing.T) {
	d := newDesk(t, nil)
	d.comes(d.visitor(t), "tom") // a user is linked
	for name, forge := range map[string]func(map[string]any){
		"nonce":   func(c map[string]any) { c["nonce"] = "another" },
		"issuer":  func(c map[string]any) { c["iss"] = "https://elsewhere.example" },
		"client":  func(c map[string]any) { c["aud"] = "another" },
		"old":     func(c map[string]any) { c["exp"] = time.Now().Add(-time.Minute).Unix() },
		"nobody":  func(c map[string]any) { c["sub"] = "" },
		"unasked": func(c map[string]any) { delete(c, "nonce") },
	} {
		d.provider.Forge = forge
		v := d.visitor(t)
		wantNobody(t, v, name, d.comes(v, "tom"), "Login failed")
	}
	d.provider.Forge, d.provider.Strange = nil, true
	v := d.visitor(t)
	wantNobody(t, v, "another key", d.comes(v, "tom"), "Login failed")
	d.provider.Strange = false
	wantNobody(t, v, "a refusal", d.comes(v, "nobody"), "Login failed")

	back := d.goes(v, "/login/oidc", "tom")
	altered := regexp.MustCompile(`state=[^&]*`).ReplaceAllString(back, "state=another")
	wantNobody(t, v, "another state", v.get(altered), "Login failed")
	wantNobody(t, v, "the right state, after the wrong one", v.get(back), "Login failed")
	wantNobody(t, v, "a browser that was not sent", d.visitor(t).get(d.goes(v, "/login/oidc", "tom")), "Login failed")
	back = d.goes(v, "/login/oidc", "tom")
	d.clock.Advance(11 * time.Minute)
	wantNobody(t, v, "after eleven minutes", v.get(back), "Login failed")

	back = d.goes(v, "/login/oidc", "tom")
	if a := v.get(back); a.header.Get("Location") != "/dashboard/keys" {
		t.Fatalf("the right answer: got status %d, %s", a.status, textOf(a.body))
	}
	v.post("/logout", http.StatusSeeOther, url.Values{})
	wantNobody(t, v, "an answer that was used", v.get(back), "Login failed")
}

func TestProviderThatIsDown(t *testing.T) {
	d := newDesk(t, nil)
	d.provider.Close()
	v := d.visitor(t)
	if a := v.do(http.MethodPost, "/login/oidc", url.Values{}); a.status != http.StatusBadGateway || !strings.Contains(a.body, "Identity provider unavailable") {
		t.Errorf("got status %d: %s", a.status, textOf(a.body))
	}
	v.sees("/login", "Continue with Example ID", "Log in")
}

func TestPagesWithoutAProviderDoNotNameOne(t *testing.T) {
	h := sqliteHouse(t, nil)
	v := h.join(t, "maya@example.com")
	for _, path := range []string{"/dashboard/settings", "/dashboard/settings/security"} {
		if page := v.sees(path); strings.Contains(page.body, "identity") {
			t.Errorf("%s tells of a provider", path)
		}
	}
	if page := h.visitor(t).sees("/login"); strings.Contains(page.body, "oidc") {
		t.Error("the log-in tells of a provider")
	}
	v.post("/login/oidc", http.StatusNotFound, url.Values{})
	v.post("/dashboard/settings/identity", http.StatusNotFound, url.Values{})
}
