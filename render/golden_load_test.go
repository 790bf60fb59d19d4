package render_test

import (
	"errors"
	"fmt"
	"image"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
)

// testEmulationEnds checks that the emulation settings of one document do not apply to the next one, even on the
// account's warm pages.
func (s *studio) testEmulationEnds(t *testing.T) {
	t.Parallel()
	const account = "acct_emulation" // with pages of its own, so that each is used again
	const static = `<!DOCTYPE html><style>b { display: none } @media (max-width: 500px) { .narrow { display: inline } } @media screen { .screen { display: inline } } @media (resolution >= 2dppx) { .dense { display: inline } }</style>Page <b class="narrow">narrow</b> <b class="screen">screen</b> <b class="dense">dense</b>`
	const scripted = `<!DOCTYPE html><body><script>document.body.textContent = "Page " + innerWidth + " " + devicePixelRatio + " " + matchMedia("screen").matches</script>`
	pdf := func(html string) string {
		t.Helper()
		doc, err := s.For(account).PDF(t.Context(), render.Source{HTML: html}, render.PageSettings{}, render.PDF{})
		if err != nil {
			t.Fatal(err)
		}
		return fullText(t, keep(t, doc.Body, "document.pdf"))
	}
	want := map[string]string{static: pdf(static), scripted: pdf(scripted)}
	for html, text := range want {
		for range 3 {
			shot := chrome.Screenshot{Type: "png", OmitBackground: true, Viewport: chrome.Viewport{Width: 320, Height: 200, Scale: 3}}
			result, err := s.For(account).Screenshot(t.Context(), render.Source{HTML: html}, render.PageSettings{Media: "print"}, shot)
			if err != nil {
				t.Fatal(err)
			}
			_ = result.Body.Close()
			if got := pdf(html); got != text {
				t.Errorf("after others the document says %q, want %q", got, text)
			}
			doc, err := s.For(account).PDF(t.Context(), render.Source{HTML: html}, render.PageSettings{Media: "screen"}, render.PDF{Landscape: true, Scale: 2})
			if err != nil {
				t.Fatal(err)
			}
			_ = doc.Body.Close()
			result, err = s.For(account).Screenshot(t.Context(), render.Source{HTML: html}, render.PageSettings{}, chrome.Screenshot{Type: "png"})
			if err != nil {
				t.Fatal(err)
			}
			img, _ := decode(t, keep(t, result.Body, "image.png"))
			if _, _, _, a := img.At(700, 500).RGBA(); img.Bounds().Size() != image.Pt(800, 600) || a != 0xffff {
				t.Errorf("after others the image has %v pixels and alpha %x, want 800 by 600 and opaque", img.Bounds().Size(), a)
			}
		}
	}
}

// visits remembers which requests carried which credentials.
type visits struct {
	mu   sync.Mutex
	seen map[string]string // path → header and cookie
}

func (v *visits) note(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v.mu.Lock()
		v.seen[name+r.URL.Path] = r.Header.Get("X-Ours") + "|" + r.Header.Get("Cookie")
		v.mu.Unlock()
		w.Header().Set("Access-Control-Allow-Origin", "*")
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		fmt.Fprint(w, `<svg xmlns="http://www.w3.org/2000/svg"/>`)
	}
}

// Cookies and extra headers reach the origin that they are for, and no other.
func (s *studio) testCredentials(t *testing.T) {
	t.Parallel()
	v := &visits{seen: map[string]string{}}
	for _, path := range []string{"/url/", "/inline/"} {
		s.site.HandleFunc(path, v.note("site "))
		s.elsewhere.HandleFunc(path, v.note("elsewhere "))
	}
	home, away := s.site.origin("assets.test"), s.elsewhere.origin("elsewhere.test")
	images := func(prefix string) string {
		var html strings.Builder
		for _, address := range []string{
			home + prefix + "image", away + prefix + "image", home + prefix + "hop?to=" + away + prefix + "landed",
		} {
			fmt.Fprintf(&html, `<img src="%s">`, address)
		}
		return html.String()
	}
	page := render.PageSettings{
		WaitUntil: "networkidle0", Headers: map[string]string{"X-Ours": "header"}, Cookies: []chrome.Cookie{{Name: "sid", Value: "42"}},
	}
	s.print(t, render.Source{URL: home + s.site.publish(images("/url/"))}, page, render.PDF{})
	page.Cookies[0].Domain = "assets.test"
	s.print(t, render.Source{HTML: images("/inline/")}, page, render.PDF{})
	s.print(t, render.Source{HTML: `<img src="` + home + `/inline/after">`}, render.PageSettings{}, render.PDF{})

	for address, want := range map[string]string{
		"site /url/image": "header|sid=42", "site /url/hop": "header|sid=42",
		"elsewhere /url/image": "|", "elsewhere /url/landed": "|",
		"site /inline/image": "header|sid=42", "site /inline/hop": "header|sid=42",
		"elsewhere /inline/image": "header|", "elsewhere /inline/landed": "header|",
		"site /inline/after": "|",
	} {
		v.mu.Lock()
		got, ok := v.seen[address]
		v.mu.Unlock()
		if !ok || got != want {
			t.Errorf("%s got header|cookie %q (requested: %v), want %q", address, got, ok, want)
		}
	}
}

// testWaits checks each way in which a document can say that it is not ready
// when it has loaded. The site answers /late only after the load event, of
// which the document tells it.
func (s *studio) testWaits(t *testing.T) {
	t.Parallel()
	loaded := make(map[string]chan struct{})
	for _, name := range []string{"selector", "idle0", "idle2"} {
		loaded[name] = make(chan struct{})
	}
	var once sync.Map
	s.site.HandleFunc("/loaded/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		if _, again := once.LoadOrStore(r.PathValue("name"), true); !again {
			close(loaded[r.PathValue("name")])
		}
	})
	s.site.HandleFunc("/late/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		select {
		case <-loaded[r.PathValue("name")]:
			fmt.Fprint(w, "answered late")
		case <-r.Context().Done():
		}
	})
	document := func(name string) render.Source {
		return s.html(fmt.Sprintf(`<body><p>Body</p><script>
			onload = () => setTimeout(() => fetch("https://assets.test/loaded/%[1]s"), 100);
			fetch("https://assets.test/late/%[1]s").then(r => r.text()).then(text => {
				document.body.insertAdjacentHTML("beforeend", "<p id=ready>" + text + "</p>");
			});
		</script>`, name))
	}
	const timer = `<body><p>Body</p><script>setTimeout(() => document.body.insertAdjacentHTML("beforeend", "<i id=ready>answered late</i>"), 300)</script>`
	for name, test := range map[string]struct {
		source render.Source
		page   render.PageSettings
	}{
		"selector":          {document("selector"), render.PageSettings{WaitForSelector: "#ready"}},
		"network idle":      {document("idle0"), render.PageSettings{WaitUntil: "networkidle0"}},
		"pause":             {render.Source{HTML: timer}, render.PageSettings{WaitForTimeout: 3 * time.Second}},
		"selector, no net":  {render.Source{HTML: timer}, render.PageSettings{WaitForSelector: "#ready"}},
		"pause, static":     {render.Source{HTML: "<p>Body</p><p>answered late</p>"}, render.PageSettings{WaitForTimeout: 100 * time.Millisecond, WaitForSelector: "p + p"}},
		"domcontentloaded":  {render.Source{HTML: "<p>Body</p><p>answered late</p>"}, render.PageSettings{WaitUntil: "domcontentloaded"}},
		"network idle of 2": {document("idle2"), render.PageSettings{WaitUntil: "networkidle2", WaitForSelector: "#ready"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const want = "Body answered late"
			got := fullText(t, s.print(t, test.source, test.page, render.PDF{}))
			// A machine that stalls may not get to what a page does in a pause.
			for test.page.WaitForTimeout >= time.Second && test.page.WaitForTimeout < 10*time.Second && !strings.HasPrefix(got, want) {
				test.page.WaitForTimeout *= 3
				got = fullText(t, s.print(t, test.source, test.page, render.PDF{}))
			}
			if !strings.HasPrefix(got, want) {
				t.Errorf("the page says %q, want what came late in it", got)
			}
		})
	}
}

// testDeadlines checks that nothing a document does makes it take longer than
// its deadline, and that what it only might have shown does not fail it.
func (s *studio) testDeadlines(t *testing.T) {
	t.Parallel()
	s.site.HandleFunc("/never", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	const limit = 1500 * time.Millisecond
	t.Run("fetch that never ends", func(t *testing.T) {
		t.Parallel()
		page := render.PageSettings{WaitUntil: "networkidle0", Timeout: 30 * time.Second}
		doc, err := s.For("acct_fetch").PDF(t.Context(), s.html(`<p>loaded<script>fetch("https://assets.test/never")</script>`), page, render.PDF{})
		if err != nil {
			t.Fatal(err)
		}
		defer doc.Body.Close()
		if !slices.ContainsFunc(doc.Warnings, func(w chrome.Warning) bool { return w.Code == chrome.NetworkBusy }) {
			t.Errorf("warnings %v, want %s", doc.Warnings, chrome.NetworkBusy)
		}
	})

	for name, test := range map[string]struct {
		html string
		page render.PageSettings
	}{
		"image that never ends":      {`<img src="https://assets.test/never">`, render.PageSettings{}},
		"style that never ends":      {`<link rel="stylesheet" href="https://assets.test/never">`, render.PageSettings{}},
		"selector that never comes":  {`<p>x</p><script>onload</script>`, render.PageSettings{WaitForSelector: "#never"}},
		"selector of a static page":  {`<p>x</p>`, render.PageSettings{WaitForSelector: "#never"}},
		"pause longer than the time": {`<p>x</p>`, render.PageSettings{WaitForTimeout: time.Minute}},
		"script without end":         {`<script>onload = () => { for (;;); }</script>`, render.PageSettings{}},
		"promises without end":       {`<script>const f = () => Promise.resolve().then(f); f()</script>`, render.PageSettings{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.page.Timeout = limit
			began := time.Now()
			doc, err := s.For("acct_"+name).PDF(t.Context(), s.html(test.html), test.page, render.PDF{})
			var late *chrome.TimeoutError
			if !errors.As(err, &late) || late.After <= 0 || late.After > limit || late.Step == "" {
				t.Errorf("error %v (%+v), want a TimeoutError with its step", err, late)
			}
			if err == nil {
				_ = doc.Body.Close()
			}
			if took := time.Since(began); took > limit+patience { // The queue is not in the deadline.
				t.Errorf("it took %v with a deadline of %v", took, limit)
			}
		})
	}
	t.Run("font that never ends", func(t *testing.T) {
		t.Parallel()
		source := s.html(`<p style="font-family: Never, serif">In another font</p><script>
			onload = () => document.fonts.add(new FontFace("Never", 'url("https://assets.test/never")'));
		</script>`)
		if got := fullText(t, s.print(t, source, render.PageSettings{}, render.PDF{})); got != "In another font" {
			t.Errorf("the page says %q", got)
		}
	})
}
