package render_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/spool"
)

// siteAddr is the address of the friendly sites of these tests. The canary uses another port, and its addresses are
// refused.
const siteAddr = "127.0.0.2"

// patience bounds what takes a moment, on machines that are busy as well.
const patience = 5 * time.Minute

// launch starts a Renderer in a folder that must be empty after closing it.
func launch(t *testing.T, cfg render.Config) *render.Renderer {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	dir, err := os.MkdirTemp("", "render-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { // The browser's own user passes through.
		t.Fatal(err)
	}
	cfg.Dir, cfg.Times.Start, cfg.Times.Job = dir, patience, patience
	if os.Getenv(withoutNamespaces) != "" {
		cfg.Sandbox = render.SandboxReduced // And this program as the engines': nothing can be built here.
	} else if cfg.Engine, err = render.Engine(); err != nil {
		t.Fatal(err)
	}
	r, err := render.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("Close left %v (error %v)", left, err)
		}
	})
	return r
}

// textOf returns the text of a PDF, and frees it.
func textOf(t *testing.T, body *spool.File) string {
	t.Helper()
	defer body.Close()
	cmd := exec.CommandContext(t.Context(), "pdftotext", "-layout", "-", "-")
	cmd.Stdin = body.Open()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pdftotext: %v", err)
	}
	return string(out)
}

// authority signs certificates; file holds its own, for Config.ExtraCA.
type authority struct {
	file string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test CA"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return &authority{file: file, cert: cert, key: key}
}

func (a *authority) issue(t *testing.T, hosts ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: hosts[0]}, DNSNames: hosts,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// website is a server on siteAddr that holds pages. It counts its requests.
type website struct {
	http.ServeMux
	addr   netip.AddrPort
	scheme string

	mu       sync.Mutex
	requests map[string]int // by path
	pages    int
}

// newWebsite starts a TLS site for hosts, or a plain one where ca is nil.
func newWebsite(t *testing.T, ca *authority, hosts ...string) *website {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", siteAddr+":0")
	if err != nil {
		t.Fatal(err)
	}
	s := &website{scheme: "http", requests: map[string]int{}, addr: listener.Addr().(*net.TCPAddr).AddrPort()}
	server := httptest.NewUnstartedServer(s)
	_ = server.Listener.Close()
	server.Listener = listener
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // A browser that distrusts the site is part of a test.
	if ca == nil {
		server.Start()
	} else {
		s.scheme = "https"
		server.TLS = &tls.Config{Certificates: []tls.Certificate{ca.issue(t, hosts...)}}
		server.StartTLS()
	}
	t.Cleanup(server.Close)
	return s
}

func (s *website) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests[r.URL.Path]++
	s.mu.Unlock()
	s.ServeMux.ServeHTTP(w, r)
}

// count returns how many requests came for a path.
func (s *website) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[path]
}

// origin returns scheme://host:port under one of the site's names.
func (s *website) origin(host string) string {
	return fmt.Sprintf("%s://%s:%d", s.scheme, host, s.addr.Port())
}

// publish serves a page under a new path, with headers given as name, value,
// and returns the path.
func (s *website) publish(html string, headers ...string) string {
	s.mu.Lock()
	s.pages++
	path := fmt.Sprintf("/page/%d", s.pages)
	s.mu.Unlock()
	s.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Add(headers[i], headers[i+1])
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, html)
	})
	return path
}

// dns resolves the names of these tests: those under canaryDomain to loopback,
// and the others as their function says at each lookup.
type dns map[string]func() []netip.Addr

func (d dns) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	host = strings.TrimSuffix(host, ".")
	if answer, ok := d[host]; ok {
		return answer(), nil
	}
	if strings.HasSuffix(host, canaryDomain) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// always answers every lookup with the same addresses.
func always(addrs ...string) func() []netip.Addr {
	parsed := make([]netip.Addr, len(addrs))
	for i, addr := range addrs {
		parsed[i] = netip.MustParseAddr(addr)
	}
	return func() []netip.Addr { return parsed }
}

// answers gives each of the addresses once, and the last one from then on.
func answers(addrs ...string) func() []netip.Addr {
	var mu sync.Mutex
	next := 0
	return func() []netip.Addr {
		mu.Lock()
		defer mu.Unlock()
		addr := netip.MustParseAddr(addrs[min(next, len(addrs)-1)])
		next++
		return []netip.Addr{addr}
	}
}
