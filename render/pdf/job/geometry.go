package job

import (
	"math"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Box is a rectangle: left, bottom, right, top.
type Box [4]float64

// ReadBox reads a rectangle whose corners are in order. The error is pdffile.ErrUnread if it is none.
func ReadBox(v any) (b Box, err error) {
	sides, _ := v.([]any)
	if len(sides) != len(b) {
		return b, pdffile.ErrUnread
	}

	for i, side := range sides {
		var ok bool
		if b[i], ok = side.(float64); !ok {
			return b, pdffile.ErrUnread
		}
	}

	if b[0] >= b[2] || b[1] >= b[3] {
		return b, pdffile.ErrUnread
	}
	return b, nil
}

// Within reports whether a box lies in another one.
func (b Box) Within(outer Box) bool {
	return b[0] >= outer[0] && b[1] >= outer[1] && b[2] <= outer[2] && b[3] <= outer[3]
}

// And returns the intersection of two boxes; the second result is false if it is empty.
func (b Box) And(other Box) (Box, bool) {
	both := Box{max(b[0], other[0]), max(b[1], other[1]), min(b[2], other[2]), min(b[3], other[3])}
	return both, both[0] < both[2] && both[1] < both[3]
}

// Touches reports whether two boxes have an area in common.
func (b Box) Touches(other Box) bool {
	return b[0] < other[2] && other[0] < b[2] && b[1] < other[3] && other[1] < b[3]
}

// Array is the box as a document has it.
func (b Box) Array() []any { return []any{b[0], b[1], b[2], b[3]} }

// Box reads a rectangle, whichever of its corners come first.
func (s *Structure) Box(v any) (Box, bool) {
	b, err := ReadBox(ordered(s.Resolved(s.Target(v))))
	return b, err == nil
}

// ordered puts the corners of a rectangle in order.
func ordered(v any) any {
	sides, _ := v.([]any)
	if len(sides) != len(Box{}) {
		return v
	}
	for i := range 2 {
		a, isA := sides[i].(float64)
		b, isB := sides[i+2].(float64)
		if isA && isB && a > b {
			sides[i], sides[i+2] = b, a
		}
	}
	return sides
}

// Paper is a page as displayed.
type Paper struct {
	Box  Box // that is shown, in the page's own units
	Turn int // clockwise degrees: 0, 90, 180 or 270
	Unit float64
}

// Paper reads how a page is shown. Invalid entries are read as PDF readers read them.
func (s *Structure) Paper(page pdffile.Dict) Paper {
	media, ok := s.Box(s.Inherited(page, "/MediaBox"))
	if !ok {
		media = Box{0, 0, 612, 792}
	}

	p := Paper{Box: media, Unit: 1}
	if cropBox, ok := s.Box(s.Inherited(page, "/CropBox")); ok {
		if both, ok := cropBox.And(media); ok {
			p.Box = both
		}
	}

	if turn, ok := s.Inherited(page, "/Rotate").(float64); ok {
		p.Turn = (int(turn)%360 + 360) % 360
	}
	if unit, ok := s.Target(page["/UserUnit"]).(float64); ok && unit > 0 {
		p.Unit = unit
	}
	return p
}

// Inherited returns an entry of a page, or of its ancestors in the page tree.
func (s *Structure) Inherited(page pdffile.Dict, key string) any {
	for depth := 0; page != nil && depth < pdffile.MaxDepth; depth++ {
		if v := s.Target(page[key]); v != nil {
			return s.Resolved(v)
		}
		page = s.Entry(page["/Parent"])
	}
	return nil
}

// Resolved returns a list with its references resolved.
func (s *Structure) Resolved(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	resolved := make([]any, len(list))
	for i, member := range list {
		resolved[i] = s.Target(member)
	}
	return resolved
}

// Size returns the size of a page as it is shown, in points.
func (p Paper) Size() (width, height float64) {
	width = (p.Box[2] - p.Box[0]) * p.Unit
	height = (p.Box[3] - p.Box[1]) * p.Unit
	if p.Turn%180 != 0 {
		return height, width
	}
	return width, height
}

// Upright returns the matrix from a page's own units to points from its bottom left, as displayed.
func (p Paper) Upright() Affine {
	b := p.Box
	u := p.Unit
	switch p.Turn {
	case 90:
		return Affine{0, -u, u, 0, -b[1] * u, b[2] * u}
	case 180:
		return Affine{-u, 0, 0, -u, b[2] * u, b[3] * u}
	case 270:
		return Affine{0, u, -u, 0, b[3] * u, -b[0] * u}
	}
	return Affine{u, 0, 0, u, -b[0] * u, -b[1] * u}
}

// Square maps fractions of a page as displayed, from its bottom left, to the page's own units.
func (p Paper) Square() Affine {
	b := p.Box
	w := b[2] - b[0]
	h := b[3] - b[1]
	switch p.Turn {
	case 90:
		return Affine{0, h, -w, 0, b[2], b[1]}
	case 180:
		return Affine{-w, 0, 0, -h, b[2], b[3]}
	case 270:
		return Affine{0, -h, w, 0, b[0], b[3]}
	}
	return Affine{w, 0, 0, h, b[0], b[1]}
}

// Affine is a matrix of PDF: a point (x, y) is mapped to (ax+cy+e, bx+dy+f).
type Affine [6]float64

// Array returns the matrix as a list of a PDF.
func (m Affine) Array() []any { return []any{m[0], m[1], m[2], m[3], m[4], m[5]} }

// At returns the image of a point.
func (m Affine) At(x, y float64) (float64, float64) {
	return m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]
}

// Then is the matrix that does m, and n behind it.
func (m Affine) Then(n Affine) Affine {
	e, f := n.At(m[4], m[5])
	return Affine{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		e, f,
	}
}

// Around returns the bounding box of a transformed rectangle: its left, top, right and bottom.
func (m Affine) Around(left, top, right, bottom float64) (r [4]float64) {
	r = [4]float64{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, corner := range [][2]float64{{left, top}, {right, top}, {left, bottom}, {right, bottom}} {
		x, y := m.At(corner[0], corner[1])
		r[0], r[1], r[2], r[3] = min(r[0], x), min(r[1], y), max(r[2], x), max(r[3], y)
	}
	return r
}

// PointsPerInch is the number of points of an inch.
const PointsPerInch = 72
