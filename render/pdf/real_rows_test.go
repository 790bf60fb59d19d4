package pdf

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// realRows is the number of small documents from the wild that TestRowsOnRealDocuments uses.
var realRows = flag.Int("documents", 17, "how many documents TestRowsOnRealDocuments takes, and TestRedactRealDocuments twice as many; 0 takes all")

// rowOnReal is something that is done to documents from the wild. Their pages are as
// many after as before; a zip and JSON have none.
type rowOnReal struct {
	name, job string
	args      any
	plain     bool // the result is not a PDF
	// made is of how many it makes something: most have no images, and text on all of
	// their pages.
	made int
}

// rowsOnReal are the rows that TestRealDocuments, TestArchiveRealDocuments and
// TestMarkdownReal leave out.
func rowsOnReal() []rowOnReal {
	all := Selection{Input: input("")}
	return []rowOnReal{
		{"crop", CropJob.Name, CropArgs{Selection: all, Margin: images.Margin{Top: 1, Left: 1}}, false, 20},
		{"repair", RepairJob.Name, input(""), false, 20},
		{"compress-advanced", OptimizeJob.Name, OptimizeArgs{Input: input(""), Quality: 50, MaxDPI: 96}, false, 20},
		{"extract-images", ExtractImagesJob.Name, ExtractImagesArgs{Selection: all}, true, 2},
		{"overlay", OverlayJob.Name, OverlayArgs{Input: input(""), Overlay: input(""), Under: true, Repeat: "1-"}, false, 20},
		{"split", SplitJob.Name, SplitArgs{Input: input(""), Every: 2}, true, 20},
		{"attach", AttachJob.Name, AttachArgs{Input: input(""), Files: []NewAttachment{{File: inputName(1), Filename: "note.txt", ContentType: "text/plain"}}}, false, 20},
		{"ocr", OCRJob.Name, OCRArgs{Selection: all, Languages: []string{"eng"}}, false, 4},
	}
}

// TestRowsOnRealDocuments does each row to at least twenty documents that others have made, signed ones, forms and
// such of PDF 2.0 among them, and to a form made by LibreOffice.
func TestRowsOnRealDocuments(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	chosen := someDocuments(t, *realRows)
	const fewest = 20
	var mu sync.Mutex
	done, made := map[string]int{}, map[string]int{}
	t.Cleanup(func() { // when all of them are done
		for _, row := range rowsOnReal() {
			if done[row.name] < fewest || made[row.name] < row.made {
				t.Errorf("%s was done to %d documents, and made something of %d, want %d and %d", row.name, done[row.name], made[row.name], fewest, row.made)
			}
		}
	})
	for _, path := range chosen {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			content := pdftest.Load(t, path)
			result, err := runJob(t, InfoJob.Name, input(""), content)
			var failed *job.Error
			if errors.As(err, &failed) && failed.Kind != job.Exhausted {
				t.Skipf("cannot be read: %s", failed.Kind) // said in words, as TestRealDocuments sees
			}
			if err != nil {
				t.Fatal(err)
			}
			var about Info
			if err := json.Unmarshal(result.Body, &about); err != nil {
				t.Fatal(err)
			}
			for _, row := range rowsOnReal() {
				something := row.doTo(t, content, about.PageCount)
				mu.Lock()
				done[row.name]++
				if something {
					made[row.name]++
				}
				mu.Unlock()
			}
		})
	}
}

// someDocuments are some n small ones of the documents of others, and a form made by LibreOffice.
func someDocuments(t *testing.T, n int) []string {
	t.Helper()
	return append(pdftest.SomeDocuments(t, n), filepath.Join("testdata", "form.pdf"))
}

// doTo does a row to a document, and looks at what comes out. It is false where the row
// makes nothing of that, and says so in words.
func (r rowOnReal) doTo(t *testing.T, content []byte, pages int) bool {
	t.Helper()
	result, err := runJob(t, r.job, r.args, content, []byte("a note"))
	var failed *job.Error
	if errors.As(err, &failed) && failed.Kind != job.Exhausted && failed.Kind != job.Damaged {
		t.Logf("%s: %v", r.name, failed)
		return false
	}
	if err != nil {
		t.Errorf("%s: %v", r.name, err)
		return false
	}
	made := read(t, result)
	if r.plain {
		_, err := zip.NewReader(bytes.NewReader(made), int64(len(made)))
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
		return err == nil
	}
	path := pdftest.Save(t, made)
	if got := strings.TrimSpace(pdftest.Tool(t, "qpdf", "--no-warn", "--show-npages", path)); got != fmt.Sprint(pages) {
		t.Errorf("%s: %s pages, want %d", r.name, got, pages)
	}
	checkLike(t, r.name, content, path)
	if r.job == AttachJob.Name {
		checkAttached(t, made, "note.txt", "a note")
	}
	return true
}

// checkAttached finds a file in a document, takes it out, and removes it.
func checkAttached(t *testing.T, document []byte, name, content string) {
	t.Helper()
	attached := func(document []byte) bool {
		list := unmarshal[Attachments](t, result(t, AttachmentsJob.Name, input(""), document)).Attachments
		return slices.ContainsFunc(list, func(a Attachment) bool { return a.Name == name })
	}
	named := NamedAttachments{Input: input(""), Names: []string{name}}
	if !attached(document) {
		t.Errorf("%s is not listed", name)
	}
	if out, err := runJob(t, DetachJob.Name, named, document); err != nil || string(read(t, out)) != content {
		t.Errorf("%s cannot be taken out: %v", name, err)
	}
	less := makeOne(t, RemoveAttachmentsJob.Name, named, document)
	if attached(less) || strings.Contains(pdftest.Tool(t, "pdfdetach", "-list", pdftest.Save(t, less)), name) {
		t.Errorf("%s is not removed", name)
	}
}
