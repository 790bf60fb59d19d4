package call

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf/compare"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/service/operation"
)

const (
	// maxComparedImages is the number of pages whose differences are drawn.
	maxComparedImages = 50
	// maxComparedBytes bounds these images together.
	maxComparedBytes = 32 << 20
)

// PreviewComparison holds the differences between the pages of two states of a template.
type PreviewComparison struct {
	Pages []PreviewPage
}

// PreviewPage is a page of the old state and the page of the new one that it is matched with.
type PreviewPage struct {
	Status   string // equal, changed, added or removed
	Old, New int    // numbers of the pages; 0 is none
	// Drawn means that there is an image. Equal pages have none.
	Drawn bool
	// Image shows both pages side by side with their differences, as PNG.
	Image []byte `json:"-"`
}

// ComparePreviews renders two states of a template and compares their pages, at no charge. It counts as two previews.
func (r *Runner) ComparePreviews(
	ctx context.Context, old, latest PreviewRequest,
) (made PreviewComparison, err error) {
	r.running.Add(1)
	defer r.running.Done()

	account := old.Caller.Account.ID
	for range 2 {
		verdict, err := r.limiter.Take(ctx, r.LimitKey(previewWindow.Name, account), previewWindow)
		if err != nil || !verdict.Allowed {
			return made, overPreviews(verdict, err)
		}
	}

	ctx, cancel := context.WithTimeout(ctx, r.drawTime)
	defer cancel()
	oldCall, oldEnv, err := r.bindPreview(ctx, old)
	if err != nil {
		return made, err
	}
	defer r.Free(ctx, oldCall)
	latestCall, latestEnv, err := r.bindPreview(ctx, latest)
	if err != nil {
		return made, err
	}
	defer r.Free(ctx, latestCall)

	renderer, leave, err := r.previews.enter(ctx, account)
	if err != nil {
		return made, err
	}
	defer leave()
	oldEnv.Render = renderer
	latestEnv.Render = renderer

	before, err := oldCall.Run(ctx, oldEnv)
	if err != nil {
		return made, err
	}
	defer r.Free(ctx, before.Body)
	after, err := latestCall.Run(ctx, latestEnv)
	if err != nil {
		return made, err
	}
	defer r.Free(ctx, after.Body)

	archive, err := renderer.ComparePDFs(ctx, render.PDFFile{Content: before.Body}, render.PDFFile{Content: after.Body}, compare.Args{
		Threshold: operation.CompareThreshold, Output: compare.Images, MaxViews: maxComparedImages,
	})
	if err != nil {
		return made, r.notCompared(err)
	}
	defer r.Free(ctx, archive)
	return readComparison(archive, archive.Size())
}

// notCompared returns the error of a comparison that the document caused.
func (r *Runner) notCompared(err error) error {
	var failed *job.Error
	switch {
	case errors.As(err, &failed) && failed.Kind == job.OverLimit:
		return &wire.Error{
			Code: wire.ProcessingFailed, Cause: err,
			Message: fmt.Sprintf("The pages cannot be compared: a version has more than %d pages.",
				compare.MaxPages),
		}
	case errors.Is(err, context.DeadlineExceeded):
		return &wire.Error{
			Code: wire.ProcessingFailed, Cause: err,
			Message: fmt.Sprintf("Rendering and comparing the pages took longer than %v. Shorten the document.",
				r.drawTime),
		}
	}
	return err
}

// ownPartials are the templates of an account with the partials of a version.
type ownPartials struct {
	operation.Templates

	partials map[string]string
}

// Partials returns the partials of the version.
func (t ownPartials) Partials(context.Context) (map[string]string, error) { return t.partials, nil }

// readComparison reads the archive of a comparison: an image for each page that is drawn, in order, and the report.
func readComparison(archive io.ReaderAt, size int64) (made PreviewComparison, err error) {
	files, err := zip.NewReader(archive, size)
	if err != nil {
		return made, err
	}
	images := files.File[:max(0, len(files.File)-1)]
	text, err := readZipped(files.File[len(images)])
	if err != nil {
		return made, err
	}

	var report compare.Comparison
	if err := json.Unmarshal(text, &report); err != nil {
		return made, err
	}

	remaining := maxComparedBytes
	for _, found := range report.Pages {
		page := PreviewPage{Status: found.Status}
		if found.OldPage != nil {
			page.Old = *found.OldPage
		}
		if found.NewPage != nil {
			page.New = *found.NewPage
		}

		if found.Status != "equal" && len(images) > 0 {
			if images[0].UncompressedSize64 <= uint64(remaining) {
				page.Drawn = true
				if page.Image, err = readZipped(images[0]); err != nil {
					return made, err
				}
				remaining -= len(page.Image)
			}
			images = images[1:]
		}
		made.Pages = append(made.Pages, page)
	}

	return made, nil
}
