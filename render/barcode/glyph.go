package barcode

import (
	"sync"

	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// glyphAdvance is the width of every character of the font, in sizes.
const glyphAdvance = 0.6

// typeface gives the outlines of the font of all labels: Go Mono, which comes
// with a Go module under a free licence. Outlines look the same wherever the
// image is shown, which the name of a font would not.
type typeface struct {
	font *sfnt.Font
	ppem fixed.Int26_6 // where one unit of the font is one pixel
}

// glyphs parses the font once. A font from a Go module parses or never will,
// so that failing is a mistake in the program.
var glyphs = sync.OnceValue(func() *typeface {
	f, err := sfnt.Parse(gomono.TTF)
	if err != nil {
		panic("barcode: the embedded font does not parse: " + err.Error())
	}
	return &typeface{font: f, ppem: fixed.I(int(f.UnitsPerEm()))}
})

// has reports whether the font has a character.
func (t *typeface) has(r rune) bool {
	var buf sfnt.Buffer
	index, err := t.font.GlyphIndex(&buf, r)
	return err == nil && index != 0
}

// pen draws outlines: onto pixels, or as a path of SVG.
type pen interface {
	MoveTo(x, y float32)
	LineTo(x, y float32)
	QuadTo(cx, cy, x, y float32)
	ClosePath()
}

// draw traces a label in modules times unit, with its top left moved by dx, dy.
func (t *typeface) draw(p pen, l label, unit, dx, dy float64) error {
	var buf sfnt.Buffer
	runes := []rune(l.text)
	factor := l.size / float64(t.font.UnitsPerEm()) / 64
	x := l.centre - l.size*glyphAdvance*float64(len(runes))/2
	for _, r := range runes {
		index, err := t.font.GlyphIndex(&buf, r)
		if err != nil {
			return err
		}
		segments, err := t.font.LoadGlyph(&buf, index, t.ppem, nil)
		if err != nil {
			return err
		}
		trace(p, segments, func(pt fixed.Point26_6) (float32, float32) {
			return float32((x+float64(pt.X)*factor)*unit + dx), float32((l.baseline+float64(pt.Y)*factor)*unit + dy)
		})
		x += l.size * glyphAdvance
	}
	return nil
}

// trace draws the contours of a glyph. TrueType has no cubic curves.
func trace(p pen, segments sfnt.Segments, place func(fixed.Point26_6) (float32, float32)) {
	for i, s := range segments {
		x, y := place(s.Args[0])
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			if i > 0 {
				p.ClosePath()
			}
			p.MoveTo(x, y)
		case sfnt.SegmentOpLineTo:
			p.LineTo(x, y)
		case sfnt.SegmentOpQuadTo:
			endX, endY := place(s.Args[1])
			p.QuadTo(x, y, endX, endY)
		}
	}
	if len(segments) > 0 {
		p.ClosePath()
	}
}
