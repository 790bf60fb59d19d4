package pdfsign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/pdftag"
)

// TestStandardsStay signs documents that conform to PDF/A and PDF/UA. veraPDF and Preflight find nothing in the results.
func TestStandardsStay(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	dir := t.TempDir()
	source, printed := filepath.Join(dir, "a.html"), filepath.Join(dir, "a.pdf")
	if err := os.WriteFile(source, []byte("<!doctype html><html lang=en><meta charset=utf-8><title>Contract</title><h1>Contract</h1><p>One <a href=https://example.com>link</a>."), 0o600); err != nil {
		t.Fatal(err)
	}
	pdftest.Tool(t, "chromium-headless-shell", "--no-sandbox", "--no-pdf-header-footer", "--print-to-pdf="+printed, source)
	a := newAuthority(t)
	s := a.signer("Signer", "P-256")
	claims := map[string][]string{}
	for name, standards := range map[string][]pdffile.Standard{"accessible": {pdffile.UA1, pdffile.A2A}, "1b": {pdffile.A1B}, "3b": {pdffile.A3B}} {
		r, err := pdftag.Conform(pdftest.Load(t, printed), pdftag.Options{Standards: standards})
		if err != nil || len(r.Claimed) != len(standards) {
			t.Fatalf("%s: claims %v: %v", name, r.Claimed, err)
		}
		job := a.job(s, LevelLTA)
		invisible := mustSign(t, mustSign(t, r.PDF, job), a.job(s, LevelB))
		job.Visible = &Visible{Page: 1, X: 50, Y: 50, Width: 100, Height: 50, Image: &Image{2, 1, []byte{1, 2, 3, 4, 5, 6}}}
		visible := mustSign(t, r.PDF, job)
		for _, signed := range [][]byte{invisible, visible} {
			for _, report := range mustVerify(t, signed, a.trust()) {
				if report.Verdict != Valid {
					t.Errorf("%s: %s: %s", name, report.Field, report.Reason)
				}
			}
			path := pdftest.Save(t, signed)
			for _, s := range standards {
				claims[flavour(s)] = append(claims[flavour(s)], path)
			}
		}
		job.Visible.Lines = []string{"Text"}
		if _, err := Sign(t.Context(), PDF{Content: r.PDF}, job); !Is(err, BadText) {
			t.Errorf("%s: text in a font that is not embedded: %v", name, err)
		}
	}
	for flavour, files := range claims {
		for file, rules := range pdftest.VeraPDF(t, flavour, files...) {
			t.Errorf("%s breaks %s: %q", file, flavour, rules)
		}
	}
	for file, rules := range pdftest.Preflight(t, claims["1b"]...) {
		t.Errorf("%s breaks 1b, as PDFBox sees it: %q", file, rules)
	}
}

func flavour(s pdffile.Standard) string {
	return strings.ReplaceAll(strings.TrimPrefix(string(s), "a-"), "-", "")
}
