package operation

import (
	"context"
	"encoding/pem"
	"fmt"
	"strings"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
)

// verifyInput is the input of pdf.verify.
type verifyInput struct {
	schema.Common
	PDFSource

	Trust  []string `json:"trust,omitempty" jsonschema:"minItems=1,maxItems=50,maxLength=65536" jsonschema_description:"Trusted root certificates in PEM. Default: those of the server's operating system."`
	Online bool     `json:"online,omitempty" jsonschema:"default=false" jsonschema_description:"If true, ask the certificates' issuers for missing revocation status. This lasts at most 1 minute in total. An issuer without a response leaves the status unknown."`
}

// Validate checks the rules that the schema cannot express.
func (in *verifyInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	for i, text := range in.Trust {
		block, rest := pem.Decode([]byte(text))
		if block == nil || block.Type != "CERTIFICATE" || strings.TrimSpace(string(rest)) != "" {
			faults.Add(fmt.Sprintf("trust[%d]", i), "must be one certificate in PEM")
		}
	}
	return failures(faults)
}

func runVerify(ctx context.Context, deps *Deps, in *verifyInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		report, err := deps.Render.VerifyPDF(ctx, file, in.Trust, in.Online)
		result := schema.Result{Stem: "signatures", JSON: report}
		if err == nil && len(report.Signatures) == 0 {
			result.Charge = new(credit.Amount)
		}
		return result, err
	})
}
