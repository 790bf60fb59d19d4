package operation

import (
	"context"
	_ "embed"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/service/schema"
)

// PDFFileInput is the input of the operations that take a PDF and nothing more.
type PDFFileInput struct {
	schema.Common
	PDFSource
}

// Validate checks the rules that the schema cannot express.
func (in *PDFFileInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	return failures(faults)
}

// compressInput is the input of pdf.compress.
type compressInput struct {
	PDFFileInput
	Described
}

func runCompress(ctx context.Context, deps *Deps, in *compressInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		return pdfResult("compressed")(render.RunFile(ctx, deps.Render, pdf.CompressJob, file.Input(), file.File()))
	})
}

func runInfo(ctx context.Context, deps *Deps, in *PDFFileInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		info, err := deps.Render.DescribePDF(ctx, file)
		return schema.Result{Stem: "info", JSON: info}, err
	})
}

// The documents of the table's examples.
var (
	//go:embed example/two-pages.pdf
	twoPagesPDF []byte
	//go:embed example/image.pdf
	imagePDF []byte
	//go:embed example/invoice.pdf
	invoicePDF []byte
	//go:embed example/locked.pdf
	lockedPDF []byte
	//go:embed example/form.pdf
	formPDF []byte
)

// exampleOf is a document of the examples as their source.
func exampleOf(document []byte) PDFSource {
	return PDFSource{FileSource: FileSource{File: schema.NewFile(document)}}
}

// examplePDF is a source for the examples of the table: two empty pages.
func examplePDF() PDFSource { return exampleOf(twoPagesPDF) }

// lockedPassword opens the file of exampleLocked.
const lockedPassword = "correct horse"

// exampleLocked is a source for the examples of the table: two pages that need a password.
func exampleLocked() PDFSource { return exampleOf(lockedPDF) }

// exampleFile is examplePDF as one of several files.
func exampleFile(name string) FileItem {
	return FileItem{FileSource: examplePDF().FileSource, Filename: name}
}

// exampleScan is a source for the examples of the table: a page with an image.
func exampleScan() PDFSource { return exampleOf(imagePDF) }

// exampleText is a source for the examples of the table: a page with words.
func exampleText() PDFSource { return exampleOf(invoicePDF) }

// exampleForm is a source for the examples of the table: a page with a field for text and one to choose in.
func exampleForm() PDFSource { return exampleOf(formPDF) }
