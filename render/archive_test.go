package render

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
)

// TestArchiveOfFigures makes an archive of an invoice with figures of equal width, as the browser prints it. The
// PDF stores the text of these figures apart from their glyphs: the text can be copied from the archive as from the
// invoice.
func TestArchiveOfFigures(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	r := start(t, Config{})
	for name, source := range map[string]Source{
		"html": {HTML: `<style>td { font: 14px Inter; font-variant-numeric: tabular-nums slashed-zero; text-align: right } tr + tr { font-weight: bold }</style>
			<h1>Invoice 2026-17</h1><table><tr><td>Office paper<td>1,234.50<td>19 %<tr><td>Total<td>1,264.07<td>8/10</table>`},
		"markdown": {Markdown: "# Invoice 2026-17\n\n| item | amount |\n|---|---:|\n| Office paper | 1,234.50 |\n| Total | 1,264.07 |\n"},
	} {
		doc, err := r.For(account).PDF(t.Context(), source, PageSettings{}, letter)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = doc.Body.Close() })
		printed := filepath.Join(t.TempDir(), "printed.pdf")
		content, err := io.ReadAll(doc.Body.Open())
		if err == nil {
			err = os.WriteFile(printed, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		before := words(tool(t, "pdftotext", "-layout", printed, "-"))
		if !strings.Contains(before, "1,234.50") || !strings.Contains(tool(t, "qpdf", "--qdf", printed, "-"), "/ActualText (4)") {
			t.Errorf("%s: the browser does not tell figures beside what it draws: %s", name, before)
		}
		for _, level := range []archive.Level{"1b", "2b", "3b"} {
			file := PDFFile{Content: doc.Body}
			args := archive.Args{Input: file.Input(), Level: level}
			made, changes, err := RunBoth(t.Context(), r.For(account), archive.Job, args, file.File())
			if err != nil {
				t.Errorf("%s, %s: %v", name, level, err)
				continue
			}
			path := save(t, made)
			if got := words(tool(t, "pdftotext", "-layout", path, "-")); got != before {
				t.Errorf("%s, %s: says %q, and said %q; changes %q", name, level, got, before, changes)
			}
			if got := words(tool(t, "mutool", "draw", "-F", "text", path)); strings.Count(got, "1,234.50") != 1 || strings.Count(got, "1,264.07") != 1 {
				t.Errorf("%s, %s: MuPDF reads %q", name, level, got)
			}
		}
	}
}

func words(text string) string { return strings.Join(strings.Fields(text), " ") }
