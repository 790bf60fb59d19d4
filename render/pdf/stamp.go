package pdf

import (
	"context"
	_ "embed"

	"relaypdf/render/engine"
)

// StampArgs are the arguments of a StampJob. The output is the PDF.
type StampArgs struct {
	Input Input
	// Stamp is what is drawn: an image, or a PDF whose first page is drawn.
	Stamp Input
	// Image is whether Stamp is an image. One that is larger than a page is
	// made smaller before Scale counts.
	Image bool
	// Pages is a selection, in the grammar of pagerange; empty is all.
	Pages string
	// Position is center, top, bottom, top-left, top-right, bottom-left or
	// bottom-right; or nil, and X and Y are the stamp's top left in points
	// from the top left of the page as it is shown.
	Position *string
	X, Y     float64
	Opacity  float64 // 0 to 1
	Rotate   float64 // counter-clockwise in degrees
	Scale    float64
	Below    bool
}

// stampEdge is how far stamps at an edge are from it, in points.
const stampEdge = 24

// stampScript draws a stamp; MuPDF runs it.
//
//go:embed stamp.js
var stampScript []byte

// stampInput are the arguments of the script.
type stampInput struct {
	Input    string  `json:"input"`
	Stamp    string  `json:"stamp"`
	Output   string  `json:"output"`
	Pages    []int   `json:"pages"`
	Position *string `json:"position"`
	X        float64 `json:"x"`
	Y        float64 `json:"y"`
	Edge     float64 `json:"edge"`
	Opacity  float64 `json:"opacity"`
	Rotate   float64 `json:"rotate"`
	Scale    float64 `json:"scale"`
	Shrink   bool    `json:"shrink"`
	Below    bool    `json:"below"`
}

// stamp draws a stamp on pages.
//
// It places the stamp by itself: qpdf's overlay fits it into the trim box, and
// pdfcpu's watermark takes no notice of turned pages.
func stamp(ctx context.Context, w *engine.Work, args StampArgs) ([]byte, error) {
	doc, err := openOne(ctx, w, args.Input)
	if err != nil {
		return nil, err
	}
	if err := checkPages(doc.pages); err != nil {
		return nil, err
	}
	pages, err := doc.resolve(args.Pages)
	if err != nil {
		return nil, err
	}
	if args.Image {
		if args.Stamp.Name, err = imageStamp(w, args.Stamp.Name); err != nil {
			return nil, blameImage(1, err)
		}
	}
	original := *doc
	encrypted, err := doc.plain(ctx)
	if err != nil {
		return nil, err
	}
	const stamped = "stamped.pdf"
	_, err = runScript[bool](ctx, doc, "stamp.js", stampScript, stampInput{
		Input: doc.name, Stamp: args.Stamp.Name, Output: stamped, Pages: withoutRepeats(pages),
		Position: args.Position, X: args.X, Y: args.Y, Edge: stampEdge,
		Opacity: args.Opacity, Rotate: args.Rotate, Scale: args.Scale, Shrink: args.Image, Below: args.Below,
	})
	if err != nil {
		return nil, err
	}
	return nil, finish(ctx, &original, encrypted, stamped)
}

// imageStamp makes a PDF of one page of an image and returns its name.
func imageStamp(w *engine.Work, image string) (string, error) {
	const name = "stamp-image.pdf"
	out, err := newWriter(w.Path(name))
	if err != nil {
		return "", err
	}
	err = eachPicture(w.Path(image), func(p *picture) error {
		if len(out.pages) > 0 {
			return nil
		}
		return out.imagePage(p, FromImagesArgs{})
	})
	if err != nil {
		return "", err
	}
	return name, out.finish()
}
