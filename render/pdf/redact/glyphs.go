package redact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// MuPDF reads the glyphs of pages from a copy in which every operation that shows text follows a mark: a
// rectangle whose left edge is the operation's number. So each glyph is known with its code in the content.
const (
	MarkGray = 0.34567
	MarkY    = -98765.5
)

// showingOperations are the operators that show text.
var showingOperations = map[string]bool{"Tj": true, "TJ": true, "'": true, `"`: true}

// WithMarks returns the update of a document that marks its operations, and the number of the first operation of each
// of its streams.
func WithMarks(f *pdffile.File) (update *pdffile.Update, numbers map[string]int, err error) {
	numbers = map[string]int{}
	update = f.NewUpdate()
	next := 0
	mark := func(ref string) error {
		stream, ok := f.Stream(ref)
		if _, known := numbers[ref]; known || !ok {
			return nil
		}
		plain, rest, err := PlainStream(f, stream)
		if err != nil || rest != "" {
			return fmt.Errorf("content %s: %w", ref, ErrFilter)
		}

		numbers[ref] = next
		var out []byte
		pdffile.ReadContent(plain, func(op pdffile.Operation) {
			switch {
			case showingOperations[op.Operator]:
				out = fmt.Appendf(out, "%v g %d %v 1 1 re f\n", MarkGray, next, MarkY)
				next++
			case op.Operator == "Tr": // so that each text is drawn once
				op.Operands = []any{pdffile.Number("0")}
			}
			out = pdffile.AppendOperation(out, op)
			if op.Operator == "ET" {
				out = fmt.Appendf(out, "%v g -1 %v 1 1 re f\n", MarkGray, MarkY)
			}
		})
		update.Set(ref, pdffile.Stream{Entries: pdffile.Without(stream.Entries, "/Filter", "/DecodeParms", "/Length"), Content: out})
		return nil
	}

	refs, err := ContentStreams(f)
	if err != nil {
		return nil, nil, err
	}

	for _, ref := range refs {
		if err := mark(ref); err != nil {
			return nil, nil, err
		}
	}
	return update, numbers, nil
}

// ContentStreams returns the streams with operations: those of pages, forms, patterns and glyphs.
func ContentStreams(f *pdffile.File) (refs []string, err error) {
	pages, err := f.Pages(job.MaxPages)
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		refs = append(refs, contentRefs(f, page)...)
	}

	for _, ref := range f.References() {
		value, body, err := f.Object(ref)
		if err != nil {
			return nil, err
		}
		entries, _ := value.(pdffile.Dict)
		switch {
		case body != 0 && isContent(entries):
			refs = append(refs, ref)
		case entries["/Subtype"] == "/Type3":
			for _, glyph := range f.Entry(entries["/CharProcs"]) {
				refs = append(refs, pdffile.Reference(glyph))
			}
		}
	}
	return refs, nil
}

// contentRefs returns the streams of a page's content.
func contentRefs(f *pdffile.File, page pdffile.Page) (refs []string) {
	for _, v := range job.ContentParts(page.Entries["/Contents"], f.Target(page.Entries["/Contents"])) {
		refs = append(refs, pdffile.Reference(v))
	}
	return refs
}

// shownCode is a code of content that shows a glyph. Positions are MuPDF's: in points, from the page's top left.
type shownCode struct {
	Text string
	x, y float64
	*glyphSpace
	advance float64  // in its units
	ink     *job.Box // in its units, upwards from its origin
	cell    int32    // in the sheet of glyphs; -1 means none
}

// glyphSpace is what the glyphs of a text share: the matrix of their unit, which is the size of their font.
type glyphSpace struct {
	matrix   [4]float64
	vertical bool
}

// at returns a point of a code's glyph on its page.
func (c shownCode) at(x, y float64) (float64, float64) {
	m := c.matrix
	return c.x + m[0]*x + m[2]*y, c.y + m[1]*x + m[3]*y
}

// The height of letters above and below their line, in units of their size. Fonts declare heights up to several
// lines, for their tallest glyph.
const (
	letterAscent  = 0.9
	letterDescent = -0.22
)

// Quad returns the corners of a code's letter: see pageLetters.
func (c shownCode) Quad() []float64 {
	corners := [][2]float64{{0, letterAscent}, {c.advance, letterAscent}, {0, letterDescent}, {c.advance, letterDescent}}
	if c.vertical {
		// Its line goes down: the top of the line is at its right.
		corners = [][2]float64{{1, letterAscent}, {1, letterDescent}, {0, letterAscent}, {0, letterDescent}}
	}
	q := make([]float64, 0, cornerNumbers)
	for _, corner := range corners {
		x, y := c.at(corner[0], corner[1])
		q = append(q, x, y)
	}
	return q
}

// codeRun are the codes of one execution of an operation.
type codeRun struct{ operation, first, end int }

// PageCodes are the codes that a page shows, in the order of its content.
type PageCodes struct {
	Codes  []shownCode
	runs   []codeRun
	Bounds job.Box
}

// readCodes reads what the script wrote of a page.
func readCodes(text string) (p PageCodes, err error) {
	space := &glyphSpace{}
	p.runs = []codeRun{{operation: -1}}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}

		numbers := make([]float64, len(words))
		for i, word := range words {
			if i == 0 && (word == "M" || word == "R" || word == "B") {
				continue
			}
			if numbers[i], err = strconv.ParseFloat(word, 64); err != nil {
				return p, err
			}
		}
		last := &p.runs[len(p.runs)-1]

		switch {
		case words[0] == "M" && len(words) == 6:
			space = &glyphSpace{matrix: [4]float64(numbers[1:5]), vertical: numbers[5] == 1}
		case words[0] == "B" && len(words) == 5:
			p.Bounds = job.Box(numbers[1:])
		case words[0] == "R" && len(words) == 2:
			last.end = len(p.Codes)
			p.runs = append(p.runs, codeRun{operation: int(numbers[1]), first: len(p.Codes)})
		case len(words) == 6:
			text := string(rune(numbers[0]))
			if numbers[1] == 0 && len(p.Codes) > last.first {
				p.Codes[len(p.Codes)-1].Text += text
				continue
			}
			p.Codes = append(p.Codes, shownCode{Text: text, x: numbers[2], y: numbers[3], glyphSpace: space, advance: numbers[4], cell: int32(numbers[5])})
		default:
			return p, fmt.Errorf("a line of glyphs: %.40q", line)
		}
	}
	p.runs[len(p.runs)-1].end = len(p.Codes)
	return p, nil
}

// ReadRun reads some pages, and passes each with its number from 0.
func ReadRun(ctx context.Context, d *job.Document, run int, input ReadInput, f func(int, PageCodes) error) error {
	pages, err := job.RunScript[int](ctx, d, fmt.Sprintf("read-%d.js", run), redactReadScript, input)
	if err != nil {
		return err
	}
	if pages != d.Pages {
		return d.Fail(job.Damaged, fmt.Errorf("%d of %d pages can be read", pages, d.Pages))
	}

	for n := input.First; n < input.End; n++ {
		name := fmt.Sprintf("%s%d", input.Output, n)
		text, err := job.TakeJSON[string](d, name+".json")
		if err != nil {
			return err
		}

		codes, err := readCodes(text)
		if err == nil {
			err = codes.readInk(d.Work.Path(name + ".png"))
		}
		if err != nil {
			return d.Fail(job.Damaged, fmt.Errorf("%s: %w", name, err))
		}
		if err := f(n, codes); err != nil {
			return err
		}
	}
	return nil
}

// sheetEm is the size of glyphs on the sheet of them in pixels, sheetCell that of a cell, and sheetColumns is the
// number of cells in a row. A glyph's origin is an em from the left and two and a half from the top.
const (
	sheetEm      = 32
	sheetCell    = 4 * sheetEm
	sheetColumns = 16
)

// readInk reads where the codes of a page have ink from the sheet of their glyphs, if there is one.
func (p PageCodes) readInk(path string) error {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	sheet, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		return err
	}

	known := map[int32]*job.Box{}
	for i, c := range p.Codes {
		if c.cell < 0 {
			continue
		}
		if _, ok := known[c.cell]; !ok {
			known[c.cell] = inkOf(sheet, int(c.cell))
		}
		p.Codes[i].ink = known[c.cell]
	}
	return os.Remove(path)
}

// inkOf returns where a cell is not white, around its glyph's origin; nil if it is all white.
func inkOf(sheet image.Image, cell int) *job.Box {
	left := cell % sheetColumns * sheetCell
	top := cell / sheetColumns * sheetCell
	found := image.Rectangle{}

	for y := top; y < top+sheetCell; y++ {
		for x := left; x < left+sheetCell; x++ {
			const dark = 0xc0
			if gray, _ := color.GrayModel.Convert(sheet.At(x, y)).(color.Gray); gray.Y < dark {
				found = found.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}

	if found.Empty() {
		return nil
	}
	em := func(pixels int) float64 { return float64(pixels) / sheetEm }
	return &job.Box{em(found.Min.X-left) - 1, 2.5 - em(found.Max.Y-top), em(found.Max.X-left) - 1, 2.5 - em(found.Min.Y-top)}
}

// within reports whether a code is in an area: its middle, or its ink. An area is a rectangle, in MuPDF's points.
func (c shownCode) within(area job.Box) bool {
	const edge = 0.5 // points, for what only touches the area
	inner := area
	for side := range 2 {
		if inset := min(edge, (area[side+2]-area[side])/4); inset > 0 {
			inner[side], inner[side+2] = area[side]+inset, area[side+2]-inset
		}
	}

	x, y := c.at(c.advance/2, (letterAscent+letterDescent)/2)
	if c.vertical {
		x, y = c.at(0.5, (letterAscent+letterDescent)/2)
	}
	if x > inner[0] && x < inner[2] && y > inner[1] && y < inner[3] {
		return true
	}
	if c.ink == nil {
		return false
	}
	m := job.Affine{c.matrix[0], c.matrix[1], c.matrix[2], c.matrix[3], c.x, c.y}
	return overlap(m, *c.ink, inner)
}

// overlap reports whether a transformed rectangle and one that is not have a part in common: no axis of either
// separates them.
func overlap(m job.Affine, a, b job.Box) bool {
	if around := job.Box(m.Around(a[0], a[1], a[2], a[3])); !around.Touches(b) {
		return false
	}
	determinant := m[0]*m[3] - m[1]*m[2]
	if math.Abs(determinant) < 1e-9 {
		return true
	}
	back := job.Affine{m[3] / determinant, -m[1] / determinant, -m[2] / determinant, m[0] / determinant, 0, 0}
	e, f := back.At(-m[4], -m[5])
	back[4], back[5] = e, f
	return job.Box(back.Around(b[0], b[1], b[2], b[3])).Touches(a)
}

// letters returns the letters of a page in the order of its content, with the ends of lines and the spaces that
// readers see between them.
func (p PageCodes) letters() pageLetters {
	l := &lineReader{}
	for i, c := range p.Codes {
		l.code(i, c)
	}
	return l.pageLetters
}

// lineReader divides codes into lines, as MuPDF's reader does.
type lineReader struct {
	pageLetters

	any        bool
	direction  [2]float64 // of the line
	vertical   bool
	penX, penY float64 // the end of the last letter
	last       string
	rtl        bool
}

// code adds the letters of a code.
func (l *lineReader) code(number int, c shownCode) { //nolint:gocyclo // MuPDF's rules, in its order
	const smallGap, largeGap, lineHeight = 0.15, 0.8, 0.8 // of a letter's size
	q := c.Quad()
	startX := c.x
	startY := c.y
	endX := c.x + c.advance*c.matrix[0]
	endY := c.y + c.advance*c.matrix[1]
	if c.vertical {
		startX = q[4]
		startY = q[5]
		endX = q[6]
		endY = q[7]
	}

	direction := [2]float64{endX - startX, endY - startY}
	if direction == [2]float64{} {
		direction = [2]float64{c.matrix[0], c.matrix[1]}
	}
	if length := math.Hypot(direction[0], direction[1]); length > 0 {
		direction = [2]float64{direction[0] / length, direction[1] / length}
	}

	size := math.Sqrt(math.Abs(c.matrix[0]*c.matrix[3] - c.matrix[1]*c.matrix[2]))
	first, length := utf8.DecodeRuneInString(c.Text)
	text := c.Text[:length]
	if isLigature(first) {
		text = norm.NFKC.String(text)
	}

	switch class, _ := bidi.LookupRune(first); class.Class() {
	case bidi.R, bidi.AL:
		l.rtl = true
	case bidi.L:
		l.rtl = false
	}

	same := l.any && l.vertical == c.vertical && direction[0]*l.direction[0]+direction[1]*l.direction[1] > 0.999
	space := false
	if same {
		if math.Abs(endX-l.penX) < 1e-4 && math.Abs(endY-l.penY) < 1e-4 && l.last == text && len(l.Codes) > 0 {
			l.Codes[len(l.Codes)-1] = append(l.Codes[len(l.Codes)-1], number) // drawn twice, to be bold
			return
		}
		dx := startX - l.penX
		dy := startY - l.penY
		gap := direction[0]*dx + direction[1]*dy
		off := direction[0]*dy - direction[1]*dx
		switch {
		case math.Abs(off) >= size*lineHeight:
			same = false
		case l.rtl || math.Abs(gap) < size*smallGap:
		case math.Abs(gap) > size*largeGap:
			same = false
		default:
			space = gap > 0 && l.last != " " && !c.vertical
		}
	}
	if l.any && !same {
		l.add("\n", nil, make([]float64, cornerNumbers))
	}
	if space {
		l.add(" ", nil, []float64{l.penX, l.penY, startX, startY, l.penX, l.penY, startX, startY})
	}

	// The letters of a ligature after its first have no width.
	thin := []float64{q[2], q[3], q[2], q[3], q[6], q[7], q[6], q[7]}
	for i, r := range text + c.Text[length:] {
		if i == 0 {
			l.add(string(r), []int{number}, q)
		} else {
			l.add(string(r), []int{number}, thin)
		}
	}
	l.any, l.vertical, l.direction, l.penX, l.penY, l.last = true, c.vertical, direction, endX, endY, text
}

func (l *lineReader) add(text string, codes []int, quad []float64) {
	l.Text, l.Codes, l.Quads = append(l.Text, text), append(l.Codes, codes), append(l.Quads, quad...)
}

// isLigature reports whether a character is a Latin ligature, which readers take for its letters.
func isLigature(r rune) bool { return r >= 0xFB00 && r <= 0xFB06 }
