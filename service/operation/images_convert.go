package operation

import (
	"cmp"
	"context"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/service/schema"
)

// convertImageInput is the input of images.convert.
type convertImageInput struct {
	schema.Common
	FileSource

	To         string `json:"to" jsonschema:"required,enum=png,enum=jpeg,enum=webp,enum=tiff,enum=gif" jsonschema_description:"Target format. The source can have any of these formats too; only the first frame or page is read. The result is upright and has no metadata. PNG, JPEG and WebP keep an RGB colour profile."`
	Quality    int    `json:"quality,omitempty" jsonschema:"minimum=1,maximum=100,default=80" jsonschema_description:"Quality of a jpeg or webp, from 1 to 100; ignored for the others."`
	Width      int    `json:"width,omitempty" jsonschema:"minimum=1,maximum=16384" jsonschema_description:"Width in pixels. Default: in proportion to height, or the width of the source."`
	Height     int    `json:"height,omitempty" jsonschema:"minimum=1,maximum=16384" jsonschema_description:"Height in pixels. Default: in proportion to width, or the height of the source."`
	Fit        string `json:"fit,omitempty" jsonschema:"enum=contain,enum=cover,enum=fill,default=contain" jsonschema_description:"Fit into width and height. contain: stay within both. cover: fill both and crop the rest. fill: stretch the image."`
	Background Color  `json:"background,omitempty" jsonschema_description:"CSS colour behind transparent parts. Default: white for jpeg, none for the others."`
}

// Validate checks the rules that the schema cannot express.
func (in *convertImageInput) Validate() error {
	var faults schema.FieldErrors
	in.check(&faults, "")
	checkColor(&faults, "background", in.Background)
	return failures(faults)
}

// Admit returns an error if the queue of the file tools is full.
func (in *convertImageInput) Admit(deps *Deps) error { return (&PDFSource{}).Admit(deps) }

func runConvertImage(ctx context.Context, deps *Deps, in *convertImageInput) (schema.Result, error) {
	how := images.ConvertArgs{
		To:      in.To,
		Quality: cmp.Or(in.Quality, defaultQuality),
		Width:   in.Width,
		Height:  in.Height,
		Fit:     images.Fit(in.Fit),
	}
	if in.Background != "" {
		how.Background = parseColor(in.Background)
	}

	return withFiles(ctx, deps, []stagedFile{{&in.FileSource, ""}}, func(ctx context.Context, files []openFile) (schema.Result, error) {
		made, more, err := deps.Render.ConvertImage(ctx, files[0], how)
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
