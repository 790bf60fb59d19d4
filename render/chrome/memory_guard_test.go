package chrome

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"

	"github.com/relaypdf/relaypdf/render/priority"
	"github.com/relaypdf/relaypdf/render/queue"
)

// TestLongJobsStepBack has a document take long. Alone it keeps its priority. Next to
// another account's it loses it, and later jobs have it again.
func TestLongJobsStepBack(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	p := startPool(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var jobs sync.WaitGroup
	defer jobs.Wait()
	defer cancel()
	wait := func(account string) {
		jobs.Go(func() {
			job := Job{Account: account, RenderMode: ModeRealm, HTML: "<script></script>", WaitForSelector: "#never", Timeout: 2 * patience}
			if _, err := p.PDF(ctx, job, PDF{}); !errors.Is(err, context.Canceled) {
				t.Errorf("account %s: %v, want that it was canceled", account, err)
			}
		})
	}
	wait("a")
	eventually(t, "a job is under way for long", func() bool { return p.longest() > slowAfter+4*guardEvery })
	if stepsBack(t, p) {
		t.Error("a document that is alone has lost its priority")
	}
	wait("b")
	eventually(t, "documents of two accounts step back", func() bool { return stepsBack(t, p) })
	cancel()
	jobs.Wait()
	eventually(t, "browsers that stepped back are replaced", func() bool { return !stepsBack(t, p) })
}

// longest returns the age of the oldest job under way.
func (p *Pool) longest() time.Duration {
	p.browserPool.mu.Lock()
	defer p.browserPool.mu.Unlock()
	now := time.Now()
	oldest := now
	for _, b := range p.browserPool.browsers {
		if at := b.oldest(now, false); at.Before(oldest) {
			oldest = at
		}
	}
	return now.Sub(oldest)
}

// stepsBack reports that a renderer of a browser in service has stepped back.
func stepsBack(t *testing.T, p *Pool) bool {
	t.Helper()
	return slices.ContainsFunc(p.browserPool.all(), func(b *browser) bool {
		return slices.ContainsFunc(renderers(t, b.proc.cmd.Process.Pid), func(pid int) bool {
			const ordinary = 20 // The system call returns 20 minus the nice value.
			got, err := syscall.Getpriority(syscall.PRIO_PROCESS, pid)
			return err == nil && ordinary-got == priority.Low && stoodBack(t, pid, priority.Background)
		})
	})
}

// stoodBack reports that the session of a process has a nice value, as far as the
// kernel knows any.
func stoodBack(t *testing.T, pid, want int) bool {
	t.Helper()
	if _, err := os.Stat("/proc/self/autogroup"); err != nil {
		return true
	}
	text := procFile(t, pid, "autogroup") // "/autogroup-123 nice 0"
	_, nice, _ := strings.Cut(strings.TrimSpace(text), " nice ")
	return nice == strconv.Itoa(want)
}

// TestCrowdsStepBack has an account work twice at once, and another come: the first
// one's browser stands back as long as the other works. Guests stand behind both.
func TestCrowdsStepBack(t *testing.T) {
	t.Parallel()
	p := startPool(t, func(c *Config) { c.Browsers, c.unguarded = 3, true })
	admit := func(account string) *browserLease {
		v, err := p.browserPool.acquire(t.Context(), account, false)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	stand := func(what string, want map[*browserLease]int) {
		t.Helper()
		eventually(t, what, func() bool {
			p.browserPool.mu.Lock() // The kernel takes one change a tenth of a second of who is not root.
			setPrioritiesLocked(p.browserPool)
			p.browserPool.mu.Unlock()
			for v, nice := range want {
				if !stoodBack(t, v.proc.cmd.Process.Pid, nice) {
					return false
				}
			}
			return true
		})
	}
	heavy, second := admit("heavy"), admit("heavy")
	stand("an account that is alone has all", map[*browserLease]int{heavy: priority.Work, second: priority.Work})
	guest := admit(queue.Anonymous)
	stand("guests stand back", map[*browserLease]int{heavy: priority.Work, second: priority.Work, guest: priority.Background})
	newcomer := admit("newcomer")
	if heavy.browser != second.browser || newcomer.browser == heavy.browser {
		t.Fatal("an account has not the one browser that it should")
	}
	p.browserPool.leave(guest, 0, nil)
	stand("who has more stands back", map[*browserLease]int{heavy: priority.Background, newcomer: priority.Work})
	p.browserPool.leave(newcomer, 0, nil)
	stand("who is alone again has all", map[*browserLease]int{heavy: priority.Work})

	p.browserPool.mu.Lock()
	p.browserPool.dropLocked(heavy.browser)
	p.browserPool.mu.Unlock()
	p.browserPool.tasks.Go(func() { p.browserPool.retire(heavy.browser) })
	newcomer = admit("newcomer")
	stand("who has more stands back while its browser is replaced", map[*browserLease]int{heavy: priority.Background, newcomer: priority.Work})
}

// TestGuardWatchesRetiringBrowsers has a browser be replaced during its document's run, which fills memory afterwards:
// the document is ended by its own fault.
func TestGuardWatchesRetiringBrowsers(t *testing.T) {
	s := newSite(t)
	retired := make(chan struct{})
	s.mux.HandleFunc("held.test/go", func(http.ResponseWriter, *http.Request) { <-retired })
	s.page("held.test/", `<script>fetch('/go').then(() => { const all = []; setInterval(() => all.push(new Uint8Array(1 << 25).fill(1)), 10) })</script>`)
	p := startPool(t, func(c *Config) { c.Proxy, c.RecycleBytes, c.RendererBytes = s.proxy.URL, 1<<20, 300<<20 })
	// A browser that is out of service is ended after drainTimeout in any case.
	job := printLater(t.Context(), p, Job{Account: "a", URL: "http://held.test/", WaitForSelector: "#never", Timeout: drainTimeout / 2})
	eventually(t, "the document has loaded", func() bool { return len(s.requests("/go")) > 0 })
	eventually(t, "its browser is out of service", func() bool { return p.longest() == 0 })
	close(retired)
	var harm *DocumentCrashError
	if err := (<-job).err; !errors.As(err, &harm) || !strings.Contains(err.Error(), "memory") {
		t.Errorf("got %v, want a *DocumentCrashError about memory", err)
	}
}

// TestLargeDocumentsPrintTheSame prints a document again and again that needs nearly all memory of a process: it does
// not fail because of what its account's page printed before.
func TestLargeDocumentsPrintTheSame(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	p := startPool(t, func(c *Config) { c.RendererBytes = 300 << 20 })
	html := "<table>" + strings.Repeat("<tr>"+strings.Repeat("<td>cell 12345</td>", 8)+"</tr>", 1900) + "</table>"
	for i := range 4 {
		doc, err := p.PDF(t.Context(), Job{Account: "a", HTML: html}, PDF{})
		if err != nil {
			t.Fatalf("print %d: %v", i+1, err)
		}
		doc.Body.Close()
	}
}

// TestMemoryOfEarlierDocuments ends the process of a document for its memory. If the process printed another document
// before, the document gets a new one, once; otherwise the memory is its own.
func TestMemoryOfEarlierDocuments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before bool
		kills  int
		fails  bool
	}{
		"used":       {true, 1, false},
		"used twice": {true, 2, true},
		"fresh":      {false, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loaded := make(chan bool, 8)
			p := startPool(t, func(c *Config) {
				c.unguarded = true
				c.Observe = func(step Step, _ time.Duration) {
					if step == StepLoad {
						loaded <- true
					}
				}
			})
			if c.before {
				textOf(t, p, Job{Account: "a", RenderMode: ModeRealm, HTML: "<script>setTimeout(() => {})</script><p>before"})
				<-loaded
			}
			late := "10000"
			if c.fails {
				late = "60000" // Its last attempt is ended before.
			}
			done := printLater(t.Context(), p, Job{Account: "a", RenderMode: ModeRealm, WaitForSelector: "#late", HTML: "<p>heavy<script>setTimeout(() => document.body.id = 'late', " + late + ")</script>"})
			for range c.kills {
				<-loaded
				p.browserPool.mu.Lock()
				busy := slices.DeleteFunc(slices.Clone(p.browserPool.browsers), func(b *browser) bool { return len(b.leases) == 0 })
				p.browserPool.mu.Unlock()
				if len(busy) == 0 {
					t.Fatal("no browser has the document")
				}
				for _, pid := range renderers(t, busy[0].proc.cmd.Process.Pid) {
					p.browserPool.overfull(busy[0], pid)
				}
			}
			r := <-done
			var harm *DocumentCrashError
			if c.fails != errors.As(r.err, &harm) || !c.fails && r.err != nil {
				t.Fatalf("got %v", r.err)
			}
			if r.err == nil {
				r.doc.Body.Close()
			}
		})
	}
}

// TestKernelBoundsMemory has documents fill memory where nobody looks: the kernel
// gives none of their processes more than its bound, and others are served. All
// processes of a browser have the bound.
func TestKernelBoundsMemory(t *testing.T) { //nolint:tparallel // its documents run in sequence
	sharedtest.Slow(t)
	t.Parallel()
	const maximum = 512 << 20
	p := startPool(t, func(c *Config) { c.RendererBytes, c.unguarded = maximum, true })
	if err := p.Bounded(); err != nil {
		t.Fatal(err)
	}
	bound := p.cfg.maxMemory()
	want := strconv.FormatInt(bound, 10)
	for _, b := range p.browserPool.all() {
		for _, pid := range tree(b.proc.cmd.Process.Pid) {
			limits := procFile(t, pid, "limits")
			if limits == "" {
				continue // It has ended.
			}
			_, rest, _ := strings.Cut(limits, "Max data size")
			if fields := strings.Fields(rest); len(fields) < 2 || fields[0] != want || fields[1] != want {
				t.Errorf("process %d of the browser may take %v, want %s bytes", pid, fields[:min(2, len(fields))], want)
			}
		}
	}
	if t.Failed() {
		return // Without the bound, what follows would take all memory there is.
	}
	for _, a := range sharedtest.Attacks() {
		if !strings.Contains(a.Name, "memory") {
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			done := make(chan error, 1)
			go func() {
				doc, err := p.PDF(t.Context(), Job{Account: "attacker", RenderMode: ModeOnce, HTML: a.HTML, Timeout: 10 * time.Second}, PDF{MaxPages: 10})
				if err == nil {
					err = doc.Body.Close()
				}
				done <- err
			}()
			var peak int64
			for {
				for _, b := range p.browserPool.all() {
					for _, pid := range tree(b.proc.cmd.Process.Pid) {
						private, _ := residentBytes(pid)
						peak = max(peak, private)
					}
				}
				neighbour(t, p)
				select {
				case err := <-done:
					t.Logf("%v; a process held %d MiB at most", err, peak>>20)
					// A script to which an allocation is refused may go on without.
					if err != nil && !ownFault(err) {
						t.Errorf("got %v, want an error that says what its document did", err)
					}
					if peak > bound {
						t.Errorf("a process held %d MiB, want %d at most", peak>>20, bound>>20)
					}
					return
				default:
				}
			}
		})
	}
}
