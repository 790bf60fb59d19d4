package operation

import (
	"context"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/service/schema"
)

// fromImagesInput is the input of pdf.from-images.
type fromImagesInput struct {
	schema.Common
	Described

	Files   []FileItem     `json:"files" jsonschema:"required,minItems=1,maxItems=100" jsonschema_description:"Images in order, 1 to 100 of them, at most 200 MiB together: PNG, JPEG, TIFF (one page for each of its pages), WebP or GIF (its first frame)."`
	Options fromImagesPage `json:"options,omitzero" jsonschema_description:"Page layout."`
}

// fromImagesPage are the options of pdf.from-images.
type fromImagesPage struct {
	Format    PaperFormat `json:"format,omitempty" jsonschema_description:"Paper format, case-insensitive: Letter, Legal, Tabloid, Ledger or A0 to A6. It overrides width and height. Default: each page has the size of its image."`
	Width     Length      `json:"width,omitzero" jsonschema_description:"Page width: a number of CSS pixels, or a string with a unit (px, in, cm, mm, pt). From 0.1in to 200in. Requires height."`
	Height    Length      `json:"height,omitzero" jsonschema_description:"Page height, in the same form as width. Requires width."`
	Landscape bool        `json:"landscape,omitempty" jsonschema:"default=false" jsonschema_description:"If true, swap the width and the height of the paper."`
	Margin    Margin      `json:"margin,omitzero" jsonschema_description:"Page margins. Default: 0."`
	Fit       string      `json:"fit,omitempty" jsonschema:"enum=contain,enum=cover,enum=fill,enum=none,default=contain" jsonschema_description:"Fit of an image between the margins, for pages of a given size. contain: show the whole image. cover: fill the page and crop the rest. fill: stretch the image. none: keep its size unless it is too large."`
}

// JSONSchemaExtend adds rules of several members to the schema.
func (fromImagesPage) JSONSchemaExtend(doc *jsonschema.Schema) {
	schema.AddRules(doc, schema.Requires("width", "height"), schema.Requires("height", "width"))
}

// Validate checks the rules that the schema cannot express.
func (in *fromImagesInput) Validate() error {
	var faults schema.FieldErrors
	for i := range in.Files {
		in.Files[i].check(&faults, fileAt(i))
	}
	in.Options.layout(&faults)
	return failures(faults)
}

// pointsPerInch is PDF's fixed ratio.
const pointsPerInch = 72

// layout returns the pages in the renderer's type, and adds a validation error for impossible sizes.
func (o *fromImagesPage) layout(faults *schema.FieldErrors) images.FromImagesArgs {
	paperSize := sheet(faults, "options.", o.Format, o.Width, o.Height)
	room := paperSize
	if room.width == 0 || room.height == 0 {
		room = paper{paperBounds.high, paperBounds.high}
	}

	margin := o.Margin.fit(faults, room, o.Landscape)
	if o.Landscape {
		paperSize.width, paperSize.height = paperSize.height, paperSize.width
	}

	points := func(inches *float64) float64 { return either(inches, 0) * pointsPerInch }
	return images.FromImagesArgs{
		Width: paperSize.width * pointsPerInch, Height: paperSize.height * pointsPerInch, Fit: images.Fit(o.Fit),
		Margin: images.Margin{
			Top:    points(margin.Top),
			Right:  points(margin.Right),
			Bottom: points(margin.Bottom),
			Left:   points(margin.Left),
		},
	}
}

// sheet is the paper that a format names, or else a width and a height; nothing
// where neither is given.
func sheet(faults *schema.FieldErrors, at string, format PaperFormat, width, height Length) (size paper) {
	switch {
	case format != "":
		named, ok := formats[strings.ToLower(string(format))]
		if !ok {
			faults.Add(
				at+"format",
				"must be one of Letter, Legal, Tabloid, Ledger or A0 to A6 (case-insensitive); got %.20q",
				format,
			)
		}
		size = named
	case width.IsZero() != height.IsZero():
		missing := "width"
		given := "height"
		if height.IsZero() {
			missing, given = given, missing
		}
		faults.Add(at+missing, "is required with "+at+"%s", given)
	case !width.IsZero():
		size.width = width.check(faults, at+"width", paperBounds, defaultPaper.width)
		size.height = height.check(faults, at+"height", paperBounds, defaultPaper.height)
	}
	return size
}

func runFromImages(ctx context.Context, deps *Deps, in *fromImagesInput) (schema.Result, error) {
	sources := placeFiles(len(in.Files), func(i int) *FileSource { return &in.Files[i].FileSource })
	var checked schema.FieldErrors // by Validate, which found none
	pages := in.Options.layout(&checked)

	return withFiles(ctx, deps, sources, func(ctx context.Context, files []openFile) (schema.Result, error) {
		var images []engine.Content
		for _, file := range files {
			images = append(images, file)
		}

		file, omitted, err := deps.Render.PDFFromImages(ctx, images, pages)
		result, err := pdfResult("images")(file, err)

		var told []chrome.Warning
		for _, i := range omitted {
			told = append(told, render.OmittedPictures(strings.TrimSuffix(fileAt(i), ".")))
		}

		result.Warnings = warnings(told)
		return result, err
	})
}

// examplePNG is an image of one pixel.
const examplePNG = "\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\x0aIDATx\x9cch\x00\x00\x00\x82\x00\x81w\xcdr\xb6\x00\x00\x00\x00IEND\xaeB`\x82"
