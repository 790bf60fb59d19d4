package operation

import (
	"cmp"
	"context"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/service/schema"
)

// optimizeInput is the input of pdf.optimize.
type optimizeInput struct {
	PDFFileInput
	Described

	Linearize    *bool `json:"linearize,omitempty" jsonschema:"default=true" jsonschema_description:"If true, readers can display the first page before the rest arrives. The server of the PDF must support range requests. A small PDF can become larger by about 1 KB. If false, the result is never larger than the source, except with grayscale."`
	ImageQuality int   `json:"imageQuality,omitempty" jsonschema:"minimum=1,maximum=100" jsonschema_description:"JPEG quality, from 1 to 100. An image becomes a JPEG only if that is smaller. Default: images keep their quality; 80 for JPEGs that maxImageDpi reduces."`
	MaxImageDPI  int   `json:"maxImageDpi,omitempty" jsonschema:"minimum=36,maximum=1200" jsonschema_description:"Maximum pixels per inch of images, measured at the largest use of each image. Default: images keep all of their pixels."`
	Grayscale    bool  `json:"grayscale,omitempty" jsonschema:"default=false" jsonschema_description:"If true, convert images to grey; text and drawings keep their colours. The result can be larger than the source."`
}

func (in *optimizeInput) optimization() pdf.OptimizeArgs {
	return pdf.OptimizeArgs{
		AlwaysLinearize: either(
			in.Linearize, true,
		), Quality: in.ImageQuality, MaxDPI: in.MaxImageDPI, Gray: in.Grayscale,
	}
}

func runOptimize(ctx context.Context, deps *Deps, in *optimizeInput) (schema.Result, error) {
	return optimize(ctx, deps, &in.PDFSource, in.optimization(), "optimized")
}

func optimize(
	ctx context.Context, deps *Deps, source *PDFSource, args pdf.OptimizeArgs, stem string,
) (schema.Result, error) {
	return withPDF(ctx, deps, source, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		args.Input = file.Input()
		return pdfResult(stem)(render.RunFile(ctx, deps.Render, pdf.OptimizeJob, args, file.File()))
	})
}

// compressAdvancedInput is the input of pdf.compress-advanced.
type compressAdvancedInput struct {
	PDFFileInput
	Described

	Level     string `json:"level,omitempty" jsonschema:"enum=low,enum=medium,enum=high,default=medium" jsonschema_description:"Compression level of images. low: 220 pixels per inch, quality 85. medium: 150, quality 75. high: 96, quality 50. Images with fewer pixels per inch keep them."`
	Grayscale bool   `json:"grayscale,omitempty" jsonschema:"default=false" jsonschema_description:"If true, convert images to grey; text and drawings keep their colours. The result can be larger than the source."`
}

// compressions are the levels of pdf.compress-advanced.
var compressions = map[string]pdf.OptimizeArgs{
	"low":    {Linearize: true, Quality: 85, MaxDPI: 220},
	"medium": {Linearize: true, Quality: 75, MaxDPI: 150},
	"high":   {Linearize: true, Quality: 50, MaxDPI: 96},
}

func runCompressAdvanced(ctx context.Context, deps *Deps, in *compressAdvancedInput) (schema.Result, error) {
	how := compressions[cmp.Or(in.Level, "medium")]
	how.Gray = in.Grayscale
	return optimize(ctx, deps, &in.PDFSource, how, "compressed")
}
