package gallery

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/pdftag"
)

// TestLayoutsConform prints every layout with tags, and holds it to PDF/UA-1 and PDF/A-2a, as veraPDF reads them. The
// pages look the same as before, and the files are about as large as those without tags.
func TestLayoutsConform(t *testing.T) {
	sharedtest.Slow(t)
	dir := t.TempDir()
	t.Run("layouts", func(t *testing.T) {
		for _, l := range load(t).List("", "") {
			t.Run(l.ID, func(t *testing.T) {
				t.Parallel()
				conformLayout(t, l, filepath.Join(dir, l.ID+".pdf"))
			})
		}
	})
	files, err := filepath.Glob(filepath.Join(dir, "*.pdf"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, standard := range []string{"ua1", "2a"} {
		for file, rules := range pdftest.VeraPDF(t, standard, files...) {
			t.Errorf("%s breaks %s: %q", filepath.Base(file), standard, rules)
		}
	}
}

// conformLayout prints a layout to a file that conforms.
func conformLayout(t *testing.T, l Layout, path string) {
	t.Helper()
	opt := settings(t, l, ownFormat(t, l))
	plain := pdftest.Load(t, printHTML(t, fill(t, l, asItIs), opt).path)
	opt.Tagged = true
	tagged := printHTML(t, fill(t, l, asItIs), opt)
	wanted := []pdffile.Standard{pdffile.UA1, pdffile.A2A}
	r, err := pdftag.Conform(pdftest.Load(t, tagged.path), pdftag.Options{Standards: wanted})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Faults) > 0 || !slices.Equal(r.Claimed, wanted) {
		t.Errorf("claims %v, with %+v", r.Claimed, r.Faults)
	}
	if maximum := len(plain) * 13 / 10; len(r.PDF) > maximum {
		t.Errorf("%d bytes, at most %d", len(r.PDF), maximum)
	}
	if err := os.WriteFile(path, r.PDF, 0o600); err != nil {
		t.Fatal(err)
	}
	// Poppler computes colours of images with the output intent of PDF/A, which rounds some of them differently.
	u, err := pdftag.Conform(pdftest.Load(t, tagged.path), pdftag.Options{Standards: []pdffile.Standard{pdffile.UA1}})
	if err != nil {
		t.Fatal(err)
	}
	draw := func(path string) []byte { return []byte(pdftest.Tool(t, "pdftoppm", "-r", "50", path)) }
	if !bytes.Equal(draw(tagged.path), draw(pdftest.Save(t, u.PDF))) {
		t.Error("the pages look different")
	}
}
