package operation

import (
	"cmp"
	"context"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/service/schema"
)

// nUpInput is the input of pdf.nup.
type nUpInput struct {
	schema.Common
	Described
	PDFSource

	PerSheet  int         `json:"perSheet" jsonschema:"required,enum=2,enum=3,enum=4,enum=6,enum=8,enum=9,enum=12,enum=16" jsonschema_description:"Pages per sheet. relaypdf shrinks pages if necessary and never enlarges them."`
	Pages     Pages       `json:"pages,omitzero" jsonschema_description:"Pages in order, repeats included: text such as 1-3,5, 7- (to the end), even, odd or last, or an array of page numbers. Default: all."`
	Format    PaperFormat `json:"format,omitempty" jsonschema:"default=Letter" jsonschema_description:"Paper format, case-insensitive: Letter, Legal, Tabloid, Ledger or A0 to A6."`
	Landscape *bool       `json:"landscape,omitempty" jsonschema_description:"If true, use landscape sheets; if false, portrait. Default: the orientation that shows the first page larger."`
	Border    bool        `json:"border,omitempty" jsonschema:"default=false" jsonschema_description:"If true, draw a border around each page."`
	Margin    Length      `json:"margin,omitzero" jsonschema_description:"Space around each page: a number of CSS pixels, or a string with a unit (px, in, cm, mm, pt). Default: 0."`
	Order     string      `json:"order,omitempty" jsonschema:"enum=row,enum=column,default=row" jsonschema_description:"Order of the pages on a sheet. row: fill rows first. column: fill columns first."`
}

// Validate checks the rules that the schema cannot express.
func (in *nUpInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	in.Pages.check(&faults, "pages")
	in.sheets(&faults)
	return failures(faults)
}

// minPage is the shortest side of the room that a margin leaves to a page, in inches.
const minPage = 0.1

// sheets returns the layout of pages on sheets, and adds errors for an invalid one.
func (in *nUpInput) sheets(faults *schema.FieldErrors) pdf.NUpArgs {
	size := sheetPaper(faults, in.Format)
	margin := in.Margin.check(faults, "margin", bounds{0, paperBounds.high}, 0) * pointsPerInch
	room := paper{paperBounds.high, paperBounds.high}

	for _, landscape := range []bool{false, true} {
		if in.Landscape == nil || *in.Landscape == landscape {
			width, height := pdf.NUpCell(in.PerSheet, size.width, size.height, landscape)
			room = paper{min(room.width, width/pointsPerInch), min(room.height, height/pointsPerInch)}
		}
	}

	if minimum := min(room.width, room.height); size != (paper{}) && minimum-2*margin/pointsPerInch < minPage {
		faults.Add(
			"margin", "must be less than %s with %d pages per sheet",
			in.Margin.text((minimum-minPage)/2), in.PerSheet,
		)
	}

	return pdf.NUpArgs{
		PerSheet: in.PerSheet, Width: size.width, Height: size.height, Landscape: in.Landscape,
		Border: in.Border, Margin: margin, Columns: in.Order == "column",
	}
}

// sheetPaper returns the paper of a format in points, and adds a validation error for an unknown one.
func sheetPaper(faults *schema.FieldErrors, format PaperFormat) paper {
	size := sheet(faults, "", cmp.Or(format, "Letter"), Length{}, Length{})
	return paper{size.width * pointsPerInch, size.height * pointsPerInch}
}

func runNUp(ctx context.Context, deps *Deps, in *nUpInput) (schema.Result, error) {
	var checked schema.FieldErrors // by Validate, which found none
	args := in.sheets(&checked)
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		args.Selection = selection(file, in.Pages)
		return changedResult("sheets")(render.RunBoth(ctx, deps.Render, pdf.NUpJob, args, file.File()))
	})
}

// bookletInput is the input of pdf.booklet.
type bookletInput struct {
	schema.Common
	Described
	PDFSource

	PerSheet int         `json:"perSheet,omitempty" jsonschema:"enum=2,enum=4,default=2" jsonschema_description:"Pages per side of a sheet. With 4, cut each sheet in two before folding."`
	Format   PaperFormat `json:"format,omitempty" jsonschema:"default=Letter" jsonschema_description:"Paper format, case-insensitive: Letter, Legal, Tabloid, Ledger or A0 to A6."`
	Binding  string      `json:"binding,omitempty" jsonschema:"enum=long,enum=short,default=long" jsonschema_description:"Bound edge of the pages. long: the left edge of portrait pages. short: their top edge."`
	Guides   bool        `json:"guides,omitempty" jsonschema:"default=false" jsonschema_description:"If true, draw fold lines (dashed) and cut lines."`
}

// Validate checks the rules that the schema cannot express.
func (in *bookletInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	sheetPaper(&faults, in.Format)
	return failures(faults)
}

func runBooklet(ctx context.Context, deps *Deps, in *bookletInput) (schema.Result, error) {
	var checked schema.FieldErrors // by Validate, which found none
	size := sheetPaper(&checked, in.Format)
	args := pdf.BookletArgs{
		PerSheet: cmp.Or(in.PerSheet, 2),
		Width:    size.width,
		Height:   size.height,
		Short:    in.Binding == "short",
		Guides:   in.Guides,
	}
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		args.Input = file.Input()
		return changedResult("booklet")(render.RunBoth(ctx, deps.Render, pdf.BookletJob, args, file.File()))
	})
}
