package pdf

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// StampArgs are the arguments of a StampJob. The output is the PDF.
type StampArgs struct {
	Input job.Input
	Marks []Mark // in drawing order
}

// Mark is one stamp with its position.
type Mark struct {
	// Stamp is an image, or a PDF whose first page is drawn.
	Stamp job.Input
	// Image is true if Stamp is an image. An image that is larger than a page, as it is turned, is reduced before
	// Scale is applied. Other stamps are reduced after scaling, unless they are at a point.
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
	// Tiled draws the stamp all over the page, wherever Position is.
	Tiled bool
}

// stampEdge is the distance of stamps from the edge, in points.
const stampEdge = 24

// stampScript draws a stamp; MuPDF runs it behind job.DrawScript.
//
//go:embed stamp.js
var stampScript string

// stampInput are the arguments of the script.
type stampInput struct {
	Input  string       `json:"input"`
	Output string       `json:"output"`
	Edge   float64      `json:"edge"`
	Stamps []stampStamp `json:"stamps"`
}

// stampStamp is one stamp.
type stampStamp struct {
	Stamp    string  `json:"stamp"`
	Pages    []int   `json:"pages"`
	Position *string `json:"position"`
	X        float64 `json:"x"`
	Y        float64 `json:"y"`
	Opacity  float64 `json:"opacity"`
	Rotate   float64 `json:"rotate"`
	Scale    float64 `json:"scale"`
	Shrink   bool    `json:"shrink"`
	Below    bool    `json:"below"`
	Tiled    bool    `json:"tiled"`
}

// StampJob draws stamps on pages of a PDF, in order.
var StampJob = job.DefineFile("pdf.stamp", engine.ChangeTime, stamp)

// stamp draws stamps on pages.
//
// It places the stamp by itself: qpdf's overlay fits it into the trim box, and
// pdfcpu's watermark takes no notice of turned pages.
func stamp(ctx context.Context, w *engine.Work, args StampArgs) error {
	doc, err := job.OpenOne(ctx, w, args.Input)
	if err != nil {
		return err
	}
	if err := job.CheckPages(doc.Pages); err != nil {
		return err
	}

	const stamped = "stamped.pdf"
	input := stampInput{Output: stamped, Edge: stampEdge}
	found := 0
	for _, mark := range args.Marks {
		pages, err := doc.Resolve(mark.Pages)
		if err != nil {
			return err
		}

		name := mark.Stamp.Name
		if mark.Image {
			found++
			if name, err = imageStamp(w, name, found); err != nil {
				return images.Blame(found, err)
			}
		}

		input.Stamps = append(input.Stamps, stampStamp{
			Stamp: name, Pages: withoutRepeats(pages), Position: mark.Position, X: mark.X, Y: mark.Y,
			Opacity: mark.Opacity, Rotate: mark.Rotate, Scale: mark.Scale, Shrink: mark.Image, Below: mark.Below, Tiled: mark.Tiled,
		})
	}

	original := *doc
	encrypted, err := job.Decrypt(ctx, doc)
	if err != nil {
		return err
	}
	if err := job.Settle(ctx, doc); err != nil {
		return err
	}

	input.Input = doc.Name
	if _, err = job.RunScript[bool](ctx, doc, "stamp.js", []byte(job.DrawScript+stampScript), input); err != nil {
		return err
	}
	return job.Finish(ctx, &original, encrypted, stamped)
}

// imageStamp makes a PDF of one page of an image, the nth, and returns its name.
func imageStamp(w *engine.Work, image string, n int) (string, error) {
	name := fmt.Sprintf("stamp-image%d.pdf", n)
	out, err := images.NewWriter(w.Path(name))
	if err != nil {
		return "", err
	}

	err = images.EachImage(w.Path(image), func(p *images.RasterImage) error {
		if len(out.Pages) > 0 {
			return nil
		}
		return out.ImagePage(p, images.FromImagesArgs{})
	})
	if err != nil {
		return "", err
	}
	return name, out.Finish()
}
