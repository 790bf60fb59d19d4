package render

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
	"image"
	_ "image/png"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/spool"
)

// TestMain lets the test's own program be the engine's child.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "engine" {
		var err error
		if len(os.Args) > 2 && os.Args[2] == "browser" {
			err = ExecBrowser(os.Args[3:])
		} else {
			err = ServeEngine(os.Stdin, os.Stdout)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(engineDir)
		os.Exit(code)
	}))
}

// engineDir holds what Engine built, if any test needed it.
var engineDir string

// Engine builds the program of the engines of most tests.
var Engine = sync.OnceValues(func() (command []string, err error) {
	if engineDir, err = os.MkdirTemp("", "render-engine-"); err != nil {
		return nil, err
	}
	if err = os.Chmod(engineDir, 0o711); err != nil { // The engines' own user passes through it.
		return nil, err
	}
	return sharedtest.Engine(engineDir)
})

// patience bounds what takes a moment, on machines that are busy as well.
const patience = 5 * time.Minute

// start returns a Renderer whose folder must be empty when it has been closed.
func start(t *testing.T, cfg Config) *Renderer {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	cfg.Dir, cfg.Times.Start, cfg.Times.Job = folder(t), patience, patience
	var err error
	if cfg.Engine, err = Engine(); err != nil {
		t.Fatal(err)
	}
	r, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		left, err := os.ReadDir(cfg.Dir)
		if err != nil || len(left) > 0 {
			t.Errorf("Close left %v (error %v)", left, err)
		}
	})
	return r
}

// folder returns an empty folder that the browser's own user can pass through,
// which testing's cannot be.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "render-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// save writes a result to a file and frees it.
func save(t *testing.T, body *spool.File) string {
	t.Helper()
	defer body.Close()
	path := filepath.Join(t.TempDir(), "result")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.Copy(file, body.Open()); err != nil {
		t.Fatal(err)
	}
	return path
}

// tool runs a program that reads PDFs and returns its output.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

func pdfText(t *testing.T, doc chrome.PrintedPDF) string {
	t.Helper()
	return tool(t, "pdftotext", "-layout", save(t, doc.Body), "-")
}

// names is a resolver that knows these names only.
type names map[string]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	addr, ok := n[strings.TrimSuffix(host, ".")]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr(addr)}, nil
}

// site is a TLS web server of the given host names on loopback, which counts
// the requests and the connections it gets.
type site struct {
	server *httptest.Server
	ca     string // PEM file
	hits   atomic.Int64
}

func newSite(t *testing.T, handler http.Handler, hosts ...string) *site {
	t.Helper()
	s := &site{ca: filepath.Join(t.TempDir(), "ca.pem")}
	s.server = httptest.NewUnstartedServer(handler)
	s.server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.hits.Add(1)
		}
	}
	s.server.Config.ErrorLog = log.New(io.Discard, "", 0) // a browser that distrusts the site is part of a test
	s.server.TLS = &tls.Config{Certificates: []tls.Certificate{s.certificate(t, hosts)}}
	s.server.StartTLS()
	t.Cleanup(s.server.Close)
	return s
}

// url returns an address on the site under one of its names.
func (s *site) url(host, path string) string {
	_, port, _ := net.SplitHostPort(s.server.Listener.Addr().String())
	return (&url.URL{Scheme: "https", Host: net.JoinHostPort(host, port), Path: path}).String()
}

// certificate makes an authority, writes it to the site's file and signs a
// certificate for the hosts.
func (s *site) certificate(t *testing.T, hosts []string) tls.Certificate {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test CA"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	must(err)
	must(os.WriteFile(s.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: hosts[0]}, DNSNames: hosts,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err = x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), authorityKey)
	must(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func decodePNG(t *testing.T, path string) image.Config {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	config, format, err := image.DecodeConfig(file)
	if err != nil || format != "png" {
		t.Fatalf("format %s, error %v; want a png", format, err)
	}
	return config
}
