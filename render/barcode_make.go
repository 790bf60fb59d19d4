package render

import (
	"relaypdf/render/barcode"
	"relaypdf/render/spool"
)

// DrawBarcode draws a barcode. The caller closes the image. It needs neither a
// browser nor an engine: a text is not parsed, only encoded, in less than a
// millisecond as a rule. The error is a *barcode.ContentError where the type cannot
// hold the text.
func DrawBarcode(code barcode.Request) (File, error) {
	image, err := barcode.Make(code)
	if err != nil {
		return nil, err
	}
	return spool.FromBytes(image), nil
}
