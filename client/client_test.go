package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

func TestClientDo(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	service := s.Client()
	input := apitest.EchoInput{Text: "ab", Count: 2}
	input.Filename = "Größe+1"
	options := client.CallOptions{IdempotencyKey: "k"}
	for _, replayed := range []bool{false, true} {
		result, err := service.Do(t.Context(), "test.echo", input, options)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(result.Body)
		if err := errors.Join(err, result.Body.Close()); err != nil {
			t.Fatal(err)
		}
		charged := int64(2000)
		if replayed {
			charged = 0
		}
		if string(body) != "abab" || result.Filename != "Größe+1.txt" || result.ContentType != "text/plain" || result.Size != 4 ||
			result.Charged != charged || result.Replayed != replayed || result.File != nil || !strings.HasPrefix(result.ID, "file_") || result.RequestID == "" {
			t.Errorf("got %q and %+v", body, result)
		}
	}
}

func TestClientURLMode(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	service := s.Client()
	result, err := service.Do(t.Context(), "test.echo", json.RawMessage(`{"text":"ab","response":"url"}`), client.CallOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if result.Body != nil || result.File == nil || result.File.URL != s.URL+"/v1/files/"+result.ID || result.Size != 2 || result.Charged != 2000 {
		t.Fatalf("got %+v, file %+v", result, result.File)
	}
	service.Key = "" // downloads are public
	file, err := service.Files().Get(t.Context(), result.ID)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(file.Body)
	if err := errors.Join(err, file.Body.Close()); err != nil || string(body) != "ab" || file.Filename != "echo.txt" {
		t.Errorf("downloaded %q as %q (%v)", body, file.Filename, err)
	}
}

func TestClientErrors(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	service := s.Client()
	limit := int64(1)
	for name, q := range map[string]struct {
		operation string
		input     any
		options   client.CallOptions
		want      client.Code
		field     string
	}{
		"a bad field":          {"test.echo", map[string]any{"text": 1}, client.CallOptions{}, client.InvalidRequest, "text"},
		"a cap":                {"test.echo", apitest.EchoInput{Text: "a"}, client.CallOptions{MaxCharge: &limit}, client.PaymentRequired, "X-Service-Max-Charge-Microdollars"},
		"an unknown operation": {"test.other", struct{}{}, client.CallOptions{}, client.NotFound, ""},
	} {
		_, err := service.Do(t.Context(), q.operation, q.input, q.options)
		var e *client.Error
		if !errors.As(err, &e) || e.Code != q.want || e.Message == "" || e.RequestID == "" {
			t.Errorf("%s: got %#v, want %s with a message and a request id", name, err, q.want)
			continue
		}
		if q.field != "" && (len(e.Details) != 1 || e.Details[0].Field != q.field) {
			t.Errorf("%s: details are %+v, want one for %s", name, e.Details, q.field)
		}
	}
	var e *client.Error
	for range 3 {
		if _, err := service.Do(t.Context(), "test.echo", struct{}{}, client.CallOptions{}); !errors.As(err, &e) {
			t.Fatalf("got %v, want an *Error", err)
		}
	}
	if e.Code != client.RateLimited || e.RetryAfter != 10 {
		t.Errorf("got %s with Retry-After %d, want rate_limited with 10", e.Code, e.RetryAfter)
	}
	service.Key = ""
	if _, err := service.Account().Get(t.Context()); !errors.As(err, &e) || e.Code != client.Unauthorized {
		t.Errorf("without a key: %v, want unauthorized", err)
	}
	service.BaseURL = "http://127.0.0.1:1"
	var answered *client.Error
	if _, err := service.Service().Health(t.Context()); err == nil || errors.As(err, &answered) {
		t.Errorf("without a server: %v, want an error that is no answer of it", err)
	}
}

func TestClientReads(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	service := s.Client()
	service.BaseURL += "/"
	account, err := service.Account().Get(t.Context())
	if want := (client.AccountSnapshot{Plan: "free", RateTier: "free", Wallet: client.Wallet{BalanceMillicents: 5000}}); err != nil || account != want {
		t.Errorf("account is %+v (%v), want %+v", account, err, want)
	}
	health, err := service.Service().Health(t.Context())
	if err != nil || !health.OK {
		t.Errorf("health is %+v (%v)", health, err)
	}
	prices, err := service.Billing().PricesGet(t.Context())
	if err != nil || len(prices.Prices) != 2 || prices.Prices[1] != (client.Price{Operation: "test.json", Summary: "Answer with an object", Microdollars: 500}) {
		t.Errorf("prices are %+v (%v)", prices, err)
	}
	from := apitest.Start().Add(-48 * time.Hour)
	usage, err := service.Billing().UsageGet(t.Context(), client.BillingUsageGetQuery{From: from.Format(time.RFC3339)})
	if want := from.Truncate(24 * time.Hour); err != nil || !usage.From.Equal(want) {
		t.Errorf("usage starts at %v (%v), want %v", usage.From, err, want)
	}
}

// TestClientRetries plays a service that fails a number of times.
func TestClientRetries(t *testing.T) {
	t.Parallel()
	refuse := func(code client.Code, after string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			w.WriteHeader((&client.Error{Code: code}).Status())
			fmt.Fprintf(w, `{"error":{"code":%q,"message":"no","details":[],"requestId":"r"}}`, code)
		}
	}
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(w, "<h1>Bad gateway</h1>")
	}
	hangUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for name, q := range map[string]struct {
		fail     http.HandlerFunc
		failures int32
		key      string
		retries  int
		calls    int32
		waits    string
		want     client.Code // empty means success, "-" an error without a code of the service
	}{
		"rate limited":                 {refuse(client.RateLimited, "3"), 2, "", 2, 3, "[3s 3s]", ""},
		"rate limited too often":       {refuse(client.RateLimited, "3"), 9, "", 2, 3, "[3s 3s]", client.RateLimited},
		"rate limited for long":        {refuse(client.RateLimited, "61"), 1, "", 2, 1, "[]", client.RateLimited},
		"no retries":                   {refuse(client.RateLimited, "3"), 1, "", -1, 1, "[]", client.RateLimited},
		"two by default":               {refuse(client.RateLimited, "3"), 9, "", 0, 3, "[3s 3s]", client.RateLimited},
		"failed without a key":         {refuse(client.InternalError, ""), 1, "", 2, 1, "[]", client.InternalError},
		"failed with a key":            {refuse(client.InternalError, ""), 2, "k", 3, 3, "[1s 2s]", ""},
		"unavailable with a key":       {refuse(client.StorageUnavailable, "5"), 1, "k", 3, 2, "[5s]", ""},
		"a proxy's page with a key":    {page, 1, "k", 3, 2, "[1s]", ""},
		"a proxy's page without a key": {page, 1, "", 3, 1, "[]", client.InternalError},
		"refused with a key":           {refuse(client.InvalidRequest, ""), 1, "k", 3, 1, "[]", client.InvalidRequest},
		"broken off with a key":        {hangUp, 1, "k", 3, 2, "[1s]", ""},
		"broken off without a key":     {hangUp, 1, "", 3, 1, "[]", "-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || string(body) != `{"text":"a"}` || r.Header.Get("Idempotency-Key") != q.key {
					t.Errorf("got body %q, key %q (%v)", body, r.Header.Get("Idempotency-Key"), err)
				}
				if calls.Add(1) <= q.failures {
					q.fail(w, r)
					return
				}
				w.Header().Set("Content-Disposition", `attachment; filename="../a.txt"`)
			}))
			defer server.Close()
			waits := []time.Duration{}
			service := &client.Client{BaseURL: server.URL, HTTP: server.Client(), Retries: q.retries, Wait: func(_ context.Context, d time.Duration) error {
				waits = append(waits, d)
				return nil
			}}
			result, err := service.Do(t.Context(), "test.echo", json.RawMessage(`{"text":"a"}`), client.CallOptions{IdempotencyKey: q.key})
			var e *client.Error
			switch {
			case q.want == "" && err != nil, q.want == "-" && (err == nil || errors.As(err, &e)):
				t.Errorf("got %v, want %q", err, q.want)
			case q.want != "" && q.want != "-" && (!errors.As(err, &e) || e.Code != q.want):
				t.Errorf("got %v, want %s", err, q.want)
			case err == nil:
				if result.Filename != "a.txt" {
					t.Errorf("the file name is %q, want a.txt: a name is never a path", result.Filename)
				}
				if err := result.Body.Close(); err != nil {
					t.Error(err)
				}
			}
			if got := fmt.Sprint(waits); calls.Load() != q.calls || got != q.waits {
				t.Errorf("%d calls with waits %s, want %d with %s", calls.Load(), got, q.calls, q.waits)
			}
		})
	}
}

func TestClientStopsWaitingWithItsContext(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for range 5 {
		s.Send(t, apitest.Request{Path: "/v1/test/echo", Body: `{"text":"a"}`}).OK(t)
	}
	service := s.Client()
	service.Retries = 100
	for patience := 200 * time.Millisecond; ; patience *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := service.Do(ctx, "test.echo", apitest.EchoInput{Text: "a"}, client.CallOptions{})
		ended := ctx.Err() != nil
		cancel()
		var e *client.Error
		if errors.As(err, &e) && e.Code == client.RateLimited && errors.Is(err, context.DeadlineExceeded) {
			return
		}
		// On a machine that stalls the response itself may come too late to be waited after.
		if !ended || patience > time.Minute {
			t.Fatalf("got %v, want rate_limited and the context's end", err)
		}
	}
}
