package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// withKey sends a request with an idempotency key.
func withKey(t *testing.T, s *apitest.Server, key, path, body string) apitest.Response {
	t.Helper()
	return s.Send(t, apitest.Request{Path: path, Body: body, Header: http.Header{"Idempotency-Key": {key}}})
}

func TestReplay(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		for _, q := range []struct{ path, body, again string }{
			// The same input, spelled in another way, is the same request.
			{echo, `{"text":"a","count":3,"filename":"x+y"}`, ` { "filename":"x+y","count":3, "label":null,"text":"\u0061"}`},
			{echo, `{"text":"a","response":"url"}`, `{"text":"a","response":"url"}`},
			{"/v1/test/json", `{}`, `[]`},
		} {
			key := q.path + q.body
			first := withKey(t, s, key, q.path, q.body).OK(t)
			balance, _ := s.Balance(t)
			effects := s.Effects(t)
			s.Clock.Advance(23 * time.Hour)
			again := withKey(t, s, key, q.path, q.again).OK(t)
			if again.Body != first.Body {
				t.Errorf("%s: the body was %q, its replay is %q", q.body, first.Body, again.Body)
			}
			for _, name := range []string{"Content-Type", "Content-Disposition", "x-service-id", "x-service-size", "x-relaypdf-id", "Content-Length"} {
				if got, want := again.Header.Get(name), first.Header.Get(name); got != want {
					t.Errorf("%s: %s was %q, in the replay it is %q", q.body, name, want, got)
				}
			}
			for name, want := range map[string]string{"Idempotent-Replayed": "true", "x-service-charged-microdollars": "0"} {
				if got := again.Header.Get(name); got != want {
					t.Errorf("%s: %s is %q, want %q", q.body, name, got, want)
				}
			}
			if first.Header.Get("Idempotent-Replayed") != "" {
				t.Errorf("%s: the first answer says that it is a replay", q.body)
			}
			if after, _ := s.Balance(t); after != balance {
				t.Errorf("%s: the replay changed the balance from %d to %d", q.body, balance, after)
			}
			if got := s.Effects(t); !slices.Equal(got, effects) {
				t.Errorf("%s: the replay changed the effects from %v to %v", q.body, effects, got)
			}
		}
	})
}

// TestReplayCostsNothing: what refuses a new call for its price does not refuse the response of an earlier one.
func TestReplayCostsNothing(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		t.Helper()
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		first := withKey(t, s, "k", echo, `{"text":"a"}`).OK(t)
		again := func(why, key, body, maxCharge string) apitest.Response {
			t.Helper()
			h := http.Header{"Idempotency-Key": {key}}
			if maxCharge != "" {
				h.Set("X-Service-Max-Charge-Microdollars", maxCharge)
			}
			got := s.Send(t, apitest.Request{Path: echo, Body: body, Header: h})
			if key == "k" && (got.Status != http.StatusOK || got.Body != first.Body || got.Header.Get("Idempotent-Replayed") != "true") {
				t.Errorf("%s: status %d: %s, want the replay", why, got.Status, got.Body)
			}
			return got
		}
		again("a lower cap", "k", `{"text":"a"}`, "1")
		again("a new key", "new", `{"text":"a"}`, "1").Refused(t, wire.PaymentRequired)
		if d := again("another request", "k2", `{"text":"b"}`, "0").Refused(t, wire.PaymentRequired).Details; len(d) != 1 || d[0].Field != "X-Service-Max-Charge-Microdollars" {
			t.Errorf("the cap is reported as %+v", d)
		}
		none := credit.Amount(0)
		if err := s.Store.SetLimits(t.Context(), store.Author{AccountID: s.Account.ID}, store.Limits{MaxJob: &none, MaxDay: &none}); err != nil {
			t.Fatal(err)
		}
		again("limits of the account", "k", `{"text":"a"}`, "")
		again("both", "k", `{"text":"a"}`, "0")
		again("a new key", "new", `{"text":"a"}`, "").Refused(t, wire.PaymentRequired)
	})
}

func TestIdempotencyKeyOfAnotherRequest(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
		withKey(t, s, "k", echo, `{"text":"a"}`).OK(t)
		effects := s.Effects(t)
		for _, q := range []struct{ path, body string }{
			{echo, `{"text":"b"}`}, {echo, `{"text":"a","response":"url"}`}, {echo, `{"text":"a","filename":"x"}`}, {"/v1/test/json", `{}`},
		} {
			got := withKey(t, s, "k", q.path, q.body).Refused(t, wire.InvalidRequest)
			if len(got.Details) != 1 || got.Details[0].Field != "Idempotency-Key" {
				t.Errorf("%s %s: details are %v, want one for Idempotency-Key", q.path, q.body, got.Details)
			}
		}
		if got := s.Effects(t); !slices.Equal(got, effects) {
			t.Errorf("refused requests changed the effects from %v to %v", effects, got)
		}
		// Another account's keys are its own.
		_, _, secret := s.NewAccount(t, "other@example.com")
		header := bearerOf(secret)
		header.Set("Idempotency-Key", "k")
		got := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"b"}`, Header: header}).OK(t)
		if got.Body != "b" || got.Header.Get("Idempotent-Replayed") != "" {
			t.Errorf("another account got %q, replayed %q", got.Body, got.Header.Get("Idempotent-Replayed"))
		}
		// A day later the key is free.
		s.Clock.Advance(24 * time.Hour)
		if got := withKey(t, s, "k", echo, `{"text":"b"}`).OK(t); got.Body != "b" {
			t.Errorf("after a day, got %q, want a new result", got.Body)
		}
	})
}

func TestFailedCallFreesItsKey(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		s, fail := failing(t, db)
		err := errors.New("a failure")
		fail.Store(&err)
		withKey(t, s, "k", echo, `{"text":"a"}`).Refused(t, wire.InternalError)
		err = nil
		got := withKey(t, s, "k", echo, `{"text":"b"}`).OK(t)
		if got.Header.Get("Idempotent-Replayed") != "" || got.Body != "b" {
			t.Errorf("got %q, replayed %q; want a new result", got.Body, got.Header.Get("Idempotent-Replayed"))
		}
		expectEffects(t, s, slices.Concat(
			[]string{"call test.echo done charged 2000", "call test.echo failed charged 0 internal_error"},
			released, settled, []string{"claim k done", "file echo.txt 1", "blob 1"})...)
		expectBalance(t, s, apitest.Trial-2000)
	})
}

// TestConcurrentDuplicatesRunOnce sends the same request many times at once and
// lets the one that runs go on when all of them are in the pipeline.
func TestConcurrentDuplicatesRunOnce(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		const clients = 8
		var runs, arrived atomic.Int32
		all := make(chan struct{})
		run := func(ctx context.Context, _ *apitest.EchoInput) error {
			runs.Add(1)
			select {
			case <-all:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		s := apitest.New(t, apitest.Options{DB: &db, Operations: []schema.Definition[*operation.Deps]{apitest.Echo(run)}, Change: func(cfg *apitest.Settings) {
			cfg.NoRateLimits = true
			cfg.AfterStep = func(step string) {
				if step == "quote" && arrived.Add(1) == clients {
					close(all)
				}
			}
		}})
		answers := make([]string, clients)
		var wait sync.WaitGroup
		for i := range clients {
			wait.Go(func() {
				got := withKey(t, s, "k", echo, `{"text":"a"}`)
				answers[i] = fmt.Sprintf("%d %s %s %s", got.Status, got.Body, got.Header.Get("x-service-id"), got.Header.Get("Idempotent-Replayed"))
			})
		}
		wait.Wait()
		if got := runs.Load(); got != 1 {
			t.Errorf("%d runs, want 1", got)
		}
		slices.Sort(answers)
		replayed := answers[0] + "true"
		for i, answer := range answers {
			if !strings.HasPrefix(answer, "200 a file_") || i > 0 && answer != replayed {
				t.Errorf("answer %d is %q, want that of the one run", i, answer)
			}
		}
		expectEffects(t, s, slices.Concat([]string{"call test.echo done charged 2000"}, settled, []string{"claim k done", "file echo.txt 1", "blob 1"})...)
		expectBalance(t, s, apitest.Trial-2000)
	})
}

// TestDuplicateOfAFailingCallRuns: who waits for a call that fails runs itself.
func TestDuplicateOfAFailingCallRuns(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		var runs, arrived atomic.Int32
		second := make(chan struct{})
		run := func(ctx context.Context, _ *apitest.EchoInput) error {
			if runs.Add(1) > 1 {
				return nil
			}
			select {
			case <-second:
				return errors.New("the first one fails")
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		s := apitest.New(t, apitest.Options{DB: &db, Operations: []schema.Definition[*operation.Deps]{apitest.Echo(run)}, Change: func(cfg *apitest.Settings) {
			cfg.AfterStep = func(step string) {
				if step == "quote" && arrived.Add(1) == 2 {
					close(second)
				}
			}
		}})
		var statuses [2]int
		var wait sync.WaitGroup
		for i := range statuses {
			wait.Go(func() { statuses[i] = withKey(t, s, "k", echo, `{"text":"a"}`).Status })
		}
		wait.Wait()
		slices.Sort(statuses[:])
		if statuses != [2]int{200, 500} || runs.Load() != 2 {
			t.Errorf("statuses %v after %d runs, want one failure and one success", statuses, runs.Load())
		}
		expectBalance(t, s, apitest.Trial-2000)
	})
}

func TestReplayOfADeletedResult(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	id := withKey(t, s, "k", echo, `{"text":"a"}`).OK(t).Header.Get("x-service-id")
	if err := s.Store.DeleteFile(t.Context(), s.Account.ID, id); err != nil {
		t.Fatal(err)
	}
	withKey(t, s, "k", echo, `{"text":"a"}`).Refused(t, wire.InvalidRequest)
	expectBalance(t, s, apitest.Trial-2000)
}

func TestIdempotencyKeyIsChecked(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	for name, q := range map[string]struct {
		keys []string
		ok   bool
	}{
		"longest": {[]string{strings.Repeat("k", 255)}, true}, "any printable": {[]string{"~ !\"{}"}, true},
		"empty": {[]string{""}, false}, "too long": {[]string{strings.Repeat("k", 256)}, false},
		"not ASCII": {[]string{"ü"}, false}, "a tab": {[]string{"a\tb"}, false}, "two": {[]string{"a", "a"}, false},
	} {
		got := s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`, Header: http.Header{"Idempotency-Key": q.keys}})
		if q.ok {
			got.OK(t)
			continue
		}
		if d := got.Refused(t, wire.InvalidRequest).Details; len(d) != 1 || d[0].Field != "Idempotency-Key" {
			t.Errorf("%s: details are %v, want one for Idempotency-Key", name, d)
		}
	}
}
