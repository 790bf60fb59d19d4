package operation

import (
	"cmp"
	"context"
	"errors"

	"relaypdf/api/op"
	"relaypdf/render"
	"relaypdf/store/credit"
)

// barcodePrice is what barcodes.create costs.
const barcodePrice = 100 * credit.Microdollar

// defaultScale is the scale of a barcode that names none.
const defaultScale = 3

// BarcodeInput is the input of barcodes.create.
type BarcodeInput struct {
	op.Common

	Type        string `json:"type" jsonschema:"required,enum=qr,enum=code128,enum=code39,enum=ean13,enum=upca,enum=pdf417,enum=datamatrix" jsonschema_description:"Kind of barcode."`
	Text        string `json:"text" jsonschema:"required,minLength=1,maxLength=7089" jsonschema_description:"What the barcode says. qr, datamatrix and pdf417 take any text; code128 ASCII; code39 digits, capital letters, space and - . $ / + %; ean13 12 digits and upca 11, with or without the check digit."`
	Format      string `json:"format,omitempty" jsonschema:"enum=png,enum=svg,default=png" jsonschema_description:"Image format."`
	Scale       int    `json:"scale,omitempty" jsonschema:"minimum=1,maximum=10,default=3" jsonschema_description:"Size of the image, from 1 to 10: the width in pixels of the narrowest bar, or half that of a square of qr and datamatrix."`
	IncludeText bool   `json:"includetext,omitempty" jsonschema:"default=false" jsonschema_description:"Prints the text where the kind of barcode has it. Its letters must be Latin, Greek or Cyrillic."`
}

// runBarcode draws the barcode.
func runBarcode(_ context.Context, _ *Env, in *BarcodeInput) (op.Result, error) {
	format := cmp.Or(render.BarcodeFormat(in.Format), render.BarcodePNG)
	image, err := render.DrawBarcode(render.Barcode{
		Type: render.BarcodeType(in.Type), Text: in.Text, Format: format,
		Scale: cmp.Or(in.Scale, defaultScale), IncludeText: in.IncludeText,
	})
	var unfit *render.BarcodeTextError
	switch {
	case errors.As(err, &unfit):
		return op.Result{}, op.Faults{{Field: "text", Message: unfit.Message}}
	case err != nil:
		return op.Result{}, err
	case format == render.BarcodeSVG:
		return op.Result{Stem: "barcode", Extension: ".svg", ContentType: "image/svg+xml", Body: image}, nil
	}
	return op.Result{Stem: "barcode", Extension: ".png", ContentType: "image/png", Body: image}, nil
}
