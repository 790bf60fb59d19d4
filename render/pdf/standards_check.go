package pdf

import (
	"context"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdfcheck"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// CheckArgs are the arguments of a CheckJob, whose result is a pdfcheck.Report.
type CheckArgs struct {
	job.Input

	Standards []pdffile.Standard
	// VeraPDF means that veraPDF checks the document, if it is installed.
	VeraPDF bool
}

// CheckJob checks a PDF by standards.
var CheckJob = job.Define("pdf.check", engine.MakeTime, checkStandards)

// checkStandards checks a document by standards.
func checkStandards(ctx context.Context, w *engine.Work, args CheckArgs) (pdfcheck.Report, error) {
	d, err := job.OpenOne(ctx, w, args.Input)
	if err != nil {
		return pdfcheck.Report{}, err
	}

	original := *d
	original.Name = args.Name
	var src pdfcheck.Source
	if src.Original, err = original.Content(); err != nil {
		return pdfcheck.Report{}, err
	}
	if src.File, err = d.ReadFile(ctx); err != nil {
		return pdfcheck.Report{}, err
	}

	if encrypted := src.File.Trailer("/Encrypt"); encrypted != nil {
		if src.Encrypt = src.File.Entry(encrypted); src.Encrypt == nil {
			src.Encrypt = pdffile.Dict{}
		}
	}
	if !src.File.Sound() {
		if src.File, err = d.SoundFile(ctx); err != nil {
			return pdfcheck.Report{}, err
		}
	}

	if args.VeraPDF {
		// It cannot open encrypted documents, whose own results have all violations that matter.
		if report, ok, err := askVeraPDF(ctx, w, args.Name, args.Standards); err != nil || ok {
			return report, err
		}
	}

	src.Copied = d.Name != args.Name
	return pdfcheck.Check(src, args.Standards), nil
}
