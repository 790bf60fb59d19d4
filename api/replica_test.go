package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"relaypdf/api/apitest"
	"relaypdf/api/middleware"
	"relaypdf/store/storetest"
)

// TestOnlyListsComeFromTheReplica asks every route that reads, and a paid call: of a
// replica, which may be late, they read lists of what was made, and nothing else.
func TestOnlyListsComeFromTheReplica(t *testing.T) {
	t.Parallel()
	db, _ := storetest.Replicated(t)
	s := apitest.New(t, apitest.Options{DB: &db, Change: quiet})
	await := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Minute); !done(); <-time.After(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				state, _ := s.Store.Replica()
				t.Fatalf("still not: %s; %+v", what, state)
			}
		}
	}
	usable := func() bool { state, ok := s.Store.Replica(); return ok && state.Trouble == nil }
	reads := func() int64 { state, _ := s.Store.Replica(); return state.Reads }
	await("the replica is read", usable)

	lists := map[string]bool{"/v1/jobs": true, "/v1/files": true, "/v1/webhooks/deliveries": true}
	id := stored(t, s, `{"text":"a","response":"url"}`)
	asked := 0
	for _, route := range s.API.Routes() {
		if route.Method != http.MethodGet {
			continue
		}
		path := strings.NewReplacer("{id}", id, "{name}", "none", "{slug}", "none").Replace(route.Path)
		before := reads()
		get := func() { s.Send(t, apitest.Request{Method: "GET", Path: path, Header: bearerOf(s.Secret)}) }
		get()
		asked++
		if lists[route.Path] {
			// The first may have come while it was late.
			await(path+" reads from the replica", func() bool { get(); return reads() > before })
		} else if n := reads() - before; n != 0 {
			t.Errorf("%s reads %d times from the replica, want the primary", path, n)
		}
	}
	if asked < 20 {
		t.Errorf("%d routes were asked", asked)
	}
	before := reads()
	s.Send(t, apitest.Request{Path: echo, Body: `{"text":"a"}`}).OK(t)
	s.Send(t, apitest.Request{Method: "DELETE", Path: "/v1/files/" + id})
	if n := reads() - before; n != 0 {
		t.Errorf("what costs and what changes reads %d times from the replica", n)
	}

	if got := s.Send(t, apitest.Request{Method: "GET", Path: "/health/ready", Header: without()}).OK(t).Body; !strings.Contains(got, `"replica":"`) {
		t.Errorf("readiness is %s", got)
	}
	metrics := httptest.NewRecorder()
	middleware.Private(s.Registry).ServeHTTP(metrics, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for _, want := range []string{"relaypdf_replica_reads_total ", "relaypdf_replica_lag_seconds "} {
		if !strings.Contains(metrics.Body.String(), want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
}
