package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/middleware"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

// TestLogsHoldNoSecrets: the log contains neither keys, nor queries, nor IDs of files, which open documents, nor
// the content of documents.
func TestLogsHoldNoSecrets(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Change: quiet})
	id := stored(t, s, `{"text":"content-of-the-document","filename":"name-of-the-document","response":"url"}`)
	s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + id + "?query-of-the-request=1"}).OK(t)
	s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + id + "?key=" + s.Secret}).Refused(t, wire.Unauthorized)
	s.Send(t, apitest.Request{Method: "PUT", Path: "/v1/files/" + id}).Refused(t, wire.MethodNotAllowed)
	s.Send(t, apitest.Request{Method: "GET", Path: "/v1/files/" + id + "/x"}).Refused(t, wire.NotFound)
	s.Send(t, apitest.Request{Path: echo, Body: `{"text":5,"content-of-the-document":1}`}).Refused(t, wire.InvalidRequest)
	s.Send(t, apitest.Request{Path: echo, Body: `{"text":"content-of-the-document"}`, Header: bearerOf("pdf_live_wrong")}).Refused(t, wire.Unauthorized)
	withKey(t, s, "idempotency-key-of-the-request", echo, `{"text":"a"}`).OK(t)
	named := http.Header{"X-Filename": {"name-of-the-document"}}
	upload := uploaded(t, s.Send(t, apitest.Request{Path: "/v1/files", Body: "content-of-the-document", Header: named})).ID
	s.Send(t, apitest.Request{Method: "DELETE", Path: "/v1/files/" + upload}).OK(t)

	log := s.Log.String()
	for _, secret := range []string{
		s.Secret, "pdf_live_", "file_", id, "query-of-the-request", "content-of-the-document", "name-of-the-document",
		"idempotency-key-of-the-request", "owner@example.com", "?",
	} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %q:\n%s", secret, log)
		}
	}
	var statuses []int
	for line := range strings.Lines(log) {
		var entry struct {
			Msg, RequestID, Method, Route string
			Call                          string
			Status                        int
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if entry.Msg != "request" || entry.RequestID == "" || entry.Method == "" || entry.Route == "" {
			t.Errorf("a line lacks its message, request id, method or route: %s", line)
		}
		if called := strings.HasPrefix(entry.Call, "call_"); called != (entry.Route == echo && entry.Status == http.StatusOK) {
			t.Errorf("the call is %q in: %s", entry.Call, line)
		}
		statuses = append(statuses, entry.Status)
	}
	want := []int{200, 200, 401, 405, 404, 400, 401, 200, 201, 200}
	if len(statuses) != len(want) {
		t.Fatalf("%d lines, want one for each of %d requests", len(statuses), len(want))
	}
	for i := range want {
		if statuses[i] != want[i] {
			t.Errorf("line %d has status %d, want %d", i, statuses[i], want[i])
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	withKey(t, s, "k", echo, `{"text":"a"}`).OK(t)
	withKey(t, s, "k", echo, `{"text":"a"}`).OK(t)
	s.Send(t, apitest.Request{Path: echo, Body: `{}`}).Refused(t, wire.InvalidRequest)
	s.Send(t, apitest.Request{Method: "INVENTED", Path: "/v1/account"})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	w := httptest.NewRecorder()
	middleware.Private(s.Registry).ServeHTTP(w, r)
	for _, want := range []string{
		`relaypdf_calls_total{operation="test.echo",outcome="ok"} 1`,
		`relaypdf_calls_total{operation="test.echo",outcome="replayed"} 1`,
		`relaypdf_calls_total{operation="test.echo",outcome="invalid_request"} 1`,
		`relaypdf_charged_microdollars_total{operation="test.echo"} 2000`,
		`relaypdf_request_seconds_count{method="POST",route="/v1/test/echo",status="200"} 2`,
		`relaypdf_request_seconds_count{method="other",route=`,
		`relaypdf_step_seconds_count{operation="test.echo",step="settle"} 1`,
		`relaypdf_browser_restarts_total 0`,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if strings.Contains(w.Body.String(), "INVENTED") {
		t.Error("a client's invention became a label")
	}
	// None of this is on the public port.
	for _, path := range []string{"/metrics", "/debug/pprof/"} {
		if got := s.Send(t, apitest.Request{Method: "GET", Path: path}); got.Status != http.StatusNotFound {
			t.Errorf("%s: status %d on the public port, want 404", path, got.Status)
		}
	}
}
