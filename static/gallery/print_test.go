package gallery

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/markup"
)

// TestLayoutsPrint prints every layout on both papers with its sample and with 300
// rows, and on its own paper with every other variant of its data, and as the
// editor formats it, and compares the numbers of pages with a golden file.
func TestLayoutsPrint(t *testing.T) {
	sharedtest.Slow(t)
	layouts := load(t).List("", "")
	counts := make([]string, len(layouts))
	t.Run("layouts", func(t *testing.T) {
		for i, l := range layouts {
			t.Run(l.ID, func(t *testing.T) {
				t.Parallel()
				counts[i] = printAll(t, l)
			})
		}
	})
	if t.Failed() {
		return
	}
	got := "Pages with " + strings.Join(variants, ", ") + "\n" + strings.Join(counts, "\n") + "\n"
	golden := filepath.Join("testdata", "pages.golden")
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the numbers of pages have changed; look at the pages, then UPDATE_GOLDEN=1. Got\n%s\nwant\n%s", got, want)
	}
}

// printAll prints a layout's variants, and returns its line of the golden file.
func printAll(t *testing.T, l Layout) string {
	t.Helper()
	line := fmt.Sprintf("%-24s", l.ID)
	for _, format := range l.Formats {
		line += "  " + format
		for _, variant := range variants {
			switch {
			case l.Rows == "" && (variant == oneRow || variant == manyRows),
				format != ownFormat(t, l) && variant != asItIs && variant != manyRows:
				line += " -"
			default:
				line += fmt.Sprint(" ", checkPrint(t, l, format, variant))
			}
		}
	}
	return line
}

// checkPrint prints one variant, holds it to what every page must be, and returns
// the number of pages.
func checkPrint(t *testing.T, l Layout, format, variant string) int {
	t.Helper()
	document := fill(t, l, variant)
	what := fmt.Sprintf("%s, %s", format, variant)
	p := printHTML(t, document, settings(t, l, format))
	if variant != manyRows && p.pages > 4 {
		t.Errorf("%s: %d pages", what, p.pages)
	}
	if variant == manyRows && p.pages < 2 {
		t.Errorf("%s: 300 rows on %d page", what, p.pages)
	}
	checkWords(t, p, what)
	text := squeeze(run(t, "pdftotext", "-raw", p.path, "-"))
	for _, fault := range unseen(vary(t, l, variant), "", text) {
		t.Errorf("%s: the pages do not show %s", what, fault)
	}
	if variant == asItIs {
		checkFonts(t, p, l, what)
		if facts := markup.Inspect(document); facts.Script || facts.Network {
			t.Errorf("%s: it leaves the inline lane", what)
		}
		if format == ownFormat(t, l) {
			checkFormatted(t, l, format, p)
		}
	}
	return p.pages
}

// checkFonts checks that the fonts that the layout names are embedded under their names. Outlines that Chromium
// cannot embed become Type 3 fonts.
func checkFonts(t *testing.T, p printed, l Layout, what string) {
	t.Helper()
	list := run(t, "pdffonts", p.path)
	for _, name := range l.Fonts {
		if !strings.Contains(list, "+"+name) {
			t.Errorf("%s: no font %s in\n%s", what, name, list)
		}
	}
	if strings.Contains(list, "Type 3") || strings.Contains(list, "DejaVu") || strings.Contains(list, "Liberation") {
		t.Errorf("%s: a font stands in for another, or is no font:\n%s", what, list)
	}
}

// edge is the minimum distance of a word from the paper's edge, in points: 4 mm.
const edge = 11.3

// checkWords wants words on every page, and none at the paper's edge. It reads
// pdftotext's lines by itself: an XML decoder under the race detector takes longer
// for 300 rows than the browser.
func checkWords(t *testing.T, p printed, what string) {
	t.Helper()
	page, words := 0, 4
	var width, height float64
	enough := func() {
		if words < 4 {
			t.Errorf("%s: page %d has %d words", what, page, words)
		}
	}
	for line := range strings.Lines(run(t, "pdftotext", "-bbox", p.path, "-")) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "<page "):
			enough()
			page, words = page+1, 0
			width, height = number(t, line, "width"), number(t, line, "height")
		case strings.HasPrefix(line, "<word "):
			words++
			left, right := number(t, line, "xMin"), number(t, line, "xMax")
			top, bottom := number(t, line, "yMin"), number(t, line, "yMax")
			// The height that is reported for Han characters is the height of the whole font.
			high := (top < edge/2 || bottom > height-edge/2) && !han.MatchString(line)
			if left < edge || right > width-edge || high {
				t.Errorf("%s: page %d of %.0f × %.0f: a word stands at the edge: %s", what, page, width, height, line)
				return
			}
		}
	}
	enough()
	if page != p.pages {
		t.Errorf("%s: words of %d pages, want %d", what, page, p.pages)
	}
}

// number reads an attribute of pdftotext's.
func number(t *testing.T, line, name string) float64 {
	t.Helper()
	_, rest, _ := strings.Cut(line, " "+name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		t.Fatalf("no %s in %s", name, line)
	}
	return n
}

var (
	han = regexp.MustCompile(`\p{Han}`)
	// Values that the page formats, or draws as a code, instead of showing them as text.
	machine = regexp.MustCompile(`^(\d{4}-\d\d-\d\d.*|#[0-9a-f]{6}|https://.*|[A-Z]{3}|[A-Z0-9/ -]*\d{7,}[A-Z0-9/ -]*|M1.*)$`)
	// Fields that choose a drawing or a code.
	drawn = map[string]bool{"kind": true, "shape": true, "trackingData": true, "code": true, "trend": true,
		// Codes of e-invoices.
		"typeCode": true, "meansCode": true, "unit": true, "category": true, "taxCategory": true, "country": true, "scheme": true, "reasonCode": true, "electronicAddress": true,
	}
)

func squeeze(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || unicode.In(r, unicode.Zs, unicode.Cf, unicode.Cc) {
			return -1
		}
		return r
	}, text)
}

// unseen lists the texts of the data that the pages do not show.
func unseen(data any, key, text string) []string {
	var faults []string
	switch node := data.(type) {
	case map[string]any:
		for name, child := range node {
			faults = append(faults, unseen(child, name, text)...)
		}
	case []any:
		for i, child := range node {
			if i < 60 {
				faults = append(faults, unseen(child, key, text)...)
			}
		}
	case string:
		if node == "" || drawn[key] || machine.MatchString(node) || rightToLeft.MatchString(node) {
			break
		}
		// A drop cap stands apart from its word.
		shown := squeeze(node)
		if _, first := utf8.DecodeRuneInString(shown); !strings.Contains(text, shown) && !strings.Contains(text, shown[first:]) {
			faults = append(faults, fmt.Sprintf("%s %q", key, node))
		}
	}
	return faults
}

// Shaped and turned, Arabic is not the text that it was.
var rightToLeft = regexp.MustCompile(`\p{Arabic}`)
