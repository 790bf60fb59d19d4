package middleware

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestPrivatePortChecksTheHost(t *testing.T) {
	t.Parallel()
	h := OwnHost(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), "docs.example.com", "metrics.example.com:9090", ":9090")
	for host, want := range map[string]int{
		"localhost": 200, "localhost:9090": 200, "app.localhost": 200, "127.0.0.1:9090": 200, "[::1]:9090": 200, "[::1]": 200, "10.1.2.3": 200, "relaypdf:9090": 200,
		"docs.example.com": 200, "DOCS.example.com.": 200, "metrics.example.com:1": 200,
		"evil.example.com": 421, "evil.example.com:9090": 421, "localhost.evil.com": 421, "127.0.0.1.evil.com:9090": 421, "docs.example.com.evil.com": 421,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: got %d, want %d", host, w.Code, want)
		}
	}
}
