package operation

import (
	"context"
	"crypto/rand"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/service/schema"
)

// protectInput is the input of pdf.protect.
type protectInput struct {
	schema.Common
	Described
	PDFSource

	UserPassword  string      `json:"userPassword" jsonschema:"required,minLength=1,maxLength=127" jsonschema_description:"Password that opens the result for reading, at most 127 bytes."`
	OwnerPassword string      `json:"ownerPassword,omitempty" jsonschema:"minLength=1,maxLength=127" jsonschema_description:"Password that opens the result with all permissions, at most 127 bytes. Default: a random password that is not stored."`
	Permissions   Permissions `json:"permissions,omitzero" jsonschema_description:"Permissions of readers with the user password. PDF readers enforce them voluntarily. Default: all."`
}

// Permissions limit how readers may use a protected PDF.
type Permissions struct {
	Print    *bool `json:"print,omitempty" jsonschema:"default=true" jsonschema_description:"If true, allow printing."`
	HighRes  *bool `json:"highres,omitempty" jsonschema:"default=true" jsonschema_description:"If true, allow printing in full quality; otherwise in low resolution only."`
	Copy     *bool `json:"copy,omitempty" jsonschema:"default=true" jsonschema_description:"If true, allow copying text and images. Screen readers always have access."`
	Modify   *bool `json:"modify,omitempty" jsonschema:"default=true" jsonschema_description:"If true, allow changes to the content of pages."`
	Annotate *bool `json:"annotate,omitempty" jsonschema:"default=true" jsonschema_description:"If true, allow adding and changing comments."`
	Fill     *bool `json:"fill,omitempty" jsonschema:"default=true" jsonschema_description:"If true, allow filling in form fields."`
	Assemble *bool `json:"assemble,omitempty" jsonschema:"default=true" jsonschema_description:"If true, allow inserting, deleting and rotating pages."`
}

// allow returns the permissions in the renderer's type.
func (p Permissions) allow() pdf.Permissions {
	return pdf.Permissions{
		Print: either(
			p.Print, true,
		), HighRes: either(p.HighRes, true), Copy: either(p.Copy, true), Modify: either(p.Modify, true),
		Annotate: either(p.Annotate, true), Fill: either(p.Fill, true), Assemble: either(p.Assemble, true),
	}
}

// opens is the password of the result.
func (in *protectInput) opens() string { return in.UserPassword }

// maxPassword is the number of bytes of a password that the encryption uses.
const maxPassword = 127

// Validate checks the rules that the schema cannot express.
func (in *protectInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	for _, p := range []struct{ field, value string }{{"userPassword", in.UserPassword}, {"ownerPassword", in.OwnerPassword}} {
		checkPassword(&faults, p.field, p.value)
		if len(p.value) > maxPassword {
			faults.Add(p.field, "must be at most %d bytes in UTF-8; got %d", maxPassword, len(p.value))
		}
	}

	if in.OwnerPassword != "" && in.OwnerPassword == in.UserPassword {
		faults.Add("ownerPassword", "must differ from userPassword")
	}
	if !either(in.Permissions.Print, true) && either(in.Permissions.HighRes, false) {
		faults.Add("permissions.highres", "must be false if permissions.print is false")
	}
	return failures(faults)
}

func runProtect(ctx context.Context, deps *Deps, in *protectInput) (schema.Result, error) {
	args := pdf.ProtectArgs{
		UserPassword:  in.UserPassword,
		OwnerPassword: in.OwnerPassword,
		Allow:         in.Permissions.allow(),
	}
	if args.OwnerPassword == "" {
		args.OwnerPassword = rand.Text()
	}
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		args.Input = file.Input()
		return pdfResult("protected")(render.RunFile(ctx, deps.Render, pdf.ProtectJob, args, file.File()))
	})
}

// unlockInput is the input of pdf.unlock.
type unlockInput struct {
	schema.Common
	Described
	FileSource

	Password string `json:"password" jsonschema:"required,maxLength=127" jsonschema_description:"User or owner password that opens the PDF. Leave it empty for a PDF that opens without a password but has restrictions."`
}

// Validate checks the rules that the schema cannot express.
func (in *unlockInput) Validate() error {
	var faults schema.FieldErrors
	in.check(&faults, "")
	checkPassword(&faults, "password", in.Password)
	return failures(faults)
}

func runUnlock(ctx context.Context, deps *Deps, in *unlockInput) (schema.Result, error) {
	source := PDFSource{FileSource: in.FileSource, Password: in.Password}
	return withPDF(ctx, deps, &source, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		return pdfResult("unlocked")(
			render.RunFile(ctx, deps.Render, pdf.UnlockJob, pdf.UnlockArgs{Input: file.Input()}, file.File()),
		)
	})
}
