package chrome

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pagedcss"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/spool"
)

// referenced returns a document with a table of contents and references between sections of different layouts. Each
// target begins with M<number>M, and each reference reads r<number of the target>:@<page>.
func referenced(sections, references int, style string) string {
	chance := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang=en><title>References</title><style>
@page { size: A5; margin: 15mm; @top-left { content: string(section) } @bottom-right { content: counter(page) } }
body { font: 10pt/1.4 "Liberation Serif", serif; margin: 0 } a { color: inherit; text-decoration: none; white-space: nowrap } .r { display: inline-block }
h2 { string-set: section content(); margin: 1em 0 .5em } nav li { break-inside: avoid }
nav a::after { content: leader('.') target-counter(attr(href), page` + style + `) }
.r::after { content: "@" target-counter(attr(href), page` + style + `) }
.grid { display: grid; grid-template-columns: 1fr 1fr; gap: 1em } .flex { display: flex; flex-wrap: wrap; gap: 1em } .flex > * { flex: 1 1 40% }
.columns { columns: 2 } td { border: 1px solid; padding: 2mm }
</style><nav><ul>`)
	reference := 0
	link := func() string {
		to := chance.IntN(sections)
		reference++
		return fmt.Sprintf(`<a class=r href="#s%d">r%d:</a>`, to, to)
	}
	for i := range sections {
		fmt.Fprintf(&b, `<li><a href="#s%d">T%d=</a>`, i, i)
	}
	b.WriteString("</ul></nav>")
	words := func() string {
		return strings.Repeat("lorem ipsum dolor sit amet consectetur ", 2+chance.IntN(11))
	}
	links := (references - sections) / sections
	for i := range sections {
		var parts []string
		for n := range links + min(1, i%2*(references-sections-links*sections)) {
			if n > 0 || reference < references-sections {
				parts = append(parts, words()+link()+" "+words())
			}
		}
		title := fmt.Sprintf(`M%dM`, i)
		switch i % 6 {
		case 0:
			fmt.Fprintf(&b, "<h2 id=s%d>%s</h2><p>%s", i, title, strings.Join(parts, "<p>"))
		case 1:
			fmt.Fprintf(&b, "<h2>Grid</h2><div class=grid><div>%s</div><div id=s%d>%s %s</div></div>", words(), i, title, strings.Join(parts, "<p>"))
		case 2:
			fmt.Fprintf(&b, "<h2>Flex</h2><div class=flex><p>%s</p><p><b id=s%d>%s</b> %s</p></div>", words(), i, title, strings.Join(parts, "</p><p>"))
		case 3:
			fmt.Fprintf(&b, "<h2>Table</h2><table><tr><td>%s<td>%s<tr><td id=s%d>%s<td>%s</table>", words(), words(), i, title, strings.Join(parts, "<br>"))
		case 4:
			fmt.Fprintf(&b, "<div dir=rtl><h2 id=s%d>%s</h2><p>שלום עולם %s</div>", i, title, strings.Join(parts, "<p>שלום "))
		case 5:
			fmt.Fprintf(&b, "<h2>Columns</h2><div class=columns><p>%s<p id=s%d>%s %s</div>", words(), i, title, strings.Join(parts, "<p>"))
		}
	}
	return b.String()
}

// item is a text on a page, whose origin is its top left corner.
type item struct {
	page       int // from 1
	x, y, size float64
	text       string
}

// popplerWords and mutoolLines read a file with two readers.
func popplerWords(t testing.TB, path string) (items []item) {
	t.Helper()
	out, err := exec.Command("pdftotext", "-bbox", path, "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Pages []struct {
			Words []struct {
				XMin float64 `xml:"xMin,attr"`
				XMax float64 `xml:"xMax,attr"`
				YMin float64 `xml:"yMin,attr"`
				YMax float64 `xml:"yMax,attr"`
				Text string  `xml:",chardata"`
			} `xml:"word"`
		} `xml:"body>doc>page"`
	}
	decoder := xml.NewDecoder(strings.NewReader(string(out)))
	decoder.Strict = false
	if err := decoder.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for i, p := range doc.Pages {
		for _, w := range p.Words {
			items = append(items, item{i + 1, (w.XMin + w.XMax) / 2, (w.YMin + w.YMax) / 2, w.YMax - w.YMin, w.Text})
		}
	}
	return items
}

func mutoolLines(t testing.TB, path string) (items []item) {
	t.Helper()
	out, err := exec.Command("mutool", "draw", "-q", "-F", "stext.json", "-O", "preserve-spans", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Pages []struct {
			Blocks []struct {
				Lines []struct {
					BBox struct{ X, Y, W, H float64 }
					Text string
				}
			}
		}
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	for i, p := range doc.Pages {
		for _, b := range p.Blocks {
			for _, l := range b.Lines {
				items = append(items, item{i + 1, l.BBox.X + l.BBox.W/2, l.BBox.Y + l.BBox.H/2, l.BBox.H, l.Text})
			}
		}
	}
	return items
}

// annotation is a link of a PDF.
type annotation struct {
	page, to int // to is the page of its destination
	name     string
	rect     [4]float64 // from the bottom left corner
	height   float64    // of the page
}

func linksOf(t testing.TB, path string) (list []annotation) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := pdffile.Read(content)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := f.Pages(5000)
	if err != nil {
		t.Fatal(err)
	}
	number := map[string]int{}
	for i, p := range pages {
		number[p.Ref] = i + 1
	}
	names := f.Entry(f.Catalog()["/Dests"])
	for i, p := range pages {
		box, _ := p.Entries["/MediaBox"].([]any)
		annotations, _ := f.Target(p.Entries["/Annots"]).([]any)
		for _, a := range annotations {
			entries := f.Entry(a)
			name, _ := entries["/Dest"].(string)
			place, _ := names[name].([]any)
			rect, _ := entries["/Rect"].([]any)
			if len(place) == 0 || len(rect) != 4 {
				t.Fatalf("page %d has an annotation without destination: %v", i+1, entries)
			}
			link := annotation{page: i + 1, to: number[pdffile.Reference(place[0])], name: strings.TrimPrefix(name, "/"), height: box[3].(float64)}
			for n := range rect {
				link.rect[n] = rect[n].(float64)
			}
			list = append(list, link)
		}
	}
	return list
}

// within returns the text of the items in the rectangle of a link, from left to right.
func (a annotation) within(items []item) string {
	var here []item
	for _, i := range items {
		y := a.height - i.y
		if i.x >= a.rect[0]-1 && i.x <= a.rect[2]+1 && y >= a.rect[1]-1 && y <= a.rect[3]+1 {
			here = append(here, i)
		}
	}
	slices.SortFunc(here, func(a, b item) int { return int(a.x*100) - int(b.x*100) })
	var text strings.Builder
	for _, i := range here {
		text.WriteString(i.text + " ")
	}
	return text.String()
}

var (
	targetPattern    = regexp.MustCompile(`M(\d+)M`)
	referencePattern = regexp.MustCompile(`[rT](\d+)[:=][^@]*?@?\s*([0-9ivxlcdm]+)\s*$`)
)

// checkReferences checks all references of a document of referenced, in a style of Format, and returns their number.
func checkReferences(t testing.TB, path string, format func(int) string) (checked int) {
	t.Helper()
	links := linksOf(t, path)
	for _, reader := range []struct {
		name  string
		items []item
	}{{"poppler", popplerWords(t, path)}, {"mutool", mutoolLines(t, path)}} {
		on := map[string]int{}
		byPage := map[int][]item{}
		for _, i := range reader.items {
			byPage[i.page] = append(byPage[i.page], i)
			// The top margin repeats the title of the section.
			if m := targetPattern.FindStringSubmatch(i.text); m != nil && i.y > 40 && on[m[1]] == 0 {
				on[m[1]] = i.page
			}
		}
		right, wrong := 0, 0
		for _, link := range links {
			text := strings.ReplaceAll(link.within(byPage[link.page]), "\u200a", "")
			m := referencePattern.FindStringSubmatch(strings.ReplaceAll(strings.ReplaceAll(text, ".", ""), " @", "@"))
			if m == nil {
				t.Errorf("%s: page %d has a link to %s with the text %q at %v", reader.name, link.page, link.name, text, link.rect)
				continue
			}
			if want := format(on[m[1]]); m[2] == want && link.name == "s"+m[1] && link.to == on[m[1]] {
				right++
			} else if wrong++; wrong < 10 {
				t.Errorf("%s: page %d refers to section %s by %q; it is on page %s, and the link leads to %s on page %d", reader.name, link.page, m[1], m[2], want, link.name, link.to)
			}
		}
		t.Logf("%s: %d of %d references are right", reader.name, right, right+wrong)
		checked = right + wrong
	}
	return checked
}

// written prints a job, and returns the path of the file.
func written(t testing.TB, p *Pool, job Job, opt PDF) (path string, doc PrintedPDF) {
	t.Helper()
	doc, err := p.PDF(t.Context(), job, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Body.Close()
	path = filepath.Join(t.TempDir(), "a.pdf")
	content, err := io.ReadAll(doc.Body.Open())
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path, doc
}

// TestReferencesAreRight checks each page number of long documents with two readers.
func TestReferencesAreRight(t *testing.T) {
	p := startPool(t, nil)
	for _, c := range []struct {
		name                 string
		sections, references int
		style                string
		format               func(int) string
	}{
		{"decimal", 30, 100, "", strconv.Itoa},
		{"roman", 30, 100, ", lower-roman", func(n int) string {
			text, _ := pagedcss.Format(n, "lower-roman")
			return text
		}},
		{"300 pages", 330, 1000, "", strconv.Itoa},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.sections > 100 {
				sharedtest.Slow(t)
			}
			start := time.Now()
			path, doc := written(t, p, Job{Account: "a", HTML: referenced(c.sections, c.references, c.style), Timeout: patience}, PDF{PreferCSSPageSize: true})
			t.Logf("%d pages took %v", doc.Pages, time.Since(start))
			if len(doc.Warnings) > 0 {
				t.Errorf("warnings: %v", doc.Warnings)
			}
			if n := checkReferences(t, path, c.format); n < c.references*9/10 {
				t.Errorf("only %d references", n)
			}
		})
	}
}

// runningDocument has strings, restarts, bookmarks and references of each kind.
const runningDocument = `<!doctype html><html lang=en><title>T</title><style>
@page { size: A5; margin: 20mm; @top-left { content: "first=" string(h) } @top-center { content: "start=" string(h, start) } @top-right { content: "last=" string(h, last) }
  @bottom-left { content: "except=" string(h, first-except) } @bottom-right { content: "n=" counter(page, upper-roman) "/" counter(pages) } }
h1 { break-before: page; bookmark-level: 1; margin-top: 0 } h2 { bookmark-level: 2; bookmark-label: "Section " attr(title) " " content() }
h1, h2 { string-set: h content() } .body { counter-reset: page 1 }
.see::after { content: "[" target-text(attr(href)) "|" target-counter(attr(href), page, lower-roman) "]" }
.none::after { content: "(" target-counter(attr(href), page) ")" }
@media screen { h1 { string-set: h "wrong" } }
</style><h1>Cover</h1><p><a class=see href="#c">See</a> <a class=none href="#nowhere">lost</a><h1 class=body>A</h1><p>text<h2 title=1>A"1</h2><h2 title=2>A2</h2>
<h1>B</h1><p style="break-after:page">B<p>Nothing here<h1 style="break-before:page" id=c>C <i>c</i></h1>`

// TestRunningHeadings checks the texts of margin boxes, page numbers that restart, references and bookmarks.
func TestRunningHeadings(t *testing.T) {
	p := startPool(t, nil)
	const header = `<div style="font-size: 9px">HEADER <span class=pageNumber></span></div>`
	for _, opt := range []PDF{{Header: header, MarginTop: 1}, {Tagged: true, Outline: true, Untagged: true}, {PageRanges: "4-"}} {
		opt.PreferCSSPageSize = true
		path, doc := written(t, p, Job{Account: "a", HTML: runningDocument}, opt)
		warned(t, doc.Warnings, CSSUnsupported, `"#nowhere"`)
		if len(doc.Warnings) != 1 {
			t.Errorf("warnings: %v", doc.Warnings)
		}
		out, err := exec.Command("pdftotext", "-raw", path, "-").Output()
		if err != nil {
			t.Fatal(err)
		}
		pages := strings.Split(strings.TrimSuffix(string(out), "\f"), "\f")
		want := [][]string{
			{"first=Cover", "start=Cover", "last=Cover", "except=\n", "n=I/5", "[C c|iv]", "()"},
			{"first=A ", "start=A ", "last=A2", "n=I/5"},
			{"first=B", "start=B", "last=B", "except=\n", "n=II/5"},
			{"first=B", "start=B", "last=B", "except=B", "n=III/5", "Nothing here"},
			{"first=C c", "n=IV/5"},
		}
		if opt.PageRanges != "" {
			want = want[3:]
		}
		if len(pages) != len(want) {
			t.Fatalf("%d pages: %q", len(pages), pages)
		}
		for i, words := range want {
			for _, word := range words {
				if !strings.Contains(pages[i]+"\n", word) {
					t.Errorf("%+v: page %d has no %q: %q", opt, i+1, word, pages[i])
				}
			}
		}
		outline, err := exec.Command("mutool", "show", path, "outline").Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range []string{`"C c"`, `"Section 1 A\"1"`, `"Cover"`}[:map[bool]int{true: 1, false: 3}[opt.PageRanges != ""]] {
			if !strings.Contains(string(outline), entry) {
				t.Errorf("%+v: the outline has no %s: %s", opt, entry, outline)
			}
		}
		if check, err := exec.Command("qpdf", "--check", path).CombinedOutput(); err != nil {
			t.Errorf("qpdf: %s", check)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := pdffile.Read(content)
		if err != nil {
			t.Fatal(err)
		}
		for name := range f.Entry(f.Catalog()["/Dests"]) {
			if strings.Contains(name, ownNames) {
				t.Errorf("the name %s is left", name)
			}
		}
		if opt.PageRanges == "" && len(linksOf(t, path)) != 2 {
			t.Errorf("links: %v", linksOf(t, path)) // one for the text, one for the generated text
		}
		for _, u := range doc.Untagged {
			if strings.Contains(u.Text, "iv") {
				t.Errorf("untagged: %+v", u)
			}
		}
	}
}

// TestOscillatingNumberIsFrozen prints a reference whose number is wider on the page before: with viii the target moves
// to page ix, and with ix back to page viii.
func TestOscillatingNumberIsFrozen(t *testing.T) {
	sharedtest.Slow(t)
	p := startPool(t, nil)
	html := `<!doctype html><style>@page { size: 4in 4in; margin: 0 } body { margin: 0; font: 16px/20px "Liberation Serif" } p { margin: 0; height: 384px } p + p { break-before: page }
		div { width: 18px; overflow-wrap: anywhere; break-before: page } a { display: block } a::after { content: target-counter(attr(href), page, lower-roman) }
		i { display: block; height: 340px } b { display: block; height: 20px; break-inside: avoid }</style>` + strings.Repeat("<p>x</p>", 7) + `<div><a href="#t"></a><i></i><b id=t>T</b></div>`
	path, doc := written(t, p, Job{Account: "a", HTML: html}, PDF{PreferCSSPageSize: true})
	out, err := exec.Command("pdftotext", "-raw", path, "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	pages := strings.Split(string(out), "\f")
	if doc.Pages != 9 || len(doc.Warnings) > 0 || !strings.Contains(pages[7], "ix") || !strings.Contains(pages[8], "T") {
		t.Errorf("%d pages, warnings %v: %q", doc.Pages, doc.Warnings, pages)
	}
}

// TestPagedCSSOfEverySource prints references and strings from sheets of each kind.
func TestPagedCSSOfEverySource(t *testing.T) {
	const body = `<h1 id=a>Alpha</h1><a href="#b">to</a><h1 id=b>Beta</h1>`
	const one, two = `@page { @top-left { content: "head=" string(s) } }`, `h1 { break-before: page; string-set: s content() } a::after { content: "@" target-counter(attr(href), page) }`
	s := newSite(t)
	css := func(path, text string) {
		s.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/css")
			io.WriteString(w, text)
		})
	}
	css("other.test/a.css", `@import "b.css"; `+one)
	css("other.test/b.css", `@import "c.css" print; `+two)
	css("other.test/c.css", `h1::before { content: "c" }`)
	s.page("linked.test/", `<!doctype html><title>T</title><meta http-equiv=Content-Security-Policy content="style-src http:"><link rel=stylesheet href=http://other.test/a.css>`+body)
	s.page("base.test/", `<!doctype html><base href="http://base.test/x/"><style>`+one+two+`</style>`+strings.Replace(body, `href="#b"`, `href="http://base.test/#b"`, 1))
	p := startWithSite(t, s)
	for name, job := range map[string]Job{
		"inline":   {HTML: "<style>" + one + "</style><style>" + two + "</style>" + body},
		"realm":    {RenderMode: ModeRealm, HTML: body + `<script>document.head.append(Object.assign(document.createElement('style'), {textContent: '` + one + two + `'}))</script>`},
		"linked":   {URL: "http://linked.test/"},
		"base":     {URL: "http://base.test/"},
		"data URL": {RenderMode: ModeOnce, HTML: `<link rel=stylesheet href="data:text/css,` + url.PathEscape(one+two) + `">` + body},
		"assets":   {HTML: `<link rel=stylesheet href=a.css>` + body, Assets: []Asset{{Name: "a.css", Content: spool.FromBytes([]byte(one + two))}}},
		"attribute": {HTML: "<style>" + one + two + `h1 { string-set: s "wrong" }</style>` +
			strings.NewReplacer("<h1 id=a>", `<h1 id=a style="color: red; string-set: s 'Alpha'">`, "<h1 id=b>", `<h1 id=b style="string-set: s content()">`).Replace(body)},
	} {
		t.Run(name, func(t *testing.T) {
			job.Account = "a"
			for range 2 { // on a warm page the second time
				text := textOf(t, p, job)
				pages := strings.Split(text, "\f")
				for i, words := range [][]string{{"head=Alpha", "to@2"}, {"head=Beta"}} {
					for _, word := range words {
						if i >= len(pages) || !strings.Contains(pages[i], word) {
							t.Errorf("page %d has no %q: %q", i+1, word, text)
						}
					}
				}
			}
		})
	}
}

// TestHostilePagedCSS prints documents that fight the rewriting. Only their own text may suffer.
func TestHostilePagedCSS(t *testing.T) {
	sharedtest.Slow(t)
	p := startPool(t, nil)
	const style = `<style>h1 { break-before: page; string-set: s content(); bookmark-level: 1 } a::after { content: "@" target-counter(attr(href), page) } @page { @top-left { content: string(s) } }</style>`
	for name, job := range map[string]Job{
		"removes what is added": {RenderMode: ModeRealm, HTML: style + `<h1>A</h1><a href="#b">to</a><h1 id=b>B</h1><script>
			new MutationObserver(() => { document.querySelectorAll('a').forEach(a => a.remove()); document.adoptedStyleSheets = [] }).observe(document, {subtree: true, childList: true, attributes: true})</script>`},
		"fakes values": {RenderMode: ModeRealm, HTML: style + `<h1 id=b style='--relay-string-set: 99; --relay-page: -1; --relay-bookmark-level: 999'>` + "\U0010fe01t99\U0010fe02" + `</h1><a href="#b" style='--relay-t0: "x"'>to</a>
			<style>p::after { content: "` + "\U0010fe01l5\U0010fe02\U0010fe01x7\U0010fe02" + `" }</style><p>x<script>globalThis.relay = {refs: 1}; Array.prototype.map = () => { throw 1 }; CSS.registerProperty = null; document.getElementById = () => null</script>`},
		"escapes":             {HTML: style + `<h1>"}@page{margin:0} \ </h1><a href="#">to</a><h1 id='"]}'>` + "\x01\u2028" + `</h1><a href='#"]}'>to</a>`},
		"duplicate names":     {HTML: style + strings.Repeat(`<h1 id=b>B</h1><a href="#b">to</a>`, 20)},
		"many headings":       {HTML: style + `<style>h1 { break-before: auto }</style>` + strings.Repeat(`<h1>B<a href="#x">to</a></h1>`, 1500) + "<i id=x>"},
		"hidden everything":   {HTML: style + `<style>* { display: none }</style><h1 id=b>A</h1><a href="#b">to</a>`},
		"number moves itself": {HTML: `<style>p { margin: 0; line-height: 20px; height: 20px } .x::after { content: target-counter(attr(href), page, lower-roman) } .x { display: block; overflow: hidden } .x::after { display: block; width: 1px; overflow-wrap: anywhere; line-height: 480px }</style><a class=x href="#b"></a><p id=b>B`},
		"svg":                 {HTML: style + `<svg><style>text { string-set: s content() }</style><text id=b y=20>A</text><a href="#b"><text y=40>x</text></a></svg><a href="#b">to</a>`},
	} {
		t.Run(name, func(t *testing.T) {
			job.Account, job.Timeout = "a", patience
			doc, err := p.PDF(t.Context(), job, PDF{})
			if err != nil {
				t.Fatal(err)
			}
			if err := doc.Body.Close(); err != nil {
				t.Fatal(err)
			}
			contains(t, textOf(t, p, Job{Account: "a", HTML: "<p>next"}), "next")
		})
	}
}

// TestUnstableLayoutIsReported prints a chain of references: each print corrects the number of one more, because the
// number of characters of a reference moves the target of the next.
func TestUnstableLayoutIsReported(t *testing.T) {
	p := startPool(t, nil)
	var html strings.Builder
	html.WriteString(`<!doctype html><style>@page { size: 4in 4in; margin: 0 } body, p { margin: 0; font: 16px/20px "Liberation Serif" } section { break-before: page }
		a { display: block; width: 1px; overflow-wrap: anywhere } a::after { content: target-counter(attr(href), page, lower-roman) }
		b { display: block; height: 20px; break-inside: avoid } i, u { display: block } u { height: 200px }</style><b id=t0>T</b>`)
	length := func(page int) int {
		text, _ := pagedcss.Format(page, "lower-roman")
		return len(text)
	}
	for n := range 12 {
		// The target stays on the first of the section's two pages with the shorter number of the target before.
		shorter := min(length(2*n), length(2*n+1))
		if n == 0 {
			shorter = 1
		}
		fmt.Fprintf(&html, `<section><a href="#t%d"></a><i style="height: %dpx"></i><b id=t%d>T</b><u></u></section>`, n, 384-20*shorter-20, n+1)
	}
	_, doc := written(t, p, Job{Account: "a", HTML: html.String()}, PDF{PreferCSSPageSize: true})
	warned(t, doc.Warnings, LayoutUnstable, "fixed width")
	if len(doc.Warnings) != 1 || doc.Pages != 25 {
		t.Errorf("%d pages, warnings %v", doc.Pages, doc.Warnings)
	}
}

// TestLimitsOfPagedCSSAreReported prints documents that are beyond the limits of paged media. Each takes bounded time,
// and the warning or error names the cause.
func TestLimitsOfPagedCSSAreReported(t *testing.T) {
	sharedtest.Slow(t)
	p := startPool(t, nil)
	const style = `<!doctype html><style>h1 { string-set: s content() } a::after { content: "@" target-counter(attr(href), page) } @page { @top-left { content: string(s) } }</style>`
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		html string
		want []string
	}{
		"counter without end":      {style + `<style>h1 { counter-reset: page 99999999999999999999 } h1::before { counter-increment: x 2147483647; content: counter(x) }</style>` + many(200, "<h1>A%d</h1>"), []string{"counter-reset: page 99999999999999999999"}},
		"page numbers of counters": {`<style>@page { counter-increment: page 2147483647; @top-left { content: counter(page, upper-roman) } } h1 { break-before: page; counter-reset: page 1000000 }</style>` + many(50, "<h1>A%d</h1>"), nil},
		"many references":          {style + `<h1 id=a>A</h1>` + many(10_500, `<a href="#a">%d</a> `), []string{"more than 10000 references"}},
		"many missing IDs":         {style + many(1_500, `<a href="#x%d">to</a> `), []string{`"#x0"`}},
		"duplicate IDs":            {style + strings.Repeat(`<h1 id=a>A</h1><a href="#a">to</a>`, 500), []string{`ID "a"`}},
		"sheet of 5 MB":            {style + "<style>" + many(100_000, "p.c%d { color: red; margin: 0; padding: 0; border: 0 }\n") + `p { float: footnote }</style><h1>A</h1>`, []string{"a style sheet of ", "the limit is 1048576 characters"}},
		"many sheets":              {style + many(300, `<style>p.c%d { float: footnote }</style>`), []string{"more than 200 style sheets"}},
		"style attributes":         {style + many(1500, `<p style="string-set: s 'a%d'">x</p>`), []string{"in 500 style attributes"}},
		"long style attribute":     {style + `<p style="float: footnote; background: url(data:` + strings.Repeat("a", 20_000) + `)">x<p style="float: footnote">y`, []string{"in 1 style attributes"}},
		"long strings":             {style + `<h1>` + strings.Repeat("long ", 10_000) + `</h1>`, []string{"cut after 500 characters"}},
		"many strings":             {`<style>@page { margin: 2in; @top-left { content: ` + many(400, "string(s%d) ") + ` } } p { break-after: page; string-set: ` + many(399, "s%d content(), ") + `s399 content() }</style>` + strings.Repeat("<p>"+strings.Repeat("word ", 90)+"</p>", 60), []string{"more than 4 MiB"}},
		"footnote of many pages":   {style + `<style>p span { float: footnote }</style><p>Text<span>` + strings.Repeat("A long footnote. ", 5_000) + `</span> text.`, []string{"float: footnote"}},
		"nested texts":             {`<style>* { string-set: s content() } @page { @top-left { content: string(s) } }</style>` + strings.Repeat("<div>", 100) + strings.Repeat("word ", 20_000), []string{"cut after 500 characters"}},
		"text of the document":     {`<style>a::after { content: target-text(attr(href)) }</style><body id=b>` + strings.Repeat(`<p><a href="#b">some text</a>`, 500), []string{"cut after 500 characters"}},
		"siblings of leaders":      {`<style>a { display: block } a::after { content: leader(".") target-counter(attr(href), page) }</style><p>` + strings.Repeat(`<a href="#b">x</a><!-- -->`, 2_000) + `<b id=b>`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			doc, err := p.PDF(t.Context(), Job{Account: "a", HTML: c.html, Timeout: patience}, PDF{})
			if err != nil {
				t.Fatal(err)
			}
			if err := doc.Body.Close(); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d pages took %v", doc.Pages, time.Since(start))
			for _, text := range c.want {
				warned(t, doc.Warnings, CSSUnsupported, text)
			}
		})
	}
	// A document that takes longer than its deadline ends with it.
	_, err := p.PDF(t.Context(), Job{Account: "a", HTML: style + many(9_000, `<a href="#x%d">to</a> `), Timeout: 10 * time.Second}, PDF{})
	var late *TimeoutError
	if !errors.As(err, &late) || late.Step != StepNumber {
		t.Errorf("got %v, want a timeout while numbering pages", err)
	}
}
