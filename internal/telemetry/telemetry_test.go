package telemetry

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector responds to requests with statuses, and stores the requests.
type collector struct {
	*httptest.Server
	t        *testing.T
	statuses []int // of the first requests; the others get 200

	mu      sync.Mutex
	paths   []string
	headers []http.Header
	names   [][]string // of the spans in each request
}

func newCollector(t *testing.T, statuses ...int) *collector {
	t.Helper()
	c := &collector{t: t, statuses: statuses}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paths = append(c.paths, r.URL.Path)
	c.headers = append(c.headers, r.Header)
	c.names = append(c.names, c.spansOf(r))

	status := http.StatusOK
	if n := len(c.paths); n <= len(c.statuses) {
		status = c.statuses[n-1]
	}
	w.Header().Set("Location", "/elsewhere")
	w.WriteHeader(status)
	if status != http.StatusOK {
		_, _ = io.WriteString(w, "no such key"+strings.Repeat(".", 100_000))
	}
}

// spansOf returns the names of the spans in a request.
func (c *collector) spansOf(r *http.Request) (names []string) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			c.t.Error(err)
			return nil
		}
		body = unzipped
	}

	var got otlp.TracesData
	content, err := io.ReadAll(body)
	if err == nil {
		err = proto.Unmarshal(content, &got)
	}
	if err != nil {
		c.t.Error(err)
	}
	for _, resource := range got.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				names = append(names, span.GetName())
			}
		}
	}
	return names
}

// sendSpan sends one span to a URL, and returns the log.
func sendSpan(t *testing.T, target string) string {
	t.Helper()
	var log bytes.Buffer
	tracer, err := New(t.Context(), Config{URL: target, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}

	_, span := tracer.Receive(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody), "a page")
	span.End()
	if err := tracer.Close(t.Context()); err != nil {
		t.Log(err) // The log has it too.
	}
	return log.String()
}

// TestCollectorGetsSpans sends a span with headers, to a collector that accepts it and to those that do not. No
// redirect is followed: it would send the headers to another server.
func TestCollectorGetsSpans(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Api-Key=a%20b%3Dc, team = blue")
	for status, want := range map[int]string{
		http.StatusOK:                "",
		http.StatusForbidden:         "403 Forbidden (body: no such key...",
		http.StatusTemporaryRedirect: "the collector redirects to http://",
	} {
		c := newCollector(t, status)
		log := sendSpan(t, c.URL)
		if text := strings.Replace(log, "...", "", 1); (want == "") != (log == "") || !strings.Contains(log, want) || len(text) > 1000 {
			t.Errorf("%d: the log is %.1000q", status, log)
		}
		if got := fmt.Sprint(c.paths, c.names); got != "[/v1/traces] [[a page]]" {
			t.Errorf("%d: got %s", status, got)
		}
		h := c.headers[0]
		if h.Get("Api-Key") != "a b=c" || h.Get("Team") != "blue" || h.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%d: got the headers %v", status, h)
		}
	}
}

// TestSpansAreSentAgain: a collector that is busy gets the spans later.
func TestSpansAreSentAgain(t *testing.T) {
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusTooManyRequests} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			c := newCollector(t, status)
			log := sendSpan(t, c.URL)
			if got := fmt.Sprint(c.names); got != "[[a page] [a page]]" || log != "" {
				t.Errorf("got %s, and the log %s", got, log)
			}
		})
	}
}

// TestVariables: OpenTelemetry's own variables have an effect.
func TestVariables(t *testing.T) {
	general := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	if log := sendSpan(t, general.URL+"/base"); log != "" {
		t.Error(log)
	}
	if got := fmt.Sprint(general.paths, general.names); got != "[/base/v1/traces] [[a page]]" {
		t.Errorf("got %s", got)
	}
	if encoding := general.headers[0].Get("Content-Encoding"); encoding != "gzip" {
		t.Errorf("the encoding is %q", encoding)
	}

	traces := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", traces.URL+"/own")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "team=red")
	if log := sendSpan(t, traces.URL+"/own"); log != "" {
		t.Error(log)
	}
	if got := fmt.Sprint(traces.paths, traces.names); got != "[/own] [[a page]]" {
		t.Errorf("got %s", got)
	}
	if team := traces.headers[0].Get("Team"); team != "red" {
		t.Errorf("the team is %q", team)
	}
}

// TestInvalidVariables: an error at the start does not quote headers, and a file that is missing is logged.
func TestInvalidVariables(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		for _, headers := range []string{"secret", "a b=secret", "key=secret%0A", "key=secret%"} {
			t.Setenv(name, headers)
			_, err := New(t.Context(), Config{URL: "http://localhost", Logger: slog.New(slog.DiscardHandler)})
			if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), name) {
				t.Errorf("%s=%s: got %v, want an error that does not quote the headers", name, headers, err)
			}
		}
		t.Setenv(name, "")
	}

	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", "/no/such/file")
	if log := sendSpan(t, newCollector(t).URL); !strings.Contains(log, "/no/such/file") {
		t.Errorf("the log is %q", log)
	}
}
