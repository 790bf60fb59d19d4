package images

import (
	"image"
	"image/color"
	imagedraw "image/draw"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// The places of the test mark on an image.
const (
	// MarkOver is in the bottom right corner.
	MarkOver = "over"
	// MarkBelow is in a strip that is added below the image, in the colour of its corner. It covers nothing.
	MarkBelow = "below"
)

// The height of the band: its share of the shorter side of the page or image, and its limits in points and pixels.
const (
	markShare     = 0.03
	MinMarkPoints = 6
	MaxMarkPoints = 24
	MinMarkPixels = 16
	MaxMarkPixels = 72
)

// MarkHeight returns the height of the band on a page or an image, on which it fits.
func MarkHeight(width, height, minimum, maximum float64) float64 {
	return min(max(minimum, min(maximum, markShare*min(width, height))), height/2, width/MarkOutline().Width)
}

// outlinePen draws an outline.
type outlinePen interface {
	MoveTo(x, y float32)
	LineTo(x, y float32)
	QuadTo(cx, cy, x, y float32)
	ClosePath()
}

// markWord is the outline of the word in the band, in heights of the band from its top left.
type markWord struct {
	segments []sfnt.Segment // in 64ths of a thousandth
	Width    float64        // of the band
}

// The layout of the band, in its heights.
const (
	markSize     = 0.72 // of the font
	markBaseline = 0.76
	markPadding  = 0.45 // on the left and right
	MarkEdge     = 0.06 // of the light line around the band, which shows it on dark pages
	markUnits    = 1000
)

// MarkOutline returns the outline of the word.
var MarkOutline = sync.OnceValue(func() markWord {
	face, err := sfnt.Parse(gobold.TTF)
	if err != nil {
		panic("pdf: an embedded font does not parse: " + err.Error())
	}
	var buffer sfnt.Buffer
	var word markWord
	size := fixed.I(markSize * markUnits)
	x := fixed.I(markPadding * markUnits)
	for _, letter := range "Test" {
		glyph, glyphErr := face.GlyphIndex(&buffer, letter)
		segments, segmentsErr := face.LoadGlyph(&buffer, glyph, size, nil)
		if glyphErr != nil || segmentsErr != nil {
			panic("pdf: an embedded font lacks a letter")
		}
		for _, segment := range segments {
			for i := range segment.Args {
				segment.Args[i] = segment.Args[i].Add(fixed.Point26_6{X: x, Y: fixed.I(markBaseline * markUnits)})
			}
			word.segments = append(word.segments, segment)
		}
		advance, err := face.GlyphAdvance(&buffer, glyph, size, font.HintingNone)
		if err != nil {
			panic("pdf: an embedded font lacks a width: " + err.Error())
		}
		x += advance
	}
	word.Width = float64(x)/(64*markUnits) + markPadding
	return word
})

// Trace draws the word.
func (w markWord) Trace(pen outlinePen) {
	at := func(p fixed.Point26_6) (x, y float32) {
		return float32(p.X) / (64 * markUnits), float32(p.Y) / (64 * markUnits)
	}

	open := false
	for _, segment := range w.segments {
		x, y := at(segment.Args[0])
		switch segment.Op {
		case sfnt.SegmentOpMoveTo:
			if open {
				pen.ClosePath()
			}
			open = true
			pen.MoveTo(x, y)
		case sfnt.SegmentOpLineTo:
			pen.LineTo(x, y)
		default: // The font has no curves of the third degree.
			toX, toY := at(segment.Args[1])
			pen.QuadTo(x, y, toX, toY)
		}
	}

	pen.ClosePath()
}

// scaledPen draws in pixels.
type scaledPen struct {
	*vector.Rasterizer

	scale float32
}

func (p scaledPen) MoveTo(x, y float32) { p.Rasterizer.MoveTo(p.scale*x, p.scale*y) }

func (p scaledPen) LineTo(x, y float32) { p.Rasterizer.LineTo(p.scale*x, p.scale*y) }

func (p scaledPen) QuadTo(cx, cy, x, y float32) {
	p.Rasterizer.QuadTo(p.scale*cx, p.scale*cy, p.scale*x, p.scale*y)
}

// markImage returns an image with the test mark.
func markImage(img *image.NRGBA, place string) *image.NRGBA {
	width := img.Rect.Dx()
	height := img.Rect.Dy()
	band := max(1, int(MarkHeight(float64(width), float64(height), MinMarkPixels, MaxMarkPixels)))

	bounds := image.Rect(0, 0, width, height)
	if place == MarkBelow {
		bounds.Max.Y += band
	}

	out := image.NewNRGBA(bounds)
	if place == MarkBelow {
		imagedraw.Draw(out, bounds, image.NewUniform(img.NRGBAAt(img.Rect.Max.X-1, img.Rect.Max.Y-1)), image.Point{}, imagedraw.Src)
	}
	imagedraw.Draw(out, image.Rect(0, 0, width, height), img, img.Rect.Min, imagedraw.Src)
	DrawMark(out, band)
	return out
}

// DrawMark draws the band with a height in pixels in the bottom right corner of an image.
func DrawMark(out imagedraw.Image, band int) {
	corner := out.Bounds().Max
	label := MarkOutline()
	box := image.Rect(max(0, corner.X-int(label.Width*float64(band)+0.5)), corner.Y-band, corner.X, corner.Y)
	imagedraw.Draw(out, box, image.White, image.Point{}, imagedraw.Src)
	imagedraw.Draw(out, box.Inset(max(1, int(MarkEdge*float64(band)+0.5))), image.NewUniform(color.Gray{Y: 0x33}), image.Point{}, imagedraw.Src)
	z := vector.NewRasterizer(box.Dx(), box.Dy())
	label.Trace(scaledPen{z, float32(band)})
	z.Draw(out, box, image.White, image.Point{})
}
