package pdf

import (
	"path/filepath"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// TestLimitedContent brings rectangles within the limit, and leaves all else as it is.
func TestLimitedContent(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"116.5 16000.5 2250 -144549.5 re W n": "116.5 16000.5 2250 -32384 re\nW\nn\n",
		"-40000.5 0 80000 9 re f":             "-16383.5 0 32767 9 re\nf\n",
		"1.5 2 3 4 re f 40000.5 0 m":          "",
	} {
		got, changed := limitedContent([]byte(content))
		if changed != (want != "") || changed && string(got) != want {
			t.Errorf("%q has become %q (%v), want %q", content, got, changed, want)
		}
	}
}

// TestArchiveLimitsNumbers: a document with rectangles that reach far beyond its pages becomes PDF/A-1b.
func TestArchiveLimitsNumbers(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	document := pdftest.Load(t, filepath.Join(pdftest.Corpus(t), "pkg", "samples", "grid", "GridFromPDF.pdf"))
	made, _ := madeArchive(t, Archive1B, document)
	for file, rules := range pdftest.VeraPDF(t, "1b", pdftest.Save(t, made)) {
		t.Errorf("%s is not PDF/A-1b: %q", file, rules)
	}
}
