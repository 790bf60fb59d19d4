package middleware

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestClientIP(t *testing.T) {
	t.Parallel()
	for _, q := range []struct {
		setting, remote string
		sent            map[string][]string
		want            string
	}{
		{"", "198.51.100.7:4000", nil, "198.51.100.7"},
		// Nothing that a client writes counts.
		{"", "198.51.100.7:4000", map[string][]string{"X-Forwarded-For": {"1.1.1.1"}, "Fly-Client-Ip": {"2.2.2.2"}, "Cf-Connecting-Ip": {"3.3.3.3"}, "X-Real-Ip": {"4.4.4.4"}, "Forwarded": {"for=5.5.5.5"}}, "198.51.100.7"},
		{"CF-Connecting-IP", "10.0.0.1:1", map[string][]string{"X-Forwarded-For": {"1.1.1.1"}, "Fly-Client-Ip": {"2.2.2.2"}, "Cf-Connecting-Ip": {"3.3.3.3"}}, "3.3.3.3"},
		{"Fly-Client-IP", "10.0.0.1:1", map[string][]string{"Fly-Client-Ip": {"2.2.2.2"}, "X-Forwarded-For": {"1.1.1.1"}}, "2.2.2.2"},
		{"Fly-Client-IP", "10.0.0.1:1", map[string][]string{"X-Forwarded-For": {"1.1.1.1"}}, "10.0.0.1"},
		// A client's entries come before those of the proxies.
		{"X-Forwarded-For", "10.0.0.1:1", map[string][]string{"X-Forwarded-For": {"6.6.6.6, 7.7.7.7", "9.9.9.9"}}, "9.9.9.9"},
		{"X-Forwarded-For:2", "10.0.0.1:1", map[string][]string{"X-Forwarded-For": {"6.6.6.6,7.7.7.7", "9.9.9.9,10.0.0.2"}}, "9.9.9.9"},
		{"X-Forwarded-For:2", "10.0.0.1:1", map[string][]string{"X-Forwarded-For": {"6.6.6.6", "7.7.7.7", "9.9.9.9", "10.0.0.2"}}, "9.9.9.9"},
		{"X-Forwarded-For:3", "10.0.0.1:1", map[string][]string{"X-Forwarded-For": {"9.9.9.9, 10.0.0.2"}}, "9.9.9.9"},
		{"X-Forwarded-For:2", "10.0.0.1:1", nil, "10.0.0.1"},
		{"X-Forwarded-For", "10.0.0.1:1", map[string][]string{"X-Forwarded-For": {"6.6.6.6, nonsense"}}, "unknown"},
		{"X-Forwarded-For", "10.0.0.1:1", map[string][]string{"X-Forwarded-For": {"6.6.6.6, [2001:db8:1:2:3::4]:99"}}, "2001:db8:1:2::/64"},
		{"X-Forwarded-For", "10.0.0.1:1", map[string][]string{"X-Forwarded-For": {"::ffff:9.9.9.9"}}, "9.9.9.9"},
	} {
		header, ok := ParseAddressHeader(q.setting)
		if !ok {
			t.Fatalf("%q cannot be read", q.setting)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr, r.Header = q.remote, q.sent
		if got := clientIP(r, header); got != q.want {
			t.Errorf("%q, %s with %v: got %s, want %s", q.setting, q.remote, q.sent, got, q.want)
		}
	}
	for _, wrong := range []string{"X-Forwarded-For:0", "X-Forwarded-For:-1", "X-Forwarded-For:ten", "X-Forwarded-For:10", "X-Forwarded-For:", ":2"} {
		if got, ok := ParseAddressHeader(wrong); ok {
			t.Errorf("%q is read as %+v", wrong, got)
		}
	}
}

// TestProxiesAreNoticed expects one log line, for nearby proxies only, and only if no header is trusted.
func TestProxiesAreNoticed(t *testing.T) {
	t.Parallel()
	for _, q := range []struct {
		setting, remote, header string
		said                    int
	}{
		{"", "127.0.0.1:5", "X-Forwarded-For", 1},
		{"", "[fdaa::3]:5", "Fly-Client-Ip", 1},
		{"", "10.1.2.3:5", "Cf-Connecting-Ip", 1},
		{"", "198.51.100.7:5", "X-Forwarded-For", 0}, // anyone can write it
		{"", "127.0.0.1:5", "Accept", 0},
		{"X-Forwarded-For", "127.0.0.1:5", "X-Forwarded-For", 0},
	} {
		var log bytes.Buffer
		trusted, _ := ParseAddressHeader(q.setting)
		served := 0
		h := noticeProxies(trusted, slog.New(slog.NewTextHandler(&log, nil)))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
		for range 3 {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.RemoteAddr = q.remote
			r.Header.Set(q.header, "192.0.2.1")
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
		if got := strings.Count(log.String(), "RELAYPDF_TRUSTED_IP_HEADER"); got != q.said || served != 3 {
			t.Errorf("%+v: said %d times, %d requests served:\n%s", q, got, served, log.String())
		}
	}
}

func TestIsLoopback(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"http://localhost:8787":          true,
		"http://LOCALHOST":               true,
		"http://app.localhost":           true,
		"http://127.9.9.9:80":            true,
		"http://[::1]:80":                true,
		"http://[::ffff:127.0.0.1]:80":   true,
		"http://:8787":                   false,
		"http://0.0.0.0:8787":            false,
		"https://pdf.example.com":        false,
		"http://localhost.example.com":   false,
		"http://notlocalhost":            false,
		"http://127.0.0.1.example.com":   false,
		"http://10.0.0.1":                false,
		"http://[fe80::1%eth0]:80":       false,
		"http://user@evil.example:80/@x": false,
	} {
		if got := IsLoopback(address); got != want {
			t.Errorf("%s: got %v, want %v", address, got, want)
		}
	}
}
