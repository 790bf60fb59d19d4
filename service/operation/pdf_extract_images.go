package operation

import (
	"context"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/service/schema"
)

// extractImagesInput is the input of pdf.extract-images.
type extractImagesInput struct {
	schema.Common
	PDFSource

	Pages     Pages `json:"pages,omitzero" jsonschema_description:"Pages to extract images from: text such as 1-3,5, 7- (to the end), even, odd or last, or an array of page numbers. Default: all."`
	MinWidth  int   `json:"minWidth,omitempty" jsonschema:"minimum=1,maximum=65535,default=1" jsonschema_description:"Minimum width of an image in pixels; smaller images are left out."`
	MinHeight int   `json:"minHeight,omitempty" jsonschema:"minimum=1,maximum=65535,default=1" jsonschema_description:"Minimum height of an image in pixels."`
}

// Validate checks the rules that the schema cannot express.
func (in *extractImagesInput) Validate() error { return validatePages(&in.PDFSource, in.Pages) }

func runExtractImages(ctx context.Context, deps *Deps, in *extractImagesInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		args := pdf.ExtractImagesArgs{
			Selection: selection(file, in.Pages),
			MinWidth:  in.MinWidth,
			MinHeight: in.MinHeight,
		}
		archive, err := render.RunFile(ctx, deps.Render, pdf.ExtractImagesJob, args, file.File())
		if err != nil {
			return schema.Result{}, err
		}
		return zipResult("images", archive), nil
	})
}
