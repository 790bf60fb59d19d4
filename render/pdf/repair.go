package pdf

import (
	"context"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// RepairJob rewrites a PDF from the objects that can be read.
var RepairJob = job.DefineFile("pdf.repair", engine.ChangeTime, repair)

// repair rewrites a document from the parts that qpdf or else MuPDF can read.
func repair(ctx context.Context, w *engine.Work, args job.Input) error {
	return job.WriteWhole(ctx, w, args, job.QPDFJob{})
}
