package operation

import (
	"cmp"
	"context"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/service/schema"
)

// archiveInput is the input of pdf.pdfa.
type archiveInput struct {
	PDFFileInput
	Described

	Level string `json:"level,omitempty" jsonschema:"enum=1b,enum=2b,enum=3b,default=2b" jsonschema_description:"PDF/A level. 1b converts pages with transparency to images. 3b keeps attached files."`
}

// runArchive makes PDF/A and returns its differences from the source as warnings.
func runArchive(ctx context.Context, deps *Deps, in *archiveInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		args := archive.Args{
			Input: file.Input(),
			Level: archive.Level(cmp.Or(in.Level, "2b")),
			Info:  in.describes(),
		}
		return changedResult("archive")(render.RunBoth(ctx, deps.Render, archive.Job, args, file.File()))
	})
}
