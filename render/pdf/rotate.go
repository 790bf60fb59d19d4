package pdf

import (
	"context"
	"fmt"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// RotateArgs is the arguments of RotateJob: Degrees is clockwise, a multiple of
// 90 that is not zero.
type RotateArgs struct {
	Selection
	Degrees int
}

// RotateJob turns pages clockwise.
var RotateJob = job.DefineFile("pdf.rotate", engine.ChangeTime, rotate)

// rotate turns pages, in addition to the rotation that they have.
func rotate(ctx context.Context, w *engine.Work, args RotateArgs) error {
	if args.Pages == "" {
		return job.WriteWhole(ctx, w, args.Input, job.QPDFJob{"rotate": fmt.Sprintf("%+d", args.Degrees)})
	}
	doc, err := job.OpenOne(ctx, w, args.Input)
	if err != nil {
		return err
	}
	numbers, err := doc.Resolve(args.Pages)
	if err != nil {
		return err
	}
	if err := job.CheckPages(doc.Pages); err != nil {
		return err
	}
	// qpdf would turn a page that is named twice only once, but takes longer.
	turns := fmt.Sprintf("%+d:%s", args.Degrees, job.RangeText(job.Unique(numbers)))
	return doc.Write(ctx, job.QPDFJob{"rotate": turns})
}
