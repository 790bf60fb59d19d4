package pdf

import (
	"math"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// box is a rectangle: left, bottom, right, top.
type box [4]float64

func readBox(v any) (b box, err error) {
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

func (b box) within(outer box) bool {
	return b[0] >= outer[0] && b[1] >= outer[1] && b[2] <= outer[2] && b[3] <= outer[3]
}

// and returns the intersection of two boxes; the second result is false if it is empty.
func (b box) and(other box) (box, bool) {
	both := box{max(b[0], other[0]), max(b[1], other[1]), min(b[2], other[2]), min(b[3], other[3])}
	return both, both[0] < both[2] && both[1] < both[3]
}

func (b box) touches(other box) bool {
	return b[0] < other[2] && other[0] < b[2] && b[1] < other[3] && other[1] < b[3]
}

// array is the box as a document has it.
func (b box) array() []any { return []any{b[0], b[1], b[2], b[3]} }

// box reads a rectangle, whichever of its corners come first.
func (s *structure) box(v any) (box, bool) {
	b, err := readBox(ordered(s.plain(s.Target(v))))
	return b, err == nil
}

// ordered puts the corners of a rectangle in order.
func ordered(v any) any {
	sides, _ := v.([]any)
	if len(sides) != len(box{}) {
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

// paper is a page as displayed.
type paper struct {
	box  box // that is shown, in the page's own units
	turn int // clockwise degrees: 0, 90, 180 or 270
	unit float64
}

// paper reads how a page is shown. Invalid entries are read as PDF readers read them.
func (s *structure) paper(page pdffile.Dict) paper {
	media, ok := s.box(s.inherited(page, "/MediaBox"))
	if !ok {
		media = box{0, 0, 612, 792}
	}

	p := paper{box: media, unit: 1}
	if cropBox, ok := s.box(s.inherited(page, "/CropBox")); ok {
		if both, ok := cropBox.and(media); ok {
			p.box = both
		}
	}

	if turn, ok := s.inherited(page, "/Rotate").(float64); ok {
		p.turn = (int(turn)%360 + 360) % 360
	}
	if unit, ok := s.Target(page["/UserUnit"]).(float64); ok && unit > 0 {
		p.unit = unit
	}
	return p
}

// inherited returns an entry of a page, or of its ancestors in the page tree.
func (s *structure) inherited(page pdffile.Dict, key string) any {
	for depth := 0; page != nil && depth < pdffile.MaxDepth; depth++ {
		if v := s.Target(page[key]); v != nil {
			return s.plain(v)
		}
		page = s.Entry(page["/Parent"])
	}
	return nil
}

// plain returns a list with its references resolved.
func (s *structure) plain(v any) any {
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

// size returns the size of a page as it is shown, in points.
func (p paper) size() (width, height float64) {
	width = (p.box[2] - p.box[0]) * p.unit
	height = (p.box[3] - p.box[1]) * p.unit
	if p.turn%180 != 0 {
		return height, width
	}
	return width, height
}

// upright returns the matrix from a page's own units to points from its bottom left, as displayed.
func (p paper) upright() affine {
	b := p.box
	u := p.unit
	switch p.turn {
	case 90:
		return affine{0, -u, u, 0, -b[1] * u, b[2] * u}
	case 180:
		return affine{-u, 0, 0, -u, b[2] * u, b[3] * u}
	case 270:
		return affine{0, u, -u, 0, b[3] * u, -b[0] * u}
	}
	return affine{u, 0, 0, u, -b[0] * u, -b[1] * u}
}

// square maps fractions of a page as displayed, from its bottom left, to the page's own units.
func (p paper) square() affine {
	b := p.box
	w := b[2] - b[0]
	h := b[3] - b[1]
	switch p.turn {
	case 90:
		return affine{0, h, -w, 0, b[2], b[1]}
	case 180:
		return affine{-w, 0, 0, -h, b[2], b[3]}
	case 270:
		return affine{0, -h, w, 0, b[0], b[3]}
	}
	return affine{w, 0, 0, h, b[0], b[1]}
}

// affine is a matrix of PDF: a point (x, y) is mapped to (ax+cy+e, bx+dy+f).
type affine [6]float64

// array returns the matrix as a list of a PDF.
func (m affine) array() []any { return []any{m[0], m[1], m[2], m[3], m[4], m[5]} }

// at returns the image of a point.
func (m affine) at(x, y float64) (float64, float64) {
	return m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]
}

// then is the matrix that does m, and n behind it.
func (m affine) then(n affine) affine {
	e, f := n.at(m[4], m[5])
	return affine{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		e, f,
	}
}

// around returns the bounding box of a transformed rectangle: its left, top, right and bottom.
func (m affine) around(left, top, right, bottom float64) (r [4]float64) {
	r = [4]float64{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, corner := range [][2]float64{{left, top}, {right, top}, {left, bottom}, {right, bottom}} {
		x, y := m.at(corner[0], corner[1])
		r[0], r[1], r[2], r[3] = min(r[0], x), min(r[1], y), max(r[2], x), max(r[3], y)
	}
	return r
}

const pointsPerInch = 72
