package pdf

import (
	"context"
	"fmt"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// CropArgs are the arguments of CropJob. Either Box or Margin selects the remaining area of the pages as they are
// shown.
type CropArgs struct {
	Selection
	// Box is in points, from the top left of the page.
	Box    *CropBox
	Margin images.Margin
}

// CropBox is a part of a page, in points from its top left.
type CropBox struct{ X, Y, Width, Height float64 }

// minCropSide is the shortest side of a page that is left, in points: less could
// hardly be seen, and readers refuse it.
const minCropSide = 3

// CropJob hides the content outside of a box of pages, or in their margins.
var CropJob = job.DefineFile("pdf.crop", engine.ChangeTime, crop)

// crop makes pages smaller. Content outside is hidden, not removed.
func crop(ctx context.Context, w *engine.Work, args CropArgs) error {
	doc, s, numbers, err := openSelection(ctx, w, args.Selection)
	if err != nil {
		return err
	}

	changes := s.NewUpdate()
	for _, n := range numbers {
		ref := s.Pages[n-1].Object
		page := s.Dict(ref)
		if page == nil {
			return doc.Fail(job.Damaged, fmt.Errorf("page %d cannot be read", n))
		}

		remaining, ok := args.remaining(s.Paper(page))
		if !ok {
			return &job.Error{Kind: job.OffPage, Page: n, Text: fmt.Sprintf("leaves nothing of page %d", n)}
		}

		// All readers treat a page without these boxes alike.
		page = pdffile.Without(page, "/TrimBox", "/BleedBox", "/ArtBox")
		page["/MediaBox"] = remaining.Array()
		page["/CropBox"] = remaining.Array()
		changes.Set(ref, page)
	}

	if err := doc.Change(changes); err != nil {
		return err
	}
	return doc.Write(ctx, job.QPDFJob{})
}

// remaining returns the area of a page that a crop leaves; the second result is false if nothing is left.
func (a CropArgs) remaining(p job.Paper) (job.Box, bool) {
	// The sides that go, as the page is shown: top, right, bottom, left.
	width := (p.Box[2] - p.Box[0]) * p.Unit
	height := (p.Box[3] - p.Box[1]) * p.Unit
	if p.Turn%180 != 0 {
		width, height = height, width
	}

	cut := [4]float64{a.Margin.Top, a.Margin.Right, a.Margin.Bottom, a.Margin.Left}
	if b := a.Box; b != nil {
		cut = [4]float64{b.Y, width - b.X - b.Width, height - b.Y - b.Height, b.X}
	}
	for i := range cut {
		cut[i] = max(0, cut[i]) / p.Unit
	}

	// A page that is turned by 90 degrees shows its left side at the top.
	turned := p.Turn / 90
	side := func(i int) float64 { return cut[(i+turned)%len(cut)] }
	remaining := job.Box{p.Box[0] + side(3), p.Box[1] + side(2), p.Box[2] - side(1), p.Box[3] - side(0)}
	return remaining, remaining[2]-remaining[0] >= minCropSide/p.Unit && remaining[3]-remaining[1] >= minCropSide/p.Unit
}
