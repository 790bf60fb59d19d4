package chrome

import (
	"encoding/base64"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// fewFaces are the fonts of a machine that has no others.
type fewFaces []string

func (f fewFaces) Named(family string) bool { return slices.Contains(f, family) }

// Draws leaves out characters that no font has: the end of the private use area.
func (fewFaces) Draws(r rune) bool { return r < 0xF0000 && r != 0xE99A }

func startWithFaces(t *testing.T) *Pool {
	t.Helper()
	return startPool(t, func(c *Config) { c.FontSet = fewFaces{"DejaVu Sans", "Liberation Sans", "Arial"} })
}

// face returns a font of this machine as a data: URL.
func face(t *testing.T, family string) string {
	t.Helper()
	file, err := exec.Command("fc-match", "--format", "%{file}", family).Output()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(string(file))
	if err != nil {
		t.Fatal(err)
	}
	return "data:font/ttf;base64," + base64.StdEncoding.EncodeToString(content)
}

func TestMissingTypefacesAreWarnedOf(t *testing.T) {
	sharedtest.Slow(t)
	p := startWithFaces(t)
	for _, mode := range []RenderMode{ModeInline, ModeRealm, ModeOnce} {
		for html, want := range map[string]string{
			`<p style="font-family:'No Such Grotesk', sans-serif">text`:                         "No Such Grotesk",
			`<style>p { font: italic 12px/1.5 Nowhere Slab, "Gone Too", serif }</style><p>text`: "Nowhere Slab or Gone Too",
			`<p>a box: &#xF1234;`: "U+F1234",
			`<p>a box: ` + "\U000F1235" + ` and an icon ` + "\uE99A":                          "U+F1235, U+E99A",
			`<p style="font-family: No Such Grotesk, Arial">text`:                             "",
			`<p style='font-family: "Segoe UX", system-ui, sans-serif'>text`:                  "",
			`<style>b { font-family: Nowhere }</style><p>nothing is bold`:                     "",
			`<p style="font:12px Arial" class="x">Grüße, 中文, עברית &amp; 😀&#128512; &hearts;`: "",
			`<p style="font-family:DejaVu Sans">text &#`:                                      "",
		} {
			warnings, _ := printedWith(t, p, Job{HTML: html, RenderMode: mode})
			if want != "" {
				warned(t, warnings, FontMissing, want)
			}
			if maximum := min(len(want), 1); len(warnings) > maximum {
				t.Errorf("%v %s: %v", mode, html, warnings)
			}
		}
	}
	// Fonts of the document, and fonts that the browser finds in spite of the list, are not
	// missing.
	own := `<style>@font-face { font-family: Mine; src: url(` + face(t, "Liberation Mono") + `) }</style><p style="font-family: Mine">text`
	if warnings, _ := printedWith(t, p, Job{HTML: own}); len(warnings) > 0 {
		t.Errorf("a document with its own typeface: %v", warnings)
	}
	if warnings, _ := printedWith(t, p, Job{HTML: `<p style="font-family: Liberation Mono">text`}); len(warnings) > 0 {
		t.Errorf("a typeface that the list lacks: %v", warnings)
	}
	image, err := p.Screenshot(t.Context(), Job{Account: "a", HTML: "<p style='font-family:No Such Grotesk'>text"}, Screenshot{})
	if err != nil {
		t.Fatal(err)
	}
	warned(t, image.Warnings, FontMissing, "No Such Grotesk")
	if err := image.Body.Close(); err != nil {
		t.Error(err)
	}
}

// Headers and footers are drawn apart: what a document brings is not theirs.
func TestMissingTypefacesOfHeadersAreWarnedOf(t *testing.T) {
	sharedtest.Slow(t)
	p := startWithFaces(t)
	mono := face(t, "Liberation Mono")
	brings := `<style>@font-face { font-family: Mine; src: url(` + mono + `) }</style>`
	for _, mode := range []RenderMode{ModeInline, ModeRealm, ModeOnce} {
		for template, want := range map[string]string{
			`<b style="font-family:'No Such Grotesk', sans-serif">text</b>`:                                                       "the header: font No Such Grotesk is not available, so text uses another font",
			`<style>b { font: 12px/1.5 "Gone Too", serif }</style><b>text</b>`:                                                    "the header: font Gone Too is not available, so text uses another font",
			`<b style="font-family:mine">as in the document</b>`:                                                                  "the header: font mine is not available, so text uses another font",
			`<b>a box: &#xF1234; ` + "\uE99A" + `&#xF1234;</b><style>/* ` + "\uE99B" + ` */</style>`:                              "the header: no font contains U+F1234, U+E99A, so boxes",
			`<b style="font-family: No Such Grotesk, Arial">Grüße, 中文 &#128512;</b>`:                                              "",
			`<b style="font-family: Liberation Mono">a typeface that the list lacks</b>`:                                          "",
			brings + `<b style="font-family: 'Mine'">not even its own</b>`:                                                        "font Mine is not available, so text uses another font. GET /v1/fonts lists the fonts; in headers and footers @font-face does not add others",
			`<style>@font-face { font-family: Here; src: local("Liberation Mono") }</style><b style="font-family: Here">text</b>`: "",
		} {
			doc, err := p.PDF(t.Context(), Job{Account: "a", HTML: brings + `<p style="font-family: Mine">text`, RenderMode: mode}, PDF{MarginTop: 1, Header: template})
			if err != nil {
				t.Fatal(err)
			}
			if want != "" {
				warned(t, doc.Warnings, FontMissing, want)
			}
			if maximum := min(len(want), 1); len(doc.Warnings) > maximum {
				t.Errorf("%v %.80s: %v", mode, template, doc.Warnings)
			}
			if text := pdfText(t, doc); want == "" && !strings.Contains(text, "te") {
				t.Errorf("%v %.80s: printed %q", mode, template, text)
			}
		}
	}
	doc, err := p.PDF(t.Context(), Job{Account: "a", HTML: "<p>text"}, PDF{
		MarginTop: 1, MarginBottom: 1, Header: brings + `<b style="font-family: Mine">text</b>`, Footer: `<b style="font-family: Nowhere">text</b>`,
	})
	if err != nil {
		t.Fatal(err)
	}
	warned(t, doc.Warnings, FontMissing, "the header: font Mine is not available, so text uses another font")
	warned(t, doc.Warnings, FontMissing, "the footer: font Nowhere is not available, so text uses another font")
	if fonts := tool(t, doc.Body, "pdffonts", "-"); strings.Contains(fonts, "LiberationMono") {
		t.Errorf("a header has a typeface of its own now, and the warning is wrong:\n%s", fonts)
	}
}

func TestCutContentIsWarnedOf(t *testing.T) {
	sharedtest.Slow(t)
	p := startWithFaces(t)
	columns := "<table class='wide items'><tr>" + strings.Repeat("<td>1234567890123</td>", 20) + "</table>"
	for _, mode := range []RenderMode{ModeInline, ModeRealm, ModeOnce} {
		for html, want := range map[string]string{
			`<div id=box style="width:1300px">text</div>`:              "div#box",
			`<style>div{width:40cm}</style><div class=plan>text</div>`: "div.plan",
			columns: "table.wide.items",
			`<p style="white-space:nowrap">` + strings.Repeat("words and ", 40):    "p",
			`<pre>` + strings.Repeat("0123456789", 20) + `</pre>`:                  "pre",
			`<p>` + strings.Repeat("x", 400):                                       "p",
			`<svg width="1500" height="20"><rect width="1500" height="20"/></svg>`: "svg",
			// It becomes smaller as a whole.
			`<div style="width:1100px">text</div>`: "",
			// It is not meant to be seen.
			`<div style="position:absolute;left:1300px;width:50px">text</div>`:         "",
			`<body style="overflow-x:hidden"><div style="width:1300px">text</div>`:     "",
			`<style>@page{size:60cm 20cm}</style><div style="width:1900px">text</div>`: "",
			`<p style="width:100%">` + strings.Repeat("words and ", 100):               "",
		} {
			warnings, _ := printedWith(t, p, Job{HTML: html, RenderMode: mode})
			switch {
			case want == "" && len(warnings) > 0:
				t.Errorf("%v %.80s: %v", mode, html, warnings)
			case want != "":
				warned(t, warnings, ContentClipped, want+" extends to", "the page is 816 px wide")
			}
		}
	}
	image, err := p.Screenshot(t.Context(), Job{Account: "a", HTML: "<div style='width:1300px'>text</div>"}, Screenshot{})
	if err != nil {
		t.Fatal(err)
	}
	if len(image.Warnings) > 0 {
		t.Errorf("a photograph of a part is no fault: %v", image.Warnings)
	}
	if err := image.Body.Close(); err != nil {
		t.Error(err)
	}
}

// Ordinary documents are not asked anything.
func TestOrdinaryDocumentsAreNotLookedAt(t *testing.T) {
	const html = `<!doctype html><html><head><style>
		body { font: 14px/1.5 "Liberation Sans", Arial, sans-serif; margin: 0 } td { padding: 4px 8px; white-space: nowrap; width: 33% }
		@font-face { src: url(data:font/woff2;base64,x) } .sans { font-family: sans-serif; font-weight: 600 }
		</style></head><body><h1>Rechnung für Köln</h1><table style="width:100%"><thead><tr><th>a<th>b</tr></thead><tr><td>Größe 120px</td><td>12,00 €</td></tr></table>
		<img width=120 src="data:image/png;base64,xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"></body></html>`
	faces := fewFaces{"Liberation Sans", "DejaVu Sans"}
	for name, html := range map[string]string{"a page": html, "the invoice of the benchmarks": invoice(), "the script of the benchmarks": scripted()} {
		if mayLack(html, faces) {
			t.Errorf("%s is looked at for its typefaces", name)
		}
		if mayOverflow(html, 1224) || mayClip(html) {
			t.Errorf("%s is looked at for what it cuts off", name)
		}
	}
}

// A document sent as text has no base URL, so its relative links lead nowhere.
func TestLinksThatLeadNowhereAreWarnedOf(t *testing.T) {
	p := startWithFaces(t)
	const html = `<link rel=stylesheet href=css/site.css><style>/* url(comment.png) */ p { background: url( 'img/back ground.png' ) } @import "more.css";</style>
		<p style="background: url(/inline.png)">text <a href="other.html">not loaded</a><img src="logo.png" srcset="small.png 1x, large.png 2x">
		<script src="./app.js"></script><img src="//cdn.test/a.png"><img src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"><svg><use href="#own"/><use href="icons.svg#a"/></svg>`
	warnings, _ := printedWith(t, p, Job{HTML: html, RenderMode: ModeOnce})
	for _, link := range []string{"css/site.css", "img/back ground.png", "more.css", "/inline.png", "logo.png", "small.png", "large.png", "./app.js", "//cdn.test/a.png", "icons.svg#a"} {
		warned(t, warnings, ResourceFailed, link+" could not be loaded", "assets")
	}
	for _, w := range warnings {
		if strings.Contains(w.URL, "comment") || strings.Contains(w.URL, "other.html") || strings.HasPrefix(w.URL, "data:") || w.URL == "#own" {
			t.Errorf("warned of %v", w)
		}
	}
	failsWith(t, p, Job{HTML: html, RenderMode: ModeOnce}, FailOn{Resources: true}, ResourceFailed)
	for name, job := range map[string]Job{
		"with a base": {HTML: `<base href="https://site.test/"><p>text<a href=x>y</a>`, RenderMode: ModeOnce},
		"offline":     {HTML: `<p>text<img src=logo.png>`, RenderMode: ModeOnce, Offline: true},
	} {
		if warnings, _ := printedWith(t, p, job); len(warnings) > 0 {
			t.Errorf("%s: %v", name, warnings)
		}
	}
}

// countedFaces counts how often it is asked.
type countedFaces struct {
	fewFaces
	asked *int
}

func (f countedFaces) Named(family string) bool {
	*f.asked++
	return f.fewFaces.Named(family)
}

// The work for a text grows with its length, not its square: a text of some megabytes would
// take hours.
func TestListsOfFontsAreReadInLinearTime(t *testing.T) {
	const repeats = 2000
	for name, text := range map[string]string{
		"one list that goes on":         "<style>" + strings.Repeat("font-family:Serif,", repeats),
		"many names in a list":          "<style>p{font-family:" + strings.Repeat("None,", repeats) + "Arial}</style>",
		"lists of many names":           "<style>" + strings.Repeat("p{font-family:"+strings.Repeat("None,", 100)+"Arial}", repeats/100),
		"names that the document means": strings.Repeat("<p style='font-family:var(--a),None'>", repeats) + "--a:x",
	} {
		asked := 0
		faces := countedFaces{fewFaces{"Arial", "serif"}, &asked}
		mayLack(text, faces)
		missingFontsIn(text, faces)
		if asked > repeats {
			t.Errorf("%s: %d names are looked up in %d bytes", name, asked, len(text))
		}
	}
}
