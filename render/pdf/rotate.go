package pdf

import (
	"context"
	"fmt"

	"github.com/relaypdf/relaypdf/render/engine"
)

// Rotation is the arguments of RotateJob: Degrees is clockwise, a multiple of
// 90 that is not zero.
type Rotation struct {
	Selection
	Degrees int
}

// RotateJob turns pages clockwise.
var RotateJob = defineFile("pdf.rotate", engine.ChangeTime, rotate)

// rotate turns pages, in addition to the rotation that they have.
func rotate(ctx context.Context, w *engine.Work, args Rotation) error {
	if args.Pages == "" {
		return writeWhole(ctx, w, args.Input, qpdfJob{"rotate": fmt.Sprintf("%+d", args.Degrees)})
	}
	doc, err := openOne(ctx, w, args.Input)
	if err != nil {
		return err
	}
	numbers, err := doc.resolve(args.Pages)
	if err != nil {
		return err
	}
	if err := checkPages(doc.pages); err != nil {
		return err
	}
	// qpdf would turn a page that is named twice only once, but takes longer.
	turns := fmt.Sprintf("%+d:%s", args.Degrees, rangeText(unique(numbers)))
	return doc.write(ctx, qpdfJob{"rotate": turns})
}
