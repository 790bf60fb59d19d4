package render

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/priority"
	"github.com/relaypdf/relaypdf/render/template"
)

// niceness counts the processes below this one by how far they step back.
func niceness(t *testing.T) map[int]int {
	t.Helper()
	parents := map[int]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // It has ended.
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		parents[pid], _ = strconv.Atoi(fields[1])
	}
	counted := map[int]int{}
	for pid := range parents {
		above := parents[pid]
		for above > 1 && above != os.Getpid() {
			above = parents[above]
		}
		if above != os.Getpid() {
			continue
		}
		if got, err := syscall.Getpriority(syscall.PRIO_PROCESS, pid); err == nil {
			nice := 20 - got // The system call returns 20 minus the nice value.
			counted[nice]++
			// "/autogroup-123 nice 15", where the kernel divides among sessions first.
			session, err := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", pid))
			if nice == priority.Low && err == nil && !strings.HasSuffix(strings.TrimSpace(string(session)), " nice "+strconv.Itoa(priority.Background)) {
				t.Errorf("process %d has stepped back, its session has not: %s", pid, session)
			}
			want := max(1, processors(t, os.Getpid())/4)
			if has := processors(t, pid); nice == priority.Low && has != 0 && has != want {
				t.Errorf("process %d has stepped back, and may use %d processors, want %d", pid, has, want)
			}
		}
	}
	return counted
}

// processors counts those that a process may use; none where it has ended.
func processors(t *testing.T, pid int) int {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &set); err != nil && !errors.Is(err, unix.ESRCH) {
		t.Fatal(err)
	}
	return set.Count()
}

// TestBackground draws the same document in front and behind: what is behind starts
// when it is wanted, with all that it starts at a low priority, gives the same pages,
// and ends with the Renderer.
func TestBackground(t *testing.T) {
	sharedtest.Slow(t)
	own, err := syscall.Getpriority(syscall.PRIO_PROCESS, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	ordinary := 20 - own
	r := start(t, Config{Memory: 4 << 30})
	before := niceness(t)
	if before[ordinary] == 0 || before[10] != 0 {
		t.Fatalf("before there is a preview: %v, want all at %d", before, ordinary)
	}
	if a, apart := r.Background("acc_a"); apart || a.render != r {
		t.Error("the first preview waits for a browser to start")
	}
	behind := awaitBackground(t, r)
	source := Source{HTML: "<h1>Hello</h1><script>document.body.append(' from a script')</script>"}
	var sizes []int
	for _, account := range []*Account{r.For("acc_a"), behind} {
		doc, err := account.PDF(t.Context(), source, PageSettings{}, PDF{})
		if err != nil {
			t.Fatal(err)
		}
		file := PDFFile{Content: doc.Body}
		text, err := RunFile(t.Context(), account, pdf.TextJob, pdf.TextArgs{Input: file.Input(), Merge: true}, file.File())
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(text.Open())
		if err != nil || !strings.Contains(string(got), "Hello") || !strings.Contains(string(got), "from a script") {
			t.Errorf("text is %q, %v", got, err)
		}
		sizes = append(sizes, doc.Pages)
		if err := errors.Join(text.Close(), doc.Body.Close()); err != nil {
			t.Error(err)
		}
	}
	if sizes[0] != 1 || sizes[1] != 1 {
		t.Errorf("pages: %v, want one each", sizes)
	}
	report, err := behind.ValidateTemplate(t.Context(), template.Call{Template: template.Template{HTML: "{{#if a}}"}})
	if err != nil || len(report.Faults) == 0 {
		t.Errorf("a template with a fault: %+v, %v", report, err)
	}
	// A browser, its zygotes and a renderer, and two engines at the least.
	if after := niceness(t); after[10] < 5 {
		t.Errorf("priorities: %v, want the browser of previews and its engines at 10", after)
	}
	if again, apart := r.Background("acc_b"); !apart || again.render != behind.render {
		t.Error("it has started twice")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if left := niceness(t); left[10] != 0 {
		t.Errorf("left after Close: %v", left)
	}
}

// awaitBackground returns what draws previews once it has started.
func awaitBackground(t *testing.T, r *Renderer) *Account {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		if a, apart := r.Background("acc_a"); apart {
			return a
		}
	}
	t.Fatal("previews have no browser of their own")
	return nil
}

// TestBackgroundNeedsMemory has previews wait in line with calls where there is
// little memory, and where what they need does not start.
func TestBackgroundNeedsMemory(t *testing.T) {
	r := start(t, Config{Memory: 2 << 30})
	if a, apart := r.Background("acc_a"); apart || a.render != r {
		t.Error("two browsers for two gigabytes")
	}
	r.behind.cfg.plan.Background = true
	r.behind.cfg.Chromium = filepath.Join(t.TempDir(), "none")
	if a, apart := r.Background("acc_a"); apart || a.render != r {
		t.Error("no browser, and yet one apart")
	}
	r.behind.started.Wait()
	r.behind.mu.Lock()
	failed := r.behind.failed
	r.behind.mu.Unlock()
	if failed.IsZero() {
		t.Error("a browser that is not there has started")
	}
	if a, apart := r.Background("acc_a"); apart || a.render != r || r.behind.leave != nil {
		t.Error("after a start that failed the next comes at once")
	}
}

// TestBackgroundLeavesEarly closes a Renderer while its background starts.
func TestBackgroundLeavesEarly(t *testing.T) {
	sharedtest.Slow(t)
	r := start(t, Config{Memory: 4 << 30})
	if _, apart := r.Background("acc_a"); apart {
		t.Error("it has started at once")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if left := niceness(t); left[10] != 0 {
		t.Errorf("left after Close: %v", left)
	}
}
