package api_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/ratelimit"
	"github.com/relaypdf/relaypdf/store"
)

// echoOnce calls test.echo with a key.
func echoOnce(t *testing.T, s *apitest.Server, secret string) apitest.Response {
	t.Helper()
	return s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`, Header: bearerOf(secret)})
}

// retryAfter checks that a response is a refusal by a rate limit and returns its Retry-After, which must be a whole
// number.
func retryAfter(t *testing.T, got apitest.Response) time.Duration {
	t.Helper()
	got.Refused(t, wire.RateLimited)
	n, err := strconv.Atoi(got.Header.Get("Retry-After"))
	if err != nil || n < 1 {
		t.Fatalf("Retry-After is %q, want a positive integer", got.Header.Get("Retry-After"))
	}
	return time.Duration(n) * time.Second
}

// names checks that a refusal names its window, its usage and the time of the next call.
func names(t *testing.T, got apitest.Response, window, text, retry string) {
	t.Helper()
	var body struct{ Error wire.Error }
	if err := json.Unmarshal([]byte(got.Body), &body); err != nil {
		t.Fatal(err)
	}
	if d := body.Error.Details; len(d) != 1 || d[0].Field != window || d[0].Message != text {
		t.Errorf("the refusal is %s, want %s %s", got.Body, window, text)
	}
	if want := "Rate limit " + strconv.Quote(window) + " exceeded: " + strings.TrimPrefix(text, "allows ") + ". Retry in " + retry + "."; body.Error.Message != want {
		t.Errorf("got %q, want %q", body.Error.Message, want)
	}
}

// waitOut shows that a Retry-After is right: one second less does not do, and
// all of it does.
func waitOut(t *testing.T, s *apitest.Server, wait time.Duration, call func() apitest.Response) {
	t.Helper()
	s.Clock.Advance(wait - time.Second)
	if left := retryAfter(t, call()); left != time.Second {
		t.Errorf("one second before the end, Retry-After is %v", left)
	}
	s.Clock.Advance(time.Second)
	call().OK(t)
}

func TestBurstLimit(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	_, other := s.NewKey(t, store.NewKey{AccountID: s.Account.ID})
	call := func() apitest.Response { return echoOnce(t, s, s.Secret) }
	for range 5 {
		call().OK(t)
		s.Clock.Advance(700 * time.Millisecond)
	}
	// The first of the five was 3.5 s ago: 6.5 s are left, reported as 7.
	wait := retryAfter(t, call())
	if wait != 7*time.Second {
		t.Errorf("Retry-After is %v, want 7s", wait)
	}
	echoOnce(t, s, other).OK(t) // limits are per key
	waitOut(t, s, wait, call)
}

func TestUnknownPostsCountToo(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for range 5 {
		s.Send(t, apitest.Request{Path: "/v1/unknown"}).Refused(t, wire.NotFound)
	}
	retryAfter(t, s.Send(t, apitest.Request{Path: "/v1/unknown"}))
	retryAfter(t, echoOnce(t, s, s.Secret))
	s.Send(t, apitest.Request{Method: "GET", Path: "/v1/account"}).OK(t) // only POSTs are limited
}

func TestMinuteLimitOfTrialWallets(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	call := func() apitest.Response { return echoOnce(t, s, s.Secret) }
	for range 4 {
		for range 5 {
			call().OK(t)
		}
		s.Clock.Advance(10 * time.Second)
	}
	// The burst window is empty, the minute is full until the first five leave.
	wait := retryAfter(t, call())
	if wait != 20*time.Second {
		t.Errorf("Retry-After is %v, want 20s", wait)
	}
	// A refused call counts in neither window, or it would delay later calls.
	for range 10 {
		retryAfter(t, call())
	}
	waitOut(t, s, wait, call)
	for range 4 {
		call().OK(t)
	}
	retryAfter(t, call())
}

func TestMinuteLimitOfFundedWallets(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	if err := s.Store.Credit(t.Context(), s.Account.ID, 1, "test"); err != nil {
		t.Fatal(err)
	}
	// Six bursts are 30 calls in a minute, more than a trial wallet may make.
	for range 6 {
		for range 5 {
			echoOnce(t, s, s.Secret).OK(t)
		}
		s.Clock.Advance(10 * time.Second)
	}
	got := echoOnce(t, s, s.Secret).OK(t).Header.Values("RateLimit-Policy")
	if want := `"burst";q=5;w=10, "minute";q=60;w=60`; strings.Join(got, "|") != want {
		t.Errorf("RateLimit-Policy is %s, want %s", got, want)
	}
}

func TestRateLimitHeaders(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	check := func(got apitest.Response, want string) {
		t.Helper()
		if fields := strings.Join(got.Header.Values("RateLimit"), "|"); fields != want {
			t.Errorf("RateLimit is %s, want %s", fields, want)
		}
	}
	check(echoOnce(t, s, s.Secret).OK(t), `"burst";r=4;t=10, "minute";r=19;t=60`)
	s.Clock.Advance(2500 * time.Millisecond)
	check(echoOnce(t, s, s.Secret).OK(t), `"burst";r=3;t=8, "minute";r=18;t=58`)
	for range 3 {
		echoOnce(t, s, s.Secret).OK(t)
	}
	refused := echoOnce(t, s, s.Secret)
	if wait := retryAfter(t, refused); wait != 8*time.Second {
		t.Errorf("Retry-After is %v, want 8s", wait)
	}
	check(refused, `"burst";r=0;t=8, "minute";r=15;t=58`)
	names(t, refused, "burst", "allows 5 requests per 10 seconds", "8 seconds")
	for range 3 {
		s.Clock.Advance(10 * time.Second)
		for range 5 {
			echoOnce(t, s, s.Secret).OK(t)
		}
	}
	// Both windows are full, and the minute is so for longer.
	refused = echoOnce(t, s, s.Secret)
	check(refused, `"minute";r=0;t=28, "burst";r=0;t=10`)
	names(t, refused, "minute", "allows 20 requests per 60 seconds", "28 seconds")
}

func TestRegionsCountSeparately(t *testing.T) {
	t.Parallel()
	limiter := ratelimit.NewMemory(apitest.Start)
	s := apitest.New(t, apitest.Options{Change: func(cfg *apitest.Settings) { cfg.Limiter, cfg.Region = limiter, "fra" }})
	for range 5 {
		echoOnce(t, s, s.Secret).OK(t)
	}
	retryAfter(t, echoOnce(t, s, s.Secret))
	verdict, err := limiter.Peek(t.Context(), "rl:fra:key:"+s.Key.ID, ratelimit.Window{Name: "burst", Limit: 5, Length: 10 * time.Second})
	if err != nil || verdict.Allowed {
		t.Errorf("the counter rl:fra:key:{id} allows %v (%v), want false", verdict.Allowed, err)
	}
	verdict, err = limiter.Peek(t.Context(), "rl:ams:key:"+s.Key.ID, ratelimit.Window{Name: "burst", Limit: 5, Length: 10 * time.Second})
	if err != nil || !verdict.Allowed {
		t.Errorf("the counter of another region allows %v (%v), want true", verdict.Allowed, err)
	}
}

func TestDownloadLimit(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	id := stored(t, s, `{"text":"a","response":"url"}`)
	get := func(from string) apitest.Response {
		return s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + id, Header: without(), From: from})
	}
	for range 60 {
		get("198.51.100.7:1000").OK(t)
	}
	refused := get("198.51.100.7:2000")
	wait := retryAfter(t, refused)
	if wait != time.Minute {
		t.Errorf("Retry-After is %v, want 1m", wait)
	}
	names(t, refused, "minute", "allows 60 requests per 60 seconds", "60 seconds")
	get("198.51.100.8:1000").OK(t)
	waitOut(t, s, wait, func() apitest.Response { return get("198.51.100.7:1000") })
}

func TestFailedAuthenticationLimit(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	account := func(secret, from string, header http.Header) apitest.Response {
		h := bearerOf(secret)
		for name, values := range header {
			h[name] = values
		}
		return s.Send(t, apitest.Request{Method: "GET", Path: "/v1/account", Header: h, From: from})
	}
	const home = "[2001:db8:1:2::1]:1000"
	suspended, _, suspendedSecret := s.NewAccount(t, "suspended@example.com")
	if err := s.Store.Suspend(t.Context(), suspended.ID, ""); err != nil {
		t.Fatal(err)
	}
	for range 50 { // with those below, fewer than the reads of a minute
		// Neither a success counts nor a key that was right.
		account(s.Secret, home, nil).OK(t)
		account(suspendedSecret, home, nil).Refused(t, wire.AccountSuspended)
	}
	for i := range 60 {
		// Every address of a customer's network counts as one, and addresses that a client claims are ignored.
		from := "[2001:db8:1:2::" + strconv.Itoa(i+1) + "]:1000"
		spoofed := http.Header{"X-Forwarded-For": {"203.0.113." + strconv.Itoa(i)}, "Forwarded": {"for=203.0.113.1"}}
		account("pdf_live_wrong", from, spoofed).Refused(t, wire.Unauthorized)
	}
	wait := retryAfter(t, account("pdf_live_wrong", home, nil))
	account(s.Secret, home, nil).OK(t) // a caller with the right key is not locked out by another that guesses
	account(suspendedSecret, home, nil).Refused(t, wire.AccountSuspended)
	account("pdf_live_wrong", "[2001:db8:1:3::1]:1000", nil).Refused(t, wire.Unauthorized)
	account(s.Secret, "[2001:db8:1:3::1]:1000", nil).OK(t)
	s.Clock.Advance(wait - time.Second)
	retryAfter(t, account("pdf_live_wrong", home, nil))
	s.Clock.Advance(time.Second)
	account("pdf_live_wrong", home, nil).Refused(t, wire.Unauthorized)
}

// TestReadLimits: 120 reads a minute and eight at once, independent of paid calls, for each key.
func TestReadLimits(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	read := func(method, path, secret string) apitest.Response {
		return s.Send(t, apitest.Request{Method: method, Path: path, Header: bearerOf(secret)})
	}
	for i := range 120 {
		got := read("GET", "/v1/account", s.Secret).OK(t)
		if left := got.Header.Get("RateLimit"); !strings.Contains(left, ";r="+strconv.Itoa(119-i)+";") {
			t.Fatalf("RateLimit is %q after %d reads", left, i+1)
		}
	}
	for method, path := range map[string]string{"GET": "/v1/billing/usage", "PATCH": "/v1/billing/limits", "DELETE": "/v1/files/file_none"} {
		if wait := retryAfter(t, read(method, path, s.Secret)); wait != time.Minute {
			t.Errorf("%s: Retry-After is %v, want 1m", method, wait)
		}
	}
	echoOnce(t, s, s.Secret).OK(t)
	_, other := s.NewKey(t, store.NewKey{AccountID: s.Account.ID, Name: "other"})
	read("GET", "/v1/account", other).OK(t)
	s.Clock.Advance(time.Minute)
	read("GET", "/v1/account", s.Secret).OK(t)
}

func TestTrustedIPHeader(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{TrustedIPHeader: "Fly-Client-IP"})
	id := stored(t, s, `{"text":"a","response":"url"}`)
	get := func(from string, trusted ...string) apitest.Response {
		h := http.Header{"Authorization": nil, "Fly-Client-Ip": trusted, "X-Forwarded-For": {"203.0.113.9"}}
		return s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + id, Header: h, From: from})
	}
	for i := range 60 {
		get("198.51.100."+strconv.Itoa(i)+":1", "192.0.2.1").OK(t)
	}
	retryAfter(t, get("198.51.100.1:1", "192.0.2.1"))
	// Proxies append, so the client's own entries come first.
	retryAfter(t, get("198.51.100.1:1", "192.0.2.77, 192.0.2.1"))
	retryAfter(t, get("198.51.100.1:1", "192.0.2.77", "192.0.2.1"))
	retryAfter(t, get("198.51.100.1:1", "::ffff:192.0.2.1"))
	get("198.51.100.1:1", "192.0.2.2").OK(t)
}

func TestNoRateLimits(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	for range 30 {
		got := echoOnce(t, s, s.Secret).OK(t)
		if fields := got.Header.Values("RateLimit"); len(fields) != 0 {
			t.Fatalf("RateLimit is %v, want none", fields)
		}
	}
}

// TestLimiterIsExactUnderLoad asks from many goroutines at once.
func TestLimiterIsExactUnderLoad(t *testing.T) {
	t.Parallel()
	limiter := ratelimit.NewMemory(apitest.Start)
	windows := []ratelimit.Window{{Name: "burst", Limit: 50, Length: 10 * time.Second}, {Name: "minute", Limit: 30, Length: time.Minute}}
	var allowed [2]atomic.Int32
	var wait sync.WaitGroup
	for i := range 200 {
		wait.Go(func() {
			verdict, err := limiter.Take(t.Context(), strconv.Itoa(i%2), windows...)
			if err != nil {
				t.Error(err)
			}
			if verdict.Allowed {
				allowed[i%2].Add(1)
			}
		})
	}
	wait.Wait()
	for key := range allowed {
		if got := allowed[key].Load(); got != 30 {
			t.Errorf("key %d: %d allowed, want 30", key, got)
		}
	}
}

// TestLimitsWithoutTheirRedis has the address of a Redis that is not there.
func TestLimitsWithoutTheirRedis(t *testing.T) {
	t.Parallel()
	limiter, err := ratelimit.NewRedis("unix://"+t.TempDir()+"/none", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = limiter.Close() })
	s := apitest.New(t, apitest.Options{Change: func(cfg *apitest.Settings) { cfg.Limiter = limiter }})
	ready := func() string {
		return s.Send(t, apitest.Request{Method: "GET", Path: "/health/ready", Header: without()}).OK(t).Body
	}
	if got := ready(); !strings.Contains(got, `"limits":"ok"`) {
		t.Errorf("before the first check, readiness is %s", got)
	}
	for range 5 {
		echoOnce(t, s, s.Secret).OK(t)
	}
	retryAfter(t, echoOnce(t, s, s.Secret))
	if got := ready(); !strings.Contains(got, `"limits":"alone"`) {
		t.Errorf("without Redis, readiness is %s", got)
	}
	metrics := httptest.NewRecorder()
	middleware.Private(s.Registry).ServeHTTP(metrics, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if line := "relaypdf_limits_alone_total " + strconv.FormatInt(limiter.Alone(), 10) + "\n"; limiter.Alone() < 6 || !strings.Contains(metrics.Body.String(), line) {
		t.Errorf("%d checks without Redis, and the metrics do not have %q", limiter.Alone(), line)
	}
}

// TestRefusingWindowIsInTheHeaders: a client that guesses keys sees the window that refuses.
func TestRefusingWindowIsInTheHeaders(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	var got apitest.Response
	for range 61 {
		got = s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/account", Header: bearerOf("pdf_live_nobody")})
	}
	retryAfter(t, got)
	if limits := got.Header.Values("RateLimit"); len(limits) != 1 || !strings.HasPrefix(limits[0], `"minute";r=0;t=`) {
		t.Errorf("RateLimit is %q, want the window that refused", limits)
	}
	if policies := got.Header.Values("RateLimit-Policy"); len(policies) != 1 || policies[0] != `"minute";q=60;w=60` {
		t.Errorf("RateLimit-Policy is %q", policies)
	}
}
