package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// devServer is `relaypdf serve --dev` as its own process.
type devServer struct {
	process *exec.Cmd
	out     *bufio.Reader
	url     string
	key     string
	curl    string // the request it prints to be pasted
	dir     string
}

var (
	printedURL  = regexp.MustCompile(`running at (\S+)`)
	printedKey  = regexp.MustCompile(`key +(pdf_test_\S+)`)
	printedCurl = regexp.MustCompile(`(?m)^curl .*$`)
)

// startDev starts a development server and reads its start message.
func startDev(t *testing.T, env ...string) *devServer {
	t.Helper()
	if testing.Short() {
		t.Skip("starts the whole program")
	}
	s := &devServer{process: exec.CommandContext(t.Context(), os.Args[0], "serve", "--dev"), dir: t.TempDir()}
	s.process.Cancel = func() error { return s.process.Process.Kill() }
	s.process.Env = append([]string{
		actAsProgram + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "RELAYPDF_DATA_DIR=" + filepath.Join(s.dir, "data"),
		"RELAYPDF_LISTEN=127.0.0.1:0", "RELAYPDF_METRICS_LISTEN=",
	}, env...)
	var log bytes.Buffer
	s.process.Stderr = &log
	out, err := s.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // Before its folder is removed, it must write no more.
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
	})
	s.out = bufio.NewReader(out)
	var banner bytes.Buffer
	for s.curl == "" {
		line, err := s.out.ReadString('\n')
		if err != nil {
			_ = s.process.Wait()
			t.Fatalf("the server ended after %q: %v; it logged %s", banner.String(), err, &log)
		}
		banner.WriteString(line)
		s.curl = printedCurl.FindString(banner.String())
	}
	s.url = printedURL.FindStringSubmatch(banner.String())[1]
	s.key = printedKey.FindStringSubmatch(banner.String())[1]
	return s
}

func (s *devServer) get(ctx context.Context, path string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return 0, err
	}
	response, err := (&http.Client{Timeout: pagePatience}).Do(r)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func TestDevServerPrintsARequestThatWorks(t *testing.T) {
	t.Parallel()
	server := startDev(t)
	paste := exec.CommandContext(t.Context(), "sh", "-c", server.curl)
	paste.Dir = t.TempDir()
	if out, err := paste.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", server.curl, err, out)
	}
	pdf, err := os.ReadFile(filepath.Join(paste.Dir, "hello.pdf"))
	if err != nil || !bytes.HasPrefix(pdf, []byte("%PDF-")) {
		t.Fatalf("got %.200q, %v; want a PDF", pdf, err)
	}
	text, err := exec.CommandContext(t.Context(), "pdftotext", filepath.Join(paste.Dir, "hello.pdf"), "-").Output()
	if err != nil || !strings.Contains(string(text), "Made by relaypdf.") {
		t.Errorf("the PDF says %q, %v", text, err)
	}
}

// TestEachSideSpeaksItsLanguage requests missing resources of the whole service: the API responds with JSON, the
// rest with pages, and both suggest a correction.
func TestEachSideSpeaksItsLanguage(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	server := startDev(t)
	for _, q := range []struct {
		method, path string
		status       int
		kind, allow  string
		says         string
	}{
		{http.MethodGet, "/health", http.StatusOK, "application/json", "", `"ok":true`},
		{http.MethodGet, "/login", http.StatusOK, "text/html; charset=utf-8", "", "<form"},
		{http.MethodGet, "/v1/account?key=pdf_live_x", http.StatusUnauthorized, "application/json", "", "unauthorized"},
		{http.MethodGet, "/v1/billing/price", http.StatusNotFound, "application/json", "", "Did you mean /v1/billing/prices?"},
		{http.MethodPut, "/v1/account", http.StatusMethodNotAllowed, "application/json", "GET, HEAD", "method_not_allowed"},
		{http.MethodGet, "/dashbord", http.StatusNotFound, "text/html; charset=utf-8", "", `<a href="/dashboard"`},
		{http.MethodGet, "/opnapi.json", http.StatusNotFound, "text/html; charset=utf-8", "", `<a href="/openapi.json"`},
		{http.MethodPut, "/dashboard", http.StatusMethodNotAllowed, "text/html; charset=utf-8", "GET, HEAD", "This page is out of date"},
		{http.MethodPut, "/gallery/invoice.webp", http.StatusMethodNotAllowed, "text/html; charset=utf-8", "GET, HEAD, OPTIONS", "Allowed methods"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), q.method, server.url+q.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&http.Client{Timeout: pagePatience}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(got.Body)
		if err := errors.Join(err, got.Body.Close()); err != nil {
			t.Fatal(err)
		}
		h := got.Header
		if got.StatusCode != q.status || h.Get("Content-Type") != q.kind || h.Get("Allow") != q.allow || h.Get("X-Request-Id") == "" || !bytes.Contains(body, []byte(q.says)) {
			t.Errorf("%s %s: status %d, headers %v, want %s in %s", q.method, q.path, got.StatusCode, h, q.says, body)
		}
	}
}

// TestServerStopsInOrder holds a render open, ends the process with SIGTERM, and checks the order: not ready any
// more, then the render is done, then the process ends. The delay is long enough to be observed on a machine that
// stalls, and the render continues after it.
func TestServerStopsInOrder(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	server := startDev(t, "RELAYPDF_DRAIN_DELAY=20s")
	server.awaitStatus(t, http.StatusOK) // The browser may take longer at first than a check waits.
	answer := make(chan error, 1)
	go func() { answer <- server.slowRender(t.Context()) }()
	server.awaitBusy(t)
	if err := server.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	server.awaitStatus(t, http.StatusServiceUnavailable)
	if status, err := server.get(t.Context(), "/health"); err != nil || status != http.StatusOK {
		t.Errorf("while draining, /health: %d, %v; want 200", status, err)
	}
	if err := <-answer; err != nil {
		t.Errorf("the render under way: %v", err)
	}
	if _, err := io.Copy(io.Discard, server.out); err != nil {
		t.Error(err)
	}
	if err := server.process.Wait(); err != nil {
		t.Errorf("the server left with %v, want code 0", err)
	}
	if _, err := server.get(t.Context(), "/health"); err == nil {
		t.Error("the server still listens")
	}
}

// slowRender asks for a document that takes half a minute.
func (s *devServer) slowRender(ctx context.Context) error {
	body := strings.NewReader(`{"html":"<p>slow</p>","options":{"waitForTimeout":30000}}`)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/pdf", body)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Timeout: pagePatience}).Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && !bytes.HasPrefix(content, []byte("%PDF-")) {
		return fmt.Errorf("%s: %.200s", response.Status, content)
	}
	return err
}

// awaitBusy returns when a render runs.
func (s *devServer) awaitBusy(t *testing.T) {
	t.Helper()
	s.await(t, func(ready readyAnswer, _ int) bool { return ready.Queue.Busy > 0 })
}

func (s *devServer) awaitStatus(t *testing.T, want int) {
	t.Helper()
	s.await(t, func(_ readyAnswer, status int) bool { return status == want })
}

type readyAnswer struct{ Queue struct{ Busy int } }

// await asks /health/ready until it answers as wanted.
func (s *devServer) await(t *testing.T, done func(readyAnswer, int) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pagePatience)
	defer cancel()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/health/ready", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := (&http.Client{Timeout: pagePatience}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var ready readyAnswer
		err = json.NewDecoder(response.Body).Decode(&ready)
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if done(ready, response.StatusCode) {
			return
		}
	}
}

// TestServerStartsWithAnyMemory starts a server with each amount of memory, renders and ends it. The amount decides
// how many browsers start in parallel.
func TestServerStartsWithAnyMemory(t *testing.T) {
	sharedtest.Slow(t)
	for _, memory := range []string{"1GB", "2GB", "4GB", "8GB"} {
		t.Run(memory, func(t *testing.T) {
			server := startDev(t, "RELAYPDF_MEMORY="+memory)
			paste := exec.CommandContext(t.Context(), "sh", "-c", server.curl)
			paste.Dir = t.TempDir()
			if out, err := paste.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", server.curl, err, out)
			}
			pdf, err := os.ReadFile(filepath.Join(paste.Dir, "hello.pdf"))
			if err != nil || !bytes.HasPrefix(pdf, []byte("%PDF-")) {
				t.Errorf("got %.200q, %v; want a PDF", pdf, err)
			}
			if err := server.process.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, server.out); err != nil {
				t.Error(err)
			}
			if err := server.process.Wait(); err != nil {
				t.Errorf("the server left with %v, want code 0", err)
			}
		})
	}
}
