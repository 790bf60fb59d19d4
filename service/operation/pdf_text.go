package operation

import (
	"context"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/service/schema"
)

// textInput is the input of pdf.text.
type textInput struct {
	schema.Common
	PDFSource

	MergePages bool `json:"mergePages,omitempty" jsonschema:"default=false" jsonschema_description:"If true, return one text with form feeds between pages, instead of one text per page."`
}

// Validate checks the rules that the schema cannot express.
func (in *textInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	return failures(faults)
}

func runText(ctx context.Context, deps *Deps, in *textInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		args := pdf.TextArgs{Input: file.Input(), Merge: in.MergePages}
		text, err := render.RunFile(ctx, deps.Render, pdf.TextJob, args, file.File())
		if err != nil {
			return schema.Result{}, err
		}
		return schema.Result{Stem: "text", Extension: ".json", ContentType: "application/json", Body: text}, nil
	})
}
