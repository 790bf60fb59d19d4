package chrome

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// printedWith prints a job and returns what was said of it, and its text.
func printedWith(t *testing.T, p *Pool, job Job) ([]Warning, string) {
	t.Helper()
	if job.Account == "" {
		job.Account = "a"
	}
	doc, err := p.PDF(t.Context(), job, PDF{})
	if err != nil {
		t.Fatalf("%s%s: %v", job.URL, job.HTML, err)
	}
	return doc.Warnings, pdfText(t, doc)
}

// warned fails the test unless there is a warning of that code that holds the
// words, in its message or its address.
func warned(t *testing.T, warnings []Warning, code string, words ...string) {
	t.Helper()
	for _, w := range warnings {
		found := w.Code == code
		for _, word := range words {
			found = found && strings.Contains(w.String(), word)
		}
		if found {
			return
		}
	}
	t.Errorf("no %s with %q in %v", code, words, warnings)
}

func TestWaitForFunction(t *testing.T) {
	s := newSite(t)
	s.page("site.test/", `<p id=x>early</p><script>setTimeout(() => { x.textContent = 'late'; window.state = {ready: true} }, 300)</script>`)
	s.page("site.test/on", `<script>setTimeout(() => location = '/', 200)</script>`)
	p := startWithSite(t, s)
	const later = `<p id=x>early</p><script>setTimeout(() => { x.textContent = 'late'; window.state = {ready: true} }, 300)</script>`
	for _, job := range []Job{
		{HTML: later, RenderMode: ModeRealm, WaitForFunction: "window.state"},
		{HTML: later, RenderMode: ModeRealm, WaitForFunction: "state.ready === true // once it is there\n;"},
		{HTML: later, RenderMode: ModeRealm, WaitForFunction: "() => window.state && window.state.ready"},
		{HTML: later, RenderMode: ModeRealm, WaitForFunction: "new Promise(done => setTimeout(() => done(window.state), 10))"},
		{URL: "http://site.test/", WaitForFunction: "document.body.innerText.includes('late')"},
		{URL: "http://site.test/on", WaitForFunction: "window.state && x"},
	} {
		if _, text := printedWith(t, p, job); !strings.Contains(text, "late") {
			t.Errorf("%s: printed %q", job.WaitForFunction, text)
		}
	}
	if _, text := printedWith(t, p, Job{HTML: "<p>plain", WaitForFunction: "document.readyState === 'complete'"}); !strings.Contains(text, "plain") {
		t.Errorf("a document without scripts: %q", text)
	}
	_, err := p.PDF(t.Context(), Job{Account: "a", HTML: "x", WaitForFunction: "return 1"}, PDF{})
	var wrong *FunctionError
	if !errors.As(err, &wrong) || !strings.Contains(wrong.Text, "SyntaxError") {
		t.Errorf("what is no expression: %v", err)
	}
}

// The error of a job that timed out names the resources that the job waited for.
func TestTimeoutsNameTheMissingCondition(t *testing.T) {
	sharedtest.Slow(t)
	s := newSite(t)
	s.mux.HandleFunc("site.test/hangs.svg", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s.page("site.test/", `<p>text<img src="/hangs.svg">`)
	p := startWithSite(t, s)
	for _, falsy := range []string{"window.never", "0", "''", "null", "NaN", "-0", "0n", "false", "missing.thing"} {
		job := Job{Account: "a", HTML: "<p>x", WaitForFunction: falsy, Timeout: 2 * time.Second}
		if falsy != "window.never" {
			job.Timeout = 500 * time.Millisecond
		}
		timesOut(t, p, job, StepFunction)
	}
	// Elements that no script could add are not waited for.
	var still *TimeoutError
	_, err := p.PDF(t.Context(), Job{Account: "a", HTML: "<p>x", WaitForSelector: "#never"}, PDF{})
	if !errors.As(err, &still) || !still.Still || still.Want != "#never" {
		t.Errorf("a selector without an element in a document without scripts: %v", err)
	}
	for _, tt := range []struct {
		job        Job
		want, open string
	}{
		{Job{HTML: "<p>x", RenderMode: ModeRealm, WaitForSelector: "#never"}, "#never", ""},
		{Job{HTML: "<p>x", WaitForFunction: "window.never"}, "window.never", ""},
		{Job{URL: "http://site.test/"}, "", "http://site.test/hangs.svg"},
	} {
		tt.job.Account, tt.job.Timeout = "a", 2*time.Second
		var late *TimeoutError
		for {
			_, err := p.PDF(t.Context(), tt.job, PDF{})
			if !errors.As(err, &late) {
				t.Fatalf("%+v: %v, want a timeout", tt.job, err)
			}
			// A machine that stalls does not get that far in the time.
			if late.Want == tt.want && strings.Join(late.Open, " ") == tt.open {
				break
			}
			if tt.job.Timeout *= 3; tt.job.Timeout > patience {
				t.Errorf("waited for %q with %v under way, want %q and %q", late.Want, late.Open, tt.want, tt.open)
				break
			}
		}
	}
}

func faultySite(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.mux.HandleFunc("site.test/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		panic(http.ErrAbortHandler)
	})
	s.mux.HandleFunc("site.test/teapot", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	s.mux.HandleFunc("site.test/moved", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	s.page("site.test/status", `<p>text<img src="/absent.png">`)
	s.page("site.test/network", `<p>text<link rel=stylesheet href="/cut">`)
	s.page("site.test/frame", `<p>text<iframe src="/teapot"></iframe>`)
	s.page("site.test/fetch", `<p>text<script>fetch('/moved')</script>`)
	s.page("site.test/script", `<p>text<script src="/cut"></script>`)
	s.page("site.test/throws", `<p>text<script>nothing.at.all</script>`)
	s.page("site.test/rejects", `<p>text<script>Promise.reject(new Error('no answer'))</script>`)
	s.page("site.test/console", `<p>text<script>console.error('bad', 7, {a: 1})</script>`)
	s.page("site.test/fine", `<p>text<script>console.log('all is well')</script>`)
	return s
}

func TestFaultsOfADocument(t *testing.T) {
	sharedtest.Slow(t)
	p := startWithSite(t, faultySite(t))
	faults := map[string]struct {
		code  string
		words []string
	}{
		"/status":  {ResourceFailed, []string{"http://site.test/absent.png", "status 404"}},
		"/network": {ResourceFailed, []string{"http://site.test/cut", "closed the connection without a response"}},
		"/frame":   {ResourceFailed, []string{"http://site.test/teapot", "status 418"}},
		"/script":  {ResourceFailed, []string{"http://site.test/cut"}},
		"/throws":  {ScriptError, []string{"ReferenceError", "nothing", "line 1"}},
		"/rejects": {ScriptError, []string{"no answer"}},
		"/console": {ScriptError, []string{"console.error: bad 7 Object"}},
	}
	for path, want := range faults {
		job := Job{URL: "http://site.test" + path, WaitUntil: waitNetworkIdle0}
		warnings, text := printedWith(t, p, job)
		warned(t, warnings, want.code, want.words...)
		if !strings.Contains(text, "text") {
			t.Errorf("%s: printed %q", path, text)
		}
		strict := FailOn{Resources: want.code == ResourceFailed, Console: want.code == ScriptError}
		failsWith(t, p, job, strict, want.code)
		printedUnder(t, p, job, FailOn{Resources: !strict.Resources, Console: !strict.Console})
	}
	if warnings, _ := printedWith(t, p, Job{URL: "http://site.test/fine"}); len(warnings) > 0 {
		t.Errorf("a page without faults: %v", warnings)
	}
	failsWith(t, p, Job{URL: "http://site.test/fetch", WaitUntil: waitNetworkIdle0}, FailOn{Statuses: []StatusRange{{200, 299}}}, ResourceFailed)
	failsWith(t, p, Job{URL: "http://site.test/status"}, FailOn{Statuses: []StatusRange{{404, 404}}}, ResourceFailed)
	printedUnder(t, p, Job{URL: "http://site.test/status"}, FailOn{Statuses: []StatusRange{{500, 599}, {403, 403}}})

	// A document of one mode leaves nothing to be said of the next one.
	for range 3 {
		warnings, _ := printedWith(t, p, Job{HTML: `<p>a<script>throw new Error('own')</script>`, RenderMode: ModeRealm})
		warned(t, warnings, ScriptError, "own")
		if warnings, _ := printedWith(t, p, Job{HTML: `<p>b<script>1</script>`, RenderMode: ModeRealm}); len(warnings) > 0 {
			t.Errorf("the next document has %v", warnings)
		}
	}
}

// TestStatusOfWithheldResponses loads a page of another site instead of an image: the browser
// withholds it, and reports its status separately, before or after that.
func TestStatusOfWithheldResponses(t *testing.T) {
	const address = "http://cdn.test/a.png"
	asked := loadEvent{RequestID: "1", LoaderID: "l", FrameID: "main", Type: "Image"}
	asked.Request.URL = address
	told := loadEvent{RequestID: "1", StatusCode: http.StatusGone}
	failed := loadEvent{RequestID: "1", ErrorText: blockedByORB}
	for name, events := range map[string][2]loadEvent{"before": {told, failed}, "after": {failed, told}} {
		s := newLoadState()
		s.apply("Network.requestWillBeSent", asked, "main")
		for _, e := range events {
			method := "Network.loadingFailed"
			if e.StatusCode != 0 {
				method = "Network.responseReceivedExtraInfo"
			}
			s.apply(method, e, "main")
		}
		if list := s.troubles.all(); len(list) != 1 || list[0].URL != address || list[0].Message != "returned status 410" {
			t.Errorf("%s: %v", name, list)
		}
		if faults := s.troubles.strict(FailOn{Statuses: []StatusRange{{400, 499}}}); len(faults) != 1 || len(s.inFlight) != 0 {
			t.Errorf("%s: forbidden is %v, under way %v", name, faults, s.inFlight)
		}
	}
}

func failsWith(t *testing.T, p *Pool, job Job, strict FailOn, code string) {
	t.Helper()
	job.Account, job.Strict = "a", strict
	_, err := p.PDF(t.Context(), job, PDF{})
	var faults *WarningsError
	if !errors.As(err, &faults) || faults.Faults[0].Code != code {
		t.Errorf("%s under %+v: %v, want a %s", job.URL, strict, err, code)
	}
}

func printedUnder(t *testing.T, p *Pool, job Job, strict FailOn) {
	t.Helper()
	job.Strict = strict
	printedWith(t, p, job)
}

// A document cannot flood who listens to its faults.
func TestFloodOfFaults(t *testing.T) {
	sharedtest.Slow(t)
	s := newSite(t)
	var images strings.Builder
	for i := range 200 {
		fmt.Fprintf(&images, `<img src="/absent-%d.png">`, i)
	}
	s.page("site.test/images", images.String())
	s.mux.HandleFunc("site.test/long/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	s.page("site.test/long", `<img src="/long/`+strings.Repeat("x", 5000)+`">`)
	s.page("site.test/talks", `<p>text<script>
		for (let i = 0; i < 1000; i++) console.error('\u0000line ' + i + '\n', 'é'.repeat(1000));
		console.error('x'.repeat(9 << 20));
	</script>`)
	s.mux.HandleFunc("site.test/empty", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "after") })
	p := startWithSite(t, s)
	for _, path := range []string{"/images", "/long", "/talks"} {
		warnings, _ := printedWith(t, p, Job{URL: "http://site.test" + path, Timeout: patience})
		if len(warnings) == 0 || len(warnings) > MaxWarnings {
			t.Errorf("%s: %d warnings", path, len(warnings))
		}
		for _, w := range warnings {
			if len(w.Message) > maxMessageText || len(w.URL) > maxMessageURL || strings.ContainsAny(w.Message, "\x00\n") {
				t.Errorf("%s: a warning of %d and %d bytes: %q", path, len(w.Message), len(w.URL), w.Message)
			}
		}
	}
	// Nobody listens to the page after that, and it is not used again.
	talks := `<p>text<script>for (let i = 0; i < 1000; i++) console.error(i)</script>`
	if warnings, _ := printedWith(t, p, Job{HTML: talks, RenderMode: ModeRealm}); len(warnings) != MaxWarnings {
		t.Errorf("%d warnings of a document without network", len(warnings))
	}
	warnings, _ := printedWith(t, p, Job{HTML: `<p>text<script>throw new Error('heard')</script>`, RenderMode: ModeRealm})
	warned(t, warnings, ScriptError, "heard")
}
