package api_test

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"

	_ "github.com/jackc/pgx/v5/stdlib"
)

// logged waits until so many requests of the server's account are in its log, and returns them, the first one first.
func logged(t *testing.T, s *apitest.Server, count int) []store.Request {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
		page, err := s.Store.Requests(t.Context(), store.RequestFilter{AccountID: s.Account.ID, List: store.List{Limit: store.MaxList}})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Items) >= count || time.Now().After(end) {
			slices.Reverse(page.Items)
			return page.Items
		}
	}
}

// TestRequestsOfAnAccountAreLogged sends a request of each kind, refused ones included.
func TestRequestsOfAnAccountAreLogged(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet, Operations: []schema.Definition[*operation.Deps]{apitest.Echo(func(_ context.Context, in *apitest.EchoInput) error {
			if in.Label == "b" {
				return errors.New("broken")
			}
			return nil
		})}})
		expiry := s.Clock.Now().Add(time.Minute)
		expired, expiredSecret := s.NewKey(t, store.NewKey{AccountID: s.Account.ID, ExpiresAt: &expiry})
		revoked, revokedSecret := s.NewKey(t, store.NewKey{AccountID: s.Account.ID})
		nothing := credit.Amount(0)
		poor, poorSecret := s.NewKey(t, store.NewKey{AccountID: s.Account.ID, SpendLimit: &nothing})
		if err := s.Store.RevokeKey(t.Context(), s.Account.ID, revoked.ID); err != nil {
			t.Fatal(err)
		}
		var want []store.Request
		send := func(q apitest.Request, key string, code wire.Code) apitest.Response {
			t.Helper()
			s.Clock.Advance(time.Minute) // so that the log has their order
			got := s.Send(t, q)
			path, _, _ := strings.Cut(q.Path, "?")
			method := q.Method
			if method == "" {
				method = http.MethodPost
			}
			want = append(want, store.Request{RequestID: got.Header.Get("X-Request-Id"), KeyID: key, Method: method, Path: path, Status: got.Status, Code: string(code)})
			if code != "" {
				got.Refused(t, code)
				want[len(want)-1].Body = strings.TrimSpace(got.Body)
			}
			return got
		}
		mine := s.Key.ID
		send(apitest.Request{Path: echo, Body: `{"text":"secret-text"}`, Header: http.Header{"X-Request-Id": {"my-own"}}}, mine, "").OK(t)
		send(apitest.Request{Path: echo, Body: `{"text":5}`}, mine, wire.InvalidRequest)
		send(apitest.Request{Path: echo + "?secret-query=1", Body: `{"text":"a"}`}, mine, wire.InvalidRequest)
		send(apitest.Request{Path: echo, Body: `{"text":"a"}`, Header: bearerOf(expiredSecret)}, expired.ID, wire.Unauthorized)
		send(apitest.Request{Path: echo, Body: `{"text":"a"}`, Header: bearerOf(revokedSecret)}, revoked.ID, wire.Unauthorized)
		send(apitest.Request{Path: echo, Body: `{"text":"a"}`, Header: bearerOf(poorSecret)}, poor.ID, wire.PaymentRequired)
		send(apitest.Request{Path: echo, Body: `{"text":"` + strings.Repeat("x", 2<<20) + `"}`}, mine, wire.PayloadTooLarge)
		send(apitest.Request{Path: "/v1/nothing/%C3%A4", Body: "{}"}, mine, wire.NotFound)
		send(apitest.Request{Method: http.MethodGet, Path: "/v1/account?secret-query=1"}, mine, wire.InvalidRequest)
		send(apitest.Request{Method: http.MethodGet, Path: "/v1/account"}, mine, "").OK(t)
		send(apitest.Request{Path: echo, Body: `{"text":"a","label":"b"}`}, mine, wire.InternalError)
		setSuspended(t, s, true)
		send(apitest.Request{Path: echo, Body: `{"text":"a"}`}, mine, wire.AccountSuspended)
		setSuspended(t, s, false)
		// These have no account.
		s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`, Header: bearerOf("pdf_live_wrong")}).Refused(t, wire.Unauthorized)
		s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/v1/billing/prices"}).OK(t)
		s.Send(t, apitest.Request{Method: http.MethodGet, Path: "/health"}).OK(t)

		got := logged(t, s, len(want))
		if len(got) != len(want) {
			t.Fatalf("%d requests are logged, want %d: %+v", len(got), len(want), got)
		}
		for i, g := range got {
			w := want[i]
			if g.RequestID != w.RequestID || g.KeyID != w.KeyID || g.Method != w.Method || g.Path != w.Path || g.Status != w.Status || g.Code != w.Code || g.Body != w.Body || (g.Message == "") != (w.Code == "") || g.Duration <= 0 {
				t.Errorf("%d: got %+v, want %+v", i, g, w)
			}
			if g.Body == "" && strings.Contains(g.Path+g.Message, "secret-") {
				t.Errorf("%d: the log has the content of the request: %+v", i, g)
			}
		}
		if call, err := s.Store.Call(t.Context(), got[0].CallID); err != nil || call.RequestID != "my-own" || call.Charge == 0 || call.Charge != got[0].Price {
			t.Errorf("the call is %+v, %v; want the price of %+v", call, err, got[0])
		}
		if call, err := s.Store.Call(t.Context(), got[10].CallID); err != nil || call.Status != store.CallFailed {
			t.Errorf("the failed call is %+v, %v", call, err)
		}
	})
}

// TestLimitedRequestsAreLogged: 429 too.
func TestLimitedRequestsAreLogged(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for range 5 {
		echoOnce(t, s, s.Secret).OK(t)
	}
	echoOnce(t, s, s.Secret).Refused(t, wire.RateLimited)
	got := logged(t, s, 6)
	if !slices.ContainsFunc(got, func(r store.Request) bool { return r.Status == http.StatusTooManyRequests && r.Code == "rate_limited" }) {
		t.Errorf("got %+v, want a request with 429", got)
	}
}

// TestCallsDoNotWaitForTheLog locks the table of the log while calls go on.
func TestCallsDoNotWaitForTheLog(t *testing.T) {
	sharedtest.Slow(t)
	if testing.Short() {
		t.Skip("starts PostgreSQL")
	}
	t.Parallel()
	db := storetest.Postgres(t)
	s := apitest.New(t, apitest.Options{DB: &db, Change: func(cfg *apitest.Settings) { cfg.NoRateLimits = true }})
	operator, err := sql.Open("pgx", db.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close()
	tx, err := operator.BeginTx(context.WithoutCancel(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "LOCK TABLE requests IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	const calls = 30
	begin := time.Now()
	for range calls {
		echoOnce(t, s, s.Secret).OK(t)
		<-time.After(50 * time.Millisecond) // The writer is at work meanwhile.
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("%d calls took %v while the log was locked", calls, took)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if got := logged(t, s, calls); len(got) != calls {
		t.Errorf("%d requests are logged after the lock, want %d", len(got), calls)
	}
}
