package render

import (
	"relaypdf/render/barcode"
	"relaypdf/render/spool"
)

type (
	// Barcode says which barcode to draw, and how.
	Barcode = barcode.Request
	// BarcodeType names a symbology.
	BarcodeType = barcode.Type
	// BarcodeFormat names the image format of a barcode.
	BarcodeFormat = barcode.Format
	// BarcodeTextError says that a type of barcode cannot hold a text.
	BarcodeTextError = barcode.ContentError
)

// The image formats of a barcode.
const (
	BarcodePNG = barcode.PNG
	BarcodeSVG = barcode.SVG
)

// ErrBarcodeContrast means that a barcode could not be told from its background.
var ErrBarcodeContrast = barcode.ErrContrast

// DrawBarcode draws a barcode. The caller closes the image. It needs neither a
// browser nor an engine: a text is not parsed, only encoded, in less than a
// millisecond as a rule. The error is a *BarcodeTextError where the type cannot
// hold the text.
func DrawBarcode(code Barcode) (File, error) {
	image, err := barcode.Make(code)
	if err != nil {
		return nil, err
	}
	return spool.FromBytes(image), nil
}
