package operation

import (
	"errors"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/service/schema"
)

// Standard is a standard that a PDF can conform to.
type Standard string

// JSONSchema lists the standards.
func (Standard) JSONSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, standard := range pdffile.Standards() {
		s.Enum = append(s.Enum, string(standard))
	}
	return s
}

// StandardsOptions are the options of operations whose result can conform to standards.
type StandardsOptions struct {
	Standards       []Standard `json:"standards,omitempty" jsonschema:"minItems=1,maxItems=4" jsonschema_description:"Standards to conform to, with levels of one part of PDF/A (1, 2 or 3) only. The PDF gets the structure for screen readers. Warnings with the code standard_unmet name the errors that prevent it from claiming a standard."`
	StandardsStrict bool       `json:"standardsStrict,omitempty" jsonschema:"default=false" jsonschema_extras:"x-requires=standards" jsonschema_description:"If true, a document that breaks a standard fails the call, at no charge."`
}

// checkStandards faults standards that no file can claim together.
func (o *StandardsOptions) checkStandards(faults *schema.FieldErrors, hasInvoice bool) {
	if o.StandardsStrict && len(o.Standards) == 0 {
		faults.Add("options.standardsStrict", "requires options.standards")
	}

	parts := map[int]bool{}
	for _, s := range wanted(o.Standards) {
		if s.Part() > 0 {
			parts[s.Part()] = true
		}
	}

	if hasInvoice && (parts[1] || parts[2]) {
		faults.Add("options.standards", "must contain levels of PDF/A-3 only with options.facturx")
	}
	if len(parts) > 1 {
		faults.Add("options.standards", "must contain levels of one part of PDF/A only; got levels of several parts")
	}
}

// wanted returns standards in the renderer's type.
func wanted(list []Standard) []pdffile.Standard {
	var standards []pdffile.Standard
	for _, s := range list {
		standards = append(standards, pdffile.Standard(s))
	}
	return standards
}

// standardsFailure returns the error for a document that does not conform to the standards of standardsStrict.
func standardsFailure(err error) *wire.Error {
	var unmet *render.StandardError
	if !errors.As(err, &unmet) {
		return nil
	}
	e := &wire.Error{
		Code:    wire.InvalidRequest,
		Message: "The document does not conform to options.standards: " + unmet.Faults[0].Message,
	}
	for _, fault := range unmet.Faults {
		e.Details = append(e.Details, wire.Detail{Field: "options.standards", Message: fault.Message})
	}
	return e
}
