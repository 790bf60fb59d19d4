// Package fakes3 gives tests a real S3 server, and a way to it that can break.
package fakes3

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store/blob/s3"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// AccessKey and SecretKey are who may use the server.
const (
	AccessKey = "relaypdf-tests"
	SecretKey = "a secret of tests"
)

const startTimeout = 2 * time.Minute

// Fault intercepts a request; next is the server.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// Server is versitygw on a folder, which ends with its test.
type Server struct {
	URL string // of the way to it

	folder   string
	fault    atomic.Pointer[Fault]
	requests atomic.Int64
}

// Start starts a server with one bucket, "documents".
func Start(t testing.TB) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and starts an S3 server")
	}
	program, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &Server{folder: filepath.Join(dir, "objects")}
	for _, folder := range []string{s.folder, filepath.Join(dir, "meta")} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// A socket without a file: it needs no free port, and no short path.
	socket := "@relaypdf-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(sockets.Add(1), 10)
	gateway := exec.CommandContext(context.WithoutCancel(t.Context()), program, "--quiet", "--port", socket, "--access", AccessKey, "--secret", SecretKey,
		"posix", "--sidecar", filepath.Join(dir, "meta"), s.folder)
	gateway.Stdout, gateway.Stderr = t.Output(), t.Output()
	if err := storetest.Start(gateway); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = gateway.Process.Kill(), gateway.Wait() })

	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			// The address that was asked for is part of the signature.
			r.Out.URL.Scheme = "http"
			r.Out.URL.Host = r.In.Host
			r.Out.Host = r.In.Host
		},
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", socket)
			},
			DisableCompression: true,
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	way := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if fault := s.fault.Load(); fault != nil {
			(*fault)(w, r, proxy)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(way.Close)
	s.URL = way.URL
	s.makeBucket(t)
	return s
}

var sockets atomic.Int64

// program builds versitygw as pinned in .ci/s3.mod, once, and returns its path.
var program = sync.OnceValues(func() (string, error) { return sharedtest.Tool("s3.mod", "versitygw") })

// makeBucket waits for the server, and makes the bucket.
func (s *Server) makeBucket(t testing.TB) {
	t.Helper()
	for began := time.Now(); ; <-time.After(20 * time.Millisecond) {
		err := s.Client(t).MakeBucket(t.Context(), "documents", minio.MakeBucketOptions{})
		if err == nil {
			return
		}
		if time.Since(began) > startTimeout {
			t.Fatalf("the S3 server did not start: %v", err)
		}
	}
}

// Client returns a client that does not use the code under test.
func (s *Server) Client(t testing.TB) *minio.Core {
	t.Helper()
	client, err := minio.NewCore(strings.TrimPrefix(s.URL, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(AccessKey, SecretKey, ""), Region: s3.DefaultRegion, MaxRetries: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Config is the bucket "documents".
func (s *Server) Config() s3.Config {
	return s3.Config{Bucket: "documents", Endpoint: s.URL, Region: s3.DefaultRegion, AccessKey: AccessKey, SecretKey: SecretKey}
}

// TLS returns another URL of the server, with https and the certificate of package httptest.
func (s *Server) TLS(t testing.TB) string {
	t.Helper()
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme = to.Scheme
		r.Out.URL.Host = to.Host
		r.Out.Host = r.In.Host // which is signed
	}})
	t.Cleanup(front.Close)
	return front.URL
}

// Address is Config as a setting.
func (s *Server) Address() string { return "s3://documents/files?endpoint=" + url.QueryEscape(s.URL) }

// Break intercepts every request with a fault; nil removes it.
func (s *Server) Break(fault Fault) {
	if fault == nil {
		s.fault.Store(nil)
		return
	}
	s.fault.Store(&fault)
}

// Requests returns the number of requests.
func (s *Server) Requests() int64 { return s.requests.Load() }

// File returns the path of the server's file for an object of the bucket, for tests that damage it.
func (s *Server) File(object string) string { return filepath.Join(s.folder, "documents", object) }

// Down answers nothing: it cuts every connection.
func Down(w http.ResponseWriter, _ *http.Request, _ http.Handler) { panic(http.ErrAbortHandler) }

// Busy answers as S3 does when it has too much to do.
func Busy(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write([]byte(`<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`))
}
