package mcp_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/fakeoidc"
	"github.com/relaypdf/relaypdf/service/oauth"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

const pinging = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// outsider is a server that takes the tokens of an issuer, where Maya is a developer.
type outsider struct {
	*apitest.Server

	provider *fakeoidc.Provider
	maya     store.User
}

func newOutsider(t *testing.T) *outsider {
	t.Helper()
	o := &outsider{}
	now := func() time.Time {
		if o.Server == nil {
			return apitest.Start()
		}
		return o.Clock.Now()
	}
	o.provider = fakeoidc.New(t, now)
	o.Server = newServer(t, func(cfg *apitest.Settings) {
		open(cfg)
		cfg.Issuer = oauth.NewIssuer(oauth.IssuerConfig{Issuer: o.provider.URL, Audience: cfg.BaseURL + api.AgentPath, Timeout: patience, Now: now})
	})
	o.maya = o.person(t, "maya@example.com", true, store.RoleDeveloper)
	return o
}

// person is a member of the server's account.
func (o *outsider) person(t *testing.T, email string, verified bool, role string) store.User {
	t.Helper()
	person, err := o.Store.CreateUser(t.Context(), store.NewUser{Email: email, Verified: verified})
	if err == nil {
		err = o.Store.AddMember(t.Context(), o.Account.ID, person.ID, role)
	}
	if err != nil {
		t.Fatal(err)
	}
	return person
}

// token is one of Maya's with other claims; nil leaves a claim out.
func (o *outsider) token(t *testing.T, header, other map[string]any) string {
	t.Helper()
	now := o.Clock.Now()
	claims := map[string]any{
		"iss": o.provider.URL, "aud": o.URL + api.AgentPath, "sub": "maya", "exp": now.Add(5 * time.Minute).Unix(), "iat": now.Unix(),
		"email": "maya@example.com", "email_verified": true, "client_id": "studio", "scope": "openid documents account:read",
	}
	maps.Copy(claims, other)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	token, err := o.provider.Signed(header, claims)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// comes asks with a token, and wants a status.
func (o *outsider) comes(t *testing.T, what, token string, want int) apitest.Response {
	t.Helper()
	got := send(t, o.Server, pinging, http.Header{"Authorization": {"Bearer " + token}})
	if got.Status != want {
		t.Errorf("%s: got %d, want %d: %s", what, got.Status, want, got.Body)
	}
	if want == http.StatusUnauthorized && !strings.Contains(got.Header.Get("WWW-Authenticate"), "invalid_token") {
		t.Errorf("%s: challenged with %q", what, got.Header.Get("WWW-Authenticate"))
	}
	return got
}

// TestTokensOfAnIssuer: tokens are accepted if they are the issuer's, are for this service, and identify their user.
func TestTokensOfAnIssuer(t *testing.T) {
	t.Parallel()
	o := newOutsider(t)
	o.person(t, "viewer@example.com", true, store.RoleViewer)
	o.person(t, "squatter@example.com", false, store.RoleDeveloper)
	type set = map[string]any
	for name, claims := range map[string]set{
		"plain":                   nil,
		"for several":             {"aud": []string{"https://other.example", o.URL + api.AgentPath}},
		"verified as text":        {"email_verified": "true"},
		"mail in capitals":        {"email": "Maya@Example.COM"},
		"scopes as a list":        {"scope": nil, "scp": []string{"documents"}},
		"the client as azp":       {"client_id": nil, "azp": "studio"},
		"a client without a name": {"client_id": nil},
		"not before a minute ago": {"nbf": o.Clock.Now().Add(-time.Minute).Unix()},
	} {
		o.comes(t, name, o.token(t, nil, claims), http.StatusOK)
	}
	o.comes(t, "an access token by its type", o.token(t, set{"typ": "at+jwt"}, nil), http.StatusOK)
	for name, claims := range map[string]set{
		"for another":               {"aud": "https://other.example/mcp"},
		"for a client, as id token": {"aud": "studio", "nonce": "n"},
		"for nobody":                {"aud": nil},
		"of another issuer":         {"iss": "https://id.example.com"},
		"of no issuer":              {"iss": nil},
		"expired":                   {"exp": o.Clock.Now().Add(-time.Second).Unix()},
		"without an end":            {"exp": nil},
		"not yet":                   {"nbf": o.Clock.Now().Add(time.Hour).Unix()},
		"mail not confirmed":        {"email_verified": false},
		"mail confirmed by a word":  {"email_verified": "yes"},
		"nothing said of the mail":  {"email_verified": nil},
		"no mail":                   {"email": nil},
		"no mail address":           {"email": "maya"},
		"a stranger":                {"email": "mallory@example.com"},
		"who has no right to":       {"email": "viewer@example.com"},
		"whose mail is not seen":    {"email": "squatter@example.com"},
	} {
		o.comes(t, name, o.token(t, nil, claims), http.StatusUnauthorized)
	}
	o.comes(t, "another type", o.token(t, set{"typ": "logout+jwt"}, nil), http.StatusUnauthorized)
	o.comes(t, "an unknown key", o.token(t, set{"kid": "none"}, nil), http.StatusUnauthorized)
	o.comes(t, "too long", o.token(t, nil, set{"x": strings.Repeat("x", 16<<10)}), http.StatusUnauthorized)

	whole := o.token(t, nil, nil)
	parts := strings.Split(whole, ".")
	o.comes(t, "without its signature", parts[0]+"."+parts[1]+".", http.StatusUnauthorized)
	o.comes(t, "with no algorithm", unsigned(t, set{"alg": "none"})+"."+parts[1]+".", http.StatusUnauthorized)
	for name, key := range publicKeys(t, o.provider) {
		text := unsigned(t, set{"alg": "HS256", "kid": "one"}) + "." + parts[1]
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		o.comes(t, "HS256 with the public key, "+name, text+"."+base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), http.StatusUnauthorized)
	}
	o.provider.Strange = true
	o.comes(t, "signed by somebody else", o.token(t, nil, nil), http.StatusUnauthorized)

	if got := o.Send(t, apitest.Request{Path: "/v1/test/echo", Body: `{"text":"ab"}`, Header: http.Header{"Authorization": {"Bearer " + whole}}}); got.Status != http.StatusUnauthorized {
		t.Errorf("the interface takes a token: status %d", got.Status)
	}
	// None of the refused has left a grant.
	if list, err := o.Store.Grants(t.Context(), o.Account.ID); err != nil || len(list) != 2 {
		t.Errorf("grants are %+v, %v; want studio's and one of nobody's", list, err)
	}
}

func unsigned(t *testing.T, header map[string]any) string {
	t.Helper()
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// publicKeys are the spellings of a public key that a server might take for a secret.
func publicKeys(t *testing.T, p *fakeoidc.Provider) map[string][]byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(p.Public())
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"DER": der, "PEM": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), "modulus": p.Public().N.Bytes()}
}

// TestGrantsOfAnIssuer: a program of the issuer's has one grant for each user, which is capped, listed and revoked
// as any other.
func TestGrantsOfAnIssuer(t *testing.T) {
	t.Parallel()
	o := newOutsider(t)
	token := func() string { return o.token(t, nil, nil) }
	var made struct{ ID string }
	useAs(t, o.Server, token(), "test_echo", `{"text":"ab"}`).into(t, &made)
	if o.Content(t, made.ID) != "ab" {
		t.Errorf("it made %+v", made)
	}
	var account struct {
		Grant struct {
			Scopes                                    []string
			SpendLimitMicrodollars, SpentMicrodollars credit.Amount
		}
	}
	useAs(t, o.Server, token(), "account_get", `{}`).into(t, &account)
	if g := account.Grant; strings.Join(g.Scopes, " ") != "documents account:read" || g.SpendLimitMicrodollars != store.GrantLimit || g.SpentMicrodollars != apitest.EchoPrice {
		t.Errorf("it is told of %+v", g)
	}
	list, err := o.Store.Grants(t.Context(), o.Account.ID)
	if err != nil || len(list) != 1 || list[0].Name != "studio" || list[0].Email != "maya@example.com" || list[0].Home != o.provider.URL || !list[0].Live(o.Clock.Now()) ||
		!list[0].ExpiresAt.Equal(o.Clock.Now().AddDate(0, 0, store.GrantDays)) {
		t.Fatalf("listed: %+v, %v", list, err)
	}
	wantStepUp(t, o.Server, send(t, o.Server, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"webhooks_list","arguments":{}}}`, http.Header{"Authorization": {"Bearer " + token()}}), "documents account:read webhooks")
	wider := o.token(t, nil, map[string]any{"scope": o.URL + api.AgentPath + "/webhooks"})
	if r := useAs(t, o.Server, wider, "webhooks_list", `{}`); r.IsError {
		t.Errorf("with its scope, named by its resource: %+v", r)
	}
	if g, err := o.Store.Grant(t.Context(), o.Account.ID, list[0].ID); err != nil || strings.Join(g.Scopes, " ") != "documents account:read webhooks" {
		t.Errorf("people see %v, %v", g.Scopes, err)
	}
	if err := o.Store.SetGrantLimit(t.Context(), o.Account.ID, list[0].ID, apitest.EchoPrice+1); err != nil {
		t.Fatal(err)
	}
	if f := useAs(t, o.Server, token(), "test_echo", `{"text":"cd"}`).failure(t); f.Code != "payment_required" {
		t.Errorf("beyond its cap: %+v", f)
	}
	o.Clock.Advance(store.GrantDays * 24 * time.Hour)
	o.comes(t, "after its days", token(), http.StatusOK)
	list, err = o.Store.Grants(t.Context(), o.Account.ID)
	if err != nil || len(list) != 2 || list[0].Limit != apitest.EchoPrice+1 || list[0].Spent != 0 {
		t.Fatalf("begun anew: %+v, %v", list, err)
	}
	o.comes(t, "another program", o.token(t, nil, map[string]any{"client_id": "press"}), http.StatusOK)
	if err := o.Store.RevokeGrant(t.Context(), o.Account.ID, list[0].ID); err != nil {
		t.Fatal(err)
	}
	o.Clock.Advance(time.Hour)
	if got := o.comes(t, "revoked, with a new token", token(), http.StatusUnauthorized); !strings.Contains(got.Body, "revoked in the dashboard") {
		t.Errorf("it is told %s", got.Body)
	}
	o.Clock.Advance(store.GrantDays * 24 * time.Hour)
	o.comes(t, "revoked, long after", token(), http.StatusUnauthorized)
	o.comes(t, "another program", o.token(t, nil, map[string]any{"client_id": "press"}), http.StatusOK)
	if err := o.Store.Suspend(t.Context(), o.Account.ID, "abuse"); err != nil {
		t.Fatal(err)
	}
	o.comes(t, "of a suspended account", o.token(t, nil, map[string]any{"client_id": "press"}), http.StatusForbidden)
}

// TestIssuerChangesItsKeys: new ones are asked for when a token names them, seldom;
// old ones open nothing after an hour.
func TestIssuerChangesItsKeys(t *testing.T) {
	t.Parallel()
	o := newOutsider(t)
	token := func() string { return o.token(t, nil, nil) }
	o.comes(t, "at first", token(), http.StatusOK)
	old := o.token(t, nil, map[string]any{"exp": o.Clock.Now().Add(24 * time.Hour).Unix()})
	for range 20 {
		o.comes(t, "an unknown key", o.token(t, map[string]any{"kid": "none"}, nil), http.StatusUnauthorized)
	}
	if n := o.provider.KeysAsked(); n != 1 {
		t.Errorf("guesses have the issuer asked %d times", n)
	}
	o.provider.Rotate()
	o.comes(t, "a new key, a moment after it was asked", token(), http.StatusUnauthorized)
	o.Clock.Advance(11 * time.Second)
	// The key set of go-oidc repeats the result of a request until the goroutine of the request has ended.
	for deadline := time.Now().Add(time.Minute); o.provider.KeysAsked() < 2 && time.Now().Before(deadline); {
		send(t, o.Server, pinging, http.Header{"Authorization": {"Bearer " + token()}})
	}
	o.comes(t, "a new key", token(), http.StatusOK)
	if n := o.provider.KeysAsked(); n != 2 {
		t.Errorf("the issuer was asked %d times, want 2", n)
	}
	o.comes(t, "the old key", old, http.StatusUnauthorized)
	o.Clock.Advance(11 * time.Second)
	o.comes(t, "a token that is current", token(), http.StatusOK)
	before := o.provider.KeysAsked()
	o.Clock.Advance(time.Hour)
	o.comes(t, "an hour later", token(), http.StatusOK)
	if n := o.provider.KeysAsked(); n != before+1 {
		t.Errorf("an hour later it was asked %d times more", n-before)
	}
}

// TestIssuerIsAway: its tokens wait, or go by the keys that are known; ours are not
// its matter.
func TestIssuerIsAway(t *testing.T) {
	t.Parallel()
	o := newOutsider(t)
	o.provider.SetAway(true)
	for range 3 {
		if got := o.comes(t, "away at first", o.token(t, nil, nil), http.StatusTooManyRequests); got.Header.Get("Retry-After") == "" {
			t.Error("it is not told when to try again")
		}
	}
	o.comes(t, "of another issuer meanwhile", o.token(t, nil, map[string]any{"iss": "https://id.example.com"}), http.StatusUnauthorized)
	o.comes(t, "a token of our own", grantOf(t, o.Server, credit.Dollar, "documents"), http.StatusOK)
	o.comes(t, "a key", o.Secret, http.StatusOK)
	o.provider.SetAway(false)
	o.Clock.Advance(11 * time.Second)
	o.comes(t, "back", o.token(t, nil, nil), http.StatusOK)
	o.provider.SetAway(true)
	for range 3 {
		o.Clock.Advance(2 * time.Hour)
		o.comes(t, "away later", o.token(t, nil, nil), http.StatusOK)
	}
	o.comes(t, "away, and a new key", o.token(t, map[string]any{"kid": "new"}, nil), http.StatusTooManyRequests)
}

// TestIssuerHangs: while the keys are known, no request waits for an issuer that accepts connections and never
// responds.
func TestIssuerHangs(t *testing.T) {
	t.Parallel()
	o := newOutsider(t)
	token := func() string { return o.token(t, nil, map[string]any{"exp": o.Clock.Now().Add(24 * time.Hour).Unix()}) }
	o.comes(t, "at first", token(), http.StatusOK)
	old := token()
	release := o.provider.Hang()
	t.Cleanup(release)
	o.provider.Rotate()
	o.Clock.Advance(40 * time.Minute)
	for range 3 {
		o.comes(t, "its keys are known", old, http.StatusOK)
	}
	release()
	o.Clock.Advance(time.Hour)
	o.comes(t, "its old key", old, http.StatusUnauthorized)
	o.comes(t, "its new key", token(), http.StatusOK)
}

// TestForeignIssuer accepts an app's tokens of a certified provider, which issues them for the requested resource
// (RFC 8707).
func TestForeignIssuer(t *testing.T) {
	t.Parallel()
	var address, redirect string
	s := newServer(t, func(cfg *apitest.Settings) {
		open(cfg)
		redirect = cfg.BaseURL + "/back"
		address = fakeoidc.StartForeign(t, "../..", redirect, "secret")
		cfg.Issuer = oauth.NewIssuer(oauth.IssuerConfig{Issuer: address, Audience: cfg.BaseURL + api.AgentPath, Timeout: patience})
	})
	o := &outsider{Server: s}
	o.person(t, "maya@example.com", true, store.RoleOwner)
	o.person(t, "tom@example.com", true, store.RoleOwner)
	if r := useAs(t, s, foreignToken(t, address, redirect, "maya", s.URL+api.AgentPath), "test_echo", `{"text":"ab"}`); r.IsError {
		t.Errorf("it is refused with %+v", r)
	}
	o.comes(t, "whose mail is not confirmed", foreignToken(t, address, redirect, "tom", s.URL+api.AgentPath), http.StatusUnauthorized)
	o.comes(t, "for another service", foreignToken(t, address, redirect, "maya", "https://other.example/mcp"), http.StatusUnauthorized)
	o.comes(t, "for none", foreignToken(t, address, redirect, "maya", ""), http.StatusUnauthorized)
}

// foreignToken returns a token that the provider issued for a resource.
func foreignToken(t *testing.T, issuer, redirect, who, resource string) string {
	t.Helper()
	verifier := strings.Repeat("v", 43)
	sum := sha256.Sum256([]byte(verifier))
	ask := url.Values{
		"client_id": {fakeoidc.ClientID}, "response_type": {"code"}, "redirect_uri": {redirect}, "scope": {"openid email documents"}, "prompt": {"consent"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	back, err := url.Parse(fakeoidc.Agrees(t, issuer+"/auth?"+withResource(ask, resource).Encode(), who, strings.TrimSuffix(redirect, "/back")))
	if err != nil {
		t.Fatal(err)
	}
	form := withResource(url.Values{"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": {redirect}, "code_verifier": {verifier}}, resource)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, issuer+"/token", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth(fakeoidc.ClientID, "secret")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := (&http.Client{Timeout: patience}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var got struct {
		Token string `json:"access_token"`
		Error string `json:"error_description"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil || got.Token == "" {
		t.Fatalf("no token for %s: %+v, %v; came back with %s", resource, got, err, back)
	}
	return got.Token
}

func withResource(form url.Values, resource string) url.Values {
	if resource != "" {
		form.Set("resource", resource)
	}
	return form
}
