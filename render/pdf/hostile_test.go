package pdf

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/compare"
	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/pdftag"
	"github.com/relaypdf/relaypdf/render/spool"
)

// hostile are documents that try to keep their reader busy for ever.
func hostile() map[string][]byte {
	loop := linked()
	loop.Objects[1] = "<< /Title (Start) /Parent 100 0 R /First 101 0 R /Last 101 0 R /Next 101 0 R /Dest [10 0 R /Fit] >>"
	tree := three()
	tree.Catalog = "/Names << /Dests 100 0 R >>"
	tree.Objects = []string{"<< /Kids [100 0 R 100 0 R] /Names [(a) 100 0 R] >>"}
	tree.Annots = map[int]string{0: "<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /Dest (a) >>"}
	nested := three()
	nested.Objects = []string{strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), strings.Repeat("<</Dest", 5_000)}
	pages := three().Write()
	kids := strings.Repeat("10 0 R ", 10_000)
	lie := strings.Replace(string(pages), "/Kids [", "/Kids ["+strings.Repeat("10 0 R ", 1000), 1)
	return map[string][]byte{
		"outline loop":   loop.Write(),
		"name tree loop": tree.Write(),
		"nesting":        nested.Write(),
		"page tree loop": []byte(strings.Replace(string(pages), "/Kids [10 0 R", "/Kids [2 0 R", 1)),
		"many pages":     []byte(strings.NewReplacer("/Kids [", "/Kids ["+kids, "/Count 3", "/Count 10003").Replace(string(pages))),
		"lying count":    []byte(lie),
		"huge count":     []byte(strings.Replace(lie, "/Count 3", "/Count 2000000000", 1)),
		"negative count": []byte(strings.Replace(string(pages), "/Count 3", "/Count -3", 1)),
		"empty":          []byte("%PDF-1.7\n%%EOF"),
		"endless xref":   append(append([]byte{}, pages...), strings.Repeat("startxref\n0\n%%EOF\n", 2000)...),
	}
}

// jobsOnOne are all jobs that take one document, with arguments that fit any.
func jobsOnOne() map[string]any {
	all := Selection{Input: input("")}
	first := Selection{Input: input(""), Pages: "1"}
	return map[string]any{
		InfoJob.Name: input(""), CompressJob.Name: input(""), UnlockJob.Name: input(""), ExtractJob.Name: first, DeletePagesJob.Name: first,
		RotateJob.Name: RotateArgs{all, 90}, ProtectJob.Name: ProtectArgs{Input: input(""), UserPassword: "u", OwnerPassword: "o"},
		BookmarksJob.Name: Outline{Input: input(""), Bookmarks: []Bookmark{{Title: "x", Page: 1}}},
		MergeJob.Name:     MergeArgs{Inputs: []MergeInput{{Input: input("")}, {Input: input("")}}},
		MeasureJob.Name:   MergeArgs{Inputs: []MergeInput{{Input: input("")}, {Input: input("")}}},
		RasterJob.Name:    RasterArgs{Input: input(""), Pages: "1", DPI: 36}, TextJob.Name: TextArgs{Input: input("")},
		form.FieldsJob.Name: form.FieldsArgs{Input: input("")},
		RepairJob.Name:      input(""), TestMarkJob.Name: input(""), CropJob.Name: CropArgs{Selection: first, Box: &CropBox{Width: 50, Height: 50}},
		OptimizeJob.Name:      OptimizeArgs{Input: input(""), Linearize: true, Quality: 50, MaxDPI: 72, Gray: true},
		ResizeJob.Name:        ResizeArgs{Selection: all, Width: 595, Height: 842},
		NUpJob.Name:           NUpArgs{Selection: all, PerSheet: 2, Width: 595, Height: 842},
		BookletJob.Name:       BookletArgs{Input: all.Input, PerSheet: 2, Width: 595, Height: 842},
		SplitJob.Name:         SplitArgs{Input: input(""), Every: 2},
		MetadataJob.Name:      input(""),
		VerifyJob.Name:        VerifyArgs{Input: input("")},
		SealJob.Name:          SealArgs{Input: input("")},
		SetMetadataJob.Name:   MetadataArgs{Input: input(""), Set: map[string]string{"/Title": "x"}, RemoveAll: true},
		OverlayJob.Name:       OverlayArgs{Input: input(""), Overlay: input(""), Repeat: "1-"},
		ExtractImagesJob.Name: ExtractImagesArgs{Selection: all}, AttachmentsJob.Name: input(""), DetachJob.Name: NamedAttachments{Input: input("")},
		AttachJob.Name: AttachArgs{Input: input(""), Files: []NewAttachment{{File: inputName(0), Filename: "itself.pdf"}}}, RemoveAttachmentsJob.Name: NamedAttachments{Input: input("")},
		archive.Job.Name:      archive.Args{Input: input(""), Level: archive.Level3B},
		archive.ClaimJob.Name: archive.CheckArgs{Input: input(""), Level: archive.Level3B},
		redact.Job.Name:       redact.Args{Input: input(""), Terms: []string{"alpha", "start"}, Areas: []redact.Area{{Page: 1, X: 10, Y: 10, Width: 40, Height: 40}}},
		StandardsJob.Name:     StandardsArgs{Input: input(""), Options: pdftag.Options{Standards: []pdffile.Standard{pdffile.UA1, pdffile.A2B}}},
		compare.Job.Name:      compare.Args{Old: input(""), New: input(""), Ignore: []compare.IgnoredArea{{Page: 1, X: 5, Y: 5, Width: 9, Height: 9}}, Output: compare.Images},
		CheckJob.Name:         CheckArgs{Input: input(""), Standards: pdffile.Standards()},
		MarkdownJob.Name:      MarkdownArgs{Selection: first, Languages: []string{"eng"}},
		OCRJob.Name:           OCRArgs{Selection: first, Languages: []string{"eng"}, Force: true, Turn: true, Straighten: true},
		InvoiceReadJob.Name:   input(""), InvoiceJob.Name: InvoiceArgs{Input: input(""), XML: inputName(1), Compare: true},
		form.FillJob.Name: form.FillArgs{Input: input(""), Values: map[string]any{"name": "x"}, Flatten: true},
	}
}

// attempt gives a document to a job. The error is nil or an *Error, and the
// child has lived through it: anything else fails the test.
func attempt(t *testing.T, jobName string, args any, content []byte) (engine.Result, *job.Error) {
	t.Helper()
	const patience = 2 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result, err := pool.Run(ctx, engine.Job{
		Name: jobName, Args: args,
		Files: []engine.File{{Name: inputName(0), Content: spool.FromBytes(content)}, {Name: inputName(1), Content: spool.FromBytes([]byte(smallInvoice))}},
	})
	t.Cleanup(func() { _ = result.Close() })
	if errors.Is(err, engine.ErrCrashed) {
		t.Fatalf("%s took the engine with it: %v", jobName, err)
	}
	var failed *job.Error
	if err = job.FromJob(err); err != nil && !errors.As(err, &failed) {
		t.Fatalf("%s: error %v, want a result or an *Error", jobName, err)
	}
	return result, failed
}

// TestHostileDocuments gives them to every job. Each ends in time, with a
// result or in words, and leaves the engines in order.
func TestHostileDocuments(t *testing.T) {
	sharedtest.Slow(t)
	t.Run("jobs", func(t *testing.T) {
		for name, content := range hostile() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for jobName, args := range jobsOnOne() {
					result, failed := attempt(t, jobName, args, content)
					if failed == nil && len(result.Body) == 0 && (result.Output(0) == nil || result.Output(0).Size() == 0) {
						t.Errorf("%s: an empty result", jobName)
					}
				}
			})
		}
	})
	got := makeOne(t, ExtractJob.Name, Selection{Input: input(""), Pages: "2"}, three().Write())
	if texts, want := pageTexts(t, got, ""), []string{"beta"}; !reflect.DeepEqual(texts, want) {
		t.Errorf("afterwards: pages %q, want %q", texts, want)
	}
}

// TestOutlineLoop gives a document that qpdf reads until its memory is full to
// the jobs that read outlines. Several of them at a time must not fill that of
// the child.
func TestOutlineLoop(t *testing.T) {
	sharedtest.Slow(t)
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	content, jobs := hostile()["outline loop"], jobsOnOne()
	four := make([]MergeInput, 4)
	for i := range four {
		four[i].Input = input("")
	}
	for jobName, args := range map[string]any{
		ExtractJob.Name: jobs[ExtractJob.Name], DeletePagesJob.Name: jobs[DeletePagesJob.Name], BookmarksJob.Name: jobs[BookmarksJob.Name], MergeJob.Name: MergeArgs{Inputs: four},
	} {
		if _, failed := attempt(t, jobName, args, content); failed == nil || failed.Kind != job.Exhausted {
			t.Errorf("%s: got %v, want %s", jobName, failed, job.Exhausted)
		}
	}
}

// FuzzDocuments sends mutated documents to the job that reads most of them. A document that
// needs too much is refused by its child process, which continues.
func FuzzDocuments(f *testing.F) {
	f.Add(three().Write())
	f.Add(linked().Write())
	for _, content := range hostile() {
		if len(content) < 10_000 {
			f.Add(content)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		attempt(t, MergeJob.Name, jobsOnOne()[MergeJob.Name], content)
	})
}
