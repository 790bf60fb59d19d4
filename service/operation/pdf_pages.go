package operation

import (
	"context"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/service/schema"
)

// extractInput is the input of pdf.extract.
type extractInput struct {
	schema.Common
	Described
	PDFSource

	Pages Pages `json:"pages,omitzero" jsonschema_description:"Pages of the result, in this order, repeats included: text such as 1-3,5, 7- (to the end), -3 (the first three), even, odd or last, or an array of page numbers. Default: all."`
}

// Validate checks the rules that the schema cannot express.
func (in *extractInput) Validate() error { return validatePages(&in.PDFSource, in.Pages) }

// rotateInput is the input of pdf.rotate.
type rotateInput struct {
	schema.Common
	Described
	PDFSource

	Degrees int   `json:"degrees" jsonschema:"required,enum=-270,enum=-180,enum=-90,enum=90,enum=180,enum=270" jsonschema_description:"Clockwise rotation in degrees, added to the page's own rotation."`
	Pages   Pages `json:"pages,omitzero" jsonschema_description:"Pages to rotate: text such as 1-3,5, 7- (to the end), even, odd or last, or an array of page numbers. Default: all."`
}

// Validate checks the rules that the schema cannot express.
func (in *rotateInput) Validate() error { return validatePages(&in.PDFSource, in.Pages) }

// deletePagesInput is the input of pdf.delete-pages.
type deletePagesInput struct {
	schema.Common
	Described
	PDFSource

	Pages Pages `json:"pages" jsonschema:"required" jsonschema_description:"Pages to delete: text such as 1-3,5, 7- (to the end), even, odd or last, or an array of page numbers. At least one page must remain."`
}

// Validate checks the rules that the schema cannot express.
func (in *deletePagesInput) Validate() error { return validatePages(&in.PDFSource, in.Pages) }

// validatePages checks the fields that operations on pages share.
func validatePages(source *PDFSource, pages Pages) error {
	var faults schema.FieldErrors
	source.validate(&faults)
	pages.check(&faults, "pages")
	return failures(faults)
}

func runExtract(ctx context.Context, deps *Deps, in *extractInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		return pdfResult("pages")(
			render.RunFile(ctx, deps.Render, pdf.ExtractJob, selection(file, in.Pages), file.File()),
		)
	})
}

func runRotate(ctx context.Context, deps *Deps, in *rotateInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		args := pdf.RotateArgs{Selection: selection(file, in.Pages), Degrees: in.Degrees}
		return pdfResult("rotated")(render.RunFile(ctx, deps.Render, pdf.RotateJob, args, file.File()))
	})
}

func runDeletePages(ctx context.Context, deps *Deps, in *deletePagesInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		return pdfResult("pages")(
			render.RunFile(ctx, deps.Render, pdf.DeletePagesJob, selection(file, in.Pages), file.File()),
		)
	})
}
