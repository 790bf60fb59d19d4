package operation

import (
	"cmp"
	"context"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/service/schema"
)

// emailInput is the input of email.create.
type emailInput struct {
	schema.Common
	Described
	FileSource

	Attachments string      `json:"attachments,omitempty" jsonschema:"enum=embed,enum=append,enum=ignore,default=embed" jsonschema_description:"Handling of attachments. embed: attach the files to the PDF. append: add PDFs, images, office documents, texts and emails as pages, 30 at most, and embed the rest. ignore: leave them out. The first page lists them in any case."`
	Format      PaperFormat `json:"format,omitempty" jsonschema:"default=Letter" jsonschema_description:"Paper format, case-insensitive: Letter, Legal, Tabloid, Ledger or A0 to A6."`
}

// Validate checks the rules that the schema cannot express.
func (in *emailInput) Validate() error {
	var faults schema.FieldErrors
	in.check(&faults, "")
	in.paper(&faults)
	return failures(faults)
}

// paper returns the paper of the email, and adds an error for an invalid one.
func (in *emailInput) paper(faults *schema.FieldErrors) paper {
	return sheet(faults, "", cmp.Or(in.Format, "Letter"), Length{}, Length{})
}

// Admit asks the browser's queue.
func (in *emailInput) Admit(deps *Deps) error { return deps.admit() }

func runEmail(ctx context.Context, deps *Deps, in *emailInput) (schema.Result, error) {
	var checked schema.FieldErrors // by Validate, which found none
	size := in.paper(&checked)
	how := render.Email{
		Width:  size.width,
		Height: size.height,
		Files:  render.EmailFiles(cmp.Or(in.Attachments, string(render.EmbedFiles))),
	}
	return withFiles(ctx, deps, []stagedFile{{&in.FileSource, ""}}, func(ctx context.Context, files []openFile) (schema.Result, error) {
		doc, err := deps.Render.PrintEmail(ctx, files[0], how)
		result, err := pdfResult("email")(doc.Body, err)
		result.Warnings = warnings(doc.Warnings)
		return result, err
	})
}

// exampleEmail is a short message.
const exampleEmail = "From: Ada <ada@example.com>\r\nTo: Bob <bob@example.com>\r\nDate: Mon, 2 Nov 2026 09:30:00 +0100\r\nSubject: Lunch\r\n\r\nAt noon?\r\n"
