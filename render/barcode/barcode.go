// Package barcode draws barcodes as PNG and SVG images.
//
// An encoder turns a text into a symbol: rows of modules, a quiet zone and labels. Both formats are drawn from the
// symbol, in whole pixels per module, so that all bars have exact widths. Each encoder follows the standard that
// its file names.
package barcode

import (
	"errors"
	"image/color"
)

// Type names a symbology.
type Type string

// The symbologies.
const (
	QR         Type = "qr"
	Code128    Type = "code128"
	Code39     Type = "code39"
	EAN13      Type = "ean13"
	UPCA       Type = "upca"
	PDF417     Type = "pdf417"
	DataMatrix Type = "datamatrix"
)

// Format names an image format.
type Format string

// The image formats.
const (
	PNG Format = "png"
	SVG Format = "svg"
)

// The smallest and the largest Request.Scale.
const (
	MinScale = 1
	MaxScale = 10
)

// maxText is the longest text that any type can hold, in bytes: 7,089 digits
// in a QR Code. Longer texts are refused before anything is done with them.
const maxText = 7089

// The ways in which a Request can be wrong apart from its text.
var (
	ErrType   = errors.New("barcode: unknown type")
	ErrFormat = errors.New("barcode: unknown format")
	ErrScale  = errors.New("barcode: scale out of range")
)

// Request describes the barcode to draw.
type Request struct {
	Type   Type
	Text   string // UTF-8; see TypeInfo.Content for the text of each type
	Format Format
	// Scale is the size of the image, from MinScale to MaxScale. A module is
	// Scale pixels wide, and twice that in qr and datamatrix, whose symbols
	// are small and unreadable at one pixel per module.
	Scale int
	// IncludeText prints the text in the usual place of the symbology: digits between the guard bars of ean13 and
	// upca, a line below the others.
	IncludeText bool
	// Level is the error correction of qr (L, M, Q or H) and pdf417 (0 to 8). Empty means the usual level, and a
	// higher one for qr if that does not enlarge the symbol.
	Level string
	// GS1 reads the text as element strings, for code128 and datamatrix.
	GS1 bool
	// Color and Background are black and white where nil.
	Color, Background *color.NRGBA
	// Width and Height are the size of the image in pixels, and replace Scale. Zero follows the other one, or
	// Scale.
	Width, Height int
	// QuietZone is the empty space on all sides, in modules; nil means the symbology's own.
	QuietZone *int
}

// ContentError means that a type cannot encode a text.
type ContentError struct {
	Type Type
	// Field is the invalid field of the request, if it is not the text.
	Field string
	// Message is fit for the customer and continues the name of the field that holds the
	// text: "must be 12 or 13 digits for ean13; got 5".
	Message string
}

// Error implements error.
func (e *ContentError) Error() string { return "barcode: text " + e.Message }

// typeInfo describes a symbology.
type typeInfo struct {
	Type    Type
	Title   string // the symbology's own name
	Summary string // use of the type
	Content string // which characters it takes, and how many

	encode func(req *Request) (*symbol, error)
	// modulePixels is the width of a module at scale 1.
	modulePixels int
}

// types describes all symbologies, in the order of the public interface.
func types() []typeInfo {
	return []typeInfo{
		{QR, "QR Code", "links and any text, for phones",
			"any UTF-8 text: up to 7,089 digits, 4,296 characters of 0-9 A-Z space $ % * + - . / : or 2,953 bytes",
			encodeQR, 2},
		{Code128, "Code 128", "parcels, warehouses and transport",
			"1 to 80 ASCII characters", encodeCode128, 1},
		{Code39, "Code 39", "industry and identity cards",
			"1 to 48 characters of 0-9 A-Z space - . $ / + %", encodeCode39, 1},
		{EAN13, "EAN-13", "goods sold anywhere",
			"12 digits, or 13 with a right check digit", encodeEAN13, 1},
		{UPCA, "UPC-A", "goods sold in North America",
			"11 digits, or 12 with a right check digit", encodeUPCA, 1},
		{PDF417, "PDF417", "boarding passes and identity cards",
			"any UTF-8 text that fits 862 code words: up to about 2,500 digits, 1,700 letters or 1,000 other bytes",
			encodePDF417, 1},
		{DataMatrix, "Data Matrix", "small parts, medicine and letters",
			"any UTF-8 text: up to 3,116 digits, 1,558 ASCII characters or about 1,550 other bytes",
			encodeDataMatrix, 2},
	}
}

// Make draws a barcode and returns the image file. The error is a *ContentError if the type cannot encode the text,
// and wraps ErrType, ErrFormat or ErrScale if that field is wrong. It takes well under a millisecond for texts of a
// usual length.
func Make(req Request) ([]byte, error) {
	info, err := req.check()
	if err != nil {
		return nil, err
	}

	dark, light, err := req.colors()
	if err != nil {
		return nil, err
	}

	sym, err := info.encode(&req)
	if err != nil {
		return nil, err
	}

	if err := sym.print(req, info.modulePixels); err != nil {
		return nil, err
	}
	f, err := req.frame(sym, info.modulePixels)
	if err != nil {
		return nil, err
	}

	if req.Format == SVG {
		return drawSVG(sym, req.Text, f, dark, light)
	}
	return drawPNG(sym, f, dark, light)
}

// print gives the symbol its quiet zone and the text that is asked for.
func (s *symbol) print(req Request, modulePixels int) error {
	if !req.IncludeText {
		s.dropLabels()
	}
	if req.QuietZone != nil {
		s.setQuiet(*req.QuietZone)
	}

	if req.IncludeText && len(s.labels) == 0 {
		if err := s.addCaption(req, modulePixels); err != nil {
			return err
		}
	}

	s.addMargins()
	return nil
}
