package form

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"unicode/utf16"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// outline converts the segments of a letter to contours.
func outline(segments sfnt.Segments) [][]Point {
	var contours [][]Point
	var pen fixed.Point26_6

	add := func(p fixed.Point26_6, on bool) {
		last := len(contours) - 1
		// The axis of the segments points down.
		contours[last] = append(contours[last], Point{X: p.X.Round(), Y: -p.Y.Round(), On: on})
	}

	for _, s := range segments {
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			contours = append(contours, nil)
			pen = s.Args[0]
			add(pen, true)
			continue
		case sfnt.SegmentOpLineTo:
			pen = s.Args[0]
			add(pen, true)
			continue
		case sfnt.SegmentOpQuadTo:
			add(s.Args[0], false)
			pen = s.Args[1]
			add(pen, true)
			continue
		}

		cubic(pen, s.Args, add)
		pen = s.Args[2]
	}

	for i, contour := range contours {
		// The last point repeats the first one.
		if n := len(contour); n > 1 && contour[0] == contour[n-1] {
			contours[i] = contour[:n-1]
		}
	}

	return slices.DeleteFunc(contours, func(c []Point) bool { return len(c) < 2 })
}

// cubic adds a cubic curve as quadratic ones. Four of them approximate it to less than a unit.
func cubic(from fixed.Point26_6, to [3]fixed.Point26_6, add func(fixed.Point26_6, bool)) {
	const parts = 4
	at := func(t float64, pick func(fixed.Point26_6) fixed.Int26_6) (value, slope float64) {
		p0 := float64(pick(from))
		p1 := float64(pick(to[0]))
		p2 := float64(pick(to[1]))
		p3 := float64(pick(to[2]))
		u := 1 - t
		value = u*u*u*p0 + 3*u*u*t*p1 + 3*u*t*t*p2 + t*t*t*p3
		slope = 3 * (u*u*(p1-p0) + 2*u*t*(p2-p1) + t*t*(p3-p2))
		return value, slope
	}

	// control returns the control point of the quadratic curve between two points of the cubic one that best
	// matches its start and end directions.
	control := func(t0, t1 float64, pick func(fixed.Point26_6) fixed.Int26_6) (control, end fixed.Int26_6) {
		v0, s0 := at(t0, pick)
		v1, s1 := at(t1, pick)
		third := (t1 - t0) / 3
		c1 := v0 + s0*third
		c2 := v1 - s1*third
		return fixed.Int26_6((3*(c1+c2) - v0 - v1) / 4), fixed.Int26_6(v1)
	}

	x := func(p fixed.Point26_6) fixed.Int26_6 { return p.X }
	y := func(p fixed.Point26_6) fixed.Int26_6 { return p.Y }

	for i := range parts {
		t0 := float64(i) / parts
		t1 := float64(i+1) / parts
		cx, ex := control(t0, t1, x)
		cy, ey := control(t0, t1, y)
		add(fixed.Point26_6{X: cx, Y: cy}, false)
		add(fixed.Point26_6{X: ex, Y: ey}, true)
	}
}

// Measures of the font, as parts of UnitsPerEm. They are those of Liberation Sans, the source of most letters.
const (
	FontAscent  = UnitsPerEm * 905 / 1000
	FontDescent = UnitsPerEm * 212 / 1000
)

// File writes the letters as a TrueType font. The font has the tables that are needed to
// draw with it, without hints.
func (b *FontBuilder) File() []byte {
	letters := slices.Sorted(maps.Keys(b.Glyphs))
	glyphs := []Glyph{{Advance: UnitsPerEm / 2}} // the first is for letters that are missing
	for _, r := range letters {
		glyphs = append(glyphs, b.Glyphs[r])
	}
	outlines, places, bounds, points, contours := glyphTable(glyphs)

	var metrics big
	widest := 0
	for _, g := range glyphs {
		metrics.u16(g.Advance, leftOf(g))
		widest = max(widest, g.Advance)
	}

	var head, hhea, maxp, os2, post big
	head.u32(0x00010000, 0x00010000, 0, 0x5f0f3cf5)
	head.u16(0, UnitsPerEm)
	head.u32(0, 0, 0, 0) // when it was made and changed
	head.u16(bounds[0], bounds[1], bounds[2], bounds[3], 0, 8, 2, 1, 0)
	hhea.u32(0x00010000)
	hhea.u16(FontAscent, -FontDescent, 0, widest, 0, 0, bounds[2], 1, 0, 0, 0, 0, 0, 0, 0, len(glyphs))
	maxp.u32(0x00010000)
	maxp.u16(len(glyphs), points, contours, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0)

	const regularWeight, mediumWidth = 400, 5
	os2.u16(3, UnitsPerEm/2, regularWeight, mediumWidth, 0)
	os2.u16(make([]int, 10)...) // subscripts, superscripts and strike-through
	os2.u16(0)                  // class
	os2.Write(make([]byte, 10)) // PANOSE
	os2.u32(0, 0, 0, 0)         // ranges
	os2.WriteString("NONE")
	os2.u16(0x40, int(letters[0]), int(letters[len(letters)-1]), FontAscent, -FontDescent, 0, FontAscent, FontDescent)
	os2.u32(0, 0)
	os2.u16(UnitsPerEm/2, UnitsPerEm*7/10, 0, ' ', 1)

	post.u32(0x00030000, 0)
	post.u16(-UnitsPerEm/10, UnitsPerEm/20)
	post.u32(0, 0, 0, 0, 0)

	return fontTables(map[string][]byte{
		"head": head.Bytes(), "hhea": hhea.Bytes(), "maxp": maxp.Bytes(), "OS/2": os2.Bytes(), "post": post.Bytes(),
		"hmtx": metrics.Bytes(), "cmap": charTable(letters),
		"name": nameTable("FormText"), "glyf": outlines, "loca": places,
	})
}

// big is a buffer of numbers whose first byte is the highest. Its writes
// always succeed.
type big struct{ bytes.Buffer }

func (b *big) u16(values ...int) {
	for _, v := range values {
		b.Write(binary.BigEndian.AppendUint16(nil, uint16(v))) // negative numbers as two's complement
	}
}

func (b *big) u32(values ...uint32) {
	for _, v := range values {
		b.Write(binary.BigEndian.AppendUint32(nil, v))
	}
}

// leftOf is the lowest x of a letter.
func leftOf(g Glyph) int {
	box := boundsOf(g)
	return box[0]
}

// boundsOf returns the lowest x and y and the highest ones.
func boundsOf(g Glyph) [4]int {
	var box [4]int
	first := true
	for _, contour := range g.Contours {
		for _, p := range contour {
			if first {
				box = [4]int{p.X, p.Y, p.X, p.Y}
				first = false
			}
			box = [4]int{min(box[0], p.X), min(box[1], p.Y), max(box[2], p.X), max(box[3], p.Y)}
		}
	}
	return box
}

// glyphTable returns the outlines, the offset of each, the bounds of all, and the maximum number of points and of
// contours of a glyph.
func glyphTable(glyphs []Glyph) (outlines, places []byte, bounds [4]int, points, contours int) {
	var out, at big

	for _, g := range glyphs {
		at.u32(uint32(out.Len())) // some megabytes at most
		if len(g.Contours) == 0 {
			continue
		}

		box := boundsOf(g)
		bounds = [4]int{min(bounds[0], box[0]), min(bounds[1], box[1]), max(bounds[2], box[2]), max(bounds[3], box[3])}
		n := writeGlyph(&out, g, box)
		points = max(points, n)
		contours = max(contours, len(g.Contours))
		out.Write(make([]byte, -out.Len()&3))
	}

	at.u32(uint32(out.Len())) // some megabytes at most
	return out.Bytes(), at.Bytes(), bounds, points, contours
}

// writeGlyph writes an outline and returns the number of its points.
func writeGlyph(out *big, g Glyph, box [4]int) int {
	out.u16(len(g.Contours), box[0], box[1], box[2], box[3])

	var all []Point
	for _, contour := range g.Contours {
		all = append(all, contour...)
		out.u16(len(all) - 1)
	}
	out.u16(0) // no instructions

	for _, p := range all {
		if p.On {
			out.WriteByte(1)
		} else {
			out.WriteByte(0)
		}
	}

	before := Point{}
	for _, p := range all {
		out.u16(p.X - before.X)
		before = p
	}

	before = Point{}
	for _, p := range all {
		out.u16(p.Y - before.Y)
		before = p
	}

	return len(all)
}

// charTable maps letters, which are sorted, to the glyphs from 1 on, with a
// segment for each run of letters.
func charTable(letters []rune) []byte {
	var starts, ends, deltas []int
	for i, r := range letters {
		if i == 0 || letters[i-1] != r-1 {
			starts = append(starts, int(r))
			ends = append(ends, int(r))
			deltas = append(deltas, i+1-int(r))
		}
		ends[len(ends)-1] = int(r)
	}
	starts = append(starts, 0xffff)
	ends = append(ends, 0xffff)
	deltas = append(deltas, 1)

	n := len(starts)
	power := 1
	log := 0
	for power*2 <= n {
		power, log = power*2, log+1
	}

	const windows, unicodeBMP, segments = 3, 1, 4
	var out big
	out.u16(0, 1, windows, unicodeBMP)
	out.u32(12)
	out.u16(segments, 16+8*n, 0, 2*n, 2*power, log, 2*(n-power))
	out.u16(ends...)
	out.u16(0)
	out.u16(starts...)
	out.u16(deltas...)
	out.u16(make([]int, n)...)

	return out.Bytes()
}

// nameTable returns the table of the font's names.
func nameTable(name string) []byte {
	const windows, unicodeBMP, english = 3, 1, 0x409
	ids := []int{1, 2, 3, 4, 6} // family, style, identifier, whole name, PostScript name

	var text, out big
	out.u16(0, len(ids), 6+12*len(ids))
	for _, id := range ids {
		value := name
		if id == 2 {
			value = "Regular"
		}

		start := text.Len()
		for _, unit := range utf16.Encode([]rune(value)) {
			text.u16(int(unit))
		}
		out.u16(windows, unicodeBMP, english, id, text.Len()-start, start)
	}

	return append(out.Bytes(), text.Bytes()...)
}

// fontTables writes a font of its tables.
func fontTables(tables map[string][]byte) []byte {
	names := slices.Sorted(maps.Keys(tables))
	power := 1
	log := 0
	for power*2 <= len(names) {
		power, log = power*2, log+1
	}

	var out, body big
	out.u32(0x00010000)
	out.u16(len(names), 16*power, log, 16*(len(names)-power))

	start := 12 + 16*len(names)
	for _, name := range names {
		out.WriteString(name)
		out.u32(checksum(tables[name]), uint32(start+body.Len()), uint32(len(tables[name]))) // some megabytes at most
		body.Write(tables[name])
		body.Write(make([]byte, -body.Len()&3))
	}

	return append(out.Bytes(), body.Bytes()...)
}

// checksum adds the words of a table.
func checksum(table []byte) (sum uint32) {
	padded := append(slices.Clone(table), make([]byte, -len(table)&3)...)
	for i := 0; i < len(padded); i += 4 {
		sum += binary.BigEndian.Uint32(padded[i:])
	}
	return sum
}
