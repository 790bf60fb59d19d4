package operation

import (
	"context"
	"errors"
	"fmt"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/service/schema"
)

// overlayInput is the input of pdf.overlay.
type overlayInput struct {
	schema.Common
	Described
	PDFSource

	Overlay  OverlayFile `json:"overlay" jsonschema:"required" jsonschema_description:"PDF whose pages are drawn on those of the source."`
	Position string      `json:"position,omitempty" jsonschema:"enum=over,enum=under,default=over" jsonschema_extras:"x-common=true" jsonschema_description:"over: in front of the pages. under: behind their content."`
	Pages    Pages       `json:"pages,omitzero" jsonschema_description:"Pages of the source to draw on, each once: text such as 1-3,5, 7- (to the end), even, odd or last, or an array of page numbers. Default: all."`
	From     Pages       `json:"from,omitzero" jsonschema_description:"Pages of the overlay in order, repeats included, one for each of pages. Extra pages are ignored. Default: all."`
	Repeat   Pages       `json:"repeat,omitzero" jsonschema_extras:"x-common=true" jsonschema_description:"Pages of the overlay for the rest of pages, repeated in order: last repeats its last page, 1- all of them. Default: none."`
}

// OverlayFile is a PDF to draw on another.
type OverlayFile struct {
	FileItem

	Password string `json:"password,omitempty" jsonschema:"maxLength=127" jsonschema_description:"User or owner password that opens the overlay, if it is encrypted."`
}

// overlayAt is the path before the fields of the overlay.
const overlayAt = "overlay."

// Validate checks the rules that the schema cannot express.
func (in *overlayInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	in.Overlay.check(&faults, overlayAt)
	checkPassword(&faults, overlayAt+"password", in.Overlay.Password)
	in.Pages.check(&faults, "pages")
	in.From.check(&faults, pdf.OverlayFrom)
	in.Repeat.check(&faults, pdf.OverlayRepeat)
	return failures(faults)
}

func runOverlay(ctx context.Context, deps *Deps, in *overlayInput) (schema.Result, error) {
	sources := []stagedFile{{&in.FileSource, ""}, {&in.Overlay.FileSource, overlayAt}}
	return withFiles(ctx, deps, sources, func(ctx context.Context, files []openFile) (schema.Result, error) {
		args := pdf.OverlayArgs{
			Pages:  in.Pages.text(),
			From:   in.From.text(),
			Repeat: in.Repeat.text(),
			Under:  in.Position == "under",
		}
		file := render.PDFFile{Content: files[0], Password: in.Password}
		overlay := render.PDFFile{Content: files[1], Password: in.Overlay.Password}
		made, changed, err := deps.Render.OverlayPDF(ctx, file, overlay, args)

		var failed *job.Error
		if errors.As(err, &failed) && failed.Kind == job.PageOutOfRange && failed.Input == 1 {
			err = schema.FieldErrors{{
				Field:   failed.Text,
				Message: fmt.Sprintf("must select pages of the overlay, which has %d", failed.Pages),
			}}
		}
		return changedResult("overlaid")(made, changed, err)
	})
}
