package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/web"
)

const (
	verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	callback = "https://draftsman.example/callback"
)

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// agent is a client that asks to act for users.
type agent struct {
	*visitor
	id string
}

// answered is the client's view of a response.
type answered struct {
	told
	Refresh   string   `json:"refresh_token"`
	Scope     string   `json:"scope"`
	ClientID  string   `json:"client_id"`
	Secret    string   `json:"client_secret"`
	Method    string   `json:"token_endpoint_auth_method"`
	Redirects []string `json:"redirect_uris"`
}

// registers sends an application's metadata.
func (a *agent) registers(body string, status int) (got answered) {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.h.url+"/oauth/register", strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := a.client.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil || response.StatusCode != status {
		a.t.Fatalf("POST /oauth/register: got status %d, want %d: %+v, %v", response.StatusCode, status, got, err)
	}
	return got
}

// agent is a client that has registered itself.
func (h *house) agent(t *testing.T) *agent {
	t.Helper()
	a := &agent{visitor: h.visitor(t)}
	a.header = http.Header{"User-Agent": {"agent/1"}}
	got := a.registers(`{"client_name":"Draftsman","redirect_uris":["`+callback+`","http://127.0.0.1/back"],"token_endpoint_auth_method":"client_secret_post","scope":"x"}`, http.StatusCreated)
	if a.id = got.ClientID; a.id == "" || got.Secret != "" || got.Method != "none" || len(got.Redirects) != 2 {
		t.Fatalf("registered as %+v", got)
	}
	return a
}

// question returns the parameters of an agent's request, with changes.
func (a *agent) question(changes ...string) url.Values {
	q := url.Values{
		"client_id": {a.id}, "redirect_uri": {callback}, "response_type": {"code"}, "state": {"s&t=1"}, "scope": {"documents templates unheard-of"},
		"code_challenge": {challengeOf(verifier)}, "code_challenge_method": {"S256"}, "resource": {a.h.url + "/mcp"},
	}
	for i := 0; i+1 < len(changes); i += 2 {
		if q.Del(changes[i]); changes[i+1] != "" {
			q.Set(changes[i], changes[i+1])
		}
	}
	return q
}

var hidden = regexp.MustCompile(`type="hidden" name="([^"]+)" value="([^"]*)"`)

// asks opens the question in a user's browser and returns the form of the page.
func (a *agent) asks(person *visitor, q url.Values) (url.Values, answer) {
	a.t.Helper()
	page := person.get("/oauth/authorize?" + q.Encode())
	if page.status != http.StatusOK {
		a.t.Fatalf("got status %d: %s", page.status, textOf(page.body))
	}
	form := url.Values{"allow": {"documents", "templates"}, "limit": {"2.50"}, "days": {"30"}, "decision": {"allow"}}
	for _, found := range hidden.FindAllStringSubmatch(page.body, -1) {
		form.Set(found[1], html.UnescapeString(found[2]))
	}
	return form, page
}

// back returns the URL to which a user is redirected.
func (a *agent) back(page answer) *url.URL {
	a.t.Helper()
	to, ok := strings.CutPrefix(page.header.Get("Refresh"), "0; url=")
	u, err := url.Parse(to)
	if !ok || err != nil || !strings.Contains(page.body, html.EscapeString(to)) {
		a.t.Fatalf("nobody is led back: %q, %v: %s", page.header.Get("Refresh"), err, textOf(page.body))
	}
	return u
}

// code lets a user grant the request, and returns the code.
func (a *agent) code(person *visitor) string {
	a.t.Helper()
	form, _ := a.asks(person, a.question())
	to := a.back(person.post("/oauth/authorize", http.StatusOK, form))
	if q := to.Query(); q.Get("state") != "s&t=1" || q.Get("iss") != a.h.url || q.Get("code") == "" {
		a.t.Fatalf("led to %s", to)
	}
	return to.Query().Get("code")
}

// trades sends a form to the endpoint of tokens, as it is or with changes.
func (a *agent) trades(status int, form url.Values, changes ...string) (got answered) {
	a.t.Helper()
	sent := url.Values{"client_id": {a.id}}
	for name, values := range form {
		sent[name] = values
	}
	for i := 0; i+1 < len(changes); i += 2 {
		if sent.Del(changes[i]); changes[i+1] != "" {
			sent.Set(changes[i], changes[i+1])
		}
	}
	p := program{visitor: a.visitor}
	p.json(a.post("/oauth/token", status, sent), &got)
	return got
}

func redeeming(code string) url.Values {
	return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback}, "code_verifier": {verifier}}
}

// opens reports whether the agent endpoint accepts a token.
func (h *house) opens(t *testing.T, token string) bool {
	t.Helper()
	_, err := h.GrantAccess(t.Context(), token, h.url+"/mcp")
	return err == nil
}

// TestAgentIsLetIn runs the flow from the metadata to a token, its renewal and its end.
func TestAgentIsLetIn(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		maya, a := h.join(t, "maya@example.com"), h.agent(t)
		var server, resource map[string]any
		for path, into := range map[string]*map[string]any{"/.well-known/oauth-authorization-server": &server, "/.well-known/oauth-protected-resource/mcp": &resource} {
			got := a.get(path)
			if err := json.Unmarshal([]byte(got.body), into); err != nil || got.header.Get("Access-Control-Allow-Origin") != "*" {
				t.Fatalf("%s: %v, %v", path, err, got.header)
			}
		}
		if server["issuer"] != h.url || server["token_endpoint"] != h.url+"/oauth/token" || fmt.Sprint(server["code_challenge_methods_supported"]) != "[S256]" ||
			resource["resource"] != h.url+"/mcp" || fmt.Sprint(resource["authorization_servers"]) != "["+h.url+"]" {
			t.Errorf("described as %v and %v", server, resource)
		}
		form, page := a.asks(maya, a.question())
		for _, words := range []string{"Allow Draftsman to use relaypdf?", "It is not verified", "requests access to the account maya@example.com", "Create and edit documents", "Read and change templates", "https://draftsman.example", `value="5.00"`, `value="90" selected`} {
			if !strings.Contains(textOf(page.body)+page.body, words) {
				t.Errorf("the page does not say %q: %s", words, textOf(page.body))
			}
		}
		if strings.Contains(textOf(page.body), "webhook endpoints") {
			t.Error("the page offers what nobody has asked for")
		}
		for name, change := range map[string][]string{"limit": {"limit", "much"}, "no limit": {"limit", ""}, "days": {"days", "3000"}, "no decision": {"decision", ""}, "another account": {"account", "acc_other"}, "nothing": {"allow", "webhooks"}} {
			wrong := url.Values{}
			for field, values := range form {
				wrong[field] = values
			}
			wrong[change[0]] = change[1:]
			if got := maya.post("/oauth/authorize", http.StatusUnprocessableEntity, wrong); got.header.Get("Refresh") != "" {
				t.Errorf("%s: led to %s", name, got.header.Get("Refresh"))
			}
		}
		form["allow"] = []string{"documents", "webhooks"} // the second was not asked for
		to := a.back(maya.post("/oauth/authorize", http.StatusOK, form))
		if list, err := h.Grants(t.Context(), h.mayas(t).ID); err != nil || len(list) != 0 {
			t.Errorf("%d grants before the code came back, %v", len(list), err)
		}
		got := a.trades(http.StatusOK, redeeming(to.Query().Get("code")), "resource", h.url+"/mcp?toolsets=all")
		if got.Type != "Bearer" || got.Scope != "documents" || got.ExpiresIn != 3600 || !h.opens(t, got.Token) {
			t.Errorf("got %+v", got)
		}
		list, err := h.Grants(t.Context(), h.mayas(t).ID)
		if err != nil || len(list) != 1 || list[0].Limit != 5*credit.Dollar/2 || !list[0].ExpiresAt.Equal(h.clock.Now().Add(30*24*time.Hour)) {
			t.Fatalf("granted %+v, %v", list, err)
		}
		if letter := h.mail.last(t, "maya@example.com"); !strings.Contains(letter.Subject, "Draftsman") || !strings.HasSuffix(letter.Link.URL, "/dashboard/apps") || strings.Contains(strings.Join(letter.Lines, " "), got.Token) {
			t.Errorf("the letter is %+v", letter)
		}
		if actions := h.actions(t, h.mayas(t).ID); !slices.Contains(actions, "grant.allowed") || !slices.Contains(actions, "grant.made") {
			t.Errorf("the log tells %v", actions)
		}
		next := a.trades(http.StatusOK, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {got.Refresh}})
		if next.Refresh == got.Refresh || !h.opens(t, next.Token) {
			t.Errorf("renewed to %+v", next)
		}
		maya.sees("/dashboard/apps", "Draftsman", "https://draftsman.example", "$2.50", "Active")
		app := "/dashboard/apps/" + list[0].ID
		maya.sees(app, "Create and edit documents", "maya@example.com")
		maya.post(app, http.StatusUnprocessableEntity, url.Values{"limit": {"-1"}})
		maya.post(app, http.StatusSeeOther, url.Values{"limit": {"7"}})
		if changed, err := h.Grant(t.Context(), h.mayas(t).ID, list[0].ID); err != nil || changed.Limit != 7*credit.Dollar {
			t.Errorf("limited to %v, %v", changed.Limit, err)
		}
		maya.sees("/dashboard/apps", "Spending limit of Draftsman set to $7.00.")
		if keys := maya.get("/dashboard/keys"); strings.Contains(keys.body, "Draftsman") {
			t.Error("a grant is among the keys")
		}
		for _, path := range []string{"/dashboard/keys/" + list[0].ID + "/roll", "/dashboard/keys/" + list[0].ID + "/revoke"} {
			if got := maya.get(path); got.status != http.StatusNotFound {
				t.Errorf("%s: got status %d", path, got.status)
			}
		}
		mallory := h.join(t, "mallory@example.com")
		if got := mallory.get(app); got.status != http.StatusNotFound {
			t.Errorf("another account sees it: status %d", got.status)
		}
		mallory.post(app, http.StatusNotFound, url.Values{"limit": {"9"}})
		mallory.post(app+"/revoke", http.StatusNotFound, url.Values{})
		maya.post(app+"/revoke", http.StatusSeeOther, url.Values{})
		maya.sees("/dashboard/apps", "Revoked")
		if h.opens(t, next.Token) {
			t.Error("it opens after it was revoked")
		}
		if got := a.trades(http.StatusBadRequest, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {next.Refresh}}); got.Error != "invalid_grant" {
			t.Errorf("renewed after it was revoked: %+v", got)
		}
	})
}

// TestAgentAttacks runs the attacks that threats.md and the standards name.
func TestAgentAttacks(t *testing.T) {
	h := sqliteHouse(t, nil)
	maya, a, thief := h.join(t, "maya@example.com"), h.agent(t), h.agent(t)
	// Authorisation requests that are not redirected: of unknown clients, or to unregistered URLs.
	for name, q := range map[string]url.Values{
		"no program":                a.question("client_id", ""),
		"an unknown program":        a.question("client_id", "client_none"),
		"another's address":         a.question("redirect_uri", "https://mallory.example/callback"),
		"no address":                a.question("redirect_uri", ""),
		"an address that begins so": a.question("redirect_uri", callback+"/../x"),
		"a subdomain":               a.question("redirect_uri", "https://draftsman.example.mallory.example/callback"),
		"another path here":         a.question("redirect_uri", "http://127.0.0.1:4711/other"),
		"another name of here":      a.question("redirect_uri", "http://localhost:4711/back"),
		"a fragment":                a.question("redirect_uri", callback+"#x"),
		"a document's address":      a.question("client_id", "https://draftsman.example/client.json"),
		"twice":                     func() url.Values { q := a.question(); q.Add("redirect_uri", "https://mallory.example/"); return q }(),
	} {
		page := maya.get("/oauth/authorize?" + q.Encode())
		if page.status != http.StatusBadRequest || page.header.Get("Refresh") != "" || page.header.Get("Location") != "" || strings.Contains(page.body, "Return to app") || strings.Contains(page.body, "mallory") {
			t.Errorf("%s: got status %d, %v: %s", name, page.status, page.header, textOf(page.body))
		}
	}
	// Questions that are wrong: the user may go back, and is not sent.
	for name, q := range map[string]struct {
		question url.Values
		code     string
	}{
		"no PKCE":          {a.question("code_challenge", ""), "invalid_request"},
		"plain PKCE":       {a.question("code_challenge_method", "plain"), "invalid_request"},
		"PKCE by default":  {a.question("code_challenge_method", ""), "invalid_request"},
		"a short one":      {a.question("code_challenge", "short"), "invalid_request"},
		"the token itself": {a.question("response_type", "token"), "unsupported_response_type"},
		"in the fragment":  {a.question("response_mode", "fragment"), "invalid_request"},
		"another resource": {a.question("resource", "https://bank.example/mcp"), "invalid_target"},
		"other scopes":     {a.question("scope", "admin"), "invalid_scope"},
	} {
		page := maya.get("/oauth/authorize?" + q.question.Encode())
		if page.status != http.StatusBadRequest || page.header.Get("Refresh") != "" || page.header.Get("Location") != "" || !strings.Contains(page.body, "error="+q.code) || !strings.Contains(page.body, "iss=") {
			t.Errorf("%s: got status %d: %s", name, page.status, page.body)
		}
		form := q.question
		form["allow"], form["limit"], form["days"], form["decision"], form["account"] = []string{"documents"}, []string{"5"}, []string{"90"}, []string{"allow"}, []string{h.mayas(t).ID}
		if page := maya.post("/oauth/authorize", http.StatusBadRequest, form); strings.Contains(page.body, "code=pdf") {
			t.Errorf("%s is allowed by a form", name)
		}
	}
	// By a frame, and by a page of another site.
	form, page := a.asks(maya, a.question())
	if policy := page.header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'none'") || page.header.Get("X-Frame-Options") != "DENY" || page.header.Get("Referrer-Policy") != "same-origin" || page.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the consent can be framed: %v", page.header)
	}
	maya.header.Set("Sec-Fetch-Site", "cross-site")
	if got := maya.do(http.MethodPost, "/oauth/authorize", form); got.status != http.StatusForbidden {
		t.Errorf("another site's form: got status %d", got.status)
	}
	maya.header.Set("Sec-Fetch-Site", "same-origin")
	// Deny.
	form.Set("decision", "deny")
	if to := a.back(maya.post("/oauth/authorize", http.StatusOK, form)); to.Query().Get("error") != "access_denied" || to.Query().Get("iss") != h.url || to.Query().Get("code") != "" {
		t.Errorf("denied to %s", to)
	}
	// A code in other hands, or with anything wrong.
	for name, changes := range map[string][]string{
		"a thief's program":   {"client_id", thief.id},
		"another verifier":    {"code_verifier", strings.Repeat("x", 43)},
		"the thief's address": {"redirect_uri", "https://mallory.example/callback"},
		"the address of here": {"redirect_uri", "http://127.0.0.1/back"},
	} {
		code := a.code(maya)
		if got := a.trades(http.StatusBadRequest, redeeming(code), changes...); got.Error != "invalid_grant" || got.Token != "" {
			t.Errorf("%s: got %+v", name, got)
		}
		if got := a.trades(http.StatusBadRequest, redeeming(code)); got.Error != "invalid_grant" || got.Token != "" {
			t.Errorf("after %s: got %+v", name, got)
		}
	}
	code := a.code(maya)
	for name, q := range map[string]struct {
		changes []string
		code    string
	}{
		"no verifier":      {[]string{"code_verifier", ""}, "invalid_request"},
		"a short verifier": {[]string{"code_verifier", "short"}, "invalid_request"},
		"no address":       {[]string{"redirect_uri", ""}, "invalid_request"},
		"no program":       {[]string{"client_id", ""}, "invalid_request"},
		"another resource": {[]string{"resource", "https://bank.example/mcp"}, "invalid_target"},
		"another kind":     {[]string{"grant_type", "password"}, "invalid_client"},
	} {
		if got := a.trades(http.StatusBadRequest, redeeming(code), q.changes...); got.Error != q.code || got.Token != "" {
			t.Errorf("%s: got %+v, want %s", name, got, q.code)
		}
	}
	// None of those was a use of the code. Its second use is, and ends all.
	tokens := a.trades(http.StatusOK, redeeming(code))
	if !h.opens(t, tokens.Token) {
		t.Error("the token does not open")
	}
	if got := a.trades(http.StatusBadRequest, redeeming(code)); got.Error != "invalid_grant" || h.opens(t, tokens.Token) {
		t.Errorf("a code that comes twice: %+v", got)
	}
	// Refresh tokens: of another client, and a second time.
	tokens = a.trades(http.StatusOK, redeeming(a.code(maya)))
	renewing := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {tokens.Refresh}}
	if got := thief.trades(http.StatusBadRequest, renewing); got.Error != "invalid_grant" || !h.opens(t, tokens.Token) {
		t.Errorf("another program: %+v", got)
	}
	if got := a.trades(http.StatusBadRequest, renewing, "scope", "documents account:read"); got.Error != "invalid_scope" {
		t.Errorf("more scopes: %+v", got)
	}
	next := a.trades(http.StatusOK, renewing)
	if got := a.trades(http.StatusBadRequest, renewing); got.Error != "invalid_grant" || h.opens(t, next.Token) || h.opens(t, tokens.Token) {
		t.Errorf("a second time: %+v", got)
	}
	// Revocation, by who it is and who it is not.
	tokens = a.trades(http.StatusOK, redeeming(a.code(maya)))
	thief.post("/oauth/revoke", http.StatusOK, url.Values{"client_id": {thief.id}, "token": {tokens.Refresh}})
	if !h.opens(t, tokens.Token) {
		t.Error("another program has revoked it")
	}
	a.post("/oauth/revoke", http.StatusOK, url.Values{"client_id": {a.id}, "token": {tokens.Refresh}})
	if h.opens(t, tokens.Token) {
		t.Error("it opens after its program has revoked it")
	}
	// An address on the user's machine has whichever port is free.
	form, _ = a.asks(maya, a.question("redirect_uri", "http://127.0.0.1:4711/back"))
	to := a.back(maya.post("/oauth/authorize", http.StatusOK, form))
	if to.Host != "127.0.0.1:4711" {
		t.Errorf("led to %s", to)
	}
	if got := a.trades(http.StatusBadRequest, redeeming(to.Query().Get("code")), "redirect_uri", "http://127.0.0.1:4712/back"); got.Error != "invalid_grant" {
		t.Errorf("another port than that of the question: %+v", got)
	}
}

// TestAgentsRegister with addresses that are theirs, within limits.
func TestAgentsRegister(t *testing.T) {
	h := sqliteHouse(t, nil)
	a := h.agent(t)
	for _, redirect := range []string{
		"javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "http://draftsman.example/", "http://127.0.0.2/", "https://", "ftp://x.example/", "vbscript:x", "blob:https://x.example/y",
		"https://maya@draftsman.example/", "https://draftsman.example/#x", "https://draftsman.example/ x", "https://draftsman.example\\@mallory.example/", "HTTPS:/x", "/callback", "", "http://localhost.mallory.example/",
		"https://" + strings.Repeat("x", 2001),
	} {
		body, err := json.Marshal(map[string]any{"redirect_uris": []string{callback, redirect}})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.registers(string(body), http.StatusBadRequest); got.Error != "invalid_redirect_uri" || got.ClientID != "" {
			t.Errorf("%s: got %+v", redirect, got)
		}
	}
	for _, body := range []string{`{`, `[]`, `{"redirect_uris":[]}`, `{"redirect_uris":["` + callback + `"],"grant_types":["implicit"]}`, `{"redirect_uris":["` + callback + `"],"response_types":["token"]}`, `{"client_name":"` + strings.Repeat("x", 17<<10) + `"}`} {
		if got := a.registers(body, http.StatusBadRequest); !strings.HasPrefix(got.Error, "invalid_") {
			t.Errorf("%.40s: got %+v", body, got)
		}
	}
	for _, redirect := range []string{"http://localhost:3000/cb", "http://[::1]:3000/cb", "com.example.app:/cb", "cursor://x/cb"} {
		a.registers(`{"redirect_uris":["`+redirect+`"]}`, http.StatusCreated)
	}
	const attack = `\"><script>alert(1)</script>\u202e`
	evil := &agent{a.visitor, a.registers(`{"client_name":"`+attack+`","redirect_uris":["`+callback+`"]}`, http.StatusCreated).ClientID}
	if _, page := evil.asks(h.join(t, "maya@example.com"), evil.question()); strings.Contains(page.body, "<script>alert") || strings.Contains(page.body, "\u202e") {
		t.Error("the page shows the markup of a program's name, or its control characters")
	}
	for range 54 {
		a.registers(`{"redirect_uris":["`+callback+`"]}`, http.StatusCreated)
	}
	if got := a.registers(`{"redirect_uris":["`+callback+`"]}`, http.StatusTooManyRequests); got.Error != "slow_down" {
		t.Errorf("too many: %+v", got)
	}
}

// TestAgentsThatAreDescribedElsewhere: the ID of an application is the URL of its metadata.
func TestAgentsThatAreDescribedElsewhere(t *testing.T) {
	var asked atomic.Int64 // A document that came too late may still be written.
	var site *httptest.Server
	site = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		id := site.URL + r.URL.Path
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/client.json":
			fmt.Fprintf(w, `{"client_id":%q,"client_name":"Draftsman","redirect_uris":[%q]}`, id, callback)
		case "/other.json":
			fmt.Fprintf(w, `{"client_id":"https://other.example/x","client_name":"Other","redirect_uris":[%q]}`, callback)
		case "/secret.json":
			fmt.Fprintf(w, `{"client_id":%q,"client_secret":"x","redirect_uris":[%q]}`, id, callback)
		case "/script.json":
			fmt.Fprintf(w, `{"client_id":%q,"redirect_uris":["javascript:alert(1)"]}`, id)
		case "/large.json":
			fmt.Fprintf(w, `{"client_id":%q,"client_name":%q,"redirect_uris":[%q]}`, id, strings.Repeat("x", 6<<10), callback)
		case "/page.json":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `{"client_id":%q,"redirect_uris":[%q]}`, id, callback)
		default:
			http.Redirect(w, r, "/client.json", http.StatusFound)
		}
	}))
	t.Cleanup(site.Close)
	h := sqliteHouse(t, nil)
	maya := h.join(t, "maya@example.com")
	a := &agent{h.visitor(t), site.URL + "/client.json"}
	form, page := a.asks(maya, a.question())
	if host := strings.TrimPrefix(site.URL, "https://"); !strings.Contains(textOf(page.body), "("+host+")") || strings.Contains(textOf(page.body), "It is not verified") {
		t.Errorf("the page does not say whose it is: %s", textOf(page.body))
	}
	code := a.back(maya.post("/oauth/authorize", http.StatusOK, form)).Query().Get("code")
	if got := a.trades(http.StatusOK, redeeming(code)); !h.opens(t, got.Token) {
		t.Errorf("got %+v", got)
	}
	if asked.Load() != 1 {
		t.Errorf("the document was fetched %d times, want once", asked.Load())
	}
	for _, path := range []string{"/other.json", "/secret.json", "/script.json", "/large.json", "/page.json", "/moved.json", "/", "", "/a/../client.json", "/client.json#x"} {
		a.id = site.URL + path
		if page := maya.get("/oauth/authorize?" + a.question().Encode()); page.status != http.StatusBadRequest || strings.Contains(page.body, "Return to app") {
			t.Errorf("%s: got status %d: %s", path, page.status, textOf(page.body))
		}
	}
	before := asked.Load()
	for range 30 {
		a.id = site.URL + "/moved.json"
		maya.get("/oauth/authorize?" + a.question().Encode())
	}
	if more := asked.Load() - before; more > 20 {
		t.Errorf("one person had %d documents fetched", more)
	}
}

// TestRolesThatMayAuthorizeAgents: those who may make keys.
func TestRolesThatMayAuthorizeAgents(t *testing.T) {
	h := sqliteHouse(t, nil)
	h.join(t, "maya@example.com")
	a := h.agent(t)
	path := "/oauth/authorize?" + a.question().Encode()
	nobody := h.visitor(t)
	if got := nobody.get(path); got.status != http.StatusSeeOther || got.header.Get("Location") != "/login?next="+url.QueryEscape(path) {
		t.Errorf("nobody got status %d, %q", got.status, got.header.Get("Location"))
	}
	for role, want := range map[string]int{store.RoleDeveloper: http.StatusOK, store.RoleBilling: http.StatusForbidden, store.RoleViewer: http.StatusForbidden} {
		person, err := h.CreateUser(t.Context(), store.NewUser{Email: role + "@example.com", Verified: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.AddMember(t.Context(), h.mayas(t).ID, person.ID, role); err != nil {
			t.Fatal(err)
		}
		if got := h.signedIn(t, person).get(path); got.status != want {
			t.Errorf("%s: got status %d, want %d", role, got.status, want)
		}
	}
}

// TestResourceNamesAnOutsideIssuer checks that the external issuer is listed with the service itself, and before it.
func TestResourceNamesAnOutsideIssuer(t *testing.T) {
	h := sqliteHouse(t, func(cfg *web.Config) { cfg.TokenIssuer = "https://id.example.com" })
	a := h.visitor(t).get("/.well-known/oauth-protected-resource/mcp")
	if want := `"authorization_servers":["https://id.example.com","` + h.url + `"]`; a.status != http.StatusOK || !strings.Contains(a.body, want) {
		t.Errorf("got %d, %s; want %s", a.status, a.body, want)
	}
}
