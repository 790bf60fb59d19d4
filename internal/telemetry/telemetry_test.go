package telemetry

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// TestCollectorGetsSpans sends a span with headers, to a collector that accepts it and to one that
// does not.
func TestCollectorGetsSpans(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusForbidden, http.StatusTemporaryRedirect} {
		var got otlp.TracesData
		var headers http.Header
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err == nil {
				err = proto.Unmarshal(body, &got)
			}
			if err != nil || r.URL.Path != "/v1/traces" {
				t.Errorf("%s got %v", r.URL.Path, err)
			}
			headers = r.Header
			w.Header().Set("Location", "https://elsewhere.example.com/")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "no such key")
		}))
		t.Cleanup(server.Close)
		var log bytes.Buffer
		tracer, err := New(t.Context(), Config{URL: server.URL, Headers: "Api-Key=a%20b%3Dc, team = blue,", Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		_, span := tracer.Receive(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody), "a page")
		span.End()
		err = tracer.Close(t.Context())
		refused := status != http.StatusOK
		if text := log.String(); refused != strings.Contains(text, fmt.Sprintf(`%d %s: \"no such key\"`, status, http.StatusText(status))) {
			t.Errorf("%d: the log is %q (%v)", status, text, err)
		}
		if spans := got.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans(); len(spans) != 1 || spans[0].GetName() != "a page" {
			t.Errorf("got the spans %v", spans)
		}
		if headers.Get("Api-Key") != "a b=c" || headers.Get("Team") != "blue" || headers.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("got the headers %v", headers)
		}
	}
	for _, headers := range []string{"secret", "a b=secret", "key=secret%0A", "key=secret%"} {
		if _, err := New(t.Context(), Config{URL: "http://localhost", Headers: headers}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want an error that does not quote the headers", headers, err)
		}
	}
}
