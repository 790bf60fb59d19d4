package redact

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// TestScrubLooksTheSame writes documents again that others have made, without what no page
// shows: their pages look as before, and qpdf finds nothing wrong.
func TestScrubLooksTheSame(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	for _, path := range append(pdftest.SomeDocuments(t, 17), filepath.Join("..", "testdata", "form.pdf")) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			plain := filepath.Join(t.TempDir(), "plain.pdf")
			if err := exec.CommandContext(t.Context(), "qpdf", "--object-streams=disable", "--flatten-annotations=all", "--generate-appearances", "--warning-exit-0", path, plain).Run(); err != nil {
				t.Skip("it cannot be read without a password, or not by qpdf")
			}
			got, _, err := scrub(pdftest.Load(t, plain), redactionTerms{}, false)
			if err != nil {
				t.Skipf("it is not read here: %v", err)
			}
			made := pdftest.Save(t, got)
			if out, err := exec.CommandContext(t.Context(), "qpdf", "--check", made).CombinedOutput(); err != nil {
				t.Errorf("qpdf: %s", out)
			}
			before, after := pageImages(t, plain), pageImages(t, made)
			if len(before) == 0 || !bytes.Equal(before, after) {
				t.Errorf("its pages look otherwise: %d and %d bytes", len(before), len(after))
			}
		})
	}
}

// pageImages returns the images of a document's first pages.
func pageImages(t *testing.T, path string) []byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "pdftoppm", "-q", "-r", "36", "-l", "12", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}
