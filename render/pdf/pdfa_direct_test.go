package pdf

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/pdftag"
)

// TestArchiveKeepsPrints makes PDF/A of what Chromium prints: the structure stays, and the pages are the same.
func TestArchiveKeepsPrints(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	sources, err := filepath.Glob("../pdftag/testdata/*.html")
	if err != nil || len(sources) == 0 {
		t.Fatal("no documents", err)
	}
	dir := t.TempDir()
	files := map[string][]string{}
	for i, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".html")
		printed := filepath.Join(dir, name+".print.pdf")
		pdftest.Tool(t, "chromium-headless-shell", "--no-sandbox", "--no-pdf-header-footer", "--print-to-pdf="+printed, source)
		before := pdftest.Load(t, printed)
		if i%3 == 0 {
			made, err := pdftag.Conform(before, pdftag.Options{Standards: []pdffile.Standard{pdffile.UA1}})
			if err != nil {
				t.Fatal(err)
			}
			before = made.PDF
		}
		level := []archive.Level{archive.Level2B, archive.Level3B}[i%2]
		result, err := runJob(t, archive.Job.Name, archive.Args{Input: input(""), Level: level}, before)
		if name == "glyphs" { // which shows a character that its font lacks
			if err == nil {
				t.Errorf("%s: no error", name)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if changes := string(result.Body); changes != `{"Changes":null}` {
			t.Errorf("%s: changes %s", name, changes)
		}
		path := filepath.Join(dir, name+".pdf")
		if err := os.WriteFile(path, read(t, result), 0o600); err != nil {
			t.Fatal(err)
		}
		files[string(level)] = append(files[string(level)], path)
		draw := func(path string) string {
			return pdftest.Tool(t, "mutool", "draw", "-q", "-r", "50", "-F", "ppm", path)
		}
		if draw(path) != draw(pdftest.Save(t, before)) {
			t.Errorf("%s: the pages look different", name)
		}
		structure := func(path string) string {
			return regexp.MustCompile(`Object \d+`).ReplaceAllString(pdftest.Tool(t, "pdfinfo", "-struct", path), "")
		}
		if structure(path) != structure(pdftest.Save(t, before)) {
			t.Errorf("%s: another structure", name)
		}
		claims := strings.Contains(pdftest.Tool(t, "pdfinfo", "-meta", path), "pdfuaid:part>1")
		if claimed := strings.Contains(pdftest.Tool(t, "pdfinfo", "-meta", pdftest.Save(t, before)), "pdfuaid:part>1"); claims != claimed {
			t.Errorf("%s: claims PDF/UA-1: %v, before %v", name, claims, claimed)
		}
		if claims {
			files["ua1"] = append(files["ua1"], path)
		}
	}
	for standard, paths := range files {
		for file, rules := range pdftest.VeraPDF(t, standard, paths...) {
			t.Errorf("%s is not of %s: %q", filepath.Base(file), standard, rules)
		}
	}
}
