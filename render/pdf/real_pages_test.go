package pdf

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// TestRealPages looks at the pages of documents from the wild, stamps them and
// fills their forms. Of those with forms it takes more.
func TestRealPages(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	paths := pdftest.Documents(t)
	done := 0
	var forms atomic.Int32
	for i, path := range paths {
		isForm := strings.Contains(strings.ToLower(path), "form") && i%10 == 0
		if i%everyNth != 0 && !isForm {
			continue
		}
		content := pdftest.Load(t, path)
		result, err := runJob(t, InfoJob.Name, input(""), content)
		if err != nil {
			continue // TestRealDocuments is about those
		}
		var about Info
		if err := json.Unmarshal(result.Body, &about); err != nil {
			t.Fatal(err)
		}
		done++
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			lookAtPages(t, content, about.PageCount)
			if fillAny(t, content, about.PageCount) {
				forms.Add(1)
			}
		})
	}
	t.Cleanup(func() { // when all of them are done
		if done < len(paths)/everyNth/2 || forms.Load() == 0 {
			t.Errorf("only %d of %d documents could be read, and %d forms filled", done, len(paths)/everyNth, forms.Load())
		}
	})
}

// lookAtPages reads, draws and stamps a document.
func lookAtPages(t *testing.T, content []byte, pages int) {
	t.Helper()
	if got := readTexts(t, TextArgs{Input: input("")}, content); got.PageCount != pages || len(got.Pages) != pages {
		t.Errorf("the text of %d pages, want %d", len(got.Pages), pages)
	}
	if _, err := runJob(t, RasterJob.Name, RasterArgs{Input: input(""), Pages: "1", DPI: 36}, content); err != nil {
		t.Errorf("raster: %v", err)
	}
	args := stampArgs(func(a *Mark) { a.Pages = "last" })
	stamped, err := runJob(t, StampJob.Name, args, content, plate(t, green, 40, 20))
	if err != nil {
		t.Errorf("stamp: %v", err)
		return
	}
	path := pdftest.Save(t, read(t, stamped))
	if got := strings.TrimSpace(pdftest.Tool(t, "qpdf", "--no-warn", "--show-npages", path)); got != fmt.Sprint(pages) {
		t.Errorf("stamped: %s pages, want %d", got, pages)
	}
	checkLike(t, "stamp", content, path)
	if extent(draw(t, read(t, stamped), pages), green).Empty() {
		t.Error("the stamp is not seen")
	}
}

// fillAny fills the first text of a form, if there is one, and reads it again.
func fillAny(t *testing.T, content []byte, pages int) bool {
	t.Helper()
	for name, field := range readFields(t, content, "") {
		if field.Type != "text" || name == "" || (field.MaxLength != nil && *field.MaxLength < 2) {
			continue
		}
		filled := fillForm(t, form.FillArgs{Input: input(""), Values: map[string]any{name: "Žš"}}, content)
		if got := readFields(t, filled, "")[name].Value; got != "Žš" {
			t.Errorf("%s is %v, want Žš", name, got)
		}
		checkLike(t, "fill", content, pdftest.Save(t, filled))
		flat := fillForm(t, form.FillArgs{Input: input(""), Values: map[string]any{name: "Žš"}, Flatten: true}, content)
		if got := strings.TrimSpace(pdftest.Tool(t, "qpdf", "--no-warn", "--show-npages", pdftest.Save(t, flat))); got != fmt.Sprint(pages) {
			t.Errorf("flattened: %s pages, want %d", got, pages)
		}
		return true
	}
	return false
}
