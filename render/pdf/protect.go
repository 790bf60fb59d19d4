package pdf

import (
	"context"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// ProtectArgs is the arguments of ProtectJob.
type ProtectArgs struct {
	job.Input
	UserPassword  string
	OwnerPassword string
	Allow         Permissions
}

// Permissions are the permissions of readers who open a document with the user password. Applications follow them
// voluntarily.
type Permissions struct {
	Print    bool `json:"print" jsonschema:"required" jsonschema_description:"If true, printing is allowed, at least in low quality."`
	HighRes  bool `json:"highres" jsonschema:"required" jsonschema_description:"If true, printing in full quality is allowed."`
	Copy     bool `json:"copy" jsonschema:"required" jsonschema_description:"If true, copying text and images is allowed."`
	Modify   bool `json:"modify" jsonschema:"required" jsonschema_description:"If true, changing the content of pages is allowed."`
	Annotate bool `json:"annotate" jsonschema:"required" jsonschema_description:"If true, adding and changing annotations is allowed."`
	Fill     bool `json:"fill" jsonschema:"required" jsonschema_description:"If true, filling in form fields is allowed."`
	Assemble bool `json:"assemble" jsonschema:"required" jsonschema_description:"If true, inserting, deleting and rotating pages is allowed."`
}

// ProtectJob encrypts a PDF with AES-256, replacing an existing encryption.
var ProtectJob = job.DefineFile("pdf.protect", engine.ChangeTime, protect)

// protect encrypts a document with AES-256, revision 6 of the standard
// handler. An encryption that it has already is replaced.
func protect(ctx context.Context, w *engine.Work, args ProtectArgs) error {
	return job.WriteWhole(ctx, w, args.Input, job.QPDFJob{"encrypt": job.QPDFJob{
		"userPassword": args.UserPassword, "ownerPassword": args.OwnerPassword, "256bit": args.Allow.qpdf(),
	}})
}

// qpdf spells the permissions as qpdf's options. Reading aloud is always
// allowed, as PDF 2.0 has it.
func (p Permissions) qpdf() job.QPDFJob {
	yes := func(allowed bool) string {
		if allowed {
			return "y"
		}
		return "n"
	}
	printing := "none"
	switch {
	case p.Print && p.HighRes:
		printing = "full"
	case p.Print:
		printing = "low"
	}
	return job.QPDFJob{
		"print": printing, "extract": yes(p.Copy), "modifyOther": yes(p.Modify), "annotate": yes(p.Annotate),
		"form": yes(p.Fill), "assemble": yes(p.Assemble),
	}
}
