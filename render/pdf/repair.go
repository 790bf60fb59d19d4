package pdf

import (
	"context"

	"github.com/relaypdf/relaypdf/render/engine"
)

// RepairJob rewrites a PDF from the objects that can be read.
var RepairJob = defineFile("pdf.repair", engine.ChangeTime, repair)

// repair rewrites a document from the parts that qpdf or else MuPDF can read.
func repair(ctx context.Context, w *engine.Work, args Input) error {
	return writeWhole(ctx, w, args, qpdfJob{})
}
