package api_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/fakellm"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/service/llm"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/store/storetest"
)

// TestMain makes this test binary the engine of the renderers that its tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "engine" {
		if err := render.ServeEngine(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// A sixth of this process's time was garbage collection.
	debug.SetGCPercent(400)
	goleak.VerifyTestMain(labRun{m}, storetest.Lasting)
}

// labRun ends the lab when all tests have run.
type labRun struct{ *testing.M }

func (r labRun) Run() int {
	defer lab.close()
	return r.M.Run()
}

// lab is the renderer of the tests that need a real one, and a web server with
// files that it may fetch. It starts with the first of them.
var lab toolLab

type toolLab struct {
	once   sync.Once
	render *render.Renderer
	files  *httptest.Server
	err    error
	dir    string
	// authorities are those of tests, by the first part of their path after /pki/.
	authorities sync.Map
}

// newAuthority returns an authority whose servers the lab's renderer reaches.
func newAuthority(t *testing.T) *pdftest.Authority {
	t.Helper()
	name := rand.Text()
	a := pdftest.NewAuthority(t, lab.files.URL+"/pki/"+name)
	lab.authorities.Store(name, a)
	t.Cleanup(func() { lab.authorities.Delete(name) })
	return a
}

func (l *toolLab) start() {
	l.files = httptest.NewServer(http.HandlerFunc(serveFiles))
	if l.dir, l.err = os.MkdirTemp("", "api-test-"); l.err != nil {
		return
	}
	// The engines' own user passes through it.
	if l.err = os.Chmod(l.dir, 0o711); l.err != nil {
		return
	}
	var engine []string
	if engine, l.err = sharedtest.Engine(l.dir); l.err != nil {
		return
	}
	l.render, l.err = render.New(context.Background(), render.Config{
		Dir: l.dir, Engine: engine, AllowHosts: []string{strings.TrimPrefix(l.files.URL, "http://")}, Resolver: noNames{}, Times: chrome.Times{Start: 5 * time.Minute, Job: 90 * time.Second},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), // shown where a test fails
	})
}

func (l *toolLab) close() {
	if l.render != nil {
		if err := l.render.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "close the renderer:", err)
		}
	}
	if l.files != nil {
		l.files.Close()
	}
	_ = os.RemoveAll(l.dir)
}

// labMaxFile is the most that a file may have in tests of tools.
const labMaxFile = 512 << 10

// serveFiles serves the files for sources with a URL.
func serveFiles(w http.ResponseWriter, r *http.Request) {
	if rest, ok := strings.CutPrefix(r.URL.Path, "/pki/"); ok {
		name, _, _ := strings.Cut(rest, "/")
		if a, ok := lab.authorities.Load(name); ok {
			a.(http.Handler).ServeHTTP(w, r) // all are
			return
		}
	}
	switch r.URL.Path {
	case "/letters.pdf":
		// The content type does not matter.
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(letters("alpha", "beta", "gamma"))
	case "/moved":
		http.Redirect(w, r, "/letters.pdf", http.StatusFound)
	case "/inwards":
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
	case "/loop":
		http.Redirect(w, r, "/loop", http.StatusFound)
	case "/sent": // what the query holds
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		_, _ = io.WriteString(w, r.URL.Query().Get("body"))
	case "/empty":
	case "/flood":
		_, _ = w.Write(make([]byte, 15<<20))
	case "/hang":
		_, _ = io.Copy(io.Discard, r.Body) // The server notices a disconnection after the body only.
		<-r.Context().Done()
	case "/large":
		_, _ = w.Write(bytes.Repeat([]byte("x"), labMaxFile+1))
	case "/endless":
		w.Header().Set("Transfer-Encoding", "chunked")
		for range labMaxFile {
			if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<10)); err != nil {
				return
			}
		}
	default:
		http.Error(w, "gone", http.StatusGone)
	}
}

// toolServer starts the whole product on the lab's renderer, with a model provider and with changes.
func toolServer(t *testing.T, changes ...func(*apitest.Settings)) *apitest.Server {
	t.Helper()
	return toolServerOn(t, nil, changes...)
}

// toolServerOn is toolServer on a database; nil is a new one.
func toolServerOn(t *testing.T, db *storetest.DB, changes ...func(*apitest.Settings)) *apitest.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser and engines")
	}
	lab.once.Do(lab.start)
	if lab.err != nil {
		t.Fatal(lab.err)
	}
	s := apitest.New(t, apitest.Options{DB: db, Operations: operation.Rows, Change: func(cfg *apitest.Settings) {
		cfg.Render, cfg.NoRateLimits, cfg.MaxFile, cfg.MaxBody = lab.render, true, labMaxFile, 8<<20
		cfg.AI = generator(t, llm.OpenAI, fakellm.New(t, always(good)), generatePatience)
		for _, change := range changes {
			change(cfg)
		}
	}})
	s.HTTP.Timeout = 5 * time.Minute // An operation on files may take one.
	return s
}

// ownRenderer starts a renderer for one test, which may end its processes, with one slot. They have the folder in their
// command lines.
func ownRenderer(t *testing.T) (own *render.Renderer, dir string) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser and engines")
	}
	lab.once.Do(lab.start)
	err := lab.err
	if err == nil {
		dir, err = os.MkdirTemp(lab.dir, "own-")
	}
	if err == nil {
		err = os.Chmod(dir, 0o711)
	}
	if err == nil {
		own, err = render.New(t.Context(), render.Config{
			Dir: dir, Engine: []string{filepath.Join(lab.dir, "relaypdf"), "engine"}, Slots: 1, Memory: 1 << 30, NoOffice: true, AllowHosts: []string{"127.0.0.1"},
			Resolver: noNames{}, Times: chrome.Times{Start: 5 * time.Minute},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Close(); err != nil {
			t.Error(err)
		}
	})
	return own, dir
}

// generator asks a provider of some kind for models.
func generator(t *testing.T, kind string, provider *fakellm.Provider, timeout time.Duration) *operation.AI {
	t.Helper()
	model, err := llm.New(llm.Config{Provider: kind, Key: "provider-key", BaseURL: provider.URL, Model: "some-model"})
	if err != nil {
		t.Fatal(err)
	}
	return &operation.AI{Model: model, Input: inputPrice, Output: outputPrice, MaxTokens: labTokens, Timeout: timeout}
}

// noNames is a DNS that knows no name: no test asks the real one.
type noNames struct{}

func (noNames) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// letters is a PDF with a word on each page.
func letters(words ...string) []byte {
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
	}
	var kids strings.Builder
	for i, word := range words {
		fmt.Fprintf(&kids, "%d 0 R ", 4+2*i)
		content := "BT /F1 24 Tf 40 300 Td (" + word + ") Tj ET"
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 400] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>", 5+2*i),
			fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), len(words))
	return writePDF(objects, "")
}

// writePDF writes objects, the first of which is the catalog, as a PDF. The
// trailer has more entries where some are given.
func writePDF(objects []string, trailer string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var offsets []int
	for i, object := range objects {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, trailer, xref)
	return b.Bytes()
}
