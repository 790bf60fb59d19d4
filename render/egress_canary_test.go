package render_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/egress"
)

// together is the number of documents that are rendered at once. Most of the time they wait for the network to be
// idle.
const together = 4

// outcome is the result of a document.
type outcome struct {
	canaryCase
	err error
}

// renderAll renders documents side by side and returns what came of each.
func renderAll(t *testing.T, r *render.Renderer, docs []canaryCase) []outcome {
	t.Helper()
	results := make([]outcome, len(docs))
	var group errgroup.Group
	group.SetLimit(together)
	for i, d := range docs {
		group.Go(func() error {
			results[i] = outcome{canaryCase: d, err: d.render(t, r)}
			return nil
		})
	}
	_ = group.Wait() // The errors are in the results.
	return results
}

// renderUntil is renderAll, and renders those documents again of which a request
// was not seen: on a machine that stalls, a document may be done before its
// scripts are.
func renderUntil(t *testing.T, r *render.Renderer, docs []canaryCase, seen func(token string) bool) []outcome {
	t.Helper()
	results := renderAll(t, r, docs)
	for range 3 {
		var again []canaryCase
		results = slices.DeleteFunc(results, func(o outcome) bool {
			incomplete := len(o.missing(seen)) > 0
			if incomplete {
				again = append(again, o.canaryCase)
			}
			return incomplete
		})
		results = append(results, renderAll(t, r, again)...)
	}
	return results
}

// missing returns the tokens of a document whose requests were not seen.
func (d canaryCase) missing(seen func(token string) bool) []string {
	return slices.DeleteFunc(slices.Clone(d.tokens), seen)
}

func (d canaryCase) render(t *testing.T, r *render.Renderer) error {
	t.Helper()
	if d.image {
		image, err := r.For("acct_1").Screenshot(t.Context(), d.source, d.page, chrome.Screenshot{FullPage: true})
		if err == nil {
			err = image.Body.Close()
		}
		return err
	}
	doc, err := r.For("acct_1").PDF(t.Context(), d.source, d.page, d.pdf)
	if err == nil {
		err = doc.Body.Close()
	}
	return err
}

// refusals collects the hosts that a Renderer refused.
type refusals struct {
	mu    sync.Mutex
	hosts map[string]bool
}

func (r *refusals) add(host, _ string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hosts == nil {
		r.hosts = map[string]bool{}
	}
	r.hosts[host] = true
}

func (r *refusals) has(host string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hosts[host]
}

// No way in which a document can load something reaches the inner network, and
// each is seen to be refused.
func TestNothingReachesTheCanary(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	f := newField(t)
	var refused refusals
	r := launch(t, render.Config{
		Slots: together, AllowHosts: []string{f.siteHost()}, ExtraCA: f.ca.file, Resolver: f.names, OnRefuse: refused.add,
	})
	seen := func(token string) bool {
		// A browser that is locked in from outside may make no datagrams, and gives
		// WebRTC up before it tries TLS.
		return refused.has(token+canaryDomain) || os.Getenv(withoutNamespaces) != "" && strings.HasPrefix(token, "turns-")
	}
	for _, o := range renderUntil(t, r, f.documents(), seen) {
		// A link target becomes the document itself; an embedded frame does not.
		if refused := errors.Is(o.err, egress.ErrRefused); refused != o.leaves || !refused && o.err != nil {
			t.Errorf("%s: error %v", o.name, o.err)
		}
		for _, token := range o.missing(seen) {
			t.Errorf("%s: no request of %s was refused", o.name, token)
		}
	}
	if err := r.Close(); err != nil { // No document is left that could still send something.
		t.Fatal(err)
	}
	f.canary.wantSilence(t)
}

// The same documents do reach the canary where the operator opened it: the
// silence above is not the silence of documents that never try.
func TestCanaryIsReachedWhereOpen(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	f := newField(t)
	open := append(ownAddresses(t), f.siteHost(), "127.0.0.1", "::1")
	r := launch(t, render.Config{Slots: together, AllowHosts: open, ExtraCA: f.ca.file, Resolver: f.names})
	for _, o := range renderUntil(t, r, f.documents(), f.canary.reached) {
		for _, token := range o.missing(f.canary.reached) {
			t.Errorf("%s: %s did not reach the canary", o.name, token)
		}
		if o.err != nil {
			t.Errorf("%s: %v", o.name, o.err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	f.canary.drain(t)
	if kinds, _ := f.canary.hits(); kinds["udp"] > 0 || kinds["plain"] == 0 || kinds["tls"] == 0 {
		t.Errorf("arrived: %v, want plain and TLS connections, and no packet around the proxy", kinds)
	}
}

// Offline documents reach nothing, even if the operator has allowed every address.
func TestOfflineDocumentsReachNothing(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	f := newField(t)
	open := append(ownAddresses(t), f.siteHost(), "127.0.0.1", "::1")
	r := launch(t, render.Config{Slots: together, AllowHosts: open, ExtraCA: f.ca.file, Resolver: f.names})
	var docs []canaryCase
	for _, d := range f.documents() {
		if d.source.HTML != "" {
			d.page.Offline = true
			docs = append(docs, d)
		}
	}
	if len(docs) == 0 {
		t.Fatal("no document is HTML")
	}
	for _, o := range renderAll(t, r, docs) {
		if o.err != nil && !o.leaves {
			t.Errorf("%s: %v", o.name, o.err)
		}
	}
	if err := r.Close(); err != nil { // No document is left that could still send something.
		t.Fatal(err)
	}
	f.canary.wantSilence(t)
}

// A browser without our flags reaches the canary in every way, UDP included:
// the harness can see what the flags and the proxy stop.
func TestBareBrowserReachesTheCanary(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	f := newField(t)
	through := door{name: "bare", targets: []string{"http", "https", "v4", "v6"}}
	var d canaryCase
	page := strings.Join(f.fill(&d, passiveVectors(), through), "\n") + script(f.fill(&d, rtcVectors(), through))
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	profile, err := os.MkdirTemp("", "render-bare-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(profile) })
	cmd := exec.CommandContext(ctx, "/usr/lib/chromium/chromium-headless-shell", "--no-sandbox", "--remote-debugging-port=0",
		"--user-data-dir="+profile, "--host-resolver-rules=MAP *"+canaryDomain+" 127.0.0.1", "--ignore-certificate-errors", "file://"+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	err = f.canary.await(ctx, "plain", "tls", "udp")
	cancel()
	_ = cmd.Wait() // It was killed.
	if err != nil {
		kinds, _ := f.canary.hits()
		t.Errorf("arrived: %v, want connections of every kind (%v)", kinds, err)
	}
}
