package operation

import (
	"context"
	"slices"

	"github.com/invopop/jsonschema"

	"relaypdf/api/schema"
	"relaypdf/render"
	"relaypdf/render/pdfcheck"
)

// CheckInput is the input of pdf.check.
type CheckInput struct {
	schema.Common
	PDFSource

	Standards []CheckStandard `json:"standards" jsonschema:"required,minItems=1,maxItems=8" jsonschema_description:"Standards to check."`
}

// CheckStandard is a standard that a PDF can be checked against.
type CheckStandard string

// JSONSchema lists the standards.
func (CheckStandard) JSONSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, standard := range pdfcheck.Standards() {
		s.Enum = append(s.Enum, string(standard))
	}
	return s
}

// Validate checks the rules that the schema cannot express.
func (in *CheckInput) Validate() error {
	var faults schema.Faults
	in.validate(&faults)
	for i, s := range in.Standards {
		if slices.Contains(in.Standards[:i], s) {
			faults.Add("standards", "must not list %s twice", s)
		}
	}
	return failures(faults)
}

func runCheck(ctx context.Context, deps *Deps, in *CheckInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		var standards []pdfcheck.Standard
		for _, s := range in.Standards {
			standards = append(standards, pdfcheck.Standard(s))
		}
		report, err := deps.Render.CheckPDF(ctx, file, standards)
		return schema.Result{Stem: "check", JSON: report}, err
	})
}
