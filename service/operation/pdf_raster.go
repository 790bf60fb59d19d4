package operation

import (
	"cmp"
	"context"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
)

// rasterPrice is the price of pdf.raster, however many pages it renders.
const rasterPrice = 1000 * credit.Microdollar

// rasterInput is the input of pdf.raster.
type rasterInput struct {
	schema.Common
	PDFSource

	Pages Pages  `json:"pages,omitzero" jsonschema_description:"Pages to render: text such as 1-3,5, 7- (to the end), even, odd or last, or an array of page numbers. Several pages return a ZIP archive of page-001.png and so on, by page number. Default: 1."`
	Type  string `json:"type,omitempty" jsonschema:"enum=png,enum=jpeg,default=png" jsonschema_description:"Image format."`
	DPI   int    `json:"dpi,omitempty" jsonschema:"minimum=36,maximum=600,default=150" jsonschema_description:"Resolution in pixels per inch, from 36 to 600. An image has at most 16384 pixels per side and 100 megapixels."`
}

const (
	defaultDPI = 150
	firstPage  = "1"
)

// Validate checks the rules that the schema cannot express.
func (in *rasterInput) Validate() error { return validatePages(&in.PDFSource, in.Pages) }

func runRaster(ctx context.Context, deps *Deps, in *rasterInput) (schema.Result, error) {
	how := pdf.RasterArgs{
		Pages:    cmp.Or(in.Pages.text(), firstPage),
		JPEG:     in.Type == "jpeg",
		DPI:      cmp.Or(in.DPI, defaultDPI),
		TestMark: deps.Test && !deps.Inner,
	}
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		image, archive, err := deps.Render.RasterPages(ctx, file, how)
		if err != nil {
			return schema.Result{}, err
		}

		result := schema.Result{Stem: "page", Extension: ".png", ContentType: "image/png", Body: image}
		switch {
		case archive:
			result = zipResult("pages", image)
		case how.JPEG:
			result.Extension = ".jpeg"
			result.ContentType = "image/jpeg"
		}

		result.Marked = how.TestMark
		return result, nil
	})
}
