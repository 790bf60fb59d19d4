package api_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/storetest"
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
	s := apitest.New(t, apitest.Options{Operations: operation.Rows, Change: quiet})
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
		got.Refused(t, wire.AccountSuspended)
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

// TestJobsAreCheckedWhenClaimed: a job whose account was suspended, or whose key
// was revoked, while it waited fails and is not charged. One that runs by then
// is carried out, and its file is hidden until the suspension ends.
func TestJobsAreCheckedWhenClaimed(t *testing.T) {
	t.Parallel()
	storetest.EachDB(t, func(t *testing.T, db storetest.DB) {
		begun, goOn := make(chan struct{}, 9), make(chan struct{})
		run := func(ctx context.Context, _ *apitest.EchoInput) error {
			begun <- struct{}{}
			select {
			case <-goOn:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		s := apitest.New(t, apitest.Options{DB: &db, Operations: []schema.Definition[*operation.Deps]{apitest.Echo(run)}, Change: quiet})
		revoked, secret := s.NewKey(t, store.NewKey{AccountID: s.Account.ID, Name: "revoked"})
		running := s.Enqueue(t, apitest.Request{Path: echo, Body: async}).ID
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		done := make(chan error, 1)
		go func() { done <- s.API.Calls.Work(ctx, 1, 10*time.Second) }()
		defer func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("work: %v", err)
			}
		}()
		<-begun
		// The only worker is busy.
		waiting := s.Enqueue(t, apitest.Request{Path: echo, Body: async}).ID
		orphaned := s.Enqueue(t, apitest.Request{Path: echo, Body: async, Header: bearerOf(secret)}).ID
		if err := s.Store.RevokeKey(t.Context(), s.Account.ID, revoked.ID); err != nil {
			t.Fatal(err)
		}
		setSuspended(t, s, true)
		close(goOn)
		for id, want := range map[string]wire.Code{running: "", waiting: wire.AccountSuspended, orphaned: wire.AccountSuspended} {
			awaitEnd(t, s, id, want)
		}
		s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + running, Header: without()}).Refused(t, wire.NotFound)
		s.Send(t, apitest.Request{Method: "GET", Path: "/v1/jobs/" + running}).Refused(t, wire.AccountSuspended)
		setSuspended(t, s, false)
		s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + running, Header: without()}).OK(t)
		expectBalance(t, s, apitest.Trial-apitest.EchoPrice)
	})
}

// awaitEnd waits until a job has ended, and holds it to its failure.
func awaitEnd(t *testing.T, s *apitest.Server, id string, want wire.Code) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; <-time.After(10 * time.Millisecond) {
		job, err := s.Store.Job(t.Context(), s.Account.ID, id)
		switch {
		case err != nil:
			t.Fatal(err)
		case job.Status != store.CallRunning:
			if job.Failure.Code != string(want) {
				t.Errorf("the job ended with %q (%s), want %q", job.Failure.Code, job.Failure.Message, want)
			}
			return
		case time.Now().After(deadline):
			t.Fatalf("the job has not ended: %+v", job)
		}
	}
}

// TestJobsOfRevokedKeysFail is the same for a key alone.
func TestJobsOfRevokedKeysFail(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	key, secret := s.NewKey(t, store.NewKey{AccountID: s.Account.ID, Name: "revoked"})
	orphaned := s.Enqueue(t, apitest.Request{Path: echo, Body: async, Header: bearerOf(secret)}).ID
	kept := s.Enqueue(t, apitest.Request{Path: echo, Body: async}).ID
	if err := s.Store.RevokeKey(t.Context(), s.Account.ID, key.ID); err != nil {
		t.Fatal(err)
	}
	s.Work(t)
	awaitEnd(t, s, orphaned, wire.Unauthorized)
	awaitEnd(t, s, kept, "")
	expectBalance(t, s, apitest.Trial-apitest.EchoPrice)
}
