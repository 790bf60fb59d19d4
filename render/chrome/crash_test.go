package chrome

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// logs collects what several goroutines write.
type logs struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// gate serves a page whose load waits for the test: arrived gets a value for every attempt
// that is under way, and the page continues when open is closed.
type gate struct {
	url     string
	arrived chan struct{}
	open    chan struct{}
	crashed []proto.TargetTargetID // what crash has ended
}

func newGate(s *site, name string) *gate {
	g := &gate{
		url:     "http://site.test/" + name,
		arrived: make(chan struct{}, 8),
		open:    make(chan struct{}),
	}
	s.page("site.test/"+name, `<p>gate passed</p><img src="/`+name+`/wait">`)
	s.mux.HandleFunc("site.test/"+name+"/wait", func(_ http.ResponseWriter, r *http.Request) {
		g.arrived <- struct{}{}
		select {
		case <-g.open:
		case <-r.Context().Done():
		}
	})
	return g
}

// await waits until an attempt is under way, and fails the test if the job
// ends before that.
func (g *gate) await(t *testing.T, job <-chan result) {
	t.Helper()
	select {
	case <-g.arrived:
	case r := <-job:
		t.Fatalf("the job ended too early: %v", r.err)
	}
}

// result is the result of PDF.
type result struct {
	doc PrintedPDF
	err error
}

func printLater(ctx context.Context, p *Pool, job Job) <-chan result {
	done := make(chan result, 1)
	go func() {
		doc, err := p.PDF(ctx, job, PDF{})
		done <- result{doc, err}
	}()
	return done
}

// crash ends the renderer that shows the gate's page. The browser may list the
// page's address a moment after the page asked for what the gate withholds, and
// what crashed before a moment longer.
func (g *gate) crash(t *testing.T, p *Pool) {
	t.Helper()
	eventually(t, "a target shows "+g.url, func() bool {
		return slices.ContainsFunc(p.browserPool.all(), func(b *browser) bool { return g.crashIn(t, b.root) })
	})
}

// crashIn ends the renderer that shows the gate's page in a browser, and
// reports whether it found one.
func (g *gate) crashIn(t *testing.T, root session) bool {
	t.Helper()
	target := g.targetIn(t, root)
	if target == "" {
		return false
	}
	var attached proto.TargetAttachToTargetResult
	if err := root.call(t.Context(), proto.TargetAttachToTarget{TargetID: target, Flatten: true}, &attached); err != nil {
		t.Fatal(err)
	}
	g.crashed = append(g.crashed, target)
	root.conn.session(string(attached.SessionID)).post(proto.PageCrash{})
	return true
}

// targetIn finds the target that shows the gate's page in a browser, or none.
func (g *gate) targetIn(t *testing.T, root session) proto.TargetTargetID {
	t.Helper()
	var list proto.TargetGetTargetsResult
	if err := root.call(t.Context(), proto.TargetGetTargets{}, &list); err != nil {
		t.Fatal(err)
	}
	for _, info := range list.TargetInfos {
		if info.URL == g.url && !slices.Contains(g.crashed, info.TargetID) {
			return info.TargetID
		}
	}
	return ""
}

func TestCrashedRendererIsRetriedOnce(t *testing.T) {
	sharedtest.Slow(t)
	s := newSite(t)
	g := newGate(s, "once")
	p := startWithSite(t, s)
	pid := p.browserPID()
	done := printLater(t.Context(), p, Job{Account: "a", URL: g.url})
	g.await(t, done)
	g.crash(t, p)
	g.await(t, done) // The second attempt.
	close(g.open)
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	contains(t, pdfText(t, r.doc), "gate passed")
	if got := p.Stats().Crashes; got != 1 {
		t.Errorf("%d crashes counted, want 1", got)
	}
	if p.browserPID() != pid {
		t.Error("the browser itself was replaced")
	}
}

func TestSecondCrashFailsTheJobAndNobodyElse(t *testing.T) {
	sharedtest.Slow(t)
	s := newSite(t)
	bad, good := newGate(s, "bad"), newGate(s, "good")
	p := startWithSite(t, s)
	pid := p.browserPID()
	other := printLater(t.Context(), p, Job{Account: "b", URL: good.url})
	good.await(t, other)
	done := printLater(t.Context(), p, Job{Account: "a", URL: bad.url})
	for range 2 {
		bad.await(t, done)
		bad.crash(t, p)
	}
	if r := <-done; !errors.Is(r.err, ErrCrashed) {
		t.Errorf("after two crashes: %v, want ErrCrashed", r.err)
	}
	close(good.open)
	r := <-other
	if r.err != nil {
		t.Fatalf("the other account's job: %v", r.err)
	}
	contains(t, pdfText(t, r.doc), "gate passed")
	if p.browserPID() != pid {
		t.Error("the browser itself was replaced")
	}
	contains(t, textOf(t, p, Job{Account: "a", HTML: "next job"}), "next job")
}

// idlePage returns a warm page of an account that nobody uses.
func idlePage(t *testing.T, p *Pool, name string, k kind) (pg *tab) {
	t.Helper()
	eventually(t, "a page is idle", func() bool {
		for _, b := range p.browserPool.all() {
			b.mu.Lock()
			if a := b.accounts[name]; a != nil && len(a.idle[k]) > 0 {
				pg = a.idle[k][0]
			}
			b.mu.Unlock()
		}
		return pg != nil
	})
	return pg
}

// TestDocumentsThatCloseTheirWindow prints those that want to be printed and gone.
func TestDocumentsThatCloseTheirWindow(t *testing.T) {
	t.Parallel()
	p := startPool(t, nil)
	for _, mode := range []RenderMode{ModeRealm, ModeOnce} {
		for _, script := range []string{
			"onload = () => { print(); close() }; self.close()",
			"const f = document.createElement('iframe'); document.body.append(f); f.contentWindow.close.call(window)",
		} {
			if got := textOf(t, p, Job{Account: "a", RenderMode: mode, HTML: "<p>kept<script>" + script + "</script>"}); !strings.Contains(got, "kept") {
				t.Errorf("%s, %s: %q, want what it shows", mode, script, got)
			}
		}
	}
}

// TestClosedWindowEndsItsJob closes a window from outside: nothing else would be heard
// of it until the job's deadline.
func TestClosedWindowEndsItsJob(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	g := newGate(s, "closed")
	p := startWithSite(t, s)
	job := printLater(t.Context(), p, Job{Account: "a", URL: g.url})
	g.await(t, job)
	eventually(t, "a target shows "+g.url, func() bool {
		return slices.ContainsFunc(p.browserPool.all(), func(b *browser) bool {
			target := g.targetIn(t, b.root)
			if target != "" {
				b.root.post(proto.TargetCloseTarget{TargetID: target})
			}
			return target != ""
		})
	})
	var harm *DocumentCrashError
	if err := (<-job).err; !errors.As(err, &harm) || harm.What != "closed its window" {
		t.Errorf("the job: %v, want a *DocumentCrashError that says so", err)
	}
	if got := textOf(t, p, Job{Account: "a", HTML: "<p>next"}); !strings.Contains(got, "next") {
		t.Errorf("the next document: %q", got)
	}
}

func TestOutputThatFailsIsACrash(t *testing.T) {
	beyond := &protocolError{Method: "Page.printToPDF", Code: -32000, Message: "Page range exceeds page count"}
	if got := outputFailure(beyond); !errors.Is(got, beyond) {
		t.Errorf("%v became %v", beyond, got)
	}
	for method, message := range map[string]string{"Page.printToPDF": "Printing failed", "Page.captureScreenshot": "Unable to capture screenshot"} {
		if got := outputFailure(&protocolError{Method: method, Code: -32000, Message: message}); !errors.Is(got, errTargetCrashed) {
			t.Errorf("%q is %v, want a crash", message, got)
		}
	}
}

func TestWarmPageIsReplacedAfterACrash(t *testing.T) {
	p := startPool(t, nil)
	b := p.current()
	for _, mode := range []RenderMode{ModeInline, ModeRealm} {
		contains(t, textOf(t, p, Job{Account: "a", RenderMode: mode, HTML: "before"}), "before")
		pg := idlePage(t, p, "a", kind{mode: mode, still: true})
		pg.post(proto.PageCrash{})
		eventually(t, "the crash is noticed", pg.spent)
		contains(t, textOf(t, p, Job{Account: "a", RenderMode: mode, HTML: "after"}), "after")
		if p.current() != b {
			t.Errorf("%s mode: the crash of an idle page took the browser with it", mode)
		}
	}
}

func TestKilledBrowserIsReplacedAndTheJobSucceeds(t *testing.T) {
	sharedtest.Slow(t)
	s := newSite(t)
	g := newGate(s, "kill")
	var log logs
	p := startPool(t, func(c *Config) { c.Proxy, c.Logger = s.proxy.URL, slog.New(slog.NewTextHandler(&log, nil)) })
	done := printLater(t.Context(), p, Job{Account: "a", URL: g.url})
	g.await(t, done)
	if err := syscall.Kill(p.browserPID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	g.await(t, done)
	close(g.open)
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	contains(t, pdfText(t, r.doc), "gate passed")
	eventually(t, "the log says so", func() bool { return strings.Contains(log.String(), "browser died, starting another") })
}

func TestIdleBrowserIsReplacedWhenItDies(t *testing.T) {
	sharedtest.Slow(t)
	p := startPool(t, nil)
	pid := p.browserPID()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another browser runs", func() bool { return p.browserPID() != pid })
	if err := p.Healthy(t.Context()); err != nil {
		t.Error(err)
	}
	contains(t, textOf(t, p, Job{Account: "a", HTML: "works"}), "works")
}

func TestEndlessScripts(t *testing.T) { //nolint:tparallel // its documents run in sequence: the pool has 3 slots
	sharedtest.Slow(t)
	t.Parallel()
	p := startPool(t, func(c *Config) { c.Slots = 3 })
	cases := map[string]struct {
		html string
		step Step
	}{
		"while parsing":  {`<script>for(;;);</script>`, StepLoad},
		"after load":     {`<script>onload = () => setTimeout(() => { for(;;); })</script>`, ""},
		"while printing": {`<script>addEventListener('beforeprint', () => { for(;;); })</script>`, StepPrint},
		"microtasks":     {`<script>(function f() { Promise.resolve().then(f) })()</script>`, StepLoad},
	}
	for name, c := range cases {
		for _, mode := range []RenderMode{ModeRealm, ModeOnce} {
			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				// The account's other pages go on meanwhile.
				contains(t, textOf(t, p, Job{Account: "a", RenderMode: mode, HTML: "before"}), "before")
				var endless sync.WaitGroup
				defer endless.Wait()
				endless.Go(func() {
					timesOut(t, p, Job{Account: "a", RenderMode: mode, HTML: c.html, Timeout: 1500 * time.Millisecond}, c.step)
				})
				for range 3 {
					contains(t, textOf(t, p, Job{Account: "a", RenderMode: mode, HTML: "meanwhile"}), "meanwhile")
				}
			})
		}
	}
	eventually(t, "no renderer is busy any more", func() bool { return idle(t, p) })
}

// idle reports that no renderer used the processor between two looks.
func idle(t *testing.T, p *Pool) bool {
	t.Helper()
	before := processorTime(t, p)
	timer := time.NewTimer(300 * time.Millisecond)
	<-timer.C
	return processorTime(t, p)-before < 5 // Ticks of 10 ms.
}

func TestCancelledJobFreesItsSlot(t *testing.T) {
	s := newSite(t)
	g := newGate(s, "cancel")
	p := startWithSite(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	done := printLater(ctx, p, Job{Account: "a", URL: g.url})
	g.await(t, done)
	start := time.Now()
	cancel()
	r := <-done
	if !errors.Is(r.err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", r.err)
	}
	if took := time.Since(start); took > p.cfg.Times.Job/2 { // Its own deadline would end it, too.
		t.Errorf("the cancelled job ended after %s", took)
	}
	if st := p.Stats(); st.Queue.Busy != 0 || st.Queue.Waiting != 0 {
		t.Errorf("after the cancelled job: %+v", st)
	}
}

func TestCloseEndsRunningJobs(t *testing.T) {
	s := newSite(t)
	g := newGate(s, "close")
	p := startWithSite(t, s)
	done := printLater(t.Context(), p, Job{Account: "a", URL: g.url})
	g.await(t, done)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if r := <-done; !errors.Is(r.err, ErrClosed) {
		t.Errorf("%v, want ErrClosed", r.err)
	}
	if _, err := p.PDF(t.Context(), Job{Account: "a", HTML: "x"}, PDF{}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
	if err := p.Healthy(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
}

func TestFullPoolIsBusy(t *testing.T) {
	s := newSite(t)
	g := newGate(s, "busy")
	p := startPool(t, func(c *Config) { c.Proxy, c.Slots, c.Queue = s.proxy.URL, 1, 1 })
	first := printLater(t.Context(), p, Job{Account: "a", URL: g.url})
	g.await(t, first)
	second := printLater(t.Context(), p, Job{Account: "a", HTML: "second"})
	eventually(t, "the second job waits", func() bool { return p.Stats().Queue.Waiting == 1 })
	_, err := p.PDF(t.Context(), Job{Account: "a", HTML: "third"}, PDF{})
	var busy *BusyError
	if !errors.As(err, &busy) || busy.RetryAfter < time.Second || busy.RetryAfter%time.Second != 0 {
		t.Errorf("a third job: %v, want ErrBusy with whole seconds", err)
	}
	close(g.open)
	for _, done := range []<-chan result{first, second} {
		r := <-done
		if r.err != nil {
			t.Fatal(r.err)
		}
		r.doc.Body.Close()
	}
}

func TestRecyclingLosesNoJob(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	p := startPool(t, func(c *Config) { c.RecycleDocs = 12 })
	var wg sync.WaitGroup
	jobs := make(chan int)
	for w := range 4 {
		wg.Go(func() {
			for n := range jobs {
				mode := modes[n%len(modes)]
				doc, err := p.PDF(t.Context(), Job{Account: "t" + string(rune('0'+w)), RenderMode: mode, HTML: "works"}, PDF{})
				if err != nil {
					t.Errorf("job %d: %v", n, err)
					continue
				}
				if text := pdfText(t, doc); !strings.Contains(text, "works") {
					t.Errorf("job %d: %q", n, text)
				}
			}
		})
	}
	// A machine may render faster than it starts browsers.
	n := 0
	for end := time.Now().Add(patience); n < 80 || p.Stats().Restarts < 2 && time.Now().Before(end); n++ {
		jobs <- n
	}
	close(jobs)
	wg.Wait()
	if got := p.Stats(); got.Restarts < 2 || got.Crashes != 0 || got.Renders != int64(n) {
		t.Errorf("%+v, want %d renders, several restarts and no crash", got, n)
	}
}

func TestRecyclingByMemory(t *testing.T) {
	p := startPool(t, func(c *Config) { c.RecycleBytes = 1 << 20 })
	pid := p.browserPID()
	eventually(t, "the browser is recycled", func() bool { return p.Stats().Restarts > 0 && p.browserPID() != pid })
	eventually(t, "the old browser is gone", func() bool { return syscall.Kill(pid, 0) != nil })
	contains(t, textOf(t, p, Job{Account: "a", HTML: "works"}), "works")
}

func TestIdleContextsAreDropped(t *testing.T) {
	p := startPool(t, func(c *Config) { c.IdleContext = 100 * time.Millisecond })
	for _, account := range []string{"a", "b"} {
		textOf(t, p, Job{Account: account, HTML: "x"})
	}
	b := p.current()
	eventually(t, "no account has a context", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.accounts) == 0
	})
	contains(t, textOf(t, p, Job{Account: "a", HTML: "works"}), "works")
}

func TestWarmPagesAreBounded(t *testing.T) {
	p := startPool(t, func(c *Config) { c.Slots, c.Browsers, c.WarmPages = 1, 1, 3 })
	for i := range 8 {
		textOf(t, p, Job{Account: string(rune('a' + i)), HTML: "x"})
		b := p.current()
		b.mu.Lock()
		if len(b.accounts) > 3 || i < 3 && len(b.accounts) != i+1 || b.accounts[string(rune('a'+i))] == nil {
			t.Errorf("after %d accounts %d have warm pages, want the 3 that came last", i+1, len(b.accounts))
		}
		b.mu.Unlock()
	}
}

func TestHangingBrowserIsReplaced(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	var log logs
	p := startPool(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	if err := p.Healthy(t.Context()); err != nil {
		t.Fatal(err)
	}
	pid := p.browserPID()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := p.Healthy(ctx); err == nil {
		t.Error("a browser that does not answer is called healthy")
	}
	eventually(t, "another browser runs", func() bool { return p.browserPID() != pid })
	contains(t, textOf(t, p, Job{Account: "a", HTML: "works"}), "works")
	contains(t, log.String(), "browser does not answer, killing it")
}

// TestHangingBrowserLeavesDocumentsUnstarted: where no page is ready in time the error tells
// that nothing of the document was loaded.
func TestHangingBrowserLeavesDocumentsUnstarted(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	p := startPool(t, func(c *Config) { c.Browsers, c.Slots = 1, 1 })
	if err := syscall.Kill(p.browserPID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_, err := p.PDF(t.Context(), Job{Account: "a", HTML: "x", Timeout: time.Second}, PDF{})
	var late *TimeoutError
	if !errors.As(err, &late) || !late.Unstarted || late.Step != StepPage {
		t.Errorf("got %v, want no page in time", err)
	}
	begin := time.Now()
	sooner, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = p.PDF(sooner, Job{Account: "a", HTML: "x", Timeout: time.Minute}, PDF{})
	if took := time.Since(begin); !errors.As(err, &late) || took < 200*time.Millisecond || late.After > 30*time.Second {
		t.Errorf("got %v after %v, want the time that the caller gave", err, took)
	}
	ready := startPool(t, nil)
	textOf(t, ready, Job{Account: "a", HTML: "x"})
	_, err = ready.PDF(t.Context(), Job{Account: "a", HTML: "x", WaitForSelector: "b", Timeout: 20 * time.Second}, PDF{})
	if errors.As(err, &late) && late.Unstarted {
		t.Errorf("got %v, of a document that was loaded", err)
	}
}

func TestIdlePagesRest(t *testing.T) {
	p := startPool(t, nil)
	const html = `<style>@keyframes k{to{margin-left:500px}} p{animation:k .5s infinite alternate}</style><p>moving`
	for _, mode := range []RenderMode{ModeInline, ModeRealm} {
		textOf(t, p, Job{Account: "a", RenderMode: mode, HTML: html + "<script>setInterval(() => { for (let i = 0; i < 1e7; i++); }, 1)</script>"})
	}
	eventually(t, "no renderer is busy any more", func() bool { return idle(t, p) })
}

func TestStepsAreObserved(t *testing.T) {
	var mu sync.Mutex
	seen := map[Step]int{}
	p := startPool(t, func(c *Config) {
		c.Observe = func(s Step, d time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			seen[s]++
			if d < 0 || d > time.Minute {
				t.Errorf("step %s took %s", s, d)
			}
		}
	})
	textOf(t, p, Job{Account: "a", HTML: "x"})
	mu.Lock()
	defer mu.Unlock()
	for _, s := range []Step{StepQueue, StepPage, StepLoad, StepSettle, StepPrint} {
		if seen[s] != 1 {
			t.Errorf("step %s was observed %d times, want once", s, seen[s])
		}
	}
	if got := p.Stats(); got.Renders != 1 || got.Queue.Slots != 2 || got.Queue.Busy != 0 {
		t.Errorf("%+v, want one render on two slots", got)
	}
}
