package operation

import (
	"context"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
)

// ocrPrice is the price of pdf.ocr, however many pages it reads.
const ocrPrice = 10_000 * credit.Microdollar

// ocrInput is the input of pdf.ocr.
type ocrInput struct {
	schema.Common
	Described
	PDFSource

	Languages []ocrLanguage `json:"languages,omitempty" jsonschema:"minItems=1,maxItems=5" jsonschema_description:"Languages of the text: eng (default), deu, fra, or any other installed language. Fewer languages are faster and more accurate."`
	Pages     Pages         `json:"pages,omitzero" jsonschema_description:"Pages to read, 50 at most: text such as 1-3,5, 7- (to the end), even, odd or last, or an array of page numbers. Default: all."`
	Force     bool          `json:"force,omitempty" jsonschema:"default=false" jsonschema_description:"If true, also read pages that have text. Words that the text layer already has are not added again."`
	Rotate    *bool         `json:"rotate,omitempty" jsonschema:"default=true" jsonschema_description:"If true, turn pages upright."`
	Deskew    *bool         `json:"deskew,omitempty" jsonschema:"default=true" jsonschema_description:"If true, straighten skewed pages without rendering them again. Pages with links or fields are left unchanged."`
	Output    string        `json:"output,omitempty" jsonschema:"enum=pdf,enum=text,default=pdf" jsonschema_description:"Form of the result. text: JSON with the words and their positions. pdf: the document with searchable text; it looks the same apart from straightened pages."`
}

// ocrLanguage is one that tesseract knows, such as eng.
type ocrLanguage string

// JSONSchema bounds a language.
func (ocrLanguage) JSONSchema() *jsonschema.Schema {
	minimum := uint64(3)
	maximum := uint64(20)
	return &jsonschema.Schema{Type: "string", MinLength: &minimum, MaxLength: &maximum, Pattern: "^[a-z]{3}(_[A-Za-z]+)*$"}
}

// languages returns the names of the languages to read, English for none.
func languages(list []ocrLanguage) []string {
	if len(list) == 0 {
		return []string{"eng"}
	}
	names := make([]string, len(list))
	for i, language := range list {
		names[i] = string(language)
	}
	return names
}

// textOutput is the output that is not a PDF.
const textOutput = "text"

// Validate checks the rules that the schema cannot express.
func (in *ocrInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	in.Pages.check(&faults, "pages")
	if in.Metadata != (Metadata{}) && in.Output == textOutput {
		faults.Add("metadata", "requires output pdf; got text")
	}
	return failures(faults)
}

func runOCR(ctx context.Context, deps *Deps, in *ocrInput) (schema.Result, error) {
	args := pdf.OCRArgs{
		Languages: languages(in.Languages), Force: in.Force, Text: in.Output == textOutput,
		Turn: either(in.Rotate, true), Straighten: either(in.Deskew, true),
	}
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		args.Selection = selection(file, in.Pages)
		read, err := render.RunFile(ctx, deps.Render, pdf.OCRJob, args, file.File())
		if err != nil || !args.Text {
			return pdfResult("searchable")(read, err)
		}
		return schema.Result{Stem: "text", Extension: ".json", ContentType: "application/json", Body: read}, nil
	})
}
