package operation

import (
	"cmp"
	"context"

	"relaypdf/api/schema"
	"relaypdf/render"
)

// OptimizeInput is the input of pdf.optimize.
type OptimizeInput struct {
	PDFFileInput
	Described

	Linearize    *bool `json:"linearize,omitempty" jsonschema:"default=true" jsonschema_description:"For quick display. The first page is then shown before the rest has come, if the server sends parts of files as readers ask for them. Where the request does not say true, it is left out if it would make a PDF larger than its source was."`
	ImageQuality int   `json:"imageQuality,omitempty" jsonschema:"minimum=1,maximum=100" jsonschema_description:"Quality of JPEGs, which images become where those are smaller. Default: images keep theirs, and 80 where maxImageDpi takes pixels off a JPEG."`
	MaxImageDPI  int   `json:"maxImageDpi,omitempty" jsonschema:"minimum=36,maximum=1200" jsonschema_description:"Most pixels per inch. It counts where an image is drawn largest, wherever else in the document it may be drawn besides. Default: images keep all of their pixels."`
	Grayscale    bool  `json:"grayscale,omitempty" jsonschema:"default=false" jsonschema_description:"Makes images grey, not text and drawings. The result may then be larger than the source was before it became grey."`
}

func (in *OptimizeInput) optimization() render.PDFOptimization {
	return render.PDFOptimization{
		Linearize: either(in.Linearize, true), AlwaysLinearize: either(in.Linearize, false),
		Quality: in.ImageQuality, MaxDPI: in.MaxImageDPI, Gray: in.Grayscale,
	}
}

func runOptimize(ctx context.Context, env *Env, in *OptimizeInput) (schema.Result, error) {
	return optimize(ctx, env, &in.PDFSource, in.optimization(), "optimized")
}

func optimize(ctx context.Context, env *Env, source *PDFSource, how render.PDFOptimization, stem string) (schema.Result, error) {
	return withPDF(ctx, env, source, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		return pdfResult(stem)(env.Render.OptimizePDF(ctx, file, how))
	})
}

// CompressAdvancedInput is the input of pdf.compress-advanced.
type CompressAdvancedInput struct {
	PDFFileInput
	Described

	Level     string `json:"level,omitempty" jsonschema:"enum=low,enum=medium,enum=high,default=medium" jsonschema_description:"How much images lose. They keep 220 pixels per inch at quality 85, 150 at 75, or 96 at 50 from low to high, unless they have fewer."`
	Grayscale bool   `json:"grayscale,omitempty" jsonschema:"default=false" jsonschema_description:"Makes images grey, not text and drawings. The result may then be larger than the source was before it became grey."`
}

// compressions are the levels of pdf.compress-advanced.
var compressions = map[string]render.PDFOptimization{
	"low":    {Linearize: true, Quality: 85, MaxDPI: 220},
	"medium": {Linearize: true, Quality: 75, MaxDPI: 150},
	"high":   {Linearize: true, Quality: 50, MaxDPI: 96},
}

func runCompressAdvanced(ctx context.Context, env *Env, in *CompressAdvancedInput) (schema.Result, error) {
	how := compressions[cmp.Or(in.Level, "medium")]
	how.Gray = in.Grayscale
	return optimize(ctx, env, &in.PDFSource, how, "compressed")
}
