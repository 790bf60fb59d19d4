package operation

import (
	"context"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/service/schema"
)

// cropInput is the input of pdf.crop.
type cropInput struct {
	schema.Common
	Described
	PDFSource

	Pages   Pages    `json:"pages,omitzero" jsonschema_description:"Pages to crop: text such as 1-3,5, 7- (to the end), even, odd or last, or an array of page numbers. Default: all."`
	Box     *CropBox `json:"box,omitempty" jsonschema_description:"Part of each page to keep, from the top left of the page as displayed. Send exactly one of box and margins."`
	Margins *Margin  `json:"margins,omitempty" jsonschema_description:"Width to cut off at each side of a page as displayed."`
}

// CropBox is a part of a page in points.
type CropBox struct {
	X      float64 `json:"x" jsonschema:"required,minimum=0,maximum=14400" jsonschema_description:"Distance from the left side of the page in points."`
	Y      float64 `json:"y" jsonschema:"required,minimum=0,maximum=14400" jsonschema_description:"Distance from the top of the page in points."`
	Width  float64 `json:"width" jsonschema:"required,minimum=3,maximum=14400" jsonschema_description:"Width in points."`
	Height float64 `json:"height" jsonschema:"required,minimum=3,maximum=14400" jsonschema_description:"Height in points."`
}

// JSONSchemaExtend adds rules of several members to the schema.
func (in cropInput) JSONSchemaExtend(doc *jsonschema.Schema) {
	in.FileSource.JSONSchemaExtend(doc)
	schema.AddRules(doc, schema.ExactlyOne("box", "margins"))
}

// Validate checks the rules that the schema cannot express.
func (in *cropInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	in.Pages.check(&faults, "pages")

	switch {
	case in.Box == nil && in.Margins == nil:
		faults.AddSentence(
			"No crop area given. Send exactly one of box, margins",
			"box", "is required without margins. Send exactly one of box, margins",
		)
	case in.Box != nil && in.Margins != nil:
		addExclusive(&faults, "box", "margins", "box, margins")
	case in.Margins != nil:
		before := len(faults)
		if in.margin(&faults) == (images.Margin{}) && len(faults) == before {
			faults.Add("margins", "must have at least one of top, right, bottom or left above 0")
		}
	}
	return failures(faults)
}

// margin returns the margin to cut off, in points, and adds errors for invalid lengths.
func (in *cropInput) margin(faults *schema.FieldErrors) images.Margin {
	side := func(name string, l Length) float64 {
		return l.check(faults, "margins."+name, bounds{0, paperBounds.high}, 0) * pointsPerInch
	}
	m := in.Margins
	return images.Margin{
		Top:    side("top", m.Top),
		Right:  side("right", m.Right),
		Bottom: side("bottom", m.Bottom),
		Left:   side("left", m.Left),
	}
}

func runCrop(ctx context.Context, deps *Deps, in *cropInput) (schema.Result, error) {
	var margin images.Margin
	if in.Margins != nil {
		var checked schema.FieldErrors // by Validate, which found none
		margin = in.margin(&checked)
	}

	field := "margins"
	if in.Box != nil {
		field = "box"
	}

	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		args := pdf.CropArgs{Selection: selection(file, in.Pages), Box: (*pdf.CropBox)(in.Box), Margin: margin}
		cropped, err := render.RunFile(ctx, deps.Render, pdf.CropJob, args, file.File())
		return pdfResult("cropped")(cropped, offPage(err, field))
	})
}
