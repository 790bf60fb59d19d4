package gallery

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdf/compare"
	"github.com/relaypdf/relaypdf/render/spool"
)

// plants are small changes of a document, by what a reader sees. Each changes one place, or nothing if the document has
// no such place.
var plants = []struct {
	name  string
	plant func(html string) string
}{
	{"text", func(html string) string { return replaceText(html, letterEnd, "z") }},
	{"number", func(html string) string { return replaceText(html, lastDigit, "") }},
	{"color", wrapText("color:#b3261e")},
	{"moved text", wrapText("position:relative;left:1pt")},
	{"weight", wrapText("font-weight:bolder")},
	{"line", wrapText("text-decoration:line-through")},
	{"moved box", func(html string) string { return addStyle(html, "body>*{transform:translate(0,.75pt)}") }},
	{"background", wrapText("background:#e8f0fe")},
	{"size", wrapText("font-size:104%")},
	{"image", func(html string) string {
		if !strings.Contains(html, "<img") && !strings.Contains(html, "<svg") {
			return html
		}
		return addStyle(html, "img,svg{visibility:hidden!important}")
	}},
}

// boldLayouts are layouts whose changed text is bold already.
var boldLayouts = map[string]bool{"medical-letter-aster": true, "report-meridiem": true, "quote-fieldstone": true}

var (
	textNode  = regexp.MustCompile(`>([^<>{}]*[A-Za-z]{4,}[^<>{}]*)<`)
	letterEnd = regexp.MustCompile(`>[^<>{}]*[A-Za-z]{4,}[^<>{}]*<`)
	lastDigit = regexp.MustCompile(`>[^<>{}A-Za-z]*\d[^<>{}A-Za-z]*<`)
	svgPart   = regexp.MustCompile(`(?s)<svg.*?</svg>`)
)

// placeOf returns the middle match of a pattern in the body outside of drawings, or nil.
func placeOf(html string, pattern *regexp.Regexp) []int {
	body := strings.Index(html, "<body")
	svgs := svgPart.FindAllStringIndex(html, -1)
	var places [][]int
	for _, at := range pattern.FindAllStringIndex(html, -1) {
		inside := false
		for _, svg := range svgs {
			inside = inside || at[0] >= svg[0] && at[1] <= svg[1]
		}
		if at[0] > body && !inside {
			places = append(places, at)
		}
	}
	if body < 0 || len(places) == 0 {
		return nil
	}
	return places[len(places)/2]
}

// replaceText changes the last letter or digit of a text.
func replaceText(html string, pattern *regexp.Regexp, letter string) string {
	at := placeOf(html, pattern)
	if at == nil {
		return html
	}
	for i := at[1] - 1; i > at[0]; i-- {
		switch c := html[i]; {
		case letter == "" && c >= '0' && c <= '9':
			return html[:i] + strconv.Itoa(int(c-'0'+1)%10) + html[i+1:]
		case letter != "" && (c >= 'a' && c < 'z' || c >= 'A' && c <= 'Z') && html[i-1] != '&':
			return html[:i] + letter + html[i+1:]
		}
	}
	return html
}

// wrapText puts a text into an element with a style.
func wrapText(style string) func(string) string {
	return func(html string) string {
		at := placeOf(html, textNode)
		if at == nil {
			return html
		}
		return html[:at[0]+1] + `<span style="` + style + `">` + html[at[0]+1:at[1]-1] + `</span>` + html[at[1]-1:]
	}
}

func addStyle(html, style string) string {
	return strings.Replace(html, "</head>", "<style>"+style+"</style></head>", 1)
}

// comparePDFs compares two printed documents.
func comparePDFs(t *testing.T, old, latest []byte) compare.Comparison {
	t.Helper()
	r, err := renderer()
	if err != nil {
		t.Fatal(err)
	}
	made, err := r.For("gallery").ComparePDFs(t.Context(), render.PDFFile{Content: spool.FromBytes(old)}, render.PDFFile{Content: spool.FromBytes(latest)},
		compare.Args{Threshold: 0.02, Output: compare.JSON})
	if err != nil {
		t.Fatal(err)
	}
	var report compare.Comparison
	content, err := io.ReadAll(made.Open())
	if err := errors.Join(err, made.Close(), json.Unmarshal(content, &report)); err != nil {
		t.Fatal(err)
	}
	return report
}

// statuses returns the status of each page in order.
func statuses(c compare.Comparison) string {
	var list []string
	for _, page := range c.Pages {
		list = append(list, page.Status)
	}
	return strings.Join(list, " ")
}

// TestCompareLayouts prints every layout twice, and with a planted change. The second print is equal to the first,
// also if a link leads elsewhere, and the comparison finds the change.
func TestCompareLayouts(t *testing.T) {
	sharedtest.Slow(t)
	layouts := load(t).List("", "")
	planted := make([]bool, len(layouts))
	t.Run("layouts", func(t *testing.T) {
		for i, l := range layouts {
			t.Run(l.ID, func(t *testing.T) {
				t.Parallel()
				planted[i] = compareLayout(t, l, i)
			})
		}
	})
	count := 0
	for _, is := range planted {
		if is {
			count++
		}
	}
	if count < 50 && !t.Failed() {
		t.Errorf("%d changes were planted, want at least 50", count)
	}
}

// compareLayout compares the prints of a layout, and reports whether one had a planted change.
func compareLayout(t *testing.T, l Layout, number int) bool {
	t.Helper()
	html, opt := fill(t, l, asItIs), settings(t, l, ownFormat(t, l))
	printed := func(html string) []byte {
		content, err := os.ReadFile(printHTML(t, html, opt).path)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	linked := func(address string) string {
		at := placeOf(html, textNode)
		return html[:at[0]+1] + `<a style="color:inherit;text-decoration:none" href="https://example.com/` + address + `">` + html[at[0]+1:at[1]-1] + `</a>` + html[at[1]-1:]
	}
	first := printed(linked("a"))
	if again := comparePDFs(t, first, printed(linked("b"))); !again.Equal {
		t.Errorf("the second print: %s", statuses(again))
	}
	changed, name := html, ""
	for i := range plants {
		plant := plants[(number+i)%len(plants)]
		if plant.name == "weight" && boldLayouts[l.ID] {
			plant.plant = wrapText("font-weight:lighter")
		}
		if changed, name = plant.plant(linked("a")), plant.name; changed != linked("a") {
			break
		}
	}
	if changed == linked("a") {
		return false
	}
	report := comparePDFs(t, first, printed(changed))
	if report.Equal || !strings.Contains(statuses(report), "changed") && !strings.Contains(statuses(report), "added") {
		t.Errorf("%s is not found: %s", name, statuses(report))
	}
	if name == "text" || name == "number" {
		words := 0
		for _, page := range report.Pages {
			words += len(page.Text)
		}
		if words == 0 {
			t.Errorf("%s: no difference in the text", name)
		}
	}
	return true
}

// TestComparePagesOfLayouts compares a document of several layouts with the same document after its pages were
// inserted, removed, swapped and replaced.
func TestComparePagesOfLayouts(t *testing.T) {
	sharedtest.Slow(t)
	r, err := renderer()
	if err != nil {
		t.Fatal(err)
	}
	account := r.For("gallery")
	layouts := load(t)
	var inputs []render.MergeInput
	total := 0
	for _, id := range []string{"invoice-meridian", "letter-correspondent", "quote-northlight", "payslip-clear", "report-signal"} {
		l, ok := layouts.Get(id)
		if !ok {
			t.Fatalf("no layout %s", id)
		}
		p := printHTML(t, fill(t, l, asItIs), settings(t, l, ownFormat(t, l)))
		content, err := os.ReadFile(p.path)
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, render.MergeInput{PDFFile: render.PDFFile{Content: spool.FromBytes(content)}, Title: id})
		total += p.pages
	}
	merged, _, err := account.MergePDFs(t.Context(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = merged.Close() }()
	whole, err := io.ReadAll(merged.Open())
	if err != nil {
		t.Fatal(err)
	}
	pages := func(selection string) []byte {
		file := render.PDFFile{Content: spool.FromBytes(whole)}
		args := pdf.Selection{Input: file.Input(), Pages: selection}
		made, err := render.RunFile(t.Context(), account, pdf.ExtractJob, args, file.File())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = made.Close() }()
		content, err := io.ReadAll(made.Open())
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	if total < 5 {
		t.Fatalf("%d pages, want at least 5", total)
	}
	for _, test := range []struct{ old, latest, want string }{
		{"1-5", "1-5", "equal equal equal equal equal"},
		{"1,3-5", "1-5", "equal added equal equal equal"},
		{"1-5", "1-3,5", "equal equal equal removed equal"},
		{"1-5", "1,3,2,4,5", "equal removed equal added equal equal"},
		{"1-4", "5,1-4", "added equal equal equal equal"},
		{"1-4", "1,5,3,4", "equal changed equal equal"},
		{"1-3", "1-3,3", "equal equal equal added"},
		{"1-3", "2", "removed equal removed"},
	} {
		if got := statuses(comparePDFs(t, pages(test.old), pages(test.latest))); got != test.want {
			t.Errorf("pages %s and %s: %s, want %s", test.old, test.latest, got, test.want)
		}
	}
}
