package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/web"
)

// drawer renders blank pages, and records its requests.
type drawer struct {
	mu     sync.Mutex
	sheets []web.RenderRequest
	err    error
}

func (d *drawer) draw(_ context.Context, sheet web.RenderRequest) (web.RenderedSheet, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sheets = append(d.sheets, sheet)
	if d.err != nil {
		return web.RenderedSheet{}, d.err
	}
	var picture bytes.Buffer
	err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 60, 85)))
	return web.RenderedSheet{PDF: []byte("%PDF-1.7 of " + sheet.HTML), Image: picture.Bytes()}, err
}

func (d *drawer) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.sheets)
}

// openHouse has public pages, and those of the API.
func openHouse(t *testing.T, d *drawer) *house {
	t.Helper()
	return sqliteHouse(t, func(c *web.Config) { hostOf(c).draw = d.draw })
}

var located = regexp.MustCompile(`<loc>([^<]*)</loc>`)

// sitemap returns the paths that the sitemap lists.
func (v *visitor) sitemap() []string {
	v.t.Helper()
	var paths []string
	for _, found := range located.FindAllStringSubmatch(v.get("/sitemap.xml").body, -1) {
		path, ok := strings.CutPrefix(found[1], v.h.url)
		if !ok {
			v.t.Errorf("the sitemap lists %s, which is not ours", found[1])
		}
		paths = append(paths, path)
	}
	if len(paths) < 100 {
		v.t.Fatalf("the sitemap lists %d pages", len(paths))
	}
	return paths
}

// TestPublicPagesAreTheSameForAll looks at every page of the sitemap: caches may keep it, it sets no cookie, is
// small, and a user who is logged in gets no other.
func TestPublicPagesAreTheSameForAll(t *testing.T) {
	sharedtest.Slow(t)
	h := openHouse(t, &drawer{})
	member, nobody := h.join(t, "maya@example.com"), h.visitor(t)
	titles := map[string]string{}
	for _, path := range append(nobody.sitemap(), "/robots.txt", "/llms.txt", "/llms-full.txt", "/docs/search.json", "/changelog.atom") {
		a := nobody.get(path)
		if a.status != http.StatusOK {
			t.Errorf("%s: status %d", path, a.status)
			continue
		}
		tag, caching := a.header.Get("ETag"), a.header.Get("Cache-Control")
		if !strings.Contains(caching, "public") || !strings.Contains(caching, "s-maxage=") || tag == "" || !strings.Contains(caching, "stale-while-revalidate=") {
			t.Errorf("%s: Cache-Control %q, ETag %q", path, caching, tag)
		}
		if len(a.header.Values("Set-Cookie")) > 0 || strings.Contains(strings.Join(a.header.Values("Vary"), ","), "Cookie") {
			t.Errorf("%s sets %q, varies by %q", path, a.header.Values("Set-Cookie"), a.header.Values("Vary"))
		}
		if policy := a.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
		if other := member.get(path); other.body != a.body || other.header.Get("ETag") != tag {
			t.Errorf("%s is another page for a person who is logged in", path)
		}
		nobody.header.Set("If-None-Match", tag)
		if again := nobody.get(path); again.status != http.StatusNotModified || again.body != "" || again.header.Get("ETag") != tag || again.header.Get("Cache-Control") != caching {
			t.Errorf("%s again: status %d with %d bytes", path, again.status, len(again.body))
		}
		nobody.header.Del("If-None-Match")
		nobody.header.Set("Accept-Encoding", "gzip")
		maxBytes := 40 << 10
		if path == "/llms-full.txt" {
			maxBytes = 112 << 10 // all pages for users, which no browser loads
		}
		if path == "/docs/search.json" {
			maxBytes = 48 << 10 // which browsers load when a user searches
		}
		if zipped := nobody.get(path); len(zipped.body) > maxBytes {
			t.Errorf("%s has %d bytes, gzipped", path, len(zipped.body))
		}
		nobody.header.Del("Accept-Encoding")
		if strings.HasPrefix(a.body, "<!") && (strings.Contains(a.body, " style=\"") || strings.Contains(a.body, "onclick") || strings.Contains(a.body, "<style>")) {
			t.Errorf("%s has style or script of its own", path)
		}
		if strings.HasPrefix(a.body, "<!") {
			title := regexp.MustCompile(`<title>[^<]*`).FindString(a.body)
			if titles[title] != "" && path != "/docs/quick-start" {
				t.Errorf("%s and %s have the same title %s", titles[title], path, title)
			}
			titles[title] = path
		}
	}
}

func TestHomeIsForEverybody(t *testing.T) {
	h := openHouse(t, &drawer{})
	nobody := h.visitor(t)
	a := nobody.sees("/", "HTML in. PDF out.", "Start with $5.00 free", "$0.0020", "63 templates in")
	if h.join(t, "maya@example.com").get("/").body != a.body {
		t.Error("a person who is logged in sees another page")
	}
	for _, link := range []string{`href="/dashboard"`, `href="/docs"`, `href="/pdf-templates"`, `href="/pricing"`, `rel="canonical"`, `property="og:image"`} {
		if !strings.Contains(a.body, link) {
			t.Errorf("the page lacks %s", link)
		}
	}
}

// TestLiveBox types into the box of the first page as a user without JavaScript.
func TestLiveBox(t *testing.T) {
	d := &drawer{}
	h := openHouse(t, d)
	v := h.visitor(t)
	try := func(html, paper string) url.Values { return url.Values{"html": {html}, "paper": {paper}} }
	a := v.post("/", http.StatusOK, try("<h1>Mine</h1></textarea><script>alert(1)</script>", "A5"))
	if !strings.Contains(a.body, "data:image/png;base64,") || !strings.Contains(a.body, "data:application/pdf;base64,") || !strings.Contains(textOf(a.body), "1 page · A5") {
		t.Errorf("no page: %s", textOf(a.body))
	}
	if strings.Contains(a.body, "<script>alert") || !strings.Contains(a.body, "&lt;h1&gt;Mine&lt;/h1&gt;") {
		t.Error("what was typed is not shown as it was typed")
	}
	if a.header.Get("Cache-Control") != "no-store" || a.header.Get("ETag") != "" || len(a.header.Values("Set-Cookie")) > 0 {
		t.Errorf("the answer is kept: %v", a.header)
	}
	if s := d.sheets[0]; s.Format != "A5" || s.Page != 1 || !s.Only {
		t.Errorf("drawn was %+v", s)
	}
	for name, wrong := range map[string]struct {
		form   url.Values
		status int
		says   string
	}{
		"too much": {try(strings.Repeat("x", 64<<10+1), "A4"), http.StatusRequestEntityTooLarge, "64 KiB"},
		"nothing":  {try(" \r\n ", "A4"), http.StatusUnprocessableEntity, "HTML is required"},
		"paper":    {try("<p>x", "A0"), http.StatusUnprocessableEntity, "A4, Letter, A5"},
	} {
		if a := v.post("/", wrong.status, wrong.form); !strings.Contains(textOf(a.body), wrong.says) {
			t.Errorf("%s: %s", name, textOf(a.body))
		}
	}
	if d.count() != 1 {
		t.Errorf("%d sheets were drawn", d.count())
	}
	d.err = web.ErrBusy
	if a := v.post("/", http.StatusServiceUnavailable, try("<p>x", "A4")); a.header.Get("Retry-After") == "" || !strings.Contains(textOf(a.body), "have priority") {
		t.Errorf("busy: %s", textOf(a.body))
	}
	d.err = &web.DocumentError{Text: "It takes too long."}
	if a := v.post("/", http.StatusUnprocessableEntity, try("<p>x", "A4")); !strings.Contains(textOf(a.body), "It takes too long.") {
		t.Errorf("a bad document: %s", textOf(a.body))
	}
	d.err = errors.New("on purpose")
	if a := v.post("/", http.StatusInternalServerError, try("<p>x", "A4")); strings.Contains(a.body, "on purpose") {
		t.Error("a visitor reads what failed inside")
	}
	d.err = nil
	for range 16 { // 20 an hour, of which 4 are used
		v.post("/", http.StatusOK, try("<p>x", "A4"))
	}
	if a := v.post("/", http.StatusTooManyRequests, try("<p>mine", "A4")); a.header.Get("Retry-After") == "" || !strings.Contains(a.body, "&lt;p&gt;mine") {
		t.Errorf("beyond the limit: %s", textOf(a.body))
	}
	h.clock.Advance(time.Hour + time.Minute)
	v.post("/", http.StatusOK, try("<p>x", "A4"))
}

// TestLiveBoxIsLimitedForAll has many addresses try.
func TestLiveBoxIsLimitedForAll(t *testing.T) {
	sharedtest.Slow(t)
	d := &drawer{}
	h := openHouse(t, d)
	v := h.visitor(t)
	refused := 0
	for at := range 610 {
		v.header.Set(clientIPHeader, fmt.Sprintf("203.0.%d.%d", 113+at/250, at%250))
		if a := v.do(http.MethodPost, "/", url.Values{"html": {"<p>x"}, "paper": {"A4"}}); a.status == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused != 10 || d.count() != 600 {
		t.Errorf("%d of 610 were refused, %d drawn", refused, d.count())
	}
}

func TestGallery(t *testing.T) {
	d := &drawer{}
	h := openHouse(t, d)
	v := h.visitor(t)
	v.sees("/pdf-templates", "Atelier invoice", "Invoices and receipts", "All")
	if a := v.sees("/pdf-templates/billing", "Atelier invoice", "Till receipt"); strings.Contains(textOf(a.body), "Verbena") {
		t.Error("a group shows layouts of others")
	}
	v.sees("/pdf-templates?q=curriculum+vitae", "Margin résumé")
	if a := v.sees("/pdf-templates/invoice", "Atelier invoice"); strings.Contains(textOf(a.body), "Verbena") {
		t.Error("a category shows another's layouts")
	}
	v.sees("/pdf-templates?q=serif+invoice", "Atelier invoice")
	v.sees("/pdf-templates?q=nothing-has-this", "No matching templates")
	a := v.sees("/pdf-templates/invoice/invoice-atelier", "Use this template", "A4 PDF", "Letter PDF", "Sample data", "printBackground", "templateData", "$0.0020")
	for _, path := range []string{"/pdf-templates/nothing", "/pdf-templates/menu/invoice-atelier", "/pdf-templates/invoice/nothing"} {
		if got := v.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s: status %d", path, got.status)
		}
	}
	paths := regexp.MustCompile(`/drawn/layout_[^" ]*`).FindAllString(a.body, -1)
	if len(paths) < 2 {
		t.Fatalf("the page shows %q", paths)
	}
	for _, path := range paths {
		drawn := v.get(path)
		kind := map[bool]string{true: "application/pdf", false: "image/png"}[strings.HasSuffix(path, ".pdf")]
		if drawn.status != http.StatusOK || drawn.header.Get("Content-Type") != kind || !strings.Contains(drawn.header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: status %d, %v", path, drawn.status, drawn.header)
		}
	}
	before := d.count()
	v.get(paths[0])
	if d.count() != before {
		t.Error("what was drawn is drawn again")
	}
	if got := v.get(strings.Replace(paths[0], ".", ".0", 1)); got.status != http.StatusNotFound {
		t.Errorf("a picture of another content: status %d", got.status)
	}
	d.err = web.ErrBusy
	card := regexp.MustCompile(`/drawn/card_[^"]*`).FindString(a.body)
	if got := v.get(card); got.status != http.StatusServiceUnavailable || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("a picture while all is busy: status %d, %v", got.status, got.header)
	}
	d.err = nil
	if got := v.get(card); got.status != http.StatusOK {
		t.Errorf("the card: status %d", got.status)
	}
	if s := d.sheets[len(d.sheets)-1]; s.Width != 1200 || s.Height != 630 || !strings.Contains(s.HTML, "Atelier invoice") {
		t.Errorf("the card is %dx%d", s.Width, s.Height)
	}
}

func TestPricing(t *testing.T) {
	h := openHouse(t, &drawer{})
	v := h.visitor(t)
	v.sees("/pricing", "Create a PDF", "$0.0020", "$0.0002", "includes $5.00", "Total $0.0000")
	v.sees("/pricing?pdf.create=10,000&zip.create=50", "Total $20.01")
	if a := v.sees("/pricing?pdf.create=many&zip.create=99999999999", "Total $0.0000"); strings.Count(a.body, `aria-invalid="true"`) != 2 {
		t.Error("wrong numbers are not marked")
	}
}

// TestSearchKnowsTheWordsOfCustomers looks for pages in the titles and the search words of the index.
func TestSearchKnowsTheWordsOfCustomers(t *testing.T) {
	h := openHouse(t, &drawer{})
	var entries []struct{ URL, Title, Words string }
	if err := json.Unmarshal([]byte(h.visitor(t).get("/docs/search.json").body), &entries); err != nil {
		t.Fatal(err)
	}
	for word, url := range map[string]string{
		"watermark": "/docs/api/pdf_stamp", "split": "/docs/api/pdf_extract", "screenshot": "/docs/api/images_create", "sdk": "/docs/clients",
		"rate limit": "/docs/limits", "bill": "/docs/money", "zapier": "/docs/clients", "header": "/docs/headers-and-footers",
	} {
		found := slices.ContainsFunc(entries, func(e struct{ URL, Title, Words string }) bool {
			return e.URL == url && strings.Contains(strings.ToLower(e.Title+" "+e.Words), word)
		})
		if !found {
			t.Errorf("a search for %q does not find %s by its title or its words", word, url)
		}
	}
}

// TestReferenceLinksToEachField checks that the fields of every operation have anchors, each once on its page, that those
// of objects are folded, and that the examples are those of the OpenAPI document.
func TestReferenceLinksToEachField(t *testing.T) {
	h := openHouse(t, &drawer{})
	v := h.visitor(t)
	ids, fields := regexp.MustCompile(` id="([^"]+)"`), 0
	for _, path := range v.sitemap() {
		if !strings.HasPrefix(path, "/docs/api/") {
			continue
		}
		body, seen := v.get(path).body, map[string]bool{}
		for _, found := range ids.FindAllStringSubmatch(body, -1) {
			if seen[found[1]] {
				t.Errorf("%s has the anchor %s twice", path, found[1])
			}
			seen[found[1]] = true
		}
		for _, found := range regexp.MustCompile(`class="anchor" href="#([^"]+)"`).FindAllStringSubmatch(body, -1) {
			if fields++; !seen[found[1]] {
				t.Errorf("%s links to the anchor %s, which it lacks", path, found[1])
			}
		}
	}
	if fields < 2000 {
		t.Errorf("%d fields have an anchor", fields)
	}
	v.sees("/docs/api/pdf_create", "fields of options.margin", "200 PDF", "Content-Type: application/pdf", "charged-microdollars: 2000", "202 Job", "400 Error")
	v.sees("/docs/api/pdf_info", "200 JSON", "Invoice 42", "200 URL")
	for path, id := range map[string]string{
		"pdf_create": "pdf-options-margin-top", "pdf_merge": "pdf-merge-200-url", "pdf_info": "pdf-info-200-PdfInfoResult-pageCount", "templates_update": "templates-id-path-id",
	} {
		if body := v.get("/docs/api/" + path).body; !strings.Contains(body, `<div id="`+id+`">`) {
			t.Errorf("%s lacks the anchor %s", path, id)
		}
	}
}

// TestChangelog reads the page and the feed of the releases.
func TestChangelog(t *testing.T) {
	h := openHouse(t, &drawer{})
	v := h.visitor(t)
	body := v.sees("/changelog", "Unreleased", "1.0.0", "The first version.", "Atom feed").body
	for _, part := range []string{`<h2 id="unreleased">`, `<h2 id="v1.0.0">`, `<h3 id="unreleased-added">`, `<h3 id="v1.0.0-documents">`, `href="/changelog"`, `type="application/atom+xml"`} {
		if !strings.Contains(body, part) {
			t.Errorf("the changelog lacks %s", part)
		}
	}
	var feed struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		ID      string   `xml:"id"`
		Updated string   `xml:"updated"`
		Entries []struct {
			Title   string `xml:"title"`
			ID      string `xml:"id"`
			Updated string `xml:"updated"`
			Content string `xml:"content"`
		} `xml:"entry"`
	}
	if err := xml.Unmarshal([]byte(v.get("/changelog.atom").body), &feed); err != nil {
		t.Fatal(err)
	}
	last := feed.Entries[len(feed.Entries)-1]
	if feed.ID != h.url+"/changelog" || feed.Updated != feed.Entries[0].Updated || last.Title != "relaypdf 1.0.0" || last.ID != h.url+"/changelog#v1.0.0" || !strings.Contains(last.Content, "<h3") {
		t.Errorf("the feed is %+v", feed)
	}
}

func TestDocs(t *testing.T) {
	h := openHouse(t, &drawer{})
	v := h.visitor(t)
	v.sees("/docs", "Quick start", h.url+"/v1/pdf", "Next:")
	v.sees("/docs/page-breaks", "break-inside")
	v.sees("/docs/api", "/v1/pdf/merge")
	reference := v.sees("/docs/api/pdf_create", "options.margin.top", "at most 10 MiB", "From 1 to 255 characters.", "payment_required", "curl", "Python", "PHP")
	for _, again := range []string{"10485760", "At least 0.1", "most 30000; default", "to 100 items"} {
		if strings.Contains(reference.body, again) {
			t.Errorf("%q says a bound that the description says already", again)
		}
	}
	guide := v.sees("/docs/errors", "Warnings")
	for _, code := range wire.Codes() {
		if !strings.Contains(guide.body, `id="`+string(code)+`"`) {
			t.Errorf("/docs/errors has no section for %s", code)
		}
	}
	v.sees("/docs/0009-wake-workers-ourselves", "Our own job queue")
	for _, link := range []string{`href="/docs/render-modes"`, `href="/docs/deploy"`} {
		if body := v.get("/docs/how-it-works").body; !strings.Contains(body, link) {
			t.Errorf("/docs/how-it-works has no link %s", link)
		}
	}
	if body := v.sees("/docs/hardening", "deploy/seccomp.json").body; strings.Contains(body, `href="../`) {
		t.Error("/docs/hardening has a link to a file of the repository")
	}
	v.sees("/llms.txt", h.url+"/docs/errors")
	v.sees("/llms-full.txt", "POST /v1/pdf/merge", "Headers and footers")
	v.sees("/robots.txt", "Sitemap: "+h.url+"/sitemap.xml")
	for _, path := range []string{"/docs/nothing", "/docs/api/nothing", "/drawn/nothing.png"} {
		if got := v.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s: status %d", path, got.status)
		}
	}
}

// TestPublicPagesKnowMembers: a cookie without a secret, which scripts can read, is set as long as the visitor is logged
// in. Pages do not depend on it.
func TestPublicPagesKnowMembers(t *testing.T) {
	h := sqliteHouse(t, nil)
	const name = "relaypdf_member"
	hint := func(a answer) string {
		for _, line := range a.header.Values("Set-Cookie") {
			if strings.HasPrefix(line, name+"=") {
				return line
			}
		}
		return ""
	}
	h.join(t, "maya@example.com")
	v := h.visitor(t)
	guest := v.get("/pricing")
	login := url.Values{"email": {"maya@example.com"}, "password": {password}}
	if got := hint(v.post("/login", http.StatusSeeOther, login)); got != name+"=1; Path=/; SameSite=Lax" {
		t.Errorf("the login sets %q", got)
	}
	if got := hint(v.sees("/dashboard")); got != "" {
		t.Errorf("a page sets it again: %q", got)
	}
	if member := v.get("/pricing"); member.body != guest.body || member.header.Get("ETag") != guest.header.Get("ETag") {
		t.Error("a public page depends on the visitor")
	}
	if got := hint(v.post("/logout", http.StatusSeeOther, url.Values{})); !strings.Contains(got, "Max-Age=0") {
		t.Errorf("the logout sets %q", got)
	}
	login.Set("remember", "on")
	if got := hint(v.post("/login", http.StatusSeeOther, login)); !strings.Contains(got, "Max-Age=2592000") {
		t.Errorf("the login of a remembered user sets %q", got)
	}
	h.clock.Advance(31 * 24 * time.Hour) // The session ends, and the next page of the dashboard notes that.
	if got := hint(v.get("/dashboard")); !strings.Contains(got, "Max-Age=0") {
		t.Errorf("after the end of the session: %q", got)
	}
}
