package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/store"
)

const echo = "/v1/test/echo"

// quiet turns the rate limits off, for tests of something else.
func quiet(cfg *apitest.Settings) { cfg.NoRateLimits = true }

// bearerOf is the header that carries a key.
func bearerOf(secret string) http.Header {
	return http.Header{"Authorization": {"Bearer " + secret}}
}

// without is the header that carries no key.
func without() http.Header { return http.Header{"Authorization": nil} }

func TestAnswerHeaders(t *testing.T) {
	t.Parallel()
	for name, brand := range map[string]string{"branded": "RelayPDF", "unbranded": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{Change: func(cfg *apitest.Settings) { cfg.Brand = brand }})
			for _, q := range []struct{ path, body, size, charged, media, disposition string }{
				{echo, `{"text":"hello"}`, "5", "2000", "text/plain", `attachment; filename="echo.txt"; filename*=UTF-8''echo.txt`},
				{"/v1/test/json", `{}`, "15", "500", "application/json", `attachment; filename="object.json"; filename*=UTF-8''object.json`},
			} {
				h := s.Send(t, apitest.Request{Path: q.path, Body: q.body}).OK(t).Header
				for header, want := range map[string]string{
					"x-service-size": q.size, "x-service-charged-microdollars": q.charged, "Content-Type": q.media,
					"Content-Disposition": q.disposition, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
					"Access-Control-Allow-Origin": "", "Idempotent-Replayed": "",
				} {
					if got := h.Get(header); got != want {
						t.Errorf("%s: %s is %q, want %q", q.path, header, got, want)
					}
				}
				if got := h.Get("x-service-id"); !regexp.MustCompile(`^file_[0-9a-z]{10}loc[0-9a-z]{26}$`).MatchString(got) {
					t.Errorf("%s: x-service-id is %q, want 130 random bits", q.path, got)
				}
				want := []string{"X-Content-Type-Options", "X-Request-Id", "X-Service-Charged-Microdollars", "X-Service-Id", "X-Service-Size"}
				if brand != "" {
					want = append(want, "X-Relaypdf-Charged-Microdollars", "X-Relaypdf-Id", "X-Relaypdf-Size")
				}
				slices.Sort(want)
				if got := headersLike(h, "X-"); !slices.Equal(got, want) {
					t.Errorf("%s: the headers are %v, want %v", q.path, got, want)
				}
				for _, name := range headersLike(h, "X-Relaypdf-") {
					if got, want := h.Get(name), h.Get("X-Service-"+strings.TrimPrefix(name, "X-Relaypdf-")); got != want {
						t.Errorf("%s: %s is %q, want %q", q.path, name, got, want)
					}
				}
			}
		})
	}
}

// headersLike returns the names of headers that start with a prefix, sorted.
func headersLike(h http.Header, prefix string) []string {
	var names []string
	for name := range h {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for name, q := range map[string]struct {
		sent string
		kept bool
	}{
		"none":        {"", false},
		"plain":       {"order-42_a.B", true},
		"longest":     {strings.Repeat("a", 64), true},
		"too long":    {strings.Repeat("a", 65), false},
		"space":       {"a b", false},
		"not ASCII":   {"\u00e4", false},
		"a log trick": {`a"x`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := without()
			if q.sent != "" {
				header.Set("X-Request-Id", q.sent)
			}
			answer := s.Send(t, apitest.Request{Path: echo, Body: "{}", Header: header})
			got := answer.Header.Get("X-Request-Id")
			if q.kept != (got == q.sent) || got == "" {
				t.Errorf("sent %q, got %q back; kept should be %v", q.sent, got, q.kept)
			}
			if inBody := answer.Refused(t, wire.Unauthorized).RequestID; inBody != got {
				t.Errorf("the body has request id %q, the header %q", inBody, got)
			}
			if !strings.Contains(s.Log.String(), `"requestId":"`+got+`"`) {
				t.Errorf("the log does not have request id %q", got)
			}
		})
	}
}

// apiPaths are a path of every route under /v1, and some that have none.
func apiPaths(s *apitest.Server) []api.RouteLine {
	lines := []api.RouteLine{{Method: "GET", Path: "/v1/unknown"}, {Method: "POST", Path: "/v1/unknown"}, {Method: "POST", Path: "/mcp"}}
	for _, route := range s.API.Routes() {
		if strings.HasPrefix(route.Path, "/v1/") {
			route.Path = strings.ReplaceAll(route.Path, "{id}", "file_x")
			lines = append(lines, route)
		}
	}
	return lines
}

func TestKeyInTheAddressIsRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	queries := []string{
		"api_key=x", "key=x", "access_token=x", "token=x", "API_KEY=x", "Token=", "a=pdf_live_abc", "a=pdf_test_abc", "a=1;key=x",
		"api%5Fkey=x", "a=pdf%5Flive_x", "pdf_live_x", "a=%zz&b=pdf_live_x",
	}
	for _, route := range apiPaths(s) {
		for _, query := range queries {
			for name, header := range map[string]http.Header{"with": nil, "without": without()} {
				got := s.Send(t, apitest.Request{Method: route.Method, Path: route.Path + "?" + query, Body: "{}", Header: header})
				if f := got.Refused(t, wire.Unauthorized); !strings.Contains(f.Message, "Send the key in the Authorization header") {
					t.Errorf("%s %s?%s %s a key in the header: message %q", route.Method, route.Path, query, name, f.Message)
				}
			}
		}
	}
	if got := s.Effects(t); len(got) != 0 {
		t.Errorf("refused requests left %v", got)
	}
	s.Send(t, apitest.Request{Method: "GET", Path: "/v1/billing/prices?keyword=x&tokens=1"}).OK(t)
	s.Send(t, apitest.Request{Method: "GET", Path: "/health?key=x"}).OK(t)
}

// TestEveryPostNeedsAKey is generated from the routes: one that is added is in it.
func TestEveryPostNeedsAKey(t *testing.T) {
	t.Parallel()
	s := product(t)
	paths := []string{"/v1/unknown", "/v1/account", "/v1/billing/prices", "/v1/files/x"}
	for _, route := range s.API.Routes() {
		if route.Method == http.MethodPost {
			paths = append(paths, route.Path)
		}
	}
	for i, path := range paths {
		// Each path is asked from an address of its own: failures are counted by address.
		from := fmt.Sprintf("198.51.100.%d:4711", i)
		for name, header := range map[string]http.Header{
			"no key": without(), "an unknown key": bearerOf("pdf_live_unknown"), "no kind of key": bearerOf("x"),
			"another scheme": {"Authorization": {"Basic " + s.Secret}}, "a cookie": {"Authorization": nil, "Cookie": {"session=x"}},
		} {
			got := s.Send(t, apitest.Request{Path: path, Body: "not JSON", Header: header, From: from})
			if got.Refused(t, wire.Unauthorized); got.Status != http.StatusUnauthorized {
				t.Errorf("POST %s with %s: status %d, want 401", path, name, got.Status)
			}
			if got.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("POST %s with %s: no WWW-Authenticate", path, name)
			}
		}
	}
	if got := s.Effects(t); len(got) != 0 {
		t.Errorf("refused requests left %v", got)
	}
}

func TestEveryKeyedRouteNeedsAKey(t *testing.T) {
	t.Parallel()
	s := product(t)
	for i, route := range s.API.Routes() {
		if route.Path == api.AgentPath {
			continue // Package mcp is behind it, and has its own test.
		}
		header := bearerOf("pdf_live_unknown")
		// Each from an address of its own: failures are counted by address.
		got := s.Send(t, apitest.Request{Method: route.Method, Path: route.Path, Header: header, From: fmt.Sprintf("198.51.100.%d:4711", i)})
		if refused := got.Status == http.StatusUnauthorized; refused != (route.Access != "public") {
			t.Errorf("%s %s (%s): status %d", route.Method, route.Path, route.Access, got.Status)
		}
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	for _, q := range []struct {
		method, path, allow string
		want                wire.Code
	}{
		{"POST", "/v1/unknown", "", wire.NotFound},
		{"GET", "/v1/unknown", "", wire.NotFound},
		{"GET", "/v1/files/file_unknown", "", wire.NotFound},
		{"GET", "/v1/jobs/job_unknown", "", wire.NotFound},
		{"POST", "/v1/account", "GET, HEAD", wire.MethodNotAllowed},
		{"PUT", "/v1/billing/limits", "GET, HEAD, PATCH", wire.MethodNotAllowed},
		{"GET", echo, "POST", wire.MethodNotAllowed},
		{"DELETE", "/health", "GET, HEAD, OPTIONS", wire.MethodNotAllowed},
		{"OPTIONS", "/v1/account", "GET, HEAD", wire.MethodNotAllowed},
	} {
		got := s.Send(t, apitest.Request{Method: q.method, Path: q.path})
		got.Refused(t, q.want)
		if allow := got.Header.Get("Allow"); allow != q.allow {
			t.Errorf("%s %s: Allow is %q, want %q", q.method, q.path, allow, q.allow)
		}
		if !strings.Contains(got.Body, q.allow) {
			t.Errorf("%s %s: %s does not name %s", q.method, q.path, got.Body, q.allow)
		}
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	header := http.Header{"Origin": {"https://example.org"}}
	open := map[string]string{} // the paths that have a public route
	for _, route := range s.API.Routes() {
		if route.Access == "public" {
			open[route.Path] = "*"
		}
	}
	for _, route := range s.API.Routes() {
		want := ""
		if route.Access == "public" {
			want = "*"
		}
		got := s.Send(t, apitest.Request{Method: route.Method, Path: route.Path, Header: header}).Header
		if origin := got.Get("Access-Control-Allow-Origin"); origin != want {
			t.Errorf("%s %s: Access-Control-Allow-Origin is %q, want %q", route.Method, route.Path, origin, want)
		}
		if got.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s %s allows credentials", route.Method, route.Path)
		}
		preflight := s.Send(t, apitest.Request{Method: http.MethodOptions, Path: route.Path, Header: header})
		if origin := preflight.Header.Get("Access-Control-Allow-Origin"); origin != open[route.Path] || origin == "*" && preflight.Status != http.StatusNoContent {
			t.Errorf("OPTIONS %s: status %d and Access-Control-Allow-Origin %q, want %q", route.Path, preflight.Status, origin, open[route.Path])
		}
		if methods := preflight.Header.Get("Access-Control-Allow-Methods"); open[route.Path] != "" && methods != "GET, HEAD" {
			t.Errorf("OPTIONS %s allows %s, want GET and HEAD", route.Path, methods)
		}
	}
}

func TestHEADIsGETWithoutABody(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for _, path := range []string{"/health", "/openapi.json", "/v1/billing/prices", "/v1/account", "/v1/jobs", "/v1/files", "/v1/templates", "/v1/webhooks/deliveries"} {
		get := s.Send(t, apitest.Request{Method: http.MethodGet, Path: path}).OK(t)
		got := s.Send(t, apitest.Request{Method: http.MethodHead, Path: path}).OK(t)
		if a, b := got.Header.Get("Content-Length"), get.Header.Get("Content-Length"); a != b {
			t.Errorf("HEAD %s: Content-Length %s, that of GET is %s", path, a, b)
		}
		if got.Body != "" || got.Header.Get("Content-Length") == "" {
			t.Errorf("HEAD %s: body %q, Content-Length %q", path, got.Body, got.Header.Get("Content-Length"))
		}
	}
}

func TestContentTypeIsCheckedOnlyWithABody(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	for _, q := range []struct {
		media, body string
		field       string // of the fault; "-" means a success
	}{
		{"application/json", `{"text":"a"}`, "-"},
		{"application/json; charset=utf-8", `{"text":"a"}`, "-"},
		{"APPLICATION/JSON; charset=UTF-8", `{"text":"a"}`, "-"},
		{"application/vnd.api+json", `{"text":"a"}`, "-"},
		{"application/json; charset=latin1", `{"text":"a"}`, "Content-Type"},
		{"text/plain", `{"text":"a"}`, "Content-Type"},
		{"", `{"text":"a"}`, "Content-Type"},
		{"", "", ""}, // the fault is the missing body
		{"text/plain", "", ""},
	} {
		header := http.Header{"Content-Type": {q.media}}
		if q.media == "" {
			header["Content-Type"] = nil
		}
		got := s.Send(t, apitest.Request{Path: echo, Body: q.body, Header: header})
		if q.field == "-" {
			got.OK(t)
			continue
		}
		details := got.Refused(t, wire.InvalidRequest).Details
		if len(details) != 1 || details[0].Field != q.field {
			t.Errorf("Content-Type %q, body %q: details %v, want one for %q", q.media, q.body, details, q.field)
		}
	}
}

func TestSpendingCap(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	for _, q := range []struct {
		name   string
		header http.Header
		want   wire.Code // empty means a success
	}{
		{"enough", http.Header{"X-Service-Max-Charge-Microdollars": {"2000"}}, ""},
		{"with spaces", http.Header{"X-Service-Max-Charge-Microdollars": {" 2000 "}}, ""},
		{"too low", http.Header{"X-Service-Max-Charge-Microdollars": {"1999"}}, wire.PaymentRequired},
		{"zero", http.Header{"X-Service-Max-Charge-Microdollars": {"0"}}, wire.PaymentRequired},
		{"the brand's", http.Header{"X-RelayPDF-Max-Charge-Microdollars": {"1999"}}, wire.PaymentRequired},
		{"any brand's", http.Header{"X-Some-Other-Max-Charge-Microdollars": {"1999"}}, wire.PaymentRequired},
		{"no brand's", http.Header{"X-Max-Charge-Microdollars": {"1999"}}, wire.PaymentRequired},
		{"twice the same", http.Header{"X-A-Max-Charge-Microdollars": {"2000"}, "X-B-Max-Charge-Microdollars": {"2000"}}, ""},
		{"conflicting names", http.Header{"X-A-Max-Charge-Microdollars": {"9000"}, "X-B-Max-Charge-Microdollars": {"2000"}}, wire.InvalidRequest},
		{"conflicting lines", http.Header{"X-A-Max-Charge-Microdollars": {"2000", "9000"}}, wire.InvalidRequest},
		{"a list", http.Header{"X-A-Max-Charge-Microdollars": {"2000, 2000"}}, wire.InvalidRequest},
		{"negative", http.Header{"X-A-Max-Charge-Microdollars": {"-1"}}, wire.InvalidRequest},
		{"a fraction", http.Header{"X-A-Max-Charge-Microdollars": {"0.002"}}, wire.InvalidRequest},
		{"empty", http.Header{"X-A-Max-Charge-Microdollars": {""}}, wire.InvalidRequest},
		{"huge", http.Header{"X-A-Max-Charge-Microdollars": {"99999999999999999999"}}, wire.InvalidRequest},
	} {
		t.Run(q.name, func(t *testing.T) {
			t.Parallel()
			got := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`, Header: q.header})
			if q.want == "" {
				got.OK(t)
				return
			}
			failure := got.Refused(t, q.want)
			if q.want != wire.PaymentRequired {
				return
			}
			d := failure.Details[0]
			if d.QuotedMicrodollars == nil || *d.QuotedMicrodollars != 2000 || d.LimitMicrodollars == nil || *d.LimitMicrodollars >= 2000 {
				t.Errorf("details are %s, want quote 2000 and the limit", got.Body)
			}
		})
	}
}

func TestBodyOverTheLimit(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: func(cfg *apitest.Settings) { cfg.MaxBody, cfg.NoRateLimits = 1000, true }})
	fill := func(n int) string { return `{"text":"a"}` + strings.Repeat(" ", n-len(`{"text":"a"}`)) }
	s.Send(t, apitest.Request{Path: echo, Body: fill(1000)}).OK(t)
	got := s.Send(t, apitest.Request{Path: echo, Body: fill(1001)}).Refused(t, wire.PayloadTooLarge)
	if want := "The request body must be at most 1000 bytes."; got.Message != want {
		t.Errorf("message %q, want %q", got.Message, want)
	}
	s.Send(t, apitest.Request{Path: echo, Body: fill(1001), Header: without()}).Refused(t, wire.Unauthorized)
	long := `{"maxJobMicrodollars":1}` + strings.Repeat(" ", 65<<10)
	s.Send(t, apitest.Request{Method: http.MethodPatch, Path: "/v1/billing/limits", Body: long}).Refused(t, wire.PayloadTooLarge)
}

func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	got := s.Send(t, apitest.Request{
		Path: echo, Body: `{"text":5,"count":0,"label":"z","lable":1,"response":"x"}`,
		Header: http.Header{"Idempotency-Key": {""}, "X-A-Max-Charge-Microdollars": {"1", "2"}, "X-B-Max-Charge-Microdollars": {"x"}},
	}).Refused(t, wire.InvalidRequest)
	var lines []string
	for _, d := range got.Details {
		lines = append(lines, d.Field+" "+d.Message)
	}
	want := []string{
		"Idempotency-Key must be 1 to 255 printable ASCII characters",
		"X-A-Max-Charge-Microdollars is given with two different values",
		"X-B-Max-Charge-Microdollars must be a whole number of microdollars, 0 or more",
		"count must be between 1 and 10000000; got 0",
		"lable is not a known field; did you mean label?",
		"label must be one of a, b; got \"z\"",
		"response must be one of binary, url, async; got \"x\"",
		"text must be a string of at most 100 characters; got 5",
	}
	slices.Sort(lines)
	slices.Sort(want)
	if !slices.Equal(lines, want) {
		t.Errorf("details are\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

func TestStrictJSON(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	for name, q := range map[string]struct {
		body string
		want wire.Code
	}{
		"null is absent":    {`{"text":"a","count":null,"label":null}`, ""},
		"array for object":  {`[]`, wire.InvalidRequest}, // as {}: text is missing
		"duplicate key":     {`{"text":"a","text":"b"}`, wire.InvalidRequest},
		"trailing data":     {`{"text":"a"} {}`, wire.InvalidRequest},
		"invalid UTF-8":     {"{\"text\":\"\xff\"}", wire.InvalidRequest},
		"lone surrogate":    {`{"text":"\ud800"}`, wire.InvalidRequest},
		"not JSON":          {`text=a`, wire.InvalidRequest},
		"nested too deeply": {`{"text":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `}`, wire.InvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.Send(t, apitest.Request{Path: echo, Body: q.body})
			if q.want == "" {
				got.OK(t)
				return
			}
			got.Refused(t, q.want)
		})
	}
	// PHP spells an empty object so.
	s.Send(t, apitest.Request{Path: "/v1/test/json", Body: "[]"}).OK(t)
}

func TestKeysThatAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	expiry := apitest.Start().Add(time.Hour)
	_, expiring := s.NewKey(t, store.NewKey{AccountID: s.Account.ID, ExpiresAt: &expiry})
	_, narrow := s.NewKey(t, store.NewKey{AccountID: s.Account.ID, Operations: []string{"test.json"}})
	revokedKey, revoked := s.NewKey(t, store.NewKey{AccountID: s.Account.ID})
	suspendedAccount, _, suspended := s.NewAccount(t, "suspended@example.com")
	call := func(secret, path string) apitest.Response {
		return s.Send(t, apitest.Request{Path: path, Body: `{"text":"a"}`, Header: bearerOf(secret)})
	}
	account := func(secret string) apitest.Response {
		return s.Send(t, apitest.Request{Method: "GET", Path: "/v1/account", Header: bearerOf(secret)})
	}

	call(expiring, echo).OK(t)
	s.Clock.Advance(time.Hour)
	call(expiring, echo).Refused(t, wire.Unauthorized)
	account(expiring).Refused(t, wire.Unauthorized)

	call(narrow, echo).Refused(t, wire.Unauthorized)
	s.Send(t, apitest.Request{Path: "/v1/test/json", Body: `{}`, Header: bearerOf(narrow)}).OK(t)
	account(narrow).OK(t)
	for _, route := range s.API.Routes() {
		if route.Access != "full key" {
			continue
		}
		got := s.Send(t, apitest.Request{Method: route.Method, Path: strings.ReplaceAll(route.Path, "{id}", "x"), Body: "{}", Header: bearerOf(narrow)})
		got.Refused(t, wire.Unauthorized)
		if got := s.Send(t, apitest.Request{Method: route.Method, Path: strings.ReplaceAll(route.Path, "{id}", "x"), Body: "{}"}); got.Status == http.StatusUnauthorized {
			t.Errorf("%s %s: a key that may use everything is refused", route.Method, route.Path)
		}
	}

	if err := s.Store.RevokeKey(t.Context(), s.Account.ID, revokedKey.ID); err != nil {
		t.Fatal(err)
	}
	call(revoked, echo).Refused(t, wire.Unauthorized)

	account(suspended).OK(t)
	if err := s.Store.Suspend(t.Context(), suspendedAccount.ID, "test"); err != nil {
		t.Fatal(err)
	}
	call(suspended, echo).Refused(t, wire.AccountSuspended)
	account(suspended).Refused(t, wire.AccountSuspended)
}

func TestAuthorizationIsIgnoredOnPublicPaths(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for _, path := range []string{"/health", "/v1/billing/prices", "/openapi.json"} {
		s.Send(t, apitest.Request{Method: "GET", Path: path, Header: bearerOf("pdf_live_unknown")}).OK(t)
	}
}

func TestAccountAndHealth(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for path, want := range map[string]string{
		"/v1/account":   `{"plan":"free","rateTier":"free","wallet":{"balanceMillicents":5000,"autoReloadEnabled":false}}`,
		"/health/ready": `{"ok":true,"checks":{"database":"ok","disk":"ok","files":"ok"},"queue":{"slots":0,"busy":0,"queued":0},"queues":{}}`,
	} {
		if got := strings.TrimSpace(s.Send(t, apitest.Request{Method: "GET", Path: path}).OK(t).Body); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	var health wire.Health
	answer := s.Send(t, apitest.Request{Method: "GET", Path: "/health", Header: http.Header{"X-Request-Id": {"abc"}}}).OK(t)
	if err := json.Unmarshal([]byte(answer.Body), &health); err != nil {
		t.Fatal(err)
	}
	if want := (wire.Health{OK: true, Service: "relaypdf", Version: "test", RequestID: "abc"}); health != want {
		t.Errorf("health is %+v, want %+v", health, want)
	}
	s.API.Stop()
	got := s.Send(t, apitest.Request{Method: "GET", Path: "/health/ready"})
	if got.Status != http.StatusServiceUnavailable || !strings.Contains(got.Body, `"process":"stopping"`) {
		t.Errorf("ready while stopping: %d %s, want 503 and stopping", got.Status, got.Body)
	}
}

func TestMissingThingsAreNamed(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	for _, q := range []struct{ method, path, want string }{
		{"GET", "/v1/files/file_unknown", "No file with this id. Files expire, after 24 hours by default."},
		{"DELETE", "/v1/files/file_unknown", "No file with this id. Files expire, after 24 hours by default."},
		{"GET", "/v1/jobs/job_unknown", "No job with this id."},
		{"DELETE", "/v1/webhooks/wh_unknown", "No webhook with this id."},
		{"GET", "/v1/webhooks/deliveries/dlv_unknown", "No delivery with this id."},
		{"GET", "/v1/templates/unknown", "No template with this id."},
		{"GET", "/v1/templates/unknown/versions/1", "No template with this id, or it has no such version."},
		{"GET", "/v1/templates/partials/unknown", "No partial with this name."},
		{"GET", "/v1/html-to-pdf", "No endpoint at /v1/html-to-pdf. GET /openapi.json lists all endpoints."},
		{"POST", "/v1/file", "No endpoint at /v1/file. Did you mean /v1/files?"},
	} {
		got := s.Send(t, apitest.Request{Method: q.method, Path: q.path}).Refused(t, wire.NotFound)
		if got.Message != q.want {
			t.Errorf("%s %s: got %q, want %q", q.method, q.path, got.Message, q.want)
		}
	}
}
