// Package fakeoidc is a provider of OpenID Connect for tests: the code flow
// with PKCE, tokens signed with RS256, and a page on which to choose who one is.
package fakeoidc

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The client that the provider knows.
const (
	ClientID     = "relaypdf"
	ClientSecret = "a secret & more" // It has to be escaped on its way.
)

// Person is a user of the provider.
type Person struct {
	Subject, Name, Email string
	Verified             bool
}

// Provider is the provider. Its fields may be changed between requests.
type Provider struct {
	*httptest.Server

	// Redirect is the only address that it leads back to.
	Redirect string
	// People are the users who may log in, by their names on the page.
	People map[string]Person
	// TellLater leaves the email address out of the token; the userinfo endpoint returns it.
	TellLater bool
	// Forge changes a token before it is signed; nil does not.
	Forge func(claims map[string]any)
	// Strange signs with a key that is not the provider's.
	Strange bool

	key, other *rsa.PrivateKey
	kid        string
	now        func() time.Time

	mu     sync.Mutex
	away   bool
	hangs  chan struct{}  // until it is closed
	visits map[string]int // how often, by path
	codes  map[string]grant
	tokens map[string]Person
}

// grant is the login behind a code.
type grant struct {
	person           Person
	nonce, challenge string
}

// New starts a provider with a clock.
func New(t *testing.T, now func() time.Time) *Provider {
	t.Helper()
	p := &Provider{now: now, kid: "one", visits: map[string]int{}, codes: map[string]grant{}, tokens: map[string]Person{}, People: map[string]Person{}}
	for _, key := range []**rsa.PrivateKey{&p.key, &p.other} {
		made, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		*key = made
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.configuration)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.choose)
	mux.HandleFunc("POST /authorize", p.grant)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", p.userinfo)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.visits[r.URL.Path]++
		away := p.away
		hangs := p.hangs
		p.mu.Unlock()
		if hangs != nil {
			<-hangs
		}
		if away {
			http.Error(w, "away", http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func answer(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that has left does not read it
}

func refuse(w http.ResponseWriter, code string) {
	answer(w, http.StatusBadRequest, map[string]string{"error": code})
}

func (p *Provider) configuration(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "userinfo_endpoint": p.URL + "/userinfo", "jwks_uri": p.URL + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"},
		"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"client_secret_basic"},
	})
}

func encoded(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// SetAway has the provider answer nothing of use, or answer again.
func (p *Provider) SetAway(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
}

// Hang has the provider take requests and answer none of them until release is called.
func (p *Provider) Hang() (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	hangs := make(chan struct{})
	p.hangs = hangs
	return sync.OnceFunc(func() { close(hangs) })
}

// KeysAsked returns the number of requests for the provider's keys.
func (p *Provider) KeysAsked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.visits["/keys"]
}

// Rotate creates a new key, and forgets the previous one.
func (p *Provider) Rotate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.other, p.kid = p.other, p.key, p.kid+"+"
}

// Signed is a token with a header, to which the key's name is added, and claims.
func (p *Provider) Signed(header, claims map[string]any) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.signed(header, claims)
}

func (p *Provider) signed(header, claims map[string]any) (string, error) {
	whole := map[string]any{"alg": "RS256", "kid": p.kid}
	maps.Copy(whole, header)
	head, err := json.Marshal(whole)
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	text := encoded(head) + "." + encoded(payload)
	key := p.key
	sum := sha256.Sum256([]byte(text))
	if p.Strange {
		key = p.other
	}
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	return text + "." + encoded(signature), err
}

// Public is the public key, as who attacks knows it.
func (p *Provider) Public() *rsa.PublicKey { return &p.key.PublicKey }

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer(w, http.StatusOK, map[string]any{"keys": []map[string]string{{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": p.kid, "n": encoded(p.key.N.Bytes()), "e": encoded(big.NewInt(int64(p.key.E)).Bytes()),
	}}})
}

var page = template.Must(template.New("choose").Parse(`<!doctype html><html lang="en"><title>Provider</title><h1>Who are you?</h1>
<form method="post">{{range .}}<p><button type="submit" name="who" value="{{.}}">I am {{.}}</button>{{end}}<p><button type="submit" name="who" value="">Refuse</button></form></html>`))

// asked checks the parameters of a redirected user.
func (p *Provider) asked(w http.ResponseWriter, r *http.Request) (url.Values, bool) {
	q := r.URL.Query()
	ok := q.Get("client_id") == ClientID && q.Get("redirect_uri") == p.Redirect && q.Get("response_type") == "code" && q.Get("state") != "" && q.Get("nonce") != "" &&
		slices.Contains(strings.Fields(q.Get("scope")), "openid") && q.Get("code_challenge_method") == "S256" && len(q.Get("code_challenge")) == 43
	if !ok {
		http.Error(w, "the request lacks what it needs: "+r.URL.RawQuery, http.StatusBadRequest)
		return nil, false
	}
	return q, true
}

func (p *Provider) choose(w http.ResponseWriter, r *http.Request) {
	if _, ok := p.asked(w, r); ok {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = page.Execute(w, slices.Sorted(maps.Keys(p.People)))
	}
}

func (p *Provider) grant(w http.ResponseWriter, r *http.Request) {
	q, ok := p.asked(w, r)
	if !ok {
		return
	}
	back := url.Values{"state": {q.Get("state")}}
	if person, known := p.People[r.PostFormValue("who")]; known {
		code := rand.Text()
		p.mu.Lock()
		p.codes[code] = grant{person, q.Get("nonce"), q.Get("code_challenge")}
		p.mu.Unlock()
		back.Set("code", code)
	} else {
		back.Set("error", "access_denied")
	}
	http.Redirect(w, r, p.Redirect+"?"+back.Encode(), http.StatusFound)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, ok := r.BasicAuth()
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	if !ok || id != ClientID || secret != ClientSecret {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	granted, known := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || r.PostFormValue("grant_type") != "authorization_code" || r.PostFormValue("redirect_uri") != p.Redirect || encoded(challenge[:]) != granted.challenge {
		refuse(w, "invalid_grant")
		return
	}
	signed, err := p.idToken(granted)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	access := rand.Text()
	p.tokens[access] = granted.person
	answer(w, http.StatusOK, map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 300, "id_token": signed})
}

// about returns the claims about a user.
func about(person Person) map[string]any {
	return map[string]any{"sub": person.Subject, "name": person.Name, "email": person.Email, "email_verified": person.Verified}
}

func (p *Provider) idToken(g grant) (string, error) {
	claims := map[string]any{"sub": g.person.Subject}
	if !p.TellLater {
		claims = about(g.person)
	}
	claims["iss"], claims["aud"], claims["nonce"], claims["iat"], claims["exp"] = p.URL, ClientID, g.nonce, p.now().Unix(), p.now().Add(5*time.Minute).Unix()
	if p.Forge != nil {
		p.Forge(claims)
	}
	return p.signed(map[string]any{"typ": "JWT"}, claims)
}

func (p *Provider) userinfo(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	access, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	person, known := p.tokens[access]
	if !known {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_token"})
		return
	}
	answer(w, http.StatusOK, about(person))
}
