package middleware

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestSides sends requests through an edge to an API and pages that name themselves, and checks which of them each
// reaches, and with which values.
func TestSides(t *testing.T) {
	t.Parallel()
	say := func(who string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/panic" || r.URL.Path == "/panic" {
				panic("on purpose")
			}
			_, _ = w.Write([]byte(who + " " + RequestID(r.Context()) + " " + ClientIP(r.Context())))
		})
	}
	var log bytes.Buffer
	config := Config{
		API: say("api"), Pages: say("pages"), Serves: Versioned, TrustedIPHeader: "Fly-Client-IP",
		Fail: func(w http.ResponseWriter, _ *http.Request, err error) {
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write([]byte(strings.SplitN(err.Error(), "\n", 2)[0]))
		},
		Logger: slog.New(slog.NewTextHandler(&log, nil)), Registry: prometheus.NewRegistry(),
	}
	both := New(config)
	config.Pages, config.Registry = nil, prometheus.NewRegistry()
	alone := New(config)
	const refused = "API keys are not accepted in the URL"
	for _, q := range []struct {
		edge       http.Handler
		path, want string
	}{
		{both, "/v1/account", "api mine 192.0.2.7"},
		{both, "/mcp", "api mine 192.0.2.7"},
		{both, "/v1", "api mine 192.0.2.7"},
		{both, "/v1x", "pages mine 192.0.2.7"},
		{both, "/dashboard", "pages mine 192.0.2.7"},
		{alone, "/dashboard", "api mine 192.0.2.7"},
		{both, "/login?token=x", "pages mine 192.0.2.7"},
		{both, "/v1/account?token=x", refused},
		{both, "/v1/account?q=pdf_live_x", refused},
		{both, "/v1/account?q=1;a=pdf_test_x", refused},
		{both, "/v1/panic", "panic: on purpose"},
		{both, "/panic", "panic: on purpose"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, q.path, nil)
		r.Header.Set("X-Request-Id", "mine")
		r.Header.Set("Fly-Client-Ip", "192.0.2.7")
		w := httptest.NewRecorder()
		q.edge.ServeHTTP(w, r)
		if got := w.Body.String(); !strings.HasPrefix(got, q.want) {
			t.Errorf("%s: got %q, want %q", q.path, got, q.want)
		}
		if h := w.Header(); h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Request-Id") != "mine" {
			t.Errorf("%s: the headers are %v", q.path, h)
		}
	}
	if lines := strings.Count(log.String(), "requestId=mine"); lines != 12 {
		t.Errorf("%d lines of the log, want one for each request:\n%s", lines, log.String())
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	paths := []string{"/dashboard/keys", "/dashboard/wallet", "/openapi.json"}
	for path, want := range map[string]string{
		"/dashboard/key": "/dashboard/keys", "/Dashboard/Walet/": "/dashboard/wallet", "/opnapi.json": "/openapi.json",
		"/nothing/of/the/kind": "", "/x" + strings.Repeat("y", 200): "", "": "",
	} {
		if got := Nearest(path, paths); got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
}
