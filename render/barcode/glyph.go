package barcode

import (
	"os"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Fonts of Debian packages that are used if they are installed.
const (
	ocrFont = "/usr/share/fonts/opentype/ocr-b/OCRBS.otf"
	cjkFont = "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc"
)

// face is a font. The image contains its outlines, which look the same everywhere; a font name would not.
type face struct {
	font *sfnt.Font
	ppem fixed.Int26_6 // size at which one unit of the font is one pixel
}

// fontList is the font of a label. The first of its faces that has a character draws it.
type fontList []*face

// digitFaces are for the digits of EAN-13 and UPC-A: OCR-B, as their standard
// wants it, or Go Mono. It is the cut with sharp ends: the reader of fonts does
// not know how the round ones are written.
var digitFaces = sync.OnceValue(func() fontList {
	return append(installed(ocrFont), embedded(gomono.TTF))
})

// textFaces are for all other labels: Go Regular, which is Latin, Greek and
// Cyrillic, and Noto Sans CJK.
var textFaces = sync.OnceValue(func() fontList {
	return append(fontList{embedded(goregular.TTF)}, installed(cjkFont)...)
})

// embedded parses a font of the program. It parses or never will, so that
// failing is a mistake in the program.
func embedded(content []byte) *face {
	f, err := sfnt.Parse(content)
	if err != nil {
		panic("barcode: an embedded font does not parse: " + err.Error())
	}
	return newFace(f)
}

// installed opens the first font of a file, which stays open: only the drawn glyphs are read. It returns nil if
// that fails.
func installed(path string) fontList {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}

	fonts, err := sfnt.ParseCollectionReaderAt(file)
	if err == nil {
		var first *sfnt.Font
		if first, err = fonts.Font(0); err == nil {
			return fontList{newFace(first)}
		}
	}

	_ = file.Close()
	return nil
}

func newFace(f *sfnt.Font) *face { return &face{font: f, ppem: fixed.I(int(f.UnitsPerEm()))} }

// find returns the face that has a character, and the character's number in it.
func (t fontList) find(buf *sfnt.Buffer, r rune) (*face, sfnt.GlyphIndex, bool) {
	for _, f := range t {
		if index, err := f.font.GlyphIndex(buf, r); err == nil && index != 0 {
			return f, index, true
		}
	}
	return t[0], 0, false
}

// has reports whether a character can be printed.
func (t fontList) has(r rune) bool {
	var buf sfnt.Buffer
	_, _, ok := t.find(&buf, r)
	return ok
}

// advance returns the width of a character, in sizes.
func (t fontList) advance(r rune) float64 {
	var buf sfnt.Buffer
	f, index, _ := t.find(&buf, r)
	width, err := f.font.GlyphAdvance(&buf, index, f.ppem, font.HintingNone)
	if err != nil {
		return 0.6
	}
	return float64(width) / float64(f.ppem)
}

// width returns the width of a text, in sizes.
func (t fontList) width(text string) float64 {
	sum := 0.0
	for _, r := range text {
		sum += t.advance(r)
	}
	return sum
}

// pen draws outlines: onto pixels, or as a path of SVG.
type pen interface {
	MoveTo(x, y float32)
	LineTo(x, y float32)
	QuadTo(cx, cy, x, y float32)
	CubeTo(bx, by, cx, cy, x, y float32)
	ClosePath()
}

// draw traces a label in modules times unit, with its top left moved by dx, dy.
func (l label) draw(p pen, unit, dx, dy float64) error {
	var buf sfnt.Buffer
	faces := l.faces()
	x := l.centre - l.width()/2

	for _, r := range l.text {
		f, index, _ := faces.find(&buf, r)
		segments, err := f.font.LoadGlyph(&buf, index, f.ppem, nil)
		if err != nil {
			return err
		}

		factor := l.size / float64(f.ppem)
		trace(p, segments, func(pt fixed.Point26_6) (float32, float32) {
			return float32((x+float64(pt.X)*factor)*unit + dx), float32((l.baseline+float64(pt.Y)*factor)*unit + dy)
		})
		x += l.size * faces.advance(r)
	}
	return nil
}

// trace draws the contours of a glyph.
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
		case sfnt.SegmentOpCubeTo:
			cx, cy := place(s.Args[1])
			endX, endY := place(s.Args[2])
			p.CubeTo(x, y, cx, cy, endX, endY)
		}
	}

	if len(segments) > 0 {
		p.ClosePath()
	}
}
