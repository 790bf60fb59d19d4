package chrome

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/relaypdf/relaypdf/render/spool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// closedProxy is an address on which nothing listens: a browser with this proxy has no network.
const closedProxy = "http://127.0.0.1:9"

// startPool starts a Pool with two slots and ends it with the test, after
// which no folder may be left.
func startPool(t testing.TB, change func(*Config)) *Pool {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	cfg := Config{Proxy: closedProxy, Slots: 2, Dir: tempDir(t), Times: Times{Start: patience, Job: patience, Settle: patience}}
	if change != nil {
		change(&cfg)
	}
	p, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if left, _ := os.ReadDir(cfg.Dir); len(left) != 0 {
			t.Errorf("close left %v in the folder", left)
		}
	})
	return p
}

// tempDir is t.TempDir that the browser's user can pass through.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "chrome-test-")
	if err == nil {
		err = os.Chmod(dir, 0o711)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// site is a small web: a proxy that answers for every host by itself.
type site struct {
	proxy *httptest.Server
	mux   *http.ServeMux

	mu   sync.Mutex
	hits []*http.Request
}

// newSite starts a web. Its pages are registered on mux, by host and path.
func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{mux: http.NewServeMux()}
	s.proxy = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.hits = append(s.hits, r.Clone(context.WithoutCancel(r.Context())))
		s.mu.Unlock()
		s.mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.proxy.Close)
	return s
}

func (s *site) page(pattern, html string) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, html)
	})
}

// requests returns the requests so far for a path.
func (s *site) requests(path string) []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*http.Request
	for _, r := range s.hits {
		if r.URL.Path == path {
			found = append(found, r)
		}
	}
	return found
}

// startWithSite starts a Pool whose network is the site.
func startWithSite(t testing.TB, s *site) *Pool {
	t.Helper()
	return startPool(t, func(c *Config) { c.Proxy = s.proxy.URL })
}

// textOf prints the job and returns the document's text.
func textOf(t testing.TB, p *Pool, job Job) string {
	t.Helper()
	doc, err := p.PDF(t.Context(), job, PDF{})
	if err != nil {
		t.Fatalf("print: %v", err)
	}
	return pdfText(t, doc)
}

// pdfText returns a document's text, and closes it.
func pdfText(t testing.TB, doc PrintedPDF) string {
	t.Helper()
	return tool(t, doc.Body, "pdftotext", "-layout", "-", "-")
}

// tool runs a program of poppler on a result, and closes the result.
func tool(t testing.TB, body *spool.File, name string, args ...string) string {
	t.Helper()
	defer body.Close()
	cmd := exec.Command(name, args...)
	cmd.Stdin = body.Open()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, stderr.String())
	}
	return string(out)
}

// pixels decodes a screenshot, and closes it.
func pixels(t testing.TB, img Image) image.Image {
	t.Helper()
	defer img.Body.Close()
	decoded, _, err := image.Decode(img.Body.Open())
	if err != nil {
		t.Fatal(err)
	}
	if got := decoded.Bounds().Size(); got != image.Pt(img.Width, img.Height) {
		t.Errorf("the picture is %v, but %d × %d was reported", got, img.Width, img.Height)
	}
	return decoded
}

// colorAt returns a pixel as rrggbbaa.
func colorAt(img image.Image, x, y int) string {
	r, g, b, a := img.At(x, y).RGBA()
	return fmt.Sprintf("%02x%02x%02x%02x", r>>8, g>>8, b>>8, a>>8)
}

// renderers returns the pids of a browser's renderer processes that a page was
// assigned to.
func renderers(t testing.TB, browserPID int) []int {
	t.Helper()
	parents := processParents()
	var pids []int
	for pid := range parents {
		if !descends(parents, pid, browserPID) {
			continue
		}
		cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && bytes.Contains(cmdline, []byte("--type=renderer")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// current returns the browser that serves who comes first: the oldest one.
func (p *Pool) current() *browser {
	for {
		if all := p.browserPool.all(); len(all) > 0 {
			return all[0]
		}
	}
}

// browserPID returns the main process of that browser.
func (p *Pool) browserPID() int { return p.current().proc.cmd.Process.Pid }

// eventually waits for a condition on a process or a counter that nothing
// signals.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// patience bounds what takes a moment, on machines that stall as well. That a
// browser hangs is noticed after 13 seconds.
const patience = 3 * time.Minute

// timesOut prints a job that cannot end, and fails the test unless its deadline
// ends it, in the step; any step will do where none is given. A machine that does
// not get to the step in that time is given more.
func timesOut(t testing.TB, p *Pool, job Job, step Step) {
	t.Helper()
	steps := []Step{StepQueue, StepPage, StepLoad, StepSelector, StepFunction, StepPause, StepSettle, StepPrint}
	for {
		start := time.Now()
		doc, err := p.PDF(t.Context(), job, PDF{})
		if err == nil {
			doc.Body.Close()
		}
		if took := time.Since(start); took > job.Timeout+patience/2 {
			t.Errorf("the job ended after %s, with a deadline of %s", took, job.Timeout)
		}
		var timeout *TimeoutError
		if !errors.As(err, &timeout) {
			t.Errorf("%v, want a timeout in the step %q", err, step)
			return
		}
		if step == "" || timeout.Step == step {
			return
		}
		if job.Timeout *= 3; slices.Index(steps, timeout.Step) > slices.Index(steps, step) || job.Timeout > patience {
			t.Errorf("%v, want a timeout in the step %q", err, step)
			return
		}
	}
}

// modes are all modes, for tests that go through each.
var modes = [...]RenderMode{ModeInline, ModeRealm, ModeOnce}

// firstWord returns where the first word of a document stands, in points.
func firstWord(t testing.TB, doc PrintedPDF) (left, top, bottom float64) {
	t.Helper()
	out := tool(t, doc.Body, "pdftotext", "-bbox", "-", "-")
	_, word, found := strings.Cut(out, "<word")
	if !found {
		t.Fatalf("no word in %s", out)
	}
	var right float64
	if _, err := fmt.Sscanf(word, ` xMin="%f" yMin="%f" xMax="%f" yMax="%f"`, &left, &top, &right, &bottom); err != nil {
		t.Fatal(err, word)
	}
	return left, top, bottom
}

// contains fails the test unless text has all parts.
func contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
}
