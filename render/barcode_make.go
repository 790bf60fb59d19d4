package render

import (
	"github.com/relaypdf/relaypdf/render/barcode"
	"github.com/relaypdf/relaypdf/render/spool"
)

// DrawBarcode draws a barcode. The caller closes the image. It needs neither a browser nor an engine process,
// because the text is encoded and not parsed; this usually takes less than a millisecond. The error is a
// *barcode.ContentError if the type cannot encode the text.
func DrawBarcode(code barcode.Request) (*spool.File, error) {
	image, err := barcode.Make(code)
	if err != nil {
		return nil, err
	}
	return spool.FromBytes(image), nil
}
