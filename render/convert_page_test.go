package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/egress"
	"github.com/relaypdf/relaypdf/render/spool"
)

// printWeb prints HTML with wkhtmltopdf and returns the path of the PDF.
func printWeb(t *testing.T, r *Renderer, c PageConversion) string {
	t.Helper()
	made, err := r.For("acct_1").ConvertPage(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	path := save(t, made.Body)
	tool(t, "qpdf", "--check", path)
	return path
}

// chapters is a document of chapters of very different lengths, and the titles
// of its headings in their order.
func chapters() (document string, titles []string) {
	var b strings.Builder
	b.WriteString(`<html lang="en"><head><title>Book</title></head><body><p><a href="#chapter9">to the ninth</a> <a href="other.html">to a file</a> <a href="https://example.com/">out</a></p>`)
	for i := 1; i <= 12; i++ {
		chapter, section := fmt.Sprintf("Chapter%d begins", i), fmt.Sprintf("Section%d &amp; more", i)
		fmt.Fprintf(&b, `<h1 id="chapter%d">%s</h1>`, i, chapter)
		b.WriteString(strings.Repeat("<p>Some words that are there to fill the page, and nothing else besides.</p>", i*29%89))
		fmt.Fprintf(&b, `<h3>%s</h3><p>text</p><h2 style="display: none">hidden</h2>`, section)
		titles = append(titles, chapter, strings.ReplaceAll(section, "&amp;", "&"))
	}
	b.WriteString("</body></html>")
	return b.String(), titles
}

// TestContentsHaveTheRightPages compares the numbers in the table of contents,
// where its links lead and the bookmarks with the pages that the headings are on.
func TestContentsHaveTheRightPages(t *testing.T) {
	t.Parallel()
	r := start(t, Config{})
	document, titles := chapters()
	path := printWeb(t, r, PageConversion{Content: spool.FromBytes([]byte(document)), TOC: true})
	pages := strings.Split(strings.TrimSuffix(tool(t, "pdftotext", "-layout", path, "-"), "\f"), "\f")
	if !strings.Contains(pages[0], "Contents") || len(pages) < 8 {
		t.Fatalf("%d pages, the first is %q", len(pages), pages[0])
	}
	line := regexp.MustCompile(`(?m)^ *(\S.*\S) +(\d+)$`)
	var listed []string
	numbers := map[string]int{}
	for _, found := range line.FindAllStringSubmatch(pages[0], -1) {
		listed = append(listed, found[1])
		numbers[found[1]], _ = strconv.Atoi(found[2])
	}
	if !reflect.DeepEqual(listed, titles) {
		t.Fatalf("listed %q, want %q", listed, titles)
	}
	marks := outlinePages(t, path)
	for title, number := range numbers {
		if number < 1 || number > len(pages) || !strings.Contains(pages[number-1], title) {
			t.Errorf("%s is said to be on page %d, and is not", title, number)
		}
		if marks[title] != number {
			t.Errorf("the bookmark of %s leads to page %d, want %d", title, marks[title], number)
		}
	}
	links := linksOf(t, path)
	if want := 2 * len(titles); len(links[0]) != want {
		t.Errorf("%d links in the table, want %d", len(links[0]), want)
	}
	leading := map[string]bool{}
	for _, to := range links[0] {
		leading[to] = true
	}
	for _, number := range numbers {
		if !leading["page "+strconv.Itoa(number)] {
			t.Errorf("no link leads to page %d; there are %v", number, links[0])
		}
	}
	if want := []string{"page " + strconv.Itoa(numbers["Chapter9 begins"]), "https://example.com/"}; !reflect.DeepEqual(slices.Compact(links[1]), want) {
		t.Errorf("the document's own links lead to %q, want %q", links[1], want)
	}
}

// qpdfFile is the description of a PDF by qpdf.
type qpdfFile struct {
	Pages []struct {
		Object string `json:"object"`
	} `json:"pages"`
	Outlines []outlineEntry               `json:"outlines"`
	QPDF     []map[string]json.RawMessage `json:"qpdf"`
}

type outlineEntry struct {
	Title string         `json:"title"`
	Page  int            `json:"destpageposfrom1"`
	Kids  []outlineEntry `json:"kids"`
}

func readStructure(t *testing.T, path string) (f qpdfFile) {
	t.Helper()
	if err := json.Unmarshal([]byte(tool(t, "qpdf", "--json=2", "--json-stream-data=none", path)), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// outlinePages are the pages that bookmarks lead to, by title.
func outlinePages(t *testing.T, path string) map[string]int {
	t.Helper()
	pages := map[string]int{}
	var add func([]outlineEntry)
	add = func(entries []outlineEntry) {
		for _, e := range entries {
			pages[e.Title] = e.Page
			add(e.Kids)
		}
	}
	add(readStructure(t, path).Outlines)
	return pages
}

// linksOf lists where the links of each page lead: an address or "page 3".
func linksOf(t *testing.T, path string) (links [][]string) {
	t.Helper()
	f := readStructure(t, path)
	value := func(reference any) (v any) {
		text, ok := reference.(string)
		if !ok {
			return reference
		}
		var object struct {
			Value any `json:"value"`
		}
		if err := json.Unmarshal(f.QPDF[1]["obj:"+text], &object); err != nil {
			t.Fatal(err)
		}
		return object.Value
	}
	for _, page := range f.Pages {
		dict := value(page.Object).(map[string]any)
		found := []string{}
		annotations, _ := value(dict["/Annots"]).([]any)
		for _, a := range annotations {
			link := value(a).(map[string]any)
			if dest, ok := link["/Dest"].([]any); ok {
				for i, p := range f.Pages {
					if p.Object == dest[0] {
						found = append(found, "page "+strconv.Itoa(i+1))
					}
				}
				continue
			}
			action := value(link["/A"]).(map[string]any)
			found = append(found, strings.TrimPrefix(action["/URI"].(string), "u:"))
		}
		links = append(links, found)
	}
	return links
}

// TestPageGetsWhatItRefersTo prints a page with images, style sheets that import others, and a script. All of them
// are fetched by the server.
func TestPageGetsWhatItRefersTo(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]int{}
	site := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		asked[q.URL.Path]++
		mu.Unlock()
		switch q.URL.Path {
		case "/start":
			http.Redirect(w, q, "/book/page.html", http.StatusFound)
		case "/book/page.html":
			w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
			_, _ = io.WriteString(w, "<html><head><link rel=stylesheet href=style/one.css></head><body><p class=red>caf\xe9</p><p id=x>unscripted</p>"+
				"<img src=../red.png><img src=../gone.png><script src=/act.js></script><a href=next.html>next</a></body></html>")
		case "/book/style/one.css":
			_, _ = io.WriteString(w, `@import "two.css"; body { background: url(../../red.png) no-repeat }`)
		case "/book/style/two.css":
			_, _ = io.WriteString(w, `.red:after { content: " styled" }`)
		case "/act.js":
			_, _ = io.WriteString(w, `document.getElementById("x").textContent = "scripted"`)
		case "/red.png":
			picture := image.NewRGBA(image.Rect(0, 0, 20, 20))
			for i := range 20 {
				picture.Set(i, i, color.RGBA{R: 255, A: 255})
			}
			_ = png.Encode(w, picture)
		default:
			http.NotFound(w, q)
		}
	}), "site.test")
	_, port, _ := net.SplitHostPort(site.server.Listener.Addr().String())
	r := start(t, Config{ExtraCA: site.ca, AllowHosts: []string{"site.test:" + port}, Resolver: names{"site.test": "127.0.0.1"}})
	path := printWeb(t, r, PageConversion{URL: site.url("site.test", "/start")})
	text := tool(t, "pdftotext", path, "-")
	for _, want := range []string{"café styled", "scripted"} {
		if !strings.Contains(text, want) || strings.Contains(text, "unscripted") {
			t.Errorf("the page says %q, want %q", text, want)
		}
	}
	if got := strings.Count(tool(t, "pdfimages", "-list", path), " image "); got < 1 {
		t.Errorf("%d pictures were printed", got)
	}
	if got, want := linksOf(t, path)[0], []string{site.url("site.test", "/book/next.html")}; !reflect.DeepEqual(got, want) {
		t.Errorf("links to %q, want %q", got, want)
	}
	for path, want := range map[string]int{"/red.png": 1, "/gone.png": 1, "/book/style/two.css": 1, "/act.js": 1} {
		if asked[path] != want {
			t.Errorf("%s was fetched %d times, want %d", path, asked[path], want)
		}
	}
	made, err := r.For("acct_1").ConvertPage(t.Context(), PageConversion{Content: spool.FromBytes([]byte(`<p style="background:url('lines.svg')">a<img src="` +
		site.url("site.test", "/gone.png") + `"><img src="https://127.0.0.1/x.png"><img src=gone.png><img src=gone.png><img src="data:image/png;base64,">`))})
	if err != nil {
		t.Fatal(err)
	}
	save(t, made.Body)
	const nowhere = "could not be loaded: the URL is relative and the page has no base URL"
	lacks := func(url, message string) chrome.Warning {
		return chrome.Warning{Code: "resource_failed", Message: message, URL: url}
	}
	if want := []chrome.Warning{
		lacks(site.url("site.test", "/gone.png"), "could not be loaded: the server returned status 404"),
		lacks("https://127.0.0.1/x.png", "could not be loaded: only public URLs are allowed"),
		lacks("lines.svg", nowhere), lacks("gone.png", nowhere),
	}; !reflect.DeepEqual(made.Warnings, want) {
		t.Errorf("warned of %+v, want %+v", made.Warnings, want)
	}
	for _, test := range []struct {
		address string
		want    func(error) bool
	}{
		{site.url("site.test", "/missing"), func(err error) bool { var load *chrome.LoadError; return errors.As(err, &load) && load.Status == 404 }},
		{"http://site.test:" + port + "/", func(err error) bool { return errors.Is(err, egress.ErrRefused) }},
		{"https://127.0.0.1:" + port + "/", func(err error) bool { return errors.Is(err, egress.ErrRefused) }},
		{"file:///etc/passwd", func(err error) bool { return errors.Is(err, egress.ErrRefused) }},
		{"https://nowhere.test/", func(err error) bool { var load *chrome.LoadError; return errors.As(err, &load) }},
	} {
		if _, err := r.For("acct_1").ConvertPage(t.Context(), PageConversion{URL: test.address}); !test.want(err) {
			t.Errorf("%s: got %v", test.address, err)
		}
	}
}

// TestPageReachesNothing prints a document that refers to this machine in every way that HTML has, with scripts
// that navigate by themselves.
func TestPageReachesNothing(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	var hits atomic.Int64
	outside := httptest.NewUnstartedServer(http.NotFoundHandler())
	outside.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			hits.Add(1)
		}
	}
	outside.Start()
	t.Cleanup(outside.Close)
	secret := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(secret, []byte("geheim"), 0o644); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("<html><head><base href='" + outside.URL + "/'><meta http-equiv=refresh content='0; url=" + outside.URL + "/refresh'></head><body><p>harmless</p>")
	for _, target := range []string{outside.URL + "/x", "file://" + secret, "file:///etc/passwd", "/relative"} {
		fmt.Fprintf(&b, `<img src="%[1]s"><img srcset="%[1]s 2x"><iframe src="%[1]s"></iframe><object data="%[1]s"></object><embed src="%[1]s">`+
			`<link rel=stylesheet href="%[1]s"><style>@import "%[1]s"; p { background: url(%[1]s) } @font-face { font-family: f; src: url('%[1]s') }</style>`+
			`<p style="background-image: url(%[1]s)">x</p><table background="%[1]s"><tr><td>x</td></tr></table><video src="%[1]s" poster="%[1]s"></video>`+
			`<svg><image xlink:href="%[1]s" width=9 height=9></image></svg><input type=image src="%[1]s"><script src="%[1]s"></script>`+
			`<script>try { var x = new XMLHttpRequest(); x.open("GET", "%[1]s", false); x.send(); document.write(x.responseText) } catch (e) {}; new Image().src = "%[1]s";`+
			`var f = document.createElement("iframe"); f.src = "%[1]s"; document.body.appendChild(f)</script>`, target)
	}
	r := start(t, Config{})
	path := printWeb(t, r, PageConversion{Content: spool.FromBytes([]byte(b.String()))})
	text := tool(t, "pdftotext", path, "-")
	if !strings.Contains(text, "harmless") || strings.Contains(text, "geheim") || strings.Contains(text, "root:x:0") || strings.Contains(text, "engine:x") {
		t.Errorf("the page says %q", text)
	}
	if got := hits.Load(); got != 0 {
		t.Errorf("%d connections to this machine, want none", got)
	}
	// The same document does reach out of the program alone.
	document := filepath.Join(t.TempDir(), "hostile.html")
	if err := os.WriteFile(document, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	alone := exec.CommandContext(t.Context(), "wkhtmltopdf", "--quiet", "--enable-local-file-access", document, document+".pdf")
	alone.Env = []string{"HOME=" + t.TempDir(), "PATH=/usr/bin:/bin", "QT_QPA_PLATFORM=offscreen"}
	if err := alone.Run(); hits.Load() == 0 {
		t.Errorf("the document reaches nothing when it may (%v)", err)
	}
}
