package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// leaver is a client that sends one request and leaves before the response.
type leaver struct {
	leave func()
	done  chan error
}

// leaving sends a request over the network.
func leaving(t *testing.T, s *apitest.Server, path, body string) leaver {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Secret)
	r.Header.Set("Content-Type", "application/json")
	l := leaver{leave, make(chan error, 1)}
	go func() {
		response, err := s.HTTP.Do(r)
		if err == nil {
			err = response.Body.Close()
		}
		l.done <- err
	}()
	return l
}

// expectCanceled expects that as many calls of the account are cancelled, none failed, and nothing was charged.
func expectCanceled(t *testing.T, s *apitest.Server, calls int, operation string) {
	t.Helper()
	waitForCalls(t, s)
	want := []string{"call " + operation + " failed charged 0 canceled"}
	var got []string
	for _, line := range s.Effects(t) {
		if strings.HasPrefix(line, "call ") {
			got = append(got, line)
		}
	}
	if !slices.Equal(got, slices.Repeat(want, calls)) {
		t.Errorf("the calls are %q, want %d of %q", got, calls, want)
	}
	activity, err := s.Store.Activity(t.Context(), s.Account.ID, s.Clock.Now(), s.Clock.Now())
	if err != nil || activity.Failed != 0 {
		t.Errorf("%d failed calls: %v", activity.Failed, err)
	}
	_, days, err := s.Store.UsageBy(t.Context(), store.UsageFilter{AccountID: s.Account.ID, From: s.Clock.Now(), To: s.Clock.Now(), Group: store.ByOperation})
	if err != nil {
		t.Error(err)
	}
	for _, day := range days {
		if day.Failures != 0 {
			t.Errorf("%d failures in the usage", day.Failures)
		}
	}
	expectBalance(t, s, apitest.Trial)
	if log := s.Log.String(); strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("the log is %s", log)
	}
}

// TestStepsOfClientsThatLeave: a client that leaves while a step runs ends the whole call, which is cancelled.
func TestStepsOfClientsThatLeave(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		begun := make(chan struct{}, 1)
		run := func(ctx context.Context, in *apitest.EchoInput) error {
			if in.Text != "slow" {
				return nil
			}
			begun <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}
		s := apitest.New(t, apitest.Options{DB: &db, Change: quiet, Operations: append(slices.Clone(operation.Rows), apitest.Echo(run))})
		step := func(id, text string) object {
			return object{"id": id, "op": "test.echo", "input": object{"text": text}}
		}
		for i, steps := range [][]object{{step("a", "slow"), step("b", "fast")}, {step("a", "fast"), step("b", "slow")}, {step("a", "fast"), step("b", "slow"), step("c", "fast")}} {
			var ids []any
			for _, step := range steps {
				ids = append(ids, step["id"])
			}
			body, err := json.Marshal(object{"steps": steps, "output": ids})
			if err != nil {
				t.Fatal(err)
			}
			l := leaving(t, s, "/v1/pipelines", string(body))
			select {
			case <-begun:
			case err := <-l.done:
				t.Fatalf("the call has ended: %v", err)
			}
			l.leave()
			<-l.done
			got := logged(t, s, i+1)
			if last := got[len(got)-1]; last.Status != 499 || last.Code != string(wire.Canceled) {
				t.Errorf("logged %+v", last)
			}
		}
		expectCanceled(t, s, 3, "pipelines.create")
	})
}

// TestClientsThatLeaveTheQueue: a client that leaves while its call waits for a browser is cancelled, and the place in the
// queue is free.
func TestClientsThatLeaveTheQueue(t *testing.T) {
	t.Parallel()
	own, _ := ownRenderer(t)
	loads := make(chan struct{}, 1)
	page := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		loads <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(page.Close)

	s := toolServer(t, func(cfg *apitest.Settings) { cfg.Render = own })
	first := leaving(t, s, "/v1/pdf", `{"html":"<img src='`+page.URL+`/a.png'>"}`)
	<-loads
	second := leaving(t, s, "/v1/images", `{"html":"<p>waits</p>"}`)
	waiting := func() int { return own.Stats().Pools[0].Waiting }
	eventually(t, "the second waits", func() bool { return waiting() == 1 })
	second.leave()
	<-second.done
	eventually(t, "its place is free", func() bool { return waiting() == 0 })
	first.leave()
	<-first.done
	for _, got := range logged(t, s, 2) {
		if got.Status != 499 || got.Code != string(wire.Canceled) {
			t.Errorf("logged %+v", got)
		}
	}
	waitForCalls(t, s)
	for _, line := range s.Effects(t) {
		if strings.HasPrefix(line, "call ") && !strings.HasSuffix(line, " failed charged 0 canceled") {
			t.Error(line)
		}
	}
	expectBalance(t, s, apitest.Trial)
}

// TestJobsOfClientsThatLeave: a client that leaves before its job exists leaves none behind. A cancelled job is no failure.
func TestJobsOfClientsThatLeave(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		var leave context.CancelFunc
		var at string
		s := apitest.New(t, apitest.Options{DB: &db, Operations: append(slices.Clone(operation.Rows), apitest.Echo(nil)), Change: func(cfg *apitest.Settings) {
			quiet(cfg)
			cfg.AfterStep = func(step string) {
				if step == at {
					leave()
				}
			}
		}})
		if _, err := s.Store.CreateTemplate(t.Context(), store.NewTemplate{AccountID: s.Account.ID, Name: "Letter", Slug: "letter", Content: store.TemplateContent{HTML: "<p>{{name}}</p>"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Store.PublishTemplate(t.Context(), s.Account.ID, "letter", 0, "", nil); err != nil {
			t.Fatal(err)
		}
		bulkBody := `{"templateId":"letter","records":[{"name":"a"}]}`
		asked := 0
		for _, c := range []struct{ path, body, at string }{
			{echo, async, "decode"}, {echo, async, "admit"}, {bulkPath, bulkBody, "decode"}, {bulkPath, bulkBody, "quote"}, {bulkPath, bulkBody, "pin"},
		} {
			var ctx context.Context
			at = c.at
			ctx, leave = context.WithCancel(t.Context())
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, s.URL+c.path, bytes.NewReader([]byte(c.body)))
			r.Header.Set("Authorization", "Bearer "+s.Secret)
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			s.Handler.ServeHTTP(w, r)
			leave()
			asked++
			got := logged(t, s, asked)
			if last := got[len(got)-1]; last.Status != 499 || last.Code != string(wire.Canceled) {
				t.Errorf("%s, left after %s: logged %+v; answered %d %s", c.path, c.at, last, w.Code, w.Body)
			}
		}
		expectCanceled(t, s, 0, "")
		if effects := s.Effects(t); len(effects) != 0 {
			t.Errorf("effects are %q", effects)
		}

		at = ""
		job := s.Enqueue(t, apitest.Request{Path: bulkPath, Body: bulkBody})
		s.Send(t, apitest.Request{Method: http.MethodDelete, Path: "/v1/jobs/" + job.ID}).OK(t)
		if job = s.Job(t, job.ID); job.Error == nil || job.Error.Code != string(wire.Canceled) {
			t.Errorf("the job is %+v, its error %+v", job, job.Error)
		}
		expectCanceled(t, s, 1, "pdf.bulk")
	})
}
