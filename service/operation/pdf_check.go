package operation

import (
	"context"
	"slices"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/service/schema"
)

// checkInput is the input of pdf.check.
type checkInput struct {
	schema.Common
	PDFSource

	Standards []Standard `json:"standards" jsonschema:"required,minItems=1,maxItems=8" jsonschema_extras:"x-unique=true" jsonschema_description:"Standards to check."`
}

// Validate checks the rules that the schema cannot express.
func (in *checkInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	for i, s := range in.Standards {
		if slices.Contains(in.Standards[:i], s) {
			faults.Add("standards", "must not list %s twice", s)
		}
	}
	return failures(faults)
}

func runCheck(ctx context.Context, deps *Deps, in *checkInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		report, err := deps.Render.CheckPDF(ctx, file, wanted(in.Standards))
		return schema.Result{Stem: "check", JSON: report}, err
	})
}
