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

func TestURL(t *testing.T) {
	s := newSite(t)
	s.page("site.test/", `<h1>front page</h1><img src="/picture.svg">`)
	s.mux.HandleFunc("site.test/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://other.test/there", http.StatusFound)
	})
	s.page("other.test/there", "arrived")
	p := startWithSite(t, s)
	contains(t, textOf(t, p, Job{Account: "a", URL: "http://site.test/"}), "front page")
	contains(t, textOf(t, p, Job{Account: "a", URL: "http://site.test/moved", RenderMode: ModeRealm}), "arrived")
	if got := len(s.requests("/picture.svg")); got != 1 {
		t.Errorf("the picture was asked for %d times, want once", got)
	}
}

func TestOnlyHTTPIsNavigatedTo(t *testing.T) {
	p := startPool(t, nil)
	for _, url := range []string{
		"file:///etc/passwd", "FILE:///etc/passwd", "view-source:http://a.test", "chrome://version", "javascript:1",
		"data:text/html,x", "about:blank", "ftp://a.test", "blob:null/1", "//a.test", "http:", "http:///x", " http://a.test\n", "\x00",
	} {
		_, err := p.PDF(t.Context(), Job{Account: "a", URL: url}, PDF{})
		var load *LoadError
		if !errors.As(err, &load) {
			t.Errorf("%q: %v, want a LoadError", url, err)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	s := newSite(t)
	s.mux.HandleFunc("site.test/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		var code int
		fmt.Sscan(r.PathValue("code"), &code)
		w.WriteHeader(code)
		if r.URL.Query().Has("body") {
			io.WriteString(w, "<h1>sorry")
		}
	})
	s.mux.HandleFunc("site.test/file", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", "attachment")
		io.WriteString(w, "data")
	})
	s.page("site.test/on", `<script>location = '/status/500?body'</script>`)
	s.page("site.test/broken", `<iframe src="/status/404?body"></iframe><img src="/status/500">frame is missing`)
	s.mux.HandleFunc("site.test/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		panic(http.ErrAbortHandler)
	})
	p := startWithSite(t, s)
	cases := map[string]struct {
		status int
		reason string
	}{
		"http://site.test/status/404?body": {status: 404},
		"http://site.test/status/503":      {status: 503},
		"http://site.test/on":              {status: 500},
		"http://site.test/file":            {reason: "its server returned a file of the type text/plain instead of a page"},
		"http://site.test/cut":             {reason: "net::ERR_EMPTY_RESPONSE"},
		"https://site.test/":               {reason: "net::ERR_TUNNEL_CONNECTION_FAILED"},
	}
	for url, want := range cases {
		_, err := p.PDF(t.Context(), Job{Account: "a", URL: url}, PDF{})
		var load *LoadError
		if !errors.As(err, &load) || load.Status != want.status || load.Reason != want.reason {
			t.Errorf("%s: %v, want status %d %s", url, err, want.status, want.reason)
		}
	}
	contains(t, textOf(t, p, Job{Account: "a", URL: "http://site.test/broken"}), "frame is missing")

	dead := startPool(t, nil)
	_, err := dead.PDF(t.Context(), Job{Account: "a", URL: "http://site.test/"}, PDF{})
	var load *LoadError
	if !errors.As(err, &load) || load.Reason != "net::ERR_PROXY_CONNECTION_FAILED" {
		t.Errorf("without a proxy: %v", err)
	}
}

// A document that leads itself to where nothing can be reached fails, whichever
// way it goes, and is not printed as the browser's error page.
func TestDocumentThatLeadsItselfAway(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.page("site.test/away", `<script>addEventListener('load', () => setTimeout(() => location = 'https://refused.test/', 50))</script>`)
	p := startWithSite(t, s)
	for _, job := range []Job{
		{HTML: `<meta http-equiv="refresh" content="0;url=https://refused.test/"><p>before`, WaitForTimeout: time.Second},
		{HTML: `<p>before<script>location = 'https://refused.test/'</script>`, WaitForTimeout: time.Second},
		{URL: "http://site.test/away", WaitForTimeout: time.Second},
	} {
		job.Account, job.RenderMode = "a", ModeOnce
		doc, err := p.PDF(t.Context(), job, PDF{})
		for err == nil && job.WaitForTimeout < 10*time.Second { // It was printed before it went.
			doc.Body.Close()
			job.WaitForTimeout *= 3
			doc, err = p.PDF(t.Context(), job, PDF{})
		}
		var load *LoadError
		if !errors.As(err, &load) || load.URL != "https://refused.test/" || load.Reason == "" {
			t.Errorf("%s%s: %v, want a LoadError for https://refused.test/", job.HTML, job.URL, err)
		}
	}
}

// HTML that is loaded again is gone: it has no address that it could come from.
func TestDocumentThatReloadsItself(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := newSite(t)
	s.page("site.test/away", `<p>before<script>location = 'about:blank'</script>`)
	p := startWithSite(t, s)
	for _, job := range []Job{
		{HTML: `<p>before<script>onload = () => location.reload()</script>`, RenderMode: ModeOnce},
		{HTML: `<p>before<script>onload = () => location.reload()</script>`, RenderMode: ModeRealm},
		{HTML: `<meta http-equiv="refresh" content="0"><p>before`, RenderMode: ModeOnce},
		{URL: "http://site.test/away", RenderMode: ModeOnce},
	} {
		job.Account, job.WaitForTimeout = "a", time.Second
		doc, err := p.PDF(t.Context(), job, PDF{})
		for err == nil && job.WaitForTimeout < 10*time.Second { // It was printed before it went.
			contains(t, pdfText(t, doc), "before")
			job.WaitForTimeout *= 3
			doc, err = p.PDF(t.Context(), job, PDF{})
		}
		if !errors.Is(err, ErrCrashed) {
			t.Errorf("%s, %s%s: %v, want a *DocumentCrashError", job.RenderMode, job.HTML, job.URL, err)
		}
	}
}

// Documents whose server withholds a part until the test says so.
func TestWaitUntil(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := newSite(t)
	release := make(chan struct{})
	s.mux.HandleFunc("site.test/slow.svg", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	s.page("site.test/data", "fetched")
	s.page("site.test/slow", `<p id=x>early</p><img src="/slow.svg">`)
	s.page("site.test/chain", `<p id=x>early</p><script>
		onload = () => setTimeout(async () => {
			await fetch('/data');
			setTimeout(async () => { x.textContent = await (await fetch('/data')).text() }, 100);
		}, 100)</script>`)
	s.page("site.test/late", `<p id=x>early</p><script>onload = async () => { x.textContent = await (await fetch('/slow.svg')).text() }</script>`)
	s.page("site.test/long", `<p id=x>two open</p><img src="/slow.svg?1"><img src="/slow.svg?2">`)
	p := startWithSite(t, s)
	text := func(path, until string) (string, error) {
		doc, err := p.PDF(t.Context(), Job{Account: "a", URL: "http://site.test" + path, WaitUntil: until}, PDF{})
		if err != nil {
			return "", err
		}
		return pdfText(t, doc), nil
	}
	for _, until := range []string{waitLoad, waitNetworkIdle0} {
		timesOut(t, p, Job{Account: "a", URL: "http://site.test/slow", WaitUntil: until, Timeout: 2 * time.Second}, StepLoad)
	}
	if got, err := text("/long", waitNetworkIdle2); err != nil || !strings.Contains(got, "two open") {
		t.Errorf("networkidle2 with two requests open: %q, %v", got, err)
	}
	// A machine that stalls may not get to the next of a chain of requests in time.
	got, err := text("/chain", waitNetworkIdle0)
	for tries := 1; tries < 10 && err == nil && !strings.Contains(got, "fetched"); tries++ {
		got, err = text("/chain", waitNetworkIdle0)
	}
	if err != nil || !strings.Contains(got, "fetched") {
		t.Errorf("networkidle0 before the last of a chain of requests: %q, %v", got, err)
	}
	if got, err := text("/late", waitLoad); err != nil || !strings.Contains(got, "early") {
		t.Errorf("load waits for more than the load event: %q, %v", got, err)
	}
	close(release)
	if got, err := text("/slow", waitLoad); err != nil || !strings.Contains(got, "early") {
		t.Errorf("load: %q, %v", got, err)
	}
}

func TestWaitForSelector(t *testing.T) {
	t.Parallel()
	p := startPool(t, nil)
	for _, mode := range modes {
		html := `<p class=ready>there`
		if mode != ModeInline {
			html = `<script>setTimeout(() => document.body.innerHTML = '<p class=ready>there', 300)</script>`
		}
		text := textOf(t, p, Job{Account: "a", RenderMode: mode, HTML: html, WaitForSelector: "p.ready"})
		contains(t, text, "there")

		_, err := p.PDF(t.Context(), Job{Account: "a", RenderMode: mode, HTML: html, WaitForSelector: "p..["}, PDF{})
		if !errors.Is(err, ErrWaitForSelector) {
			t.Errorf("%s mode, invalid selector: %v, want ErrWaitForSelector", mode, err)
		}
		timesOut(t, p, Job{Account: "a", RenderMode: mode, HTML: html, WaitForSelector: "#never", Timeout: time.Second}, StepSelector)
	}
}

func TestWaitForSelectorAcrossANavigation(t *testing.T) {
	s := newSite(t)
	s.page("site.test/", `first<script>setTimeout(() => location = '/next', 200)</script>`)
	s.page("site.test/next", `<p id=done>second`)
	p := startWithSite(t, s)
	contains(t, textOf(t, p, Job{Account: "a", URL: "http://site.test/", WaitForSelector: "#done"}), "second")
}

func TestWaitForTimeout(t *testing.T) {
	t.Parallel()
	p := startPool(t, nil)
	html := func(ms int) string {
		return fmt.Sprintf(`<p id=x>early<script>setTimeout(() => x.textContent = 'late', %d)</script>`, ms)
	}
	contains(t, textOf(t, p, Job{Account: "a", RenderMode: ModeRealm, HTML: html(60_000)}), "early")
	// In a machine that stalls the page's clock may come later than ours.
	job := Job{Account: "a", RenderMode: ModeRealm, HTML: html(200), WaitForTimeout: 2 * time.Second}
	text := textOf(t, p, job)
	for ; !strings.Contains(text, "late") && job.WaitForTimeout < 10*time.Second; text = textOf(t, p, job) {
		job.WaitForTimeout *= 3
	}
	contains(t, text, "late")
}

func TestDialogsDoNotStopAPage(t *testing.T) {
	p := startPool(t, nil)
	for _, mode := range []RenderMode{ModeRealm, ModeOnce} {
		html := `<p id=x></p><script>alert(1); confirm(2); prompt(3); print(); onbeforeunload = e => e.preventDefault(); x.textContent = 'went on'</script>`
		for range 2 {
			contains(t, textOf(t, p, Job{Account: "a", RenderMode: mode, HTML: html}), "went on")
		}
	}
}

func TestHeadersGoOnlyWhereTheyBelong(t *testing.T) {
	s := newSite(t)
	s.page("site.test/page", `<img src="/own"><img src="http://site.test:81/port"><img src="http://foreign.test/foreign">
		<img src="/away"><script>fetch('http://foreign.test/fetched').catch(()=>{})</script>text`)
	s.mux.HandleFunc("site.test/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://foreign.test/redirected", http.StatusFound)
	})
	s.page("foreign.test/", "")
	s.page("site.test/own", "")
	p := startWithSite(t, s)
	headers := map[string]string{"Authorization": "Bearer secret", "X-Team": "blue"}
	textOf(t, p, Job{Account: "a", URL: "http://site.test/page", Headers: headers, WaitUntil: waitNetworkIdle0})
	want := map[string]bool{"/page": true, "/own": true, "/away": true, "/port": false, "/foreign": false, "/redirected": false, "/fetched": false}
	for path, belongs := range want {
		got := s.requests(path)
		if len(got) == 0 {
			t.Errorf("%s was not asked for", path)
			continue
		}
		for name, value := range headers {
			if sent := got[0].Header.Get(name); (sent == value) != belongs {
				t.Errorf("%s got %s %q, want it there: %v", path, name, sent, belongs)
			}
		}
	}
	// To an inline document http sub-resources are not trusted with them.
	textOf(t, p, Job{Account: "a", HTML: `<img src="http://foreign.test/inline">`, Headers: headers})
	for _, r := range s.requests("/inline") {
		if r.Header.Get("Authorization") != "" {
			t.Error("an inline document's header went out unencrypted")
		}
	}
	if len(s.requests("/inline")) != 1 {
		t.Error("the inline document's picture was not asked for")
	}
}

func TestCookies(t *testing.T) {
	s := newSite(t)
	s.page("site.test/", `<p id=x></p><script>x.textContent = document.cookie</script>`)
	s.page("www.site.test/", "")
	p := startWithSite(t, s)
	text := textOf(t, p, Job{Account: "a", URL: "http://site.test/", Cookies: []Cookie{
		{Name: "own", Value: "1"}, {Name: "domain", Value: "2", Domain: "site.test"},
		{Name: "path", Value: "3", Path: "/deep"}, {Name: "other", Value: "4", Domain: "other.test"},
	}})
	contains(t, text, "own=1", "domain=2")
	for _, foreign := range []string{"path", "other"} {
		if strings.Contains(text, foreign) {
			t.Errorf("the page sees a cookie of another path or domain: %s", text)
		}
	}
}
