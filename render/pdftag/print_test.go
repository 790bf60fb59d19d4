package pdftag

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// faulty are the documents of testdata with faults, and their rules.
var faulty = map[string][]Rule{
	"iframe":    {LinkOutside},
	"jumps":     {HeadingOrder},
	"languages": {ElementLanguage},
	"noalt":     {FigureAlt, HeadingOrder},
	"nolang":    {HeadingOrder}, // Chromium names its own language
	"empty":     {DocumentLanguage},
	"glyphs":    {MissingGlyph},
}

// newer are the documents with transparency, which PDF/A-1 excludes.
var newer = strings.Fields(`backgrounds components css emoji figures figuretable forms glyphs headings layers links markdown noalt svg
	table-of-blocks opacity-groups blend-modes text-decorations emoji-sequences pictures svg-charts svg-filters links-around-blocks media
	images-without-alt titled-image`)

// others are standards that a file cannot claim together with those of TestPrintsConform.
var others = []pdffile.Standard{pdffile.A1B, pdffile.A2U, pdffile.A3A, pdffile.A3U, pdffile.A3B}

// TestPrintsConform prints documents with Chromium. What they claim is true, as veraPDF sees it; what they do not
// claim has a fault; and their pages look the same as before.
func TestPrintsConform(t *testing.T) {
	sharedtest.Slow(t)
	dir := t.TempDir()
	sources, err := filepath.Glob("testdata/*.html")
	if err != nil || len(sources) == 0 {
		t.Fatal("no documents", err)
	}
	rulesOf := maps.Clone(faulty)
	for _, v := range varied {
		source := filepath.Join(dir, v.name+".html")
		document := "<!doctype html><html lang=en><meta charset=utf-8><title>" + v.name + "</title><h1>" + v.name + "</h1>" + v.body
		if err := os.WriteFile(source, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		sources, rulesOf[v.name] = append(sources, source), v.faults
	}
	claims := map[pdffile.Standard][]string{}
	for _, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".html")
		printed := filepath.Join(dir, name+".print.pdf")
		pdftest.Tool(t, "chromium-headless-shell", "--no-sandbox", "--no-pdf-header-footer", "--print-to-pdf="+printed, source)
		r, err := Conform(pdftest.Load(t, printed), Options{Standards: []pdffile.Standard{pdffile.UA1, pdffile.A2A, pdffile.A2U, pdffile.A2B}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		rules := map[Rule]bool{}
		for _, f := range r.Faults {
			rules[f.Rule] = true
		}
		if got, want := slices.Sorted(maps.Keys(rules)), slices.Sorted(slices.Values(rulesOf[name])); !slices.Equal(got, want) {
			t.Errorf("%s: faults %v, want %v", name, r.Faults, want)
		}
		result := filepath.Join(dir, name+".pdf")
		if err := os.WriteFile(result, r.PDF, 0o600); err != nil {
			t.Fatal(err)
		}
		pdftest.Tool(t, "qpdf", "--check", result)
		if pdftest.Tool(t, "pdftoppm", "-r", "50", printed) != pdftest.Tool(t, "pdftoppm", "-r", "50", withoutIntent(t, printed)) {
			t.Errorf("%s: the pages look different", name)
		}
		for _, s := range r.Claimed {
			if s == pdffile.UA1 || s == archival(r.Claimed) {
				claims[s] = append(claims[s], result)
			}
		}
		for _, s := range others {
			r, err := Conform(pdftest.Load(t, printed), Options{Standards: []pdffile.Standard{s}})
			if err != nil {
				t.Errorf("%s as %s: %v", name, s, err)
			}
			if s == pdffile.A1B && slices.Contains(newer, name) != (len(r.Claimed) == 0) {
				t.Errorf("%s: claims %v, with %+v", name, r.Claimed, r.Faults)
			}
			if len(r.Claimed) == 0 {
				continue
			}
			other := filepath.Join(dir, name+"."+string(s)+".pdf")
			if err := os.WriteFile(other, r.PDF, 0o600); err != nil {
				t.Fatal(err)
			}
			claims[s] = append(claims[s], other)
		}
	}
	for s, files := range claims {
		flavour := strings.ReplaceAll(strings.TrimPrefix(string(s), "a-"), "-", "")
		for file, rules := range pdftest.VeraPDF(t, flavour, files...) {
			t.Errorf("%s breaks %s, which it claims: %q", filepath.Base(file), s, rules)
		}
	}
	for file, rules := range pdftest.Preflight(t, claims[pdffile.A1B]...) {
		t.Errorf("%s breaks %s, as PDFBox sees it: %q", filepath.Base(file), pdffile.A1B, rules)
	}
}

// withoutIntent returns a document that conforms to PDF/UA-1 only. Poppler computes colours of images with the output
// intent of PDF/A, which rounds some of them differently.
func withoutIntent(t *testing.T, printed string) string {
	t.Helper()
	r, err := Conform(pdftest.Load(t, printed), Options{Standards: []pdffile.Standard{pdffile.UA1}})
	if err != nil {
		t.Fatal(err)
	}
	return pdftest.Save(t, r.PDF)
}
