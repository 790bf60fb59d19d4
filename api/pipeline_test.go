package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/service"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// Ledger entries of a test.echo call.
var (
	held     = []string{"ledger hold wallet -2000", "ledger hold held 2000"}
	settled  = slices.Concat(held, []string{"ledger settle held -2000", "ledger settle revenue 2000"})
	released = slices.Concat(held, []string{"ledger release held -2000", "ledger release wallet 2000"})
)

// expectEffects compares all that calls have left behind.
func expectEffects(t *testing.T, s *apitest.Server, want ...string) {
	t.Helper()
	if got := s.Effects(t); !slices.Equal(got, want) {
		t.Errorf("effects are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// expectBalance compares the balance and the held amount of the account.
func expectBalance(t *testing.T, s *apitest.Server, want credit.Amount) {
	t.Helper()
	if balance, held := s.Balance(t); balance != int64(want) || held != 0 {
		t.Errorf("balance is %d with %d held, want %d with 0", balance, held, want)
	}
}

func TestSuccessIsCharged(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db})
		s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`}).OK(t)
		expectEffects(t, s, append([]string{"call test.echo done charged 2000"}, settled...)...)
		expectBalance(t, s, apitest.Trial-2000)
	})
}

// failing is a server whose test.echo fails with whatever fail holds.
func failing(t *testing.T, db storetest.DB) (s *apitest.Server, fail *atomic.Pointer[error]) {
	t.Helper()
	fail = new(atomic.Pointer[error])
	run := func(context.Context, *apitest.EchoInput) error { return *fail.Load() }
	return apitest.New(t, apitest.Options{DB: &db, Operations: []schema.Definition[*operation.Deps]{apitest.Echo(run)}, Change: quiet}), fail
}

// TestFailedRunsAreReleased: whatever a run fails with, the call is held and
// released, and nothing else happens.
func TestFailedRunsAreReleased(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s, fail := failing(t, db)
		type failure struct {
			err  error
			want wire.Code
		}
		failures := []failure{
			{schema.FieldErrors{{Field: "options.pageRanges", Message: "goes beyond the end"}}, wire.InvalidRequest},
			{&schema.SizeError{Field: "html", Limit: 10 << 20}, wire.PayloadTooLarge},
			{operation.RefuseURL("url", operation.NotAllowed, egress.ErrRefused), wire.URLNotAllowed},
			{&chrome.BusyError{RetryAfter: 3 * time.Second}, wire.RateLimited},
			{&chrome.TimeoutError{Step: "loading", After: time.Second}, wire.RenderFailed},
			{&chrome.LoadError{URL: "https://example.org/secret", Status: 404}, wire.RenderFailed},
			{&chrome.LoadError{URL: "https://example.org/secret", Reason: "net::ERR_NAME_NOT_RESOLVED"}, wire.RenderFailed},
			{fmt.Errorf("print: %w", chrome.ErrCrashed), wire.RenderFailed},
			{&chrome.DocumentCrashError{What: "needed more than 512 MiB of memory"}, wire.RenderFailed},
			{&chrome.LimitError{What: "pages", Max: 2000}, wire.ProcessingFailed},
			{&chrome.SizeError{Width: 1, Height: 99999, MaxSide: 16384, MaxPixels: 1e8}, wire.ProcessingFailed},
			{store.ErrNotFound, wire.NotFound},
			{errors.New("secret: a disk is on fire"), wire.InternalError},
			{context.DeadlineExceeded, wire.InternalError},
		}
		for _, code := range wire.Codes() {
			failures = append(failures, failure{&wire.Error{Code: code, RetryAfter: 7}, code}, failure{&wire.Error{Code: code}, code})
		}
		want := []string{}
		for _, f := range failures {
			fail.Store(&f.err)
			got := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`, Header: http.Header{"Idempotency-Key": {"k"}}})
			refused := got.Refused(t, f.want)
			if strings.Contains(refused.Message, "secret") {
				t.Errorf("%v: the client reads %q", f.err, refused.Message)
			}
			busy := got.Status == http.StatusTooManyRequests || got.Status == http.StatusServiceUnavailable
			if wait, err := strconv.Atoi(got.Header.Get("Retry-After")); busy && (err != nil || wait < 1) {
				t.Errorf("%v: Retry-After is %q, want seconds", f.err, got.Header.Get("Retry-After"))
			}
			if strings.Contains(refused.Message, "net::") {
				t.Errorf("%v: the client reads %q", f.err, refused.Message)
			}
			if h := got.Header; h.Get("x-service-id") != "" || h.Get("x-service-charged-microdollars") != "" || h.Get("Content-Disposition") != "" {
				t.Errorf("%v: the answer has headers of a success: %v", f.err, h)
			}
			want = append(want, "call test.echo failed charged 0 "+string(f.want))
		}
		slices.Sort(want)
		for range failures {
			want = append(want, released...)
		}
		expectEffects(t, s, want...)
		expectBalance(t, s, apitest.Trial)
	})
}

// fullInput is the input of an operation whose engine has no place left.
type fullInput struct{ schema.Common }

// Admit refuses every call.
func (*fullInput) Admit(*operation.Deps) error { return &chrome.BusyError{RetryAfter: 3 * time.Second} }

// TestFullEngineLeavesNothing: a call without a place in the queue is refused before it costs a hold. A repeat needs
// no place, so it continues and finds its first response.
func TestFullEngineLeavesNothing(t *testing.T) {
	t.Parallel()
	full := schema.TypedDefinition[*operation.Deps, fullInput]{
		Info: schema.Info{Name: "test.full", Summary: "Have no place", Price: 2000, Produces: []string{"text/plain"}},
		Run: func(context.Context, *operation.Deps, *fullInput) (schema.Result, error) {
			return schema.Result{JSON: map[string]any{"ok": true}}, nil
		},
	}
	s := apitest.New(t, apitest.Options{Operations: []schema.Definition[*operation.Deps]{full}})
	got := s.Send(t, apitest.Request{Path: "/v1/test/full", Body: `{}`})
	got.Refused(t, wire.RateLimited)
	if wait := got.Header.Get("Retry-After"); wait != "3" {
		t.Errorf("Retry-After is %q, want 3", wait)
	}
	expectEffects(t, s)
	repeat := apitest.Request{Path: "/v1/test/full", Body: `{}`, Header: http.Header{"Idempotency-Key": {"k"}}}
	s.Send(t, repeat).OK(t)
	s.Send(t, repeat).OK(t)
	expectBalance(t, s, apitest.Trial-2000)
}

func TestPanicIsReleased(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		run := func(context.Context, *apitest.EchoInput) error { panic("secret") }
		s := apitest.New(t, apitest.Options{DB: &db, Operations: []schema.Definition[*operation.Deps]{apitest.Echo(run)}})
		got := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`}).Refused(t, wire.InternalError)
		if strings.Contains(got.Message, "secret") {
			t.Errorf("the client reads %q", got.Message)
		}
		expectEffects(t, s, append([]string{"call test.echo failed charged 0 internal_error"}, released...)...)
		expectBalance(t, s, apitest.Trial)
		if log := s.Log.String(); !strings.Contains(log, "panic in test.echo") || !strings.Contains(log, "pipeline_test.go") {
			t.Error("the log has neither the panic nor where it was")
		}
		s.Send(t, apitest.Request{Method: "GET", Path: "/health"}).OK(t)
	})
}

// TestRefusalsLeaveNothing: a call that is refused before the hold leaves no trace.
func TestRefusalsLeaveNothing(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		limit := credit.Amount(1999)
		_, poorKey := s.NewKey(t, store.NewKey{AccountID: s.Account.ID, SpendLimit: &limit})
		poor, err := s.Store.CreateAccount(t.Context(), "poor@example.com", 1999)
		if err != nil {
			t.Fatal(err)
		}
		_, poorSecret := s.NewKey(t, store.NewKey{AccountID: poor.ID})
		account, _, suspended := s.NewAccount(t, "suspended@example.com")
		if err := s.Store.Suspend(t.Context(), account.ID, ""); err != nil {
			t.Fatal(err)
		}
		careful, _, carefulSecret := s.NewAccount(t, "careful@example.com")
		if err := s.Store.SetLimits(t.Context(), store.Author{AccountID: careful.ID}, store.Limits{MaxJob: &limit}); err != nil {
			t.Fatal(err)
		}
		const valid = `{"text":"a"}`
		for name, q := range map[string]struct {
			body   string
			header http.Header
			want   wire.Code
			text   string // of those that the wallet or a limit refuses
		}{
			"a bad body":          {`{"text":1}`, nil, wire.InvalidRequest, ""},
			"a bad header":        {valid, http.Header{"Idempotency-Key": {"a", "b"}}, wire.InvalidRequest, ""},
			"a body too large":    {valid + strings.Repeat(" ", 1<<20), nil, wire.PayloadTooLarge, ""},
			"no key":              {valid, without(), wire.Unauthorized, ""},
			"a suspended account": {valid, bearerOf(suspended), wire.AccountSuspended, ""},
			"an empty wallet":     {valid, bearerOf(poorSecret), wire.PaymentRequired, "Insufficient balance: this call costs $0.002 and the wallet has $0.001999. Add funds and retry."},
			"a key's limit": {valid, bearerOf(poorKey), wire.PaymentRequired,
				"This call costs $0.002, but keySpendLimit allows $0.001999, of which $0.00 is spent or held; it holds for the lifetime of the key."},
			"a job's limit": {valid, bearerOf(carefulSecret), wire.PaymentRequired, "This call costs $0.002, but maxJobMicrodollars allows $0.001999 for one call."},
			"a cap": {valid, http.Header{"X-Service-Max-Charge-Microdollars": {"1999"}}, wire.PaymentRequired,
				"This call costs $0.002, but X-Service-Max-Charge-Microdollars allows $0.001999 for one call."},
		} {
			header := q.header.Clone()
			if header == nil {
				header = http.Header{}
			}
			if header["Idempotency-Key"] == nil {
				header.Set("Idempotency-Key", "k")
			}
			got := s.Send(t, apitest.Request{Path: echo, Body: q.body, Header: header}).Refused(t, q.want)
			if q.want != wire.PaymentRequired {
				continue
			}
			d := got.Details[0]
			if d.QuotedMicrodollars == nil || *d.QuotedMicrodollars != 2000 || d.LimitMicrodollars == nil || *d.LimitMicrodollars != 1999 {
				t.Errorf("%s: details %+v, want quote 2000 and limit 1999", name, got.Details)
			}
			if got.Message != q.text {
				t.Errorf("%s: got %q, want %q", name, got.Message, q.text)
			}
		}
		expectEffects(t, s)
		expectBalance(t, s, apitest.Trial)
	})
}

func TestAccountLimits(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		service := s.Client()
		call := func() error {
			result, err := service.Do(t.Context(), "test.echo", apitest.EchoInput{Text: "a"}, client.CallOptions{})
			if err != nil {
				return err
			}
			return result.Body.Close()
		}
		refusedBy := func(limit string) {
			t.Helper()
			var e *wire.Error
			if err := call(); !errors.As(err, &e) || e.Code != wire.PaymentRequired || e.Details[0].Field != limit {
				t.Errorf("got %v, want payment_required by %s", err, limit)
			}
		}
		nullable := func(limit *credit.Amount) client.Nullable[int64] {
			if limit == nil {
				return client.Null[int64]()
			}
			return client.Set(int64(*limit))
		}
		set := func(job, day *credit.Amount) {
			t.Helper()
			got, err := service.Billing().LimitsUpdate(t.Context(), client.BillingLimitsUpdateInput{
				MaxJobMicrodollars: nullable(job), MaxDayMicrodollars: nullable(day),
			})
			if err != nil {
				t.Fatal(err)
			}
			read, err := service.Billing().LimitsGet(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			a, b := asJSON(t, got), asJSON(t, read)
			if want := asJSON(t, wire.Limits{MaxJobMicrodollars: (*int64)(job), MaxDayMicrodollars: (*int64)(day)}); a != want || b != want {
				t.Errorf("set %s, read %s, want %s", a, b, want)
			}
		}
		low, enough, two := credit.Amount(1999), credit.Amount(2000), credit.Amount(4000)
		set(&low, nil)
		refusedBy("maxJobMicrodollars")
		set(&enough, &two)
		for range 2 {
			if err := call(); err != nil {
				t.Fatal(err)
			}
		}
		refusedBy("maxDayMicrodollars")
		s.Clock.Advance(12 * time.Hour) // midnight UTC
		if err := call(); err != nil {
			t.Errorf("on the next day: %v", err)
		}
		set(nil, nil)
		expectBalance(t, s, apitest.Trial-6000)
	})
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestLimitsPatch(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	patch := func(body string) apitest.Response {
		return s.Send(t, apitest.Request{Method: http.MethodPatch, Path: "/v1/billing/limits", Body: body})
	}
	for _, q := range []struct{ body, want string }{
		{`{"maxJobMicrodollars":5}`, `{"maxJobMicrodollars":5,"maxDayMicrodollars":null}`},
		{`{"maxDayMicrodollars":7}`, `{"maxJobMicrodollars":5,"maxDayMicrodollars":7}`},
		{`{}`, `{"maxJobMicrodollars":5,"maxDayMicrodollars":7}`},
		{`[]`, `{"maxJobMicrodollars":5,"maxDayMicrodollars":7}`},
		{`{"maxJobMicrodollars":null}`, `{"maxJobMicrodollars":null,"maxDayMicrodollars":7}`},
		{`{"maxJobMicrodollars":0}`, `{"maxJobMicrodollars":0,"maxDayMicrodollars":7}`},
	} {
		if got := strings.TrimSpace(patch(q.body).OK(t).Body); got != q.want {
			t.Errorf("PATCH %s: got %s, want %s", q.body, got, q.want)
		}
	}
	got := patch(`{"maxJobMicrodollars":-1,"maxDayMicrodollars":"5","maxWeekMicrodollars":1}`).Refused(t, wire.InvalidRequest)
	if len(got.Details) != 3 {
		t.Errorf("details are %v, want one for each of three fields", got.Details)
	}
	patch(`{"maxJobMicrodollars":1e18}`).Refused(t, wire.InvalidRequest)
	patch(`{"maxJobMicrodollars":1000000000000001}`).Refused(t, wire.InvalidRequest)
	patch(`{"maxJobMicrodollars":1.5}`).Refused(t, wire.InvalidRequest)
	patch(`5`).Refused(t, wire.InvalidRequest)
	plain := apitest.Request{Method: http.MethodPatch, Path: "/v1/billing/limits", Body: `{}`, Header: http.Header{"Content-Type": {"text/plain"}}}
	s.Send(t, plain).Refused(t, wire.InvalidRequest)
}

// TestLimitsPatchedAtOnce: changes of the two limits do not undo each other.
func TestLimitsPatchedAtOnce(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		patch := func(body string) {
			s.Send(t, apitest.Request{Method: http.MethodPatch, Path: "/v1/billing/limits", Body: body}).OK(t)
		}
		for range 20 {
			patch(`{"maxJobMicrodollars":null,"maxDayMicrodollars":null}`)
			var both sync.WaitGroup
			both.Go(func() { patch(`{"maxJobMicrodollars":5}`) })
			both.Go(func() { patch(`{"maxDayMicrodollars":7}`) })
			both.Wait()
			limits, err := s.Client().Billing().LimitsGet(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got, want := asJSON(t, limits), `{"maxJobMicrodollars":5,"maxDayMicrodollars":7}`; got != want {
				t.Fatalf("the limits are %s, want %s", got, want)
			}
		}
	})
}

func TestUsage(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		for _, path := range []string{echo, echo, "/v1/test/json"} {
			s.Send(t, apitest.Request{Path: path, Body: map[bool]string{true: `{"text":"a"}`, false: `{}`}[path == echo]}).OK(t)
		}
		s.Send(t, apitest.Request{Path: echo, Body: `{}`}).Refused(t, wire.InvalidRequest)
		s.Clock.Advance(24 * time.Hour)
		s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`}).OK(t)
		get := func(query string) string {
			return strings.TrimSpace(s.Send(t, apitest.Request{Method: "GET", Path: "/v1/billing/usage" + query}).OK(t).Body)
		}
		want := `{"currency":"usd","balanceMicrodollars":4993500,"heldMicrodollars":0,"from":"2026-02-09T00:00:00Z","to":"2026-03-12T00:00:00Z",` +
			`"totalMicrodollars":6500,"operations":[{"operation":"test.echo","count":3,"microdollars":6000},{"operation":"test.json","count":1,"microdollars":500}],` +
			`"keys":[{"keyId":"` + s.Key.ID + `","count":4,"failed":0,"microdollars":6500}],"templates":[],` +
			`"days":[{"date":"2026-03-10","count":3,"microdollars":4500},{"date":"2026-03-11","count":1,"microdollars":2000}]}`
		if got := get(""); got != want {
			t.Errorf("usage is\n%s\nwant\n%s", got, want)
		}
		want = `{"currency":"usd","balanceMicrodollars":4993500,"heldMicrodollars":0,"from":"2026-03-01T00:00:00Z","to":"2026-03-03T00:00:00Z",` +
			`"totalMicrodollars":0,"operations":[],"keys":[],"templates":[],"days":[]}`
		if got := get("?from=2026-03-01&to=2026-03-02T10:00:00Z"); got != want {
			t.Errorf("usage of an empty span is\n%s\nwant\n%s", got, want)
		}
		for query, fields := range map[string]int{"?from=x&to=y": 2, "?from=2026-03-02&to=2026-03-01": 1, "?from=2024-01-01": 1} {
			got := s.Send(t, apitest.Request{Method: "GET", Path: "/v1/billing/usage" + query}).Refused(t, wire.InvalidRequest)
			if len(got.Details) != fields {
				t.Errorf("%s: details are %v, want %d", query, got.Details, fields)
			}
		}
	})
}

func TestBillingOff(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: func(cfg *apitest.Settings) { cfg.NoBilling = true }})
		poor, err := s.Store.CreateAccount(t.Context(), "poor@example.com", 0)
		if err != nil {
			t.Fatal(err)
		}
		_, secret := s.NewKey(t, store.NewKey{AccountID: poor.ID})
		got := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`, Header: bearerOf(secret)}).OK(t)
		if charged := got.Header.Get("x-service-charged-microdollars"); charged != "2000" {
			t.Errorf("charged is %q, want the price, 2000", charged)
		}
		expectEffects(t, s, "call test.echo done charged 2000")
		usage := s.Send(t, apitest.Request{Method: "GET", Path: "/v1/billing/usage", Header: bearerOf(secret)}).OK(t)
		if !strings.Contains(usage.Body, `"balanceMicrodollars":0,`) || !strings.Contains(usage.Body, `"totalMicrodollars":2000,`) {
			t.Errorf("usage is %s, want a balance of 0 and a total of 2000", usage.Body)
		}
	})
}

func TestPriceOverride(t *testing.T) {
	t.Parallel()
	override := map[string]credit.Amount{"test.echo": 3}
	s := apitest.New(t, apitest.Options{Change: func(cfg *apitest.Settings) { cfg.Prices = override }})
	if got := echoOnce(t, s, s.Secret).OK(t).Header.Get("x-service-charged-microdollars"); got != "3" {
		t.Errorf("charged is %s, want 3", got)
	}
	list, err := s.Client().Billing().PricesGet(t.Context())
	if err != nil || list.Prices[0].Microdollars != 3 {
		t.Errorf("the price list has %+v (%v), want 3 for test.echo", list, err)
	}
	expectBalance(t, s, apitest.Trial-3)

	for want, prices := range map[string]map[string]credit.Amount{`"test.other", which is not an operation`: {"test.other": 3}, "negative": {"test.echo": -1}} {
		config := service.Config{Store: s.Store, Box: s.API.Box, Outbound: s.API.Outbound, Prices: prices, Operations: s.Operations}
		if _, err := service.New(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("prices of %v: %v, want %q", prices, err, want)
		}
	}
}

// TestClientThatLeavesIsLogged: the callback reports that the connection was closed, and not an internal error.
func TestClientThatLeavesIsLogged(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	run := func(ctx context.Context, _ *apitest.EchoInput) error {
		leave()
		<-ctx.Done()
		return ctx.Err()
	}
	s := apitest.New(t, apitest.Options{Operations: []schema.Definition[*operation.Deps]{apitest.Echo(run)}, Change: quiet})
	receiver := apitest.NewReceiver(t, nil)
	s.Deliver(t)
	_, err := s.Client().Do(ctx, "test.echo", map[string]any{"text": "a", "callbackUrl": receiver.URL}, client.CallOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want that the context was cancelled", err)
	}
	var status wire.JobStatus
	got := receiver.Next(t)
	if err := json.Unmarshal(got.Body, &status); err != nil || status.Error == nil || !strings.Contains(status.Error.Message, "The client closed the connection before the call finished") {
		t.Errorf("the callback is %s (%v)", got.Body, err)
	}
}

// TestClientThatLeavesWhileItRuns: the run is cut off and nothing is charged.
func TestClientThatLeavesWhileItRuns(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		ctx, leave := context.WithCancel(t.Context())
		run := func(ctx context.Context, _ *apitest.EchoInput) error {
			leave()
			<-ctx.Done()
			return ctx.Err()
		}
		s := apitest.New(t, apitest.Options{DB: &db, Operations: []schema.Definition[*operation.Deps]{apitest.Echo(run)}})
		_, err := s.Client().Do(ctx, "test.echo", apitest.EchoInput{Text: "a"}, client.CallOptions{})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want that the context was cancelled", err)
		}
		waitForCalls(t, s)
		expectEffects(t, s, append([]string{"call test.echo failed charged 0 canceled"}, released...)...)
		expectBalance(t, s, apitest.Trial)
		if log := s.Log.String(); strings.Contains(log, `"level":"ERROR"`) {
			t.Errorf("a client that left is logged as our error: %s", log)
		}
	})
}

// waitForCalls waits until no call, and nothing that one began, is under way.
func waitForCalls(t *testing.T, s *apitest.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	s.API.Calls.Wait(ctx)
	if ctx.Err() != nil {
		t.Fatal("calls are still under way after five minutes")
	}
}

// TestClientThatLeavesBeforeTheHold: no hold stays behind.
func TestClientThatLeavesBeforeTheHold(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		ctx, leave := context.WithCancel(t.Context())
		run := func(ctx context.Context, _ *apitest.EchoInput) error {
			<-ctx.Done()
			return ctx.Err()
		}
		s := apitest.New(t, apitest.Options{DB: &db, Operations: []schema.Definition[*operation.Deps]{apitest.Echo(run)}, Change: func(cfg *apitest.Settings) {
			cfg.AfterStep = func(step string) {
				if step == "quote" {
					leave()
				}
			}
		}})
		if _, err := s.Client().Do(ctx, "test.echo", apitest.EchoInput{Text: "a"}, client.CallOptions{}); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want that the context was cancelled", err)
		}
		waitForCalls(t, s)
		expectEffects(t, s, append([]string{"call test.echo failed charged 0 canceled"}, released...)...)
		expectBalance(t, s, apitest.Trial)
	})
}

// TestUndeliveredResultIsStored breaks the connection in the middle of a result
// that is larger than what the network holds back: it was paid for, so it waits
// a day for its owner.
func TestUndeliveredResultIsStored(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		const size = 40_000_000
		answered := make(chan struct{})
		s := apitest.New(t, apitest.Options{DB: &db, Change: func(cfg *apitest.Settings) {
			cfg.AfterStep = func(step string) {
				if step == "answered" {
					close(answered)
				}
			}
		}})
		id := breakOff(t, s, fmt.Sprintf(`{"text":%q,"count":%d}`, strings.Repeat("x", 100), size/100))
		select {
		case <-answered:
		case <-time.After(5 * time.Minute):
			t.Fatal("the answer did not end within five minutes")
		}
		expectEffects(t, s, slices.Concat([]string{"call test.echo done charged 2000"}, settled,
			[]string{fmt.Sprintf("file echo.txt %d", size), fmt.Sprintf("blob %d", size)})...)
		result, err := s.Client().Files().Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		defer result.Body.Close()
		if n, err := io.Copy(io.Discard, result.Body); n != size || err != nil {
			t.Errorf("downloaded %d bytes (%v), want %d", n, err, size)
		}
		s.Clock.Advance(24 * time.Hour)
		_, err = s.Client().Files().Get(t.Context(), id)
		var e *wire.Error
		if !errors.As(err, &e) || e.Code != wire.NotFound {
			t.Errorf("after 24 hours: %v, want not_found", err)
		}
	})
}

// breakOff calls test.echo, reads the head of the response and closes the connection. It returns the id of the
// result.
func breakOff(t *testing.T, s *apitest.Server, body string) string {
	t.Helper()
	dialer := &net.Dialer{Timeout: 5 * time.Minute}
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+echo, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Secret)
	r.Header.Set("Content-Type", "application/json")
	if err := r.Write(conn); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("got %v (%v), want the head of a success", response, err)
	}
	return response.Header.Get("x-service-id")
}

// TestReadDeadlineEndsWithTheBody: the time that a body may take must not cut
// off a call that takes longer.
func TestReadDeadlineEndsWithTheBody(t *testing.T) {
	t.Parallel()
	line := &deadlines{ResponseWriter: discard{}}
	var during time.Time
	run := func(context.Context, *apitest.EchoInput) error {
		during = line.last
		return nil
	}
	s := apitest.New(t, apitest.Options{Operations: []schema.Definition[*operation.Deps]{apitest.Echo(run)}})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, echo, io.NopCloser(strings.NewReader(`{"text":"a"}`)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Secret)
	r.Header.Set("Content-Type", "application/json")
	s.Handler.ServeHTTP(line, r)
	if line.set < 2 || !during.IsZero() {
		t.Errorf("%d deadlines were set, the one during the run is %v; want 2 or more, and none", line.set, during)
	}
}

// deadlines records the read deadlines of a connection.
type deadlines struct {
	http.ResponseWriter
	set  int
	last time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set++
	d.last = at
	return nil
}

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

// TestRefusedAddressesWithOtherErrors lists addresses with all else that is wrong.
func TestRefusedAddressesWithOtherErrors(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	for body, want := range map[string]struct {
		code   wire.Code
		fields string
	}{
		`{"url":"http://10.0.0.1/","callbackUrl":"https://10.0.0.2/","options":{"scale":9},"lable":1}`: {wire.InvalidRequest, "[callbackUrl lable options.scale url]"},
		`{"url":"http://10.0.0.1/","callbackUrl":"https://10.0.0.2/"}`:                                 {wire.URLNotAllowed, "[callbackUrl url]"},
		`{"url":"http://10.0.0.1/"}`:                                    {wire.URLNotAllowed, "[url]"},
		`{"html":"a","callbackUrl":"http://example.com/"}`:              {wire.URLNotAllowed, "[callbackUrl]"},
		`{"html":"a","callbackUrl":"http://example.com/","filename":1}`: {wire.InvalidRequest, "[callbackUrl filename]"},
	} {
		var fields []string
		for _, detail := range s.Send(t, apitest.Request{Path: "/v1/pdf", Body: body}).Refused(t, want.code).Details {
			fields = append(fields, detail.Field)
		}
		slices.Sort(fields)
		if fmt.Sprint(fields) != want.fields {
			t.Errorf("%s: the details are of %v, want %s", body, fields, want.fields)
		}
	}
	answer := s.Send(t, apitest.Request{Path: "/v1/pdf?a=1", Body: `{"html":"a","callbackUrl":"http://example.com/"}`}).Refused(t, wire.InvalidRequest)
	if len(answer.Details) != 2 {
		t.Errorf("beside a parameter: the details are %v", answer.Details)
	}
}

// TestFaultsBeyondAHundredAreCounted sends more faults than are listed.
func TestFaultsBeyondAHundredAreCounted(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	var body strings.Builder
	body.WriteString(`{"text":"a"`)
	for i := range 250 {
		fmt.Fprintf(&body, `,"unknown%d":1`, i)
	}
	got := s.Send(t, apitest.Request{Path: echo, Body: body.String() + "}"}).Refused(t, wire.InvalidRequest)
	if last := got.Details[len(got.Details)-1].Message; len(got.Details) != 101 || last != "has 150 more validation errors after the first 100" {
		t.Errorf("%d details, the last is %q", len(got.Details), last)
	}
	if !strings.Contains(got.Message, "(and 247 more)") {
		t.Errorf("the message is %q", got.Message)
	}
}
