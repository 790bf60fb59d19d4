package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"go.uber.org/goleak"

	"github.com/relaypdf/relaypdf/service/oauth"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestMain fails the package when a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	base     = "https://pdf.example"
	callback = "https://app.example/callback"
	// The verifier and challenge of RFC 7636, appendix B.
	verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
)

// fixture is a server with one account and its owner.
type fixture struct {
	*store.Store
	server  *oauth.Server
	router  chi.Router
	clock   *storetest.Clock
	account store.Account
	user    store.User
	sent    int // times that emails were sent
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	clock := storetest.NewClock(time.Now().UTC().Truncate(time.Second))
	f := &fixture{Store: storetest.SQLite(t).Open(t, clock), clock: clock, router: chi.NewRouter()}
	f.server = oauth.NewServer(oauth.ServerConfig{
		Store: f.Store, Limiter: ratelimit.NewMemory(clock.Now), BaseURL: base, DocsURL: base + "/docs/agents", DeviceURL: base + "/device",
		ClientIP: func(context.Context) string { return "203.0.113.40" }, RequestID: func(context.Context) string { return "req_test" },
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: clock.Now, SendEmails: func() { f.sent++ },
	})
	f.server.Mount(f.router)
	var err error
	if f.account, err = f.CreateAccount(t.Context(), "maya@example.com", 5*credit.Dollar); err != nil {
		t.Fatal(err)
	}
	if f.user, err = f.CreateUser(t.Context(), store.NewUser{Email: "maya@example.com", Verified: true}); err != nil {
		t.Fatal(err)
	}
	if err := f.AddMember(t.Context(), f.account.ID, f.user.ID, store.RoleOwner); err != nil {
		t.Fatal(err)
	}
	return f
}

// do sends a request and decodes the response, which must have the status.
func (f *fixture) do(t *testing.T, status int, method, path, contentType, body string) (http.Header, map[string]any) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	f.router.ServeHTTP(w, r)
	var response map[string]any
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &response); err != nil {
			t.Fatalf("%s %s: %v: %s", method, path, err, w.Body)
		}
	}
	if w.Code != status {
		t.Fatalf("%s %s: got status %d, want %d: %v", method, path, w.Code, status, response)
	}
	return w.Header(), response
}

func (f *fixture) post(t *testing.T, status int, path string, form url.Values) map[string]any {
	t.Helper()
	_, response := f.do(t, status, http.MethodPost, path, "application/x-www-form-urlencoded", form.Encode())
	return response
}

// register registers a client and returns its ID.
func (f *fixture) register(t *testing.T) string {
	t.Helper()
	_, response := f.do(t, http.StatusCreated, http.MethodPost, "/oauth/register", "application/json", `{"client_name":"Draftsman\u202e","redirect_uris":["`+callback+`"]}`)
	id, ok := response["client_id"].(string)
	if !ok || response["client_name"] != "Draftsman" || response["token_endpoint_auth_method"] != "none" {
		t.Fatalf("registered as %v", response)
	}
	return id
}

func request(clientID string) url.Values {
	return url.Values{
		"client_id": {clientID}, "redirect_uri": {callback}, "response_type": {"code"}, "state": {"s"}, "scope": {"documents"},
		"code_challenge": {challenge}, "code_challenge_method": {"S256"},
	}
}

// allow allows a request and returns the code.
func (f *fixture) allow(t *testing.T, clientID string) string {
	t.Helper()
	q, err := f.server.ReadRequest(t.Context(), request(clientID), f.user.ID)
	if err != nil {
		t.Fatal(err)
	}
	redirect, err := f.server.Allow(t.Context(), q, store.Consent{
		AccountID: f.account.ID, PersonID: f.user.ID, Scopes: q.Scopes, Limit: credit.Dollar, ExpiresAt: f.clock.Now().Add(time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(redirect)
	if err != nil || !strings.HasPrefix(redirect, callback+"?") || u.Query().Get("state") != "s" || u.Query().Get("iss") != base {
		t.Fatalf("redirected to %s, %v", redirect, err)
	}
	return u.Query().Get("code")
}

func TestClientGetsRenewsAndRevokesTokens(t *testing.T) {
	f := newFixture(t)
	id := f.register(t)
	code := f.allow(t, id)
	form := url.Values{"client_id": {id}, "grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback}, "code_verifier": {verifier}}
	tokens := f.post(t, http.StatusOK, "/oauth/token", form)
	if tokens["token_type"] != "Bearer" || tokens["scope"] != "documents" || f.sent != 1 {
		t.Errorf("got %v, emails sent %d times", tokens, f.sent)
	}
	access := func(tokens map[string]any) error {
		token, _ := tokens["access_token"].(string)
		_, err := f.GrantAccess(t.Context(), token, f.server.Resource())
		return err
	}
	if err := access(tokens); err != nil {
		t.Errorf("the access token: %v", err)
	}
	refresh, _ := tokens["refresh_token"].(string)
	renewed := f.post(t, http.StatusOK, "/oauth/token", url.Values{"client_id": {id}, "grant_type": {"refresh_token"}, "refresh_token": {refresh}})
	if err := access(renewed); err != nil {
		t.Errorf("the renewed access token: %v", err)
	}
	next, _ := renewed["refresh_token"].(string)
	f.post(t, http.StatusOK, "/oauth/revoke", url.Values{"client_id": {id}, "token": {next}})
	if err := access(renewed); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after the revocation: got %v, want ErrNotFound", err)
	}
	f.post(t, http.StatusOK, "/oauth/revoke", url.Values{"client_id": {id}, "token": {"unknown"}})
	if got := f.post(t, http.StatusBadRequest, "/oauth/token", form); got["error"] != "invalid_grant" {
		t.Errorf("the code again: got %v, want invalid_grant", got)
	}
}

func TestReadRequestRefusesUnknownClientsAndInvalidRequests(t *testing.T) {
	f := newFixture(t)
	id := f.register(t)
	read := func(name, value string) error {
		values := request(id)
		values.Set(name, value)
		_, err := f.server.ReadRequest(t.Context(), values, f.user.ID)
		return err
	}
	for name, value := range map[string]string{"client_id": "unknown", "redirect_uri": callback + "/other"} {
		var unknown *oauth.ClientError
		if err := read(name, value); !errors.As(err, &unknown) {
			t.Errorf("%s: got %v, want a ClientError", name, err)
		}
	}
	for name, tt := range map[string]struct{ value, code string }{
		"response_type":         {"token", "unsupported_response_type"},
		"response_mode":         {"fragment", "invalid_request"},
		"code_challenge_method": {"plain", "invalid_request"},
		"state":                 {strings.Repeat("x", 2001), "invalid_request"},
		"resource":              {"https://bank.example/mcp", "invalid_target"},
		"scope":                 {"admin", "invalid_scope"},
	} {
		var invalid *oauth.RequestError
		if err := read(name, tt.value); !errors.As(err, &invalid) || invalid.Code != tt.code {
			t.Errorf("%s: got %v, want %s", name, err, tt.code)
			continue
		}
		if redirect := f.server.Refuse(invalid); !strings.Contains(redirect, "error="+tt.code) || !strings.HasPrefix(redirect, callback+"?") {
			t.Errorf("%s: redirected to %s", name, redirect)
		}
	}
	if err := read("resource", base+"/mcp?toolsets=all"); err != nil {
		t.Errorf("the resource with toolsets: %v", err)
	}
	q, err := f.server.ReadRequest(t.Context(), request(id), f.user.ID)
	if err != nil {
		t.Fatal(err)
	}
	again := url.Values{}
	for _, p := range q.Parameters() {
		again.Set(p[0], p[1])
	}
	if got, err := f.server.ReadRequest(t.Context(), again, f.user.ID); err != nil || f.server.Deny(got) != f.server.Deny(q) || got.Challenge != q.Challenge {
		t.Errorf("from its own parameters: got %+v, %v; want %+v", got, err, q)
	}
}

func TestMetadataIsReadableFromOtherOrigins(t *testing.T) {
	f := newFixture(t)
	for path, want := range map[string][2]string{
		"/.well-known/oauth-authorization-server":   {"token_endpoint", base + "/oauth/token"},
		"/.well-known/oauth-protected-resource":     {"resource", base + "/mcp"},
		"/.well-known/oauth-protected-resource/mcp": {"resource", base + "/mcp"},
		// Clients compare the resource with the URL that they connect to.
		"/.well-known/oauth-protected-resource/mcp?toolsets=default,forms": {"resource", base + "/mcp?toolsets=default,forms"},
		"/.well-known/oauth-protected-resource/mcp?other=x":                {"resource", base + "/mcp"},
	} {
		header, response := f.do(t, http.StatusOK, http.MethodGet, path, "", "")
		if header.Get("Access-Control-Allow-Origin") != "*" || response[want[0]] != want[1] {
			t.Errorf("%s: got %v, %v", path, header, response)
		}
		if header, _ := f.do(t, http.StatusNoContent, http.MethodOptions, path, "", ""); header.Get("Access-Control-Allow-Methods") != "GET, HEAD" {
			t.Errorf("OPTIONS %s: got %v", path, header)
		}
	}
}

func TestDeviceGetsItsKey(t *testing.T) {
	f := newFixture(t)
	begun := f.post(t, http.StatusOK, "/oauth/device_authorization", url.Values{"client_id": {"relaypdf"}, "machine": {"ci\u202e"}})
	secret, _ := begun["device_code"].(string)
	typed, _ := begun["user_code"].(string)
	if begun["verification_uri"] != base+"/device" {
		t.Errorf("got %v", begun)
	}
	form := url.Values{"client_id": {"relaypdf"}, "grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {secret}}
	if got := f.post(t, http.StatusBadRequest, "/oauth/token", form); got["error"] != "authorization_pending" {
		t.Errorf("before the approval: got %v", got)
	}
	device, err := f.ClaimDevice(t.Context(), typed, f.user.ID)
	if err != nil || device.Machine != "ci" {
		t.Fatalf("got %+v, %v", device, err)
	}
	if err := f.ApproveDevice(t.Context(), device.ID, f.user.ID, store.NewKey{AccountID: f.account.ID, Name: "cli ci"}); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(6 * time.Second)
	got := f.post(t, http.StatusOK, "/oauth/token", form)
	if key, _ := got["access_token"].(string); key == "" || got["token_type"] != "Bearer" {
		t.Errorf("got %v", got)
	}
}

func TestTooManyRegistrationsReturn429(t *testing.T) {
	f := newFixture(t)
	for range 60 {
		f.register(t)
	}
	header, got := f.do(t, http.StatusTooManyRequests, http.MethodPost, "/oauth/register", "application/json", `{"redirect_uris":["`+callback+`"]}`)
	if got["error"] != "slow_down" || header.Get("Retry-After") == "" {
		t.Errorf("got %v, %v", header, got)
	}
}
