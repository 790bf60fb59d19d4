package pdf

import (
	"context"
	"fmt"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// CropArgs are the arguments of CropJob. Either Box or Margin selects the remaining area of the pages as they are
// shown.
type CropArgs struct {
	Selection
	// Box is in points, from the top left of the page.
	Box    *CropBox
	Margin Margin
}

// CropBox is a part of a page, in points from its top left.
type CropBox struct{ X, Y, Width, Height float64 }

// minCropSide is the shortest side of a page that is left, in points: less could
// hardly be seen, and readers refuse it.
const minCropSide = 3

// CropJob hides the content outside of a box of pages, or in their margins.
var CropJob = defineFile("pdf.crop", engine.ChangeTime, crop)

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
			return doc.fail(Damaged, fmt.Errorf("page %d cannot be read", n))
		}

		remaining, ok := args.remaining(s.paper(page))
		if !ok {
			return &Error{Kind: OffPage, Page: n, Text: fmt.Sprintf("leaves nothing of page %d", n)}
		}

		// All readers treat a page without these boxes alike.
		page = pdffile.Without(page, "/TrimBox", "/BleedBox", "/ArtBox")
		page["/MediaBox"] = remaining.array()
		page["/CropBox"] = remaining.array()
		changes.Set(ref, page)
	}

	if err := doc.change(changes); err != nil {
		return err
	}
	return doc.write(ctx, qpdfJob{})
}

// remaining returns the area of a page that a crop leaves; the second result is false if nothing is left.
func (a CropArgs) remaining(p paper) (box, bool) {
	// The sides that go, as the page is shown: top, right, bottom, left.
	width := (p.box[2] - p.box[0]) * p.unit
	height := (p.box[3] - p.box[1]) * p.unit
	if p.turn%180 != 0 {
		width, height = height, width
	}

	cut := [4]float64{a.Margin.Top, a.Margin.Right, a.Margin.Bottom, a.Margin.Left}
	if b := a.Box; b != nil {
		cut = [4]float64{b.Y, width - b.X - b.Width, height - b.Y - b.Height, b.X}
	}
	for i := range cut {
		cut[i] = max(0, cut[i]) / p.unit
	}

	// A page that is turned by 90 degrees shows its left side at the top.
	turned := p.turn / 90
	side := func(i int) float64 { return cut[(i+turned)%len(cut)] }
	remaining := box{p.box[0] + side(3), p.box[1] + side(2), p.box[2] - side(1), p.box[3] - side(0)}
	return remaining, remaining[2]-remaining[0] >= minCropSide/p.unit && remaining[3]-remaining[1] >= minCropSide/p.unit
}
