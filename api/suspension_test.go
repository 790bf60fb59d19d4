package api_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"relaypdf/api"
	"relaypdf/api/apitest"
	"relaypdf/api/op"
	"relaypdf/store/storetest"
)

// setSuspended suspends the server's account, or ends that.
func setSuspended(t *testing.T, s *apitest.Server, suspended bool) {
	t.Helper()
	err := s.Store.Resume(t.Context(), s.Account.ID)
	if suspended {
		err = s.Store.Suspend(t.Context(), s.Account.ID, "test")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSuspendedAccountIsRefusedEverywhere is generated from the routes: one
// that is added is in it.
func TestSuspendedAccountIsRefusedEverywhere(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Operations: api.Operations, Change: quiet})
	before := s.Effects(t)
	refused := 0
	for _, route := range apiPaths(s) {
		q := apitest.Request{Method: route.Method, Path: route.Path, Body: "{}"}
		open := route.Access == "public" || route.Path == "/v1/unknown" && route.Method == http.MethodGet
		setSuspended(t, s, true)
		got := s.Send(t, q)
		if is403 := got.Status == http.StatusForbidden; is403 == open {
			t.Errorf("%s %s while suspended: status %d", route.Method, route.Path, got.Status)
		}
		if open {
			continue
		}
		got.Refused(t, api.AccountSuspended)
		refused++
		if got := s.Effects(t); !slices.Equal(got, before) {
			t.Fatalf("%s %s while suspended has left %v, want %v", route.Method, route.Path, got, before)
		}
		if strings.HasPrefix(route.Path, "/v1/pdf") || strings.HasPrefix(route.Path, "/v1/images") || strings.HasPrefix(route.Path, "/v1/convert") {
			continue // This server has no renderer.
		}
		setSuspended(t, s, false)
		if got := s.Send(t, q); got.Status == http.StatusForbidden {
			t.Errorf("%s %s after the suspension: status 403", route.Method, route.Path)
		}
		before = s.Effects(t)
	}
	if refused < 20 {
		t.Errorf("%d routes were refused, want all that take a key", refused)
	}
}

// TestSuspendedAccountsJobsEnd: what was accepted is carried out and charged,
// its files are hidden until the suspension ends.
func TestSuspendedAccountsJobsEnd(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		begun, goOn, done := make(chan struct{}, 2), make(chan struct{}), make(chan struct{}, 2)
		run := func(ctx context.Context, _ *apitest.EchoInput) error {
			begun <- struct{}{}
			select {
			case <-goOn:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		s := apitest.New(t, apitest.Options{DB: &db, Operations: []op.Row[*api.Env]{apitest.Echo(run)}, Change: func(cfg *api.Config) {
			cfg.NoRateLimits = true
			cfg.AfterStep = func(step string) {
				if step == "settle" {
					done <- struct{}{}
				}
			}
		}})
		running := s.Enqueue(t, apitest.Request{Path: echo, Body: async}).ID
		s.Work(t)
		<-begun
		waiting := s.Enqueue(t, apitest.Request{Path: echo, Body: async}).ID
		setSuspended(t, s, true)
		close(goOn)
		<-done
		<-done
		for _, id := range []string{running, waiting} {
			s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + id, Header: without()}).Refused(t, api.NotFound)
			s.Send(t, apitest.Request{Method: "GET", Path: "/v1/jobs/" + id}).Refused(t, api.AccountSuspended)
		}
		expectBalance(t, s, apitest.Trial-2*apitest.EchoPrice)
		setSuspended(t, s, false)
		for _, id := range []string{running, waiting} {
			if job := s.Job(t, id); job.Status != "completed" || job.URL == "" {
				t.Errorf("the job is %+v, want it completed", job)
			}
			s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + id, Header: without()}).OK(t)
		}
	})
}
