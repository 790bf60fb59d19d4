package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestCallsOfClientsThatLeave: a client that leaves ends its call, which is cancelled and no failure, wherever the call is.
func TestCallsOfClientsThatLeave(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		started := make(chan struct{}, 1)
		run := func(ctx context.Context, in *apitest.EchoInput) error {
			if in.Text != "slow" {
				return nil
			}
			started <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet, Operations: []schema.Definition[*operation.Deps]{apitest.Echo(run)}})
		slow := `{"text":"slow"}`
		for i, c := range []struct {
			name, method, path, body string
			sent                     int // bytes of the body; 0 means all
			runs                     bool
			code                     wire.Code
		}{
			{"while it runs", "POST", echo, slow, 0, true, wire.Canceled},
			{"within the body", "POST", echo, slow, 5, false, wire.Canceled},
			{"within an upload", "POST", "/v1/files", strings.Repeat("x", 100_000), 50_000, false, wire.Canceled},
		} {
			before := logged(t, s, i)
			line := openLine(t, s)
			sent := c.body
			if c.sent > 0 {
				sent = sent[:c.sent]
			}
			fmt.Fprintf(line, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s",
				c.method, c.path, line.RemoteAddr(), s.Secret, len(c.body), sent)
			if c.runs {
				select {
				case <-started:
				case <-time.After(time.Minute):
					t.Fatalf("%s: it does not run", c.name)
				}
			} else {
				<-time.After(200 * time.Millisecond)
			}
			if err := line.Close(); err != nil {
				t.Fatal(err)
			}

			added := slices.DeleteFunc(logged(t, s, len(before)+1), func(r store.Request) bool {
				return slices.ContainsFunc(before, func(b store.Request) bool { return b.ID == r.ID })
			})
			if len(added) != 1 || added[0].Code != string(c.code) || added[0].Status != 499 {
				t.Errorf("%s: logged %+v", c.name, added)
			}
		}
		waitForCalls(t, s)

		activity, err := s.Store.Activity(t.Context(), s.Account.ID, s.Clock.Now(), s.Clock.Now())
		if err != nil || activity.Failed != 0 {
			t.Errorf("%d failed calls: %v", activity.Failed, err)
		}
		_, days, err := s.Store.UsageBy(t.Context(), store.UsageFilter{AccountID: s.Account.ID, From: s.Clock.Now(), To: s.Clock.Now(), Group: store.ByOperation})
		for _, day := range days {
			if day.Failures != 0 {
				t.Errorf("%d failures in the usage", day.Failures)
			}
		}
		if err != nil {
			t.Error(err)
		}
		for outcome, want := range map[string]int{"failed": 0, "canceled": 3, "4xx": 0, "5xx": 0} {
			page, err := s.Store.Requests(t.Context(), store.RequestFilter{AccountID: s.Account.ID, Outcome: outcome})
			if err != nil || len(page.Items) != want {
				t.Errorf("%s: %d requests, %v", outcome, len(page.Items), err)
			}
		}
		yes, no := true, false
		for _, c := range []struct {
			canceled *bool
			want     int
		}{{&yes, 1}, {&no, 0}, {nil, 1}} {
			page, err := s.Store.Calls(t.Context(), store.CallFilter{AccountID: s.Account.ID, Status: store.CallFailed, Canceled: c.canceled})
			if err != nil || len(page.Items) != c.want {
				t.Errorf("%d failed calls, want %d: %v", len(page.Items), c.want, err)
			}
		}
		if log := s.Log.String(); strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, `"status":499`) {
			t.Errorf("the log is %s", log)
		}
		w := httptest.NewRecorder()
		middleware.Private(s.Registry).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		const calls = `relaypdf_calls_total{operation="test.echo",outcome=`
		if metrics := w.Body.String(); strings.Contains(metrics, calls+`"internal_error"}`) || !strings.Contains(metrics, calls+`"canceled"}`) {
			t.Errorf("the metrics have no cancelled calls, or failed ones: %s", metrics)
		}
		expectBalance(t, s, apitest.Trial)
	})
}

// openLine connects to the server.
func openLine(t *testing.T, s *apitest.Server) net.Conn {
	t.Helper()
	line, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = line.Close() })
	return line
}

// TestHalfClosedBody: a client that closes only its sending side within the body still reads the error.
func TestHalfClosedBody(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	line := openLine(t, s)
	fmt.Fprintf(line, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{", echo, line.RemoteAddr(), s.Secret)
	if half, ok := line.(*net.TCPConn); !ok || half.CloseWrite() != nil {
		t.Fatal("the sending side cannot be closed")
	}
	got, err := http.ReadResponse(bufio.NewReader(line), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil || got.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "incomplete") {
		t.Errorf("%d %s %v", got.StatusCode, body, err)
	}
}
