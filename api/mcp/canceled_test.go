package mcp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/store"
)

// TestToolCallsOfClientsThatLeave: a tool call that its client cancels, by a notification or by leaving, is cancelled. It is
// not charged and counts as no failure.
func TestToolCallsOfClientsThatLeave(t *testing.T) {
	t.Parallel()
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"test_echo","arguments":{"text":"slow"}}}`
	begun := make(map[string]chan struct{})
	started := func(name string) func(context.Context, *apitest.EchoInput) error {
		begun[name] = make(chan struct{}, 1)
		return func(ctx context.Context, in *apitest.EchoInput) error {
			if in.Text != "slow" {
				return nil
			}
			begun[name] <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}
	}
	local := func(leave func(t *testing.T, l *line)) func(t *testing.T, name string) *apitest.Server {
		return func(t *testing.T, name string) *apitest.Server {
			t.Helper()
			l, s := startLocal(t, nil, apitest.Echo(started(name)))
			if _, err := io.WriteString(l.in, call+"\n"); err != nil {
				t.Fatal(err)
			}
			await(t, begun[name])
			go func() { // The server may respond.
				for l.out.Scan() {
					continue
				}
			}()
			leave(t, l)
			return s
		}
	}
	for name, run := range map[string]func(t *testing.T, name string) *apitest.Server{
		"stdio notification": local(func(t *testing.T, l *line) {
			t.Helper()
			if _, err := fmt.Fprintln(l.in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"not needed"}}`); err != nil {
				t.Fatal(err)
			}
		}),
		"stdio closed": local(func(t *testing.T, l *line) {
			t.Helper()
			if err := l.in.(io.Closer).Close(); err != nil {
				t.Fatal(err)
			}
		}),
		"HTTP closed": func(t *testing.T, name string) *apitest.Server {
			t.Helper()
			s := newServer(t, open, apitest.Echo(started(name)))
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+api.AgentPath+"?toolsets=all", strings.NewReader(call))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = http.Header{"Authorization": {"Bearer " + s.Secret}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
			left := make(chan struct{})
			go func() {
				defer close(left)
				if response, err := s.HTTP.Do(r); err == nil {
					_ = response.Body.Close()
				}
			}()
			await(t, begun[name])
			leave()
			<-left
			return s
		},
	} {
		s := run(t, name)
		expectOneCanceled(t, s, name)
	}
}

// await waits until a call runs.
func await(t *testing.T, begun chan struct{}) {
	t.Helper()
	select {
	case <-begun:
	case <-time.After(time.Minute):
		t.Fatal("the call does not run")
	}
}

// expectOneCanceled expects that the one call of the account is cancelled.
func expectOneCanceled(t *testing.T, s *apitest.Server, name string) {
	t.Helper()
	ended, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	s.API.Calls.Wait(ended)
	if ended.Err() != nil {
		t.Fatalf("%s: the call does not end", name)
	}

	calls := slices.DeleteFunc(s.Effects(t), func(line string) bool { return !strings.HasPrefix(line, "call ") })
	if want := []string{"call test.echo failed charged 0 canceled"}; !slices.Equal(calls, want) {
		t.Errorf("%s: the calls are %q, want %q", name, calls, want)
	}
	if balance, held := s.Balance(t); balance != int64(apitest.Trial) || held != 0 {
		t.Errorf("%s: the balance is %d with %d held", name, balance, held)
	}
	activity, err := s.Store.Activity(t.Context(), s.Account.ID, s.Clock.Now(), s.Clock.Now())
	if err != nil || activity.Failed != 0 {
		t.Errorf("%s: %d failed calls: %v", name, activity.Failed, err)
	}
	_, days, err := s.Store.UsageBy(t.Context(), store.UsageFilter{AccountID: s.Account.ID, From: s.Clock.Now(), To: s.Clock.Now(), Group: store.ByOperation})
	if err != nil || slices.ContainsFunc(days, func(day store.UsageSum) bool { return day.Failures != 0 }) {
		t.Errorf("%s: the usage is %+v: %v", name, days, err)
	}

	var logged []store.Request
	for end := time.Now().Add(time.Minute); len(logged) == 0 && time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		page, err := s.Store.Requests(t.Context(), store.RequestFilter{AccountID: s.Account.ID, Outcome: string(wire.Canceled)})
		if err != nil {
			t.Fatal(err)
		}
		logged = page.Items
	}
	if len(logged) != 1 {
		t.Errorf("%s: logged %+v", name, logged)
	}
	if log := s.Log.String(); strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("%s: the log is %s", name, log)
	}
}
