package operation

import (
	"cmp"
	"context"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf/compare"
	"github.com/relaypdf/relaypdf/service/schema"
)

// compareInput is the input of pdf.compare.
type compareInput struct {
	schema.Common

	Files     []ComparedFile   `json:"files" jsonschema:"required,minItems=2,maxItems=2" jsonschema_description:"The old PDF and the new PDF, at most 500 pages each."`
	Output    string           `json:"output,omitempty" jsonschema:"enum=json,enum=pdf,enum=images,default=json" jsonschema_description:"Form of the result. json: status, areas and text differences of each page. pdf: the pages that differ, old and new side by side, with the differences marked. images: a ZIP archive of the same views as PNG, and comparison.json."`
	Ignore    []IgnoredArea    `json:"ignore,omitempty" jsonschema:"minItems=1,maxItems=200" jsonschema_description:"Parts of pages that are not compared, such as a date, measured on the page as displayed."`
	Tolerance CompareTolerance `json:"tolerance,omitzero" jsonschema_description:"Differences that do not count."`
}

// ComparedFile is one of two PDFs.
type ComparedFile struct {
	FileItem

	Password string `json:"password,omitempty" jsonschema:"maxLength=127" jsonschema_description:"User or owner password that opens this PDF, if it is encrypted."`
}

// IgnoredArea is a part of a page in points, or of all pages.
type IgnoredArea struct {
	Page   int     `json:"page,omitempty" jsonschema:"minimum=1,maximum=500" jsonschema_description:"Number of the page in the old PDF, from 1. Default: all pages, added ones included."`
	X      float64 `json:"x" jsonschema:"required,minimum=0,maximum=14400" jsonschema_description:"Distance from the left side of the page in points."`
	Y      float64 `json:"y" jsonschema:"required,minimum=0,maximum=14400" jsonschema_description:"Distance from the top of the page in points."`
	Width  float64 `json:"width" jsonschema:"required,minimum=1,maximum=14400" jsonschema_description:"Width in points."`
	Height float64 `json:"height" jsonschema:"required,minimum=1,maximum=14400" jsonschema_description:"Height in points."`
}

// CompareTolerance holds the differences that do not count.
type CompareTolerance struct {
	Threshold         *float64 `json:"threshold,omitempty" jsonschema:"minimum=0,maximum=1,default=0.02" jsonschema_description:"Perceived colour difference (YIQ) up to which a pixel is unchanged, from 0 (any difference counts) to 1."`
	MaxDiffPixelRatio float64  `json:"maxDiffPixelRatio,omitempty" jsonschema:"minimum=0,maximum=1,default=0" jsonschema_description:"Share of changed pixels up to which a page is equal, from 0 to 1."`
}

// CompareThreshold is the default of a comparison's threshold: about 5 of 255 levels of gray.
const CompareThreshold = 0.02

// Validate checks the rules that the schema cannot express.
func (in *compareInput) Validate() error {
	var faults schema.FieldErrors
	for i := range in.Files {
		at := fileAt(i)
		in.Files[i].check(&faults, at)
		checkPassword(&faults, at+"password", in.Files[i].Password)
	}
	return failures(faults)
}

// output returns the form of the result.
func (in *compareInput) output() compare.Format {
	return compare.Format(cmp.Or(in.Output, string(compare.JSON)))
}

// Produces returns the content type of the output, or of the images in an archive.
func (in *compareInput) Produces() string {
	switch in.output() {
	case compare.PDF:
		return "application/pdf"
	case compare.Images:
		return "image/png"
	case compare.JSON:
	}
	return "application/json"
}

// Admit returns an error if the queue of the file tools is full.
func (in *compareInput) Admit(deps *Deps) error { return (&PDFSource{}).Admit(deps) }

func runCompare(ctx context.Context, deps *Deps, in *compareInput) (schema.Result, error) {
	args := compare.Args{
		Threshold: CompareThreshold, MaxRatio: in.Tolerance.MaxDiffPixelRatio, Output: in.output(), TestMark: deps.Test && !deps.Inner,
	}
	if in.Tolerance.Threshold != nil {
		args.Threshold = *in.Tolerance.Threshold
	}
	for _, area := range in.Ignore {
		args.Ignore = append(args.Ignore, compare.IgnoredArea(area))
	}

	sources := placeFiles(len(in.Files), func(i int) *FileSource { return &in.Files[i].FileSource })
	return withFiles(ctx, deps, sources, func(ctx context.Context, files []openFile) (schema.Result, error) {
		opened := func(i int) render.PDFFile { return render.PDFFile{Content: files[i], Password: in.Files[i].Password} }
		made, err := deps.Render.ComparePDFs(ctx, opened(0), opened(1), args)
		if err != nil {
			return schema.Result{}, err
		}

		switch args.Output {
		case compare.PDF:
			return pdfResult("comparison")(made, nil)
		case compare.Images:
			result := zipResult("comparison", made)
			result.Marked = args.TestMark
			return result, nil
		case compare.JSON:
		}
		return schema.Result{Stem: "comparison", Extension: ".json", ContentType: "application/json", Body: made}, nil
	})
}
