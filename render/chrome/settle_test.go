package chrome

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestLateDrawingIsCaptured(t *testing.T) {
	p := startPool(t, nil)
	cases := map[string]string{
		"animation frame": `<p id=x>no<script>requestAnimationFrame(() => requestAnimationFrame(() => x.textContent = 'drawn'))</script>`,
		"resize observer": `<p id=x>no<script>new ResizeObserver(() => x.textContent = 'drawn').observe(x)</script>`,
		"seen far below": `<div style="height:9000px">top</div><p id=x>no<script>
			new IntersectionObserver(e => { if (e[0].isIntersecting) x.textContent = 'drawn' }).observe(x)</script>`,
		"promise": `<p id=x>no<script>Promise.resolve().then(() => x.textContent = 'drawn')</script>`,
	}
	for name, html := range cases {
		for _, mode := range []RenderMode{ModeRealm, ModeOnce} {
			t.Run(name+"/"+mode.String(), func(t *testing.T) {
				contains(t, textOf(t, p, Job{Account: "a", RenderMode: mode, HTML: html}), "drawn")
			})
		}
	}
}

func TestWebFontsAreAwaited(t *testing.T) {
	t.Parallel()
	font := fontFile(t)
	s := newSite(t)
	s.mux.HandleFunc("site.test/font.ttf", func(w http.ResponseWriter, r *http.Request) {
		select { // Slower than the load event.
		case <-time.After(300 * time.Millisecond):
		case <-r.Context().Done():
		}
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Write(font)
	})
	p := startWithSite(t, s)
	face := `<style>@font-face{font-family:F;src:url(%s)} p{font-family:F}</style><p>text in F`
	inline := "data:font/ttf;base64," + base64.StdEncoding.EncodeToString(font)
	for mode, src := range map[RenderMode]string{ModeInline: inline, ModeRealm: inline, ModeOnce: "http://site.test/font.ttf"} {
		doc, err := p.PDF(t.Context(), Job{Account: "a", RenderMode: mode, HTML: fmt.Sprintf(face, src)}, PDF{})
		if err != nil {
			t.Fatal(err)
		}
		contains(t, tool(t, doc.Body, "pdffonts", "-"), "Carlito")
	}
}

// fontFile returns a font that no CSS family of the tests falls back to.
func fontFile(t *testing.T) []byte {
	t.Helper()
	path, err := exec.Command("fc-match", "-f", "%{file}", "Carlito").Output()
	if err != nil || !strings.Contains(string(path), "Carlito") {
		t.Fatal("the font Carlito is not installed: run make setup")
	}
	data, err := os.ReadFile(string(path))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestStalledFontDoesNotStopTheDocument(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.mux.HandleFunc("site.test/font.ttf", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	p := startPool(t, func(c *Config) { c.Proxy, c.Times.Settle = s.proxy.URL, 2*time.Second })
	text := textOf(t, p, Job{Account: "a", RenderMode: ModeOnce, WaitUntil: waitDOMContentLoaded,
		HTML: `<style>@font-face{font-family:F;src:url(http://site.test/font.ttf)} p{font-family:F, sans-serif}</style><p>still here`})
	contains(t, text, "still here")
}

func TestStalledImageDoesNotStopTheDocument(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.mux.HandleFunc("site.test/never.png", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	p := startPool(t, func(c *Config) { c.Proxy, c.Times.Settle = s.proxy.URL, 2*time.Second })
	html := `<p>still here<div style="height:9000px"></div><img loading="lazy" src="http://site.test/never.png">`
	contains(t, textOf(t, p, Job{Account: "a", RenderMode: ModeOnce, HTML: html}), "still here")
}

func TestLazyImagesAreLoaded(t *testing.T) {
	const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><rect width="40" height="40" fill="lime"/></svg>`
	s := newSite(t)
	s.mux.HandleFunc("site.test/box.svg", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/svg+xml")
		w.Write([]byte(svg))
	})
	p := startWithSite(t, s)
	inline := "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(svg))
	for mode, src := range map[RenderMode]string{ModeInline: inline, ModeRealm: inline, ModeOnce: "http://site.test/box.svg"} {
		html := `<body style="margin:0"><div style="height:9000px"></div><img loading="lazy" width=40 height=40 src="` + src + `">`
		img, err := p.Screenshot(t.Context(), Job{Account: "a", RenderMode: mode, HTML: html}, Screenshot{FullPage: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := colorAt(pixels(t, img), 20, 9020); got != "00ff00ff" {
			t.Errorf("%s mode: the lazy picture shows %s, want lime", mode, got)
		}
	}
	if got := len(s.requests("/box.svg")); got != 1 {
		t.Errorf("the picture was asked for %d times, want once", got)
	}
}

// TestDOMContentLoadedDoesNotWaitForTheLoadEvent has parts of a page that never end.
func TestDOMContentLoadedDoesNotWaitForTheLoadEvent(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.mux.HandleFunc("site.test/never", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s.page("site.test/", `<p>there<img src="/never"><iframe src="/never"></iframe><script async src="/never"></script>`)
	p := startWithSite(t, s)
	// Less than settling may take, and no deadline, of which settling would take a part.
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(patience/4, cancel).Stop()
	for _, job := range []Job{
		{URL: "http://site.test/"},
		{HTML: `<p>there<img src="http://site.test/never">`, RenderMode: ModeOnce},
	} {
		job.Account, job.WaitUntil, job.Timeout = "a", waitDOMContentLoaded, patience
		doc, err := p.PDF(ctx, job, PDF{})
		if err != nil {
			t.Fatalf("%s%s: %v", job.URL, job.HTML, err)
		}
		contains(t, pdfText(t, doc), "there")
	}
}
