package operation

import (
	"cmp"
	"context"
	"errors"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/barcode"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
)

// barcodePrice is the price of barcodes.create.
const barcodePrice = 100 * credit.Microdollar

// defaultScale is the scale of a barcode that names none.
const defaultScale = 3

// barcodeInput is the input of barcodes.create.
type barcodeInput struct {
	schema.Common

	Type        string `json:"type" jsonschema:"required,enum=qr,enum=code128,enum=code39,enum=ean13,enum=upca,enum=pdf417,enum=datamatrix" jsonschema_description:"Kind of barcode."`
	Text        string `json:"text" jsonschema:"required,minLength=1,maxLength=7089" jsonschema_description:"Content of the barcode. qr, datamatrix and pdf417: any text. code128: ASCII. code39: digits, capital letters, space and - . $ / + %. ean13: 12 digits, and upca: 11 digits, each with or without the check digit."`
	Format      string `json:"format,omitempty" jsonschema:"enum=png,enum=svg,default=png" jsonschema_description:"Image format."`
	Scale       int    `json:"scale,omitempty" jsonschema:"minimum=1,maximum=10,default=3" jsonschema_description:"Size of the image, from 1 to 10. For bars, the width of the narrowest bar in pixels; for qr and datamatrix, half the width of a square."`
	Width       int    `json:"width,omitempty" jsonschema:"minimum=8,maximum=8192" jsonschema_description:"Width of the image in pixels, instead of scale. Bars keep whole pixels; the rest becomes empty space."`
	Height      int    `json:"height,omitempty" jsonschema:"minimum=8,maximum=8192" jsonschema_description:"Height of the image in pixels. The height of the bars follows from it."`
	QuietZone   *int   `json:"quietZone,omitempty" jsonschema:"minimum=0,maximum=100" jsonschema_description:"Margin on all sides, in widths of the narrowest bar. Default: as the type requires."`
	IncludeText bool   `json:"includetext,omitempty" jsonschema:"default=false" jsonschema_description:"If true, print the text in the image: Latin, Greek, Cyrillic, Chinese, Japanese or Korean."`
	ECLevel     string `json:"eclevel,omitempty" jsonschema:"enum=L,enum=M,enum=Q,enum=H,enum=0,enum=1,enum=2,enum=3,enum=4,enum=5,enum=6,enum=7,enum=8" jsonschema_description:"Error correction level: L, M, Q or H for qr; 0 to 8 for pdf417."`
	GS1         bool   `json:"gs1,omitempty" jsonschema:"default=false" jsonschema_description:"If true, create a GS1-128 (code128) or a GS1 DataMatrix (datamatrix). Write each value after its identifier: (01)09506000134352(10)ABC123."`
	Color       Color  `json:"color,omitempty" jsonschema:"default=#000000" jsonschema_description:"Colour of the code: a CSS colour such as #036 or navy."`
	Background  Color  `json:"background,omitempty" jsonschema:"default=#ffffff" jsonschema_description:"Background colour: a CSS colour, or transparent."`
}

// Validate checks the rules that the schema cannot express.
func (in *barcodeInput) Validate() error {
	var faults schema.FieldErrors
	checkColor(&faults, "color", in.Color)
	checkColor(&faults, "background", in.Background)
	return failures(faults)
}

// barcode returns the barcode in the renderer's type.
func (in *barcodeInput) barcode() barcode.Request {
	return barcode.Request{
		Type: barcode.Type(in.Type), Text: in.Text, Format: cmp.Or(barcode.Format(in.Format), barcode.PNG),
		Scale: cmp.Or(in.Scale, defaultScale), Width: in.Width, Height: in.Height, QuietZone: in.QuietZone,
		IncludeText: in.IncludeText, Level: in.ECLevel, GS1: in.GS1, Color: parseColor(in.Color), Background: parseColor(in.Background),
	}
}

// runBarcode draws the barcode.
func runBarcode(_ context.Context, _ *Deps, in *barcodeInput) (schema.Result, error) {
	code := in.barcode()
	image, err := render.DrawBarcode(code)
	var unfit *barcode.ContentError
	switch {
	case errors.As(err, &unfit):
		return schema.Result{}, schema.FieldErrors{{Field: cmp.Or(unfit.Field, "text"), Message: unfit.Message}}
	case errors.Is(err, barcode.ErrContrast):
		return schema.Result{}, schema.FieldErrors{
			{Field: "color", Message: "must have more contrast with background, so scanners can read the code"},
		}
	case err != nil:
		return schema.Result{}, err
	case code.Format == barcode.SVG:
		return schema.Result{Stem: "barcode", Extension: ".svg", ContentType: "image/svg+xml", Body: image}, nil
	}
	return schema.Result{Stem: "barcode", Extension: ".png", ContentType: "image/png", Body: image}, nil
}
