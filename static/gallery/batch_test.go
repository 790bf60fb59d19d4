package gallery

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"relaypdf/internal/slow"
	"relaypdf/render"
	"relaypdf/render/chrome"
)

// TestLayoutsPrintTogether prints variants of every layout as a batch, and compares each page with that of a print of
// its own, pixel by pixel.
func TestLayoutsPrintTogether(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for _, l := range load(t).List("", "") {
		t.Run(l.ID, func(t *testing.T) {
			t.Parallel()
			printTogether(t, l)
		})
	}
}

// TestLayoutPrintsTogether is TestLayoutsPrintTogether for one layout.
func TestLayoutPrintsTogether(t *testing.T) {
	for _, l := range load(t).List("", "") {
		if l.ID == "invoice-meridian" && printTogether(t, l) < 5 {
			t.Error("few of the documents were printed together")
		}
	}
}

// printTogether returns how many of the documents were printed together.
func printTogether(t *testing.T, l Layout) (together int) {
	t.Helper()
	var documents []string
	for _, variant := range []string{asItIs, arabic, japanese, bare, oneRow, asItIs} {
		if l.Rows != "" || variant != oneRow {
			documents = append(documents, fill(t, l, variant))
		}
	}
	r, err := renderer()
	if err != nil {
		t.Fatal(err)
	}
	opt, page := settings(t, l, ownFormat(t, l)), render.Page{Timeout: 5 * time.Minute}
	results, err := r.For("gallery").Batch(page, opt, false).Print(t.Context(), documents)
	if err != nil || len(results) != len(documents) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for i, result := range results {
		if result == nil {
			continue
		}
		together++
		alone, err := r.For("gallery").PDF(t.Context(), render.Source{HTML: documents[i]}, page, opt)
		if err != nil {
			t.Fatal(err)
		}
		comparePrints(t, fmt.Sprintf("document %d", i), *result, alone)
	}
	t.Logf("%d of %d together", together, len(documents))
	return together
}

// comparePrints compares two prints and closes them.
func comparePrints(t *testing.T, what string, got, want chrome.Document) {
	t.Helper()
	dir := t.TempDir()
	texts, pixels, titles := [2]string{}, [2]string{}, [2]string{}
	for i, doc := range []chrome.Document{got, want} {
		path := filepath.Join(dir, fmt.Sprint(i, ".pdf"))
		content, err := io.ReadAll(doc.Body.Open())
		if err != nil {
			t.Fatal(err)
		}
		if err := doc.Body.Close(); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		texts[i] = run(t, "pdftotext", path, "-")
		pixels[i] = run(t, "pdftoppm", "-r", "60", path)
		titles[i] = strings.Join(infoPattern.FindAllString(run(t, "pdfinfo", path), -1), "\n") + run(t, "pdfinfo", "-url", path)
		if i == 0 {
			run(t, "qpdf", "--check", path)
		}
	}
	if different, most := differences(pixels[0], pixels[1]); different > 0 {
		t.Errorf("%s: the pages differ in %d values, by up to %d", what, different, most)
		keepPrints(t, dir, what)
	}
	if texts[0] != texts[1] {
		t.Errorf("%s: text\n%s\nwant\n%s", what, texts[0], texts[1])
	}
	if titles[0] != titles[1] {
		t.Errorf("%s: information\n%s\nwant\n%s", what, titles[0], titles[1])
	}
}

// differences returns the number of bytes in which two strings differ, and the largest difference.
func differences(a, b string) (count, most int) {
	if len(a) != len(b) {
		return max(len(a), len(b)), 255
	}
	for i := range len(a) {
		if a[i] != b[i] {
			count, most = count+1, max(most, int(max(a[i], b[i])-min(a[i], b[i])))
		}
	}
	return count, most
}

var infoPattern = regexp.MustCompile(`(?m)^(Title|Pages|Page size|Tagged|Producer|Creator):.*$`)

// keepPrints copies prints to the folder that SCREENSHOTS names.
func keepPrints(t *testing.T, dir, what string) {
	t.Helper()
	to := os.Getenv("SCREENSHOTS")
	if to == "" {
		return
	}
	name := filepath.Join(to, strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()+"-"+what))
	if err := os.CopyFS(name, os.DirFS(dir)); err != nil {
		t.Error(err)
	}
}
