package mcp_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// grantOf lets a client in for the server's account, and returns its token.
func grantOf(t *testing.T, s *apitest.Server, limit credit.Amount, scopes ...string) string {
	t.Helper()
	ctx := t.Context()
	person, err := s.Store.UserByEmail(ctx, "dev@example.com")
	if err != nil {
		if person, err = s.Store.CreateUser(ctx, store.NewUser{Email: "dev@example.com", Verified: true}); err != nil {
			t.Fatal(err)
		}
		if err := s.Store.AddMember(ctx, s.Account.ID, person.ID, store.RoleDeveloper); err != nil {
			t.Fatal(err)
		}
	}
	code, err := s.Store.AuthorizeClient(ctx, store.Consent{
		Client: store.OAuthClient{ID: "client_x", Name: "Draftsman"}, Redirect: "https://draftsman.example/", Challenge: "c", Resource: s.URL + api.AgentPath,
		Scopes: scopes, AccountID: s.Account.ID, PersonID: person.ID, Limit: limit, ExpiresAt: s.Clock.Now().Add(24 * time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Store.RedeemGrantCode(ctx, store.Redemption{Code: code, ClientID: "client_x", Redirect: "https://draftsman.example/", Challenge: "c"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got.Access
}

// useAs calls a tool with a token.
func useAs(t *testing.T, s *apitest.Server, token, tool, arguments string) result {
	t.Helper()
	a := parsed(t, send(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`, http.Header{"Authorization": {"Bearer " + token}}))
	var r result
	if a.Error != nil || json.Unmarshal(a.Result, &r) != nil {
		t.Fatalf("%s: status %d, %+v", tool, a.Status, a.Error)
	}
	return r
}

// TestGrantsAreLimitedToTheirScopes: to their scopes and their cap.
func TestGrantsAreLimitedToTheirScopes(t *testing.T) {
	t.Parallel()
	s := newServer(t, open)
	s.Work(t)
	token := grantOf(t, s, apitest.EchoPrice+apitest.EchoPrice/2, "documents", "account:read")
	var made struct{ ID string }
	useAs(t, s, token, "test_echo", `{"text":"ab"}`).into(t, &made)
	if s.Content(t, made.ID) != "ab" {
		t.Errorf("it made %+v", made)
	}
	for _, arguments := range []string{`{"text":"cd"}`, `{"text":"cd","async":true}`} {
		if f := useAs(t, s, token, "test_echo", arguments).failure(t); f.Code != "payment_required" || len(f.Details) != 1 || f.Details[0].Field != "grantSpendLimit" ||
			f.Message != "This call costs $0.002, but grantSpendLimit allows $0.003, of which $0.002 is spent or held; it holds for the lifetime of the grant." {
			t.Errorf("%s beyond the cap: %+v", arguments, f)
		}
	}
	var account struct {
		Grant struct {
			Scopes                                    []string
			SpendLimitMicrodollars, SpentMicrodollars credit.Amount
		}
	}
	useAs(t, s, token, "account_get", `{}`).into(t, &account)
	if g := account.Grant; !slices.Equal(g.Scopes, []string{"documents", "account:read"}) || g.SpendLimitMicrodollars != 3000 || g.SpentMicrodollars != apitest.EchoPrice {
		t.Errorf("it is told of %+v", g)
	}
	var plain map[string]any
	if use(t, s, "account_get", `{}`).into(t, &plain); plain["grant"] != nil {
		t.Errorf("a key is told of a grant: %v", plain)
	}
	reader := grantOf(t, s, credit.Dollar, "account:read")
	for tool, q := range map[string]struct{ arguments, allowed, refused, scope string }{
		"test_echo":         {`{"text":"ab"}`, "", reader, "account:read documents"},
		"jobs_list":         {`{}`, token, reader, "account:read documents"},
		"jobs_wait":         {`{"id":"x"}`, "", reader, "account:read documents"},
		"files_list":        {`{}`, token, reader, "account:read documents"},
		"templates_list":    {`{}`, grantOf(t, s, 0, "templates"), token, "documents account:read templates"},
		"webhooks_list":     {`{}`, grantOf(t, s, 0, "webhooks"), token, "documents account:read webhooks"},
		"account_get":       {`{}`, reader, grantOf(t, s, 0, "webhooks"), "webhooks account:read"},
		"billing_usage":     {`{}`, reader, grantOf(t, s, 0, "documents"), "documents account:read"},
		"prices_list":       {`{}`, reader, "", ""},
		"templates_gallery": {`{}`, reader, "", ""},
	} {
		if q.allowed != "" {
			if r := useAs(t, s, q.allowed, tool, q.arguments); r.IsError {
				t.Errorf("%s: refused with %+v", tool, r)
			}
		}
		if q.refused != "" {
			// useAs expects a result, or the name of the missing scope.
			got := send(t, s, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+q.arguments+`}}`, http.Header{"Authorization": {"Bearer " + q.refused}})
			wantStepUp(t, s, got, q.scope)
		}
	}
}

// wantStepUp expects a response with the scopes to request.
func wantStepUp(t *testing.T, s *apitest.Server, got apitest.Response, scope string) {
	t.Helper()
	challenge := got.Header.Get("WWW-Authenticate")
	a := parsed(t, got)
	if a.Status != http.StatusForbidden || a.Error == nil || !strings.Contains(challenge, `error="insufficient_scope", scope="`+scope+`"`) ||
		!strings.Contains(challenge, `resource_metadata="`+s.URL+`/.well-known/oauth-protected-resource/mcp?toolsets=all"`) {
		t.Errorf("got %d, %+v, %q; want %q to be asked for", a.Status, a.Error, challenge, scope)
	}
}

// TestTokensSeeTheirScopes: every tool is listed, so that a client can ask for the scope of one that it wants;
// templates are neither listed nor read without theirs. In a batch, which has one status for all, a tool is refused
// as a result.
func TestTokensSeeTheirScopes(t *testing.T) {
	t.Parallel()
	s := newServer(t, open)
	asked := func(scope, body string) apitest.Response {
		return send(t, s, body, http.Header{"Authorization": {"Bearer " + grantOf(t, s, credit.Dollar, scope)}})
	}
	const list, read = `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"relaypdf://templates/none"}}`
	for _, scope := range []string{"documents", "templates"} {
		if got := asked(scope, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); !strings.Contains(got.Body, `"templates_list"`) || !strings.Contains(got.Body, `"webhooks_list"`) {
			t.Errorf("%s: tools are %s", scope, got.Body)
		}
		if a := parsed(t, asked(scope, list)); a.Error != nil || !strings.Contains(string(a.Result), "relaypdf://docs/") {
			t.Errorf("%s: resources are %s, %+v", scope, a.Result, a.Error)
		}
	}
	wantStepUp(t, s, asked("documents", read), "documents templates")
	if a := parsed(t, asked("templates", read)); a.Status == http.StatusForbidden || a.Error == nil {
		t.Errorf("a template that there is none of: %d, %+v", a.Status, a.Error)
	}
	const picture = `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"relaypdf://files/none/preview"}}`
	wantStepUp(t, s, asked("templates", picture), "templates documents")
	for scope, want := range map[string]string{"templates": "Resource not found", "documents": "The resource does not exist, or belongs to another account."} {
		if got := asked(scope, `[`+picture+`]`); got.Status != http.StatusOK || !strings.Contains(got.Body, want) {
			t.Errorf("%s: a picture of nothing, in a batch: %d, %s", scope, got.Status, got.Body)
		}
	}
	got := asked("documents", `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"webhooks_list","arguments":{}}},{"jsonrpc":"2.0","id":2,"method":"ping"}]`)
	if got.Status != http.StatusOK || !strings.Contains(got.Body, "Scope webhooks is not granted") || !strings.Contains(got.Body, `"id":2`) {
		t.Errorf("a batch: %d, %s", got.Status, got.Body)
	}
}

// TestTokensAreValidForOneResource: agents', and no other; and not for ever.
func TestTokensAreValidForOneResource(t *testing.T) {
	t.Parallel()
	s := newServer(t, open)
	token := grantOf(t, s, credit.Dollar, "documents")
	header := http.Header{"Authorization": {"Bearer " + token}}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	if got := send(t, s, ping, header); got.Status != http.StatusOK {
		t.Errorf("the MCP endpoint: got %d", got.Status)
	}
	if got := s.Send(t, apitest.Request{Path: "/v1/test/echo", Body: `{"text":"ab"}`, Header: header}); got.Status != http.StatusUnauthorized {
		t.Errorf("the interface takes a token: status %d", got.Status)
	}
	if got := s.Send(t, apitest.Request{Path: api.AgentPath + "?access_token=" + token, Body: ping, Header: http.Header{"Authorization": {}}}); got.Status != http.StatusUnauthorized {
		t.Errorf("a token in the address: status %d", got.Status)
	}
	metadata := `resource_metadata="` + s.URL + `/.well-known/oauth-protected-resource/mcp`
	for name, q := range map[string]struct {
		authorization []string
		invalid       bool
	}{"nobody": {nil, false}, "a guess": {[]string{"Bearer pdf_oat_guess"}, true}, "a wrong key": {[]string{"Bearer pdf_live_guess"}, true}} {
		got := send(t, s, ping, http.Header{"Authorization": q.authorization})
		if challenge := got.Header.Get("WWW-Authenticate"); got.Status != http.StatusUnauthorized || !strings.Contains(challenge, metadata) || strings.Contains(challenge, "invalid_token") != q.invalid {
			t.Errorf("%s: got %d, %q", name, got.Status, challenge)
		}
	}
	// The challenge leads to metadata of the URL with its toolsets, which clients compare.
	selected := s.Send(t, apitest.Request{Path: api.AgentPath + "?toolsets=default,forms", Body: ping, Header: http.Header{"Authorization": nil}})
	if challenge := selected.Header.Get("WWW-Authenticate"); !strings.Contains(challenge, metadata+`?toolsets=default,forms"`) {
		t.Errorf("with toolsets: got %q", challenge)
	}
	if err := s.Store.Suspend(t.Context(), s.Account.ID, "abuse"); err != nil {
		t.Fatal(err)
	}
	if got := send(t, s, ping, header); got.Status != http.StatusForbidden {
		t.Errorf("of a suspended account: got %d", got.Status)
	}
	s.Clock.Advance(store.AccessLife)
	if got := send(t, s, ping, header); got.Status != http.StatusUnauthorized {
		t.Errorf("after its time: got %d", got.Status)
	}
}

// TestGrantsAreCountedSeparately: each has windows of its own.
func TestGrantsAreCountedSeparately(t *testing.T) {
	t.Parallel()
	s := newServer(t, withMCP)
	first, second := grantOf(t, s, credit.Dollar, "documents"), grantOf(t, s, credit.Dollar, "documents")
	for range 5 {
		if r := useAs(t, s, first, "test_echo", `{"text":"ab"}`); r.IsError {
			t.Fatalf("got %+v", r)
		}
	}
	if f := useAs(t, s, first, "test_echo", `{"text":"ab"}`).failure(t); f.Code != "rate_limited" {
		t.Errorf("a sixth at once: %+v", f)
	}
	if r := useAs(t, s, second, "test_echo", `{"text":"ab"}`); r.IsError {
		t.Errorf("another grant: %+v", r)
	}
}
