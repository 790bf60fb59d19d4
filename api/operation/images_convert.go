package operation

import (
	"cmp"
	"context"

	"relaypdf/api/schema"
	"relaypdf/render"
	"relaypdf/render/chrome"
	"relaypdf/render/pdf"
)

// ConvertImageInput is the input of images.convert.
type ConvertImageInput struct {
	schema.Common
	FileSource

	To         string `json:"to" jsonschema:"required,enum=png,enum=jpeg,enum=webp,enum=tiff,enum=gif" jsonschema_description:"What it becomes. The same kinds are read, and of several pictures in a file the first is taken, whatever comes after. The result is upright and has no metadata; PNG, JPEG and WebP keep the colour profile of RGB."`
	Quality    int    `json:"quality,omitempty" jsonschema:"minimum=1,maximum=100,default=80" jsonschema_description:"Is ignored but for jpeg and webp: their quality."`
	Width      int    `json:"width,omitempty" jsonschema:"minimum=1,maximum=16384" jsonschema_description:"In pixels. Default: what height makes of it without distortion, or as many pixels as the image has across."`
	Height     int    `json:"height,omitempty" jsonschema:"minimum=1,maximum=16384" jsonschema_description:"In pixels. Default: what width makes of it without distortion, or as many pixels as the image has in height."`
	Fit        string `json:"fit,omitempty" jsonschema:"enum=contain,enum=cover,enum=fill,default=contain" jsonschema_description:"How width and height are kept. contain stays within both, cover is cut to fill them, and fill is distorted."`
	Background string `json:"background,omitempty" jsonschema:"maxLength=30" jsonschema_description:"CSS colour. It lies below what is transparent in the image. Default: white for jpeg, which cannot be transparent, and none for the others."`
}

// Validate checks what the schema cannot state.
func (in *ConvertImageInput) Validate() error {
	var faults schema.Faults
	in.check(&faults, "")
	checkColor(&faults, "background", in.Background)
	return failures(faults)
}

// Admit says whether there is room in the queue of those who work on files.
func (in *ConvertImageInput) Admit(env *Env) error { return (&PDFSource{}).Admit(env) }

func runConvertImage(ctx context.Context, env *Env, in *ConvertImageInput) (schema.Result, error) {
	how := pdf.ConvertImageArgs{To: in.To, Quality: cmp.Or(in.Quality, defaultQuality), Width: in.Width, Height: in.Height, Fit: pdf.Fit(in.Fit)}
	if in.Background != "" {
		how.Background = parseColor(in.Background)
	}
	return withFiles(ctx, env, []placed{{&in.FileSource, ""}}, func(ctx context.Context, files []openFile) (schema.Result, error) {
		made, more, err := env.Render.ConvertImage(ctx, files[0], how)
		if err != nil {
			return schema.Result{}, err
		}
		result := schema.Result{Stem: "image", Extension: "." + in.To, ContentType: "image/" + in.To, Body: made}
		if more {
			result.Warnings = warnings([]chrome.Warning{render.OmittedPictures("the file")})
		}
		return result, nil
	})
}
