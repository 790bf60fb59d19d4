package operation

import (
	"cmp"
	"context"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/service/schema"
)

// resizeInput is the input of pdf.resize.
type resizeInput struct {
	schema.Common
	Described
	PDFSource

	Pages     Pages       `json:"pages,omitzero" jsonschema_description:"Pages to resize: text such as 1-3,5, 7- (to the end), even, odd or last, or an array of page numbers. Default: all."`
	Format    PaperFormat `json:"format,omitempty" jsonschema_description:"Paper format, case-insensitive: Letter, Legal, Tabloid, Ledger or A0 to A6. Send format, or width and height."`
	Width     Length      `json:"width,omitzero" jsonschema_description:"Page width as displayed: a number of CSS pixels, or a string with a unit (px, in, cm, mm, pt). From 0.1in to 200in. Requires height."`
	Height    Length      `json:"height,omitzero" jsonschema_description:"Page height as displayed, in the same form as width. Requires width."`
	Landscape bool        `json:"landscape,omitempty" jsonschema:"default=false" jsonschema_description:"If true, swap the width and the height of the paper."`
	Fit       string      `json:"fit,omitempty" jsonschema:"enum=contain,enum=fill,default=contain" jsonschema_description:"Fit of a page on the new paper. contain: show the whole page as large as possible. fill: stretch the page."`
}

// JSONSchemaExtend adds rules of several members to the schema.
func (in resizeInput) JSONSchemaExtend(doc *jsonschema.Schema) {
	in.FileSource.JSONSchemaExtend(doc)
	schema.AddRules(doc, schema.ExactlyOne("format", "width"), schema.Requires("width", "height"), schema.Requires("height", "width"))
}

// Validate checks the rules that the schema cannot express.
func (in *resizeInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	in.Pages.check(&faults, "pages")
	in.sheet(&faults)
	return failures(faults)
}

// sheet returns the size of the pages, and adds a validation error for an invalid one.
func (in *resizeInput) sheet(faults *schema.FieldErrors) paper {
	if in.Format != "" && (!in.Width.IsZero() || !in.Height.IsZero()) {
		faults.Add("format", "is mutually exclusive with width and height")
	}
	if in.Format == "" && in.Width.IsZero() && in.Height.IsZero() {
		faults.AddSentence(
			"No size given. Send format, or width and height",
			"format", "is required without width and height",
		)
	}
	size := sheet(faults, "", in.Format, in.Width, in.Height)
	if in.Landscape {
		size.width, size.height = size.height, size.width
	}
	return size
}

func runResize(ctx context.Context, deps *Deps, in *resizeInput) (schema.Result, error) {
	var checked schema.FieldErrors // by Validate, which found none
	size := in.sheet(&checked)
	args := pdf.ResizeArgs{
		Width:  size.width * pointsPerInch,
		Height: size.height * pointsPerInch,
		Fit:    images.Fit(cmp.Or(in.Fit, string(images.Contain))),
	}

	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		args.Selection = selection(file, in.Pages)
		return pdfResult("resized")(render.RunFile(ctx, deps.Render, pdf.ResizeJob, args, file.File()))
	})
}
