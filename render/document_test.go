package render

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

const account = "acct_1"

// letter is a PDF as the API makes it by default.
var letter = PDF{Width: 8.5, Height: 11, Scale: 1, PrintBackground: true}

func TestPDFOfInlineSources(t *testing.T) {
	r := start(t, Config{})
	for name, test := range map[string]struct {
		source Source
		want   string
	}{
		"static html":     {Source{HTML: "<p>Grüße</p>"}, "Grüße"},
		"scripted html":   {Source{HTML: "<p id=p></p><script>p.textContent = 'drawn by script'</script>"}, "drawn by script"},
		"html on the net": {Source{HTML: `<p>still there</p><img src="https://nowhere.invalid/x.png">`}, "still there"},
		"markdown":        {Source{Markdown: "# Title\n\n| a | b |\n|---|---|\n| cell | 2 |\n"}, "cell"},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := r.For(account).PDF(t.Context(), test.source, PageSettings{}, letter)
			if err != nil {
				t.Fatal(err)
			}
			if doc.Pages != 1 {
				t.Errorf("%d pages, want 1", doc.Pages)
			}
			if got := pdfText(t, doc); !strings.Contains(got, test.want) {
				t.Errorf("text %q, want %q in it", got, test.want)
			}
		})
	}
}

func TestPDFMetadata(t *testing.T) {
	r := start(t, Config{})
	for name, test := range map[string]struct {
		metadata pdffile.Info
		want     []string
	}{
		"none":  {pdffile.Info{}, []string{"Title: From the page", "Creator: Chromium"}},
		"some":  {pdffile.Info{Author: "Ana"}, []string{"Title: From the page", "Author: Ana", "Creator: Chromium"}},
		"every": {pdffile.Info{Title: "Faktúra 株", Author: "Ana", Subject: "S", Keywords: "a, b"}, []string{"Title: Faktúra 株", "Author: Ana", "Subject: S", "Keywords: a, b"}},
	} {
		t.Run(name, func(t *testing.T) {
			opt := letter
			opt.Metadata = test.metadata
			doc, err := r.For(account).PDF(t.Context(), Source{HTML: "<title>From the page</title><p>x"}, PageSettings{}, opt)
			if err != nil {
				t.Fatal(err)
			}
			path := save(t, doc.Body)
			tool(t, "qpdf", "--check", path)
			var lines []string
			for line := range strings.Lines(tool(t, "pdfinfo", "-enc", "UTF-8", path)) {
				lines = append(lines, strings.Join(strings.Fields(line), " "))
			}
			for _, want := range test.want {
				if got := strings.Join(lines, "\n"); !strings.Contains("\n"+got+"\n", "\n"+want+"\n") {
					t.Errorf("%q is missing in:\n%s", want, got)
				}
			}
		})
	}
}

func TestPDFPageRanges(t *testing.T) {
	r := start(t, Config{})
	var pages strings.Builder
	for i := range 4 {
		fmt.Fprintf(&pages, "<p style='break-after:page'>Page%d</p>", i+1)
	}
	source := Source{HTML: strings.TrimSuffix(pages.String(), "<p style='break-after:page'>Page4</p>") + "<p>Page4</p>"}
	for ranges, want := range map[string]string{"2-3": "Page2 Page3", "last": "Page4", "even": "Page2 Page4", "-1,3-": "Page1 Page3 Page4"} {
		opt := letter
		opt.PageRanges = ranges
		doc, err := r.For(account).PDF(t.Context(), source, PageSettings{}, opt)
		if err != nil {
			t.Errorf("%s: %v", ranges, err)
			continue
		}
		if got := strings.Join(strings.Fields(pdfText(t, doc)), " "); got != want {
			t.Errorf("%s: %q, want %q", ranges, got, want)
		}
	}
	for _, ranges := range []string{"5", "2-9", "5-", "-5"} {
		opt := letter
		opt.PageRanges = ranges
		_, err := r.For(account).PDF(t.Context(), source, PageSettings{}, opt)
		var beyond *chrome.PageRangeError
		if !errors.As(err, &beyond) || beyond.Pages != 4 {
			t.Errorf("%s: error %v, want a PageRangeError of 4 pages", ranges, err)
		}
	}
}

func TestPDFMarkdownMargins(t *testing.T) {
	sharedtest.Slow(t)
	r := start(t, Config{})
	inch := func(n float64) *float64 { return &n }
	for name, test := range map[string]struct {
		margin Margin
		want   float64 // left edge of the text in points
	}{
		"its own":  {Margin{}, 16 / 25.4 * 72},
		"ours":     {Margin{Left: inch(2)}, 144},
		"none":     {Margin{Left: inch(0)}, 0},
		"one side": {Margin{Top: inch(1)}, 16 / 25.4 * 72},
	} {
		opt := letter
		opt.Margin = test.margin
		doc, err := r.For(account).PDF(t.Context(), Source{Markdown: "Word\n"}, PageSettings{}, opt)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(tool(t, "pdftotext", "-bbox", save(t, doc.Body), "-"), `<word xMin="`)
		var got float64
		if _, err := fmt.Sscanf(rest, "%f", &got); err != nil || got < test.want-2 || got > test.want+2 {
			t.Errorf("%s: the text starts at %v (%v), want %v", name, got, err, test.want)
		}
	}
}

func TestScreenshot(t *testing.T) {
	r := start(t, Config{})
	shot := chrome.Screenshot{Type: "png", Viewport: chrome.Viewport{Width: 300, Height: 200, Scale: 2}}
	image, err := r.For(account).Screenshot(t.Context(), Source{HTML: "<h1>Hi</h1>"}, PageSettings{}, shot)
	if err != nil {
		t.Fatal(err)
	}
	got := decodePNG(t, save(t, image.Body))
	if got.Width != 600 || got.Height != 400 || image.Width != 600 || image.Height != 400 {
		t.Errorf("png of %d by %d, reported as %d by %d; want 600 by 400", got.Width, got.Height, image.Width, image.Height)
	}
}

func TestURLBehindAnExtraCA(t *testing.T) {
	sharedtest.Slow(t)
	headers := make(chan http.Header, 10)
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header
		fmt.Fprint(w, "<link rel=icon href=data:,><p>From the intranet</p>")
	})
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "gone", http.StatusGone) })
	s := newSite(t, mux, "intranet.test")
	resolver := names{"intranet.test": "127.0.0.1"}

	t.Run("trusted", func(t *testing.T) {
		r := start(t, Config{AllowHosts: []string{"intranet.test"}, ExtraCA: s.ca, Resolver: resolver})
		page := PageSettings{
			WaitUntil: "networkidle0", Headers: map[string]string{"X-Ours": "yes"}, Cookies: []chrome.Cookie{{Name: "sid", Value: "42"}},
		}
		doc, err := r.For(account).PDF(t.Context(), Source{URL: s.url("intranet.test", "/")}, page, letter)
		if err != nil {
			t.Fatal(err)
		}
		if got := pdfText(t, doc); !strings.Contains(got, "From the intranet") {
			t.Errorf("text %q", got)
		}
		if got := <-headers; got.Get("X-Ours") != "yes" || got.Get("Cookie") != "sid=42" {
			t.Errorf("the site got %v", got)
		}
		_, err = r.For(account).PDF(t.Context(), Source{URL: s.url("intranet.test", "/gone")}, PageSettings{}, letter)
		var load *chrome.LoadError
		if !errors.As(err, &load) || load.Status != http.StatusGone {
			t.Errorf("error %v, want a LoadError of status 410", err)
		}
	})
	t.Run("not trusted", func(t *testing.T) {
		r := start(t, Config{AllowHosts: []string{"intranet.test"}, Resolver: resolver})
		_, err := r.For(account).PDF(t.Context(), Source{URL: s.url("intranet.test", "/")}, PageSettings{}, letter)
		var load *chrome.LoadError
		if !errors.As(err, &load) || !strings.Contains(load.Reason, "ERR_CERT_AUTHORITY_INVALID") {
			t.Errorf("error %v, want a LoadError that names the certificate", err)
		}
	})
}

func TestURLsThatLeadInwards(t *testing.T) {
	sharedtest.Slow(t)
	canary := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "secret") }), "inward.test", "redirect.test")
	plain := newSite(t, http.NotFoundHandler(), "plain.test")
	redirect := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	}), "redirect.test")
	resolver := names{"inward.test": "127.0.0.1", "redirect.test": "127.0.0.1", "plain.test": "127.0.0.1"}
	redirectTo := func(to string) string { return redirect.url("redirect.test", "/") + "?to=" + url.QueryEscape(to) }
	port := func(s *site) string { return s.url("127.0.0.1", "")[len("https://127.0.0.1"):] }

	r := start(t, Config{AllowHosts: []string{"redirect.test" + port(redirect)}, ExtraCA: redirect.ca, Resolver: resolver})
	for name, address := range map[string]string{
		"plain http":            "http://example.com/",
		"file":                  "file:///etc/passwd",
		"loopback":              canary.url("127.0.0.1", "/"),
		"localhost":             canary.url("localhost", "/"),
		"metadata":              "https://169.254.169.254/latest/meta-data/",
		"not a url":             "example.com",
		"a name":                canary.url("inward.test", "/"),
		"another port":          canary.url("redirect.test", "/"),
		"redirect":              redirectTo(canary.url("127.0.0.1", "/")),
		"redirect to a name":    redirectTo(canary.url("inward.test", "/")),
		"redirect to http":      redirectTo(strings.Replace(plain.url("127.0.0.1", "/"), "https", "http", 1)),
		"redirect to http name": redirectTo(strings.Replace(plain.url("plain.test", "/"), "https", "http", 1)),
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := r.For(account).PDF(t.Context(), Source{URL: address}, PageSettings{}, letter)
			if !errors.Is(err, egress.ErrRefused) {
				t.Errorf("error %v, want ErrRefused", err)
			}
			if err == nil {
				t.Errorf("the PDF says %q", pdfText(t, doc))
			}
			image, err := r.For(account).Screenshot(t.Context(), Source{URL: address}, PageSettings{}, chrome.Screenshot{Type: "png"})
			if !errors.Is(err, egress.ErrRefused) {
				t.Errorf("screenshot: error %v, want ErrRefused", err)
			}
			if err == nil {
				save(t, image.Body)
			}
		})
	}
	if hits := canary.hits.Load() + plain.hits.Load(); hits != 0 {
		t.Errorf("the canaries were reached %d times", hits)
	}

	// The same request reaches the canary when the operator opens it.
	open := start(t, Config{AllowHosts: []string{"inward.test"}, ExtraCA: canary.ca, Resolver: resolver})
	doc, err := open.For(account).PDF(t.Context(), Source{URL: canary.url("inward.test", "/")}, PageSettings{}, letter)
	if err != nil {
		t.Fatal(err)
	}
	if got := pdfText(t, doc); !strings.Contains(got, "secret") || canary.hits.Load() == 0 {
		t.Errorf("the opened canary was not reached: %q", got)
	}
}

func TestURLOfAnUnknownName(t *testing.T) {
	r := start(t, Config{Resolver: names{}})
	_, err := r.For(account).PDF(t.Context(), Source{URL: "https://unknown.test/"}, PageSettings{}, letter)
	var load *chrome.LoadError
	if !errors.As(err, &load) || load.Reason != "net::ERR_NAME_NOT_RESOLVED" {
		t.Errorf("error %v, want a LoadError that names the DNS", err)
	}
}

func TestTimeouts(t *testing.T) {
	sharedtest.Slow(t)
	r := start(t, Config{})
	for name, source := range map[string]Source{
		"endless script": {HTML: "<script>while (true) {}</script>"},
		// Quadratic in the converter: minutes.
		"endless markdown": {Markdown: strings.Repeat("*a_", 400_000)},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := r.For(account).PDF(t.Context(), source, PageSettings{Timeout: 500 * time.Millisecond}, letter)
			if !errors.Is(err, chrome.ErrTimeout) {
				t.Errorf("error %v, want ErrTimeout", err)
			}
			if took := time.Since(began); took > patience {
				t.Errorf("it took %v", took)
			}
		})
	}
	doc, err := r.For(account).PDF(t.Context(), Source{Markdown: "# after"}, PageSettings{}, letter)
	if err != nil {
		t.Fatalf("the next document: %v", err)
	}
	save(t, doc.Body)
}

func TestCallerLeaves(t *testing.T) {
	r := start(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, source := range map[string]Source{"html": {HTML: "x"}, "markdown": {Markdown: "x"}} {
		if _, err := r.For(account).PDF(ctx, source, PageSettings{}, letter); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want context.Canceled", name, err)
		}
	}
}

func TestReadyAndClosed(t *testing.T) {
	r := start(t, Config{Slots: 2})
	if err := r.Ready(t.Context()); err != nil {
		t.Errorf("Ready: %v", err)
	}
	if got := r.Stats().Pools[0].Slots; got != 2 {
		t.Errorf("%d slots, want 2", got)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Ready(t.Context()); err == nil {
		t.Error("a closed renderer says that it is ready")
	}
	if _, err := r.For(account).PDF(t.Context(), Source{HTML: "x"}, PageSettings{}, letter); !errors.Is(err, chrome.ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
}

func TestNewErrorsNameTheFix(t *testing.T) {
	for want, cfg := range map[string]Config{
		"holds no certificate": {ExtraCA: "render.go"},
		"no such file":         {ExtraCA: "absent.pem"},
		"10.0.0.0/99":          {AllowHosts: []string{"10.0.0.0/99"}},
		"/absent/chromium":     {Chromium: "/absent/chromium"},
	} {
		cfg.Dir = folder(t)
		if r, err := New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New: %v, %v; want an error with %q", r, err, want)
		}
	}
}

func TestCheckURL(t *testing.T) {
	r := start(t, Config{})
	if err := r.CheckURL("https://example.com/a?b#c"); err != nil {
		t.Errorf("a public page: %v", err)
	}
	for _, address := range []string{"http://example.com", "https://10.0.0.1/", "https://localhost/", "javascript:alert(1)", ""} {
		if err := r.CheckURL(address); !errors.Is(err, egress.ErrRefused) {
			t.Errorf("%q: %v, want ErrRefused", address, err)
		}
	}
}

func TestCheckPageRanges(t *testing.T) {
	if err := CheckPageRanges("1-3,5,7-"); err != nil {
		t.Error(err)
	}
	if err := CheckPageRanges("3-1"); err == nil {
		t.Error("3-1 was accepted")
	}
}

// TestShortTimeouts: a timeout that no document can keep is the cause that the error names, and costs the account no
// slots.
func TestShortTimeouts(t *testing.T) {
	r := start(t, Config{})
	for _, source := range []Source{{HTML: "<p>x"}, {HTML: "<script>1</script>"}, {HTML: `<img src="https://nowhere.invalid/x.png">`}, {Markdown: "# x"}} {
		for range 5 {
			_, err := r.For(account).PDF(t.Context(), source, PageSettings{Timeout: time.Millisecond}, letter)
			var late *chrome.TimeoutError
			if !errors.As(err, &late) || !late.Short || late.Unstarted || late.After != time.Millisecond || late.Slowed != 0 {
				t.Fatalf("%+v: %v (%+v), want a short timeout that slows nobody", source, err, late)
			}
		}
	}

	_, err := r.For(account).Screenshot(t.Context(), Source{HTML: "<p>x"}, PageSettings{Timeout: time.Millisecond}, chrome.Screenshot{})
	var late *chrome.TimeoutError
	if !errors.As(err, &late) || !late.Short {
		t.Errorf("an image: %v", err)
	}
}
