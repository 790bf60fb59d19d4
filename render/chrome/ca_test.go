package chrome

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// tunnel is a proxy that leads every CONNECT to one server.
func tunnel(t *testing.T, target string) string {
	t.Helper()
	var open sync.WaitGroup
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only tunnels", http.StatusForbidden)
			return
		}
		server, err := net.Dial("tcp", target)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		client, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			server.Close()
			return
		}
		io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
		for a, b := range map[net.Conn]net.Conn{client: server, server: client} {
			open.Go(func() {
				io.Copy(a, b)
				a.Close()
			})
		}
	}))
	t.Cleanup(open.Wait)
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// The certificate of httptest's own server is for example.com, and its own CA.
func TestExtraCAOpensAnHTTPSSite(t *testing.T) {
	sharedtest.Slow(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<p>private site "+r.Header.Get("X-Team")+" "+r.Header.Get("Cookie"))
	}))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	proxy := tunnel(t, server.Listener.Addr().String())
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pemOf(server.Certificate()), 0o600); err != nil {
		t.Fatal(err)
	}
	job := Job{
		Account: "a", URL: "https://example.com/",
		Headers: map[string]string{"x-team": "blue"}, Cookies: []Cookie{{Name: "k", Value: "v"}},
	}

	trusting := startPool(t, func(c *Config) { c.Proxy, c.CAFile = proxy, file })
	contains(t, textOf(t, trusting, job), "private site blue k=v")
	// An inline document's sub-resources get the headers and cookies over https.
	inline := job
	inline.URL, inline.HTML = "", `<iframe src="https://example.com/" width=600></iframe>`
	inline.Cookies = []Cookie{{Name: "k", Value: "inline", Domain: "example.com"}}
	contains(t, textOf(t, trusting, inline), "private site blue k=inline")

	strict := startPool(t, func(c *Config) { c.Proxy = proxy })
	_, err := strict.PDF(t.Context(), job, PDF{})
	var load *LoadError
	if !errors.As(err, &load) || !strings.HasPrefix(load.Reason, "net::ERR_CERT_") {
		t.Errorf("without the extra CA: %v, want a certificate error", err)
	}
}

func pemOf(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}
