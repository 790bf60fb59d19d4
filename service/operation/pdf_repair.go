package operation

import (
	"context"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/service/schema"
)

// repairInput is the input of pdf.repair.
type repairInput struct {
	Described
	PDFFileInput
}

func runRepair(ctx context.Context, deps *Deps, in *repairInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		return pdfResult("repaired")(render.RunFile(ctx, deps.Render, pdf.RepairJob, file.Input(), file.File()))
	})
}
