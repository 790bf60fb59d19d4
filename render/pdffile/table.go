package pdffile

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"
)

var startPattern = regexp.MustCompile(`startxref[\s\x00]*(\d+)`)

// startOf returns the offset of the latest table, as the end of a file names it. White space and zeros may follow the
// end.
func startOf(content []byte) (start int, ok bool) {
	content = bytes.TrimRightFunc(content, func(r rune) bool { return r < utf8.RuneSelf && isSpace(byte(r)) })
	all := startPattern.FindAllSubmatch(content[max(0, len(content)-HeaderWithin):], -1)
	if len(all) == 0 {
		return 0, false
	}
	start, err := strconv.Atoi(string(all[len(all)-1][1]))
	return start, err == nil
}

// headerOf returns the offset of the header of a file; 0 if it has none.
func headerOf(content []byte) int {
	return max(0, bytes.Index(content[:min(len(content), HeaderWithin)], []byte("%PDF-")))
}

// maxTables bounds how often a document has been changed. Each change adds a
// table, which leads to the one before.
const maxTables = 256

// ReadTable reads the tables of a file, in either of their forms: as text, or as a stream. Sound checks the positions
// of the objects. The number of objects in the trailer does not count: many programs write a wrong one.
func ReadTable(content []byte) (*File, error) {
	start, ok := startOf(content)
	if !ok {
		return nil, ErrUnread
	}

	// Offsets count from the header, but some programs count bytes before it too.
	origin := headerOf(content)
	f, err := readTables(content, origin, start)
	if origin == 0 || err == nil && len(f.misplaced()) == 0 {
		return f, err
	}

	other, otherErr := readTables(content, 0, start)
	better := otherErr == nil && (err != nil || len(other.misplaced()) < len(f.misplaced()))
	if better {
		f = other
		err = nil
	}
	return f, err
}

// readTables reads the tables of a file whose offsets count from an origin. The latest begins at an offset.
func readTables(content []byte, origin, start int) (*File, error) {
	r := newTableReader(content, origin)
	for range maxTables {
		trailer, err := r.read(start)
		if err != nil || trailer == nil {
			return nil, ErrUnread
		}
		if r.tables = append(r.tables, origin+start); r.trailer == nil {
			r.trailer = trailer
		}

		before, _ := trailer["/Prev"].(float64)
		if before == 0 { // The header is there.
			return r.File, nil
		}
		start = int(before)
	}
	return nil, ErrUnread
}

// tableReader reads tables, the latest first.
type tableReader struct {
	*File
	freed map[int]bool // objects that are gone, wherever earlier tables have them
	// irregular means that readers may read a table in different ways, such as one with several entries of an object.
	irregular bool
}

func newTableReader(content []byte, origin int) *tableReader {
	f := newFile(content)
	f.origin = origin
	return &tableReader{File: f, freed: map[int]bool{}}
}

// add stores an entry of a table, unless a later table has stored one.
func (r *tableReader) add(number int, at xrefEntry, there bool) {
	r.highest = max(r.highest, number)
	switch _, known := r.xref[number]; {
	case known || r.freed[number]:
		r.irregular = true
	case there:
		r.File.add(number, at)
	default:
		r.freed[number] = true
	}
}

// expect makes room for a number of entries, at most as many as there can be.
func (r *tableReader) expect(count int) {
	const entry = 20 // bytes
	if len(r.xref) == 0 {
		r.xref = make(map[int]xrefEntry, min(count, len(r.content)/entry))
	}
}

// read reads the table at an offset, and returns its trailer.
func (r *tableReader) read(start int) (Dict, error) {
	if start < 0 || start >= len(r.content)-r.origin {
		return nil, ErrUnread
	}
	p := &parser{data: r.content, at: r.origin + start}
	if !p.keyword("xref") {
		return r.stream(p)
	}

	var freed []int
	for !p.keyword("trailer") {
		section, err := r.section(p)
		if err != nil {
			return nil, err
		}
		freed = append(freed, section...)
	}

	value, err := p.value(0)
	trailer, _ := value.(Dict)
	if err == nil && trailer["/XRefStm"] != nil {
		err = r.hybrid(trailer["/XRefStm"])
	}
	for _, number := range freed {
		r.add(number, xrefEntry{}, false)
	}
	return trailer, err
}

// section reads a section of a table that is text, and returns the numbers of its free objects.
func (r *tableReader) section(p *parser) (freed []int, err error) {
	first, err1 := p.integer()
	count, err2 := p.integer()
	if err1 != nil || err2 != nil || first < 0 || count < 0 || first > maxObjects {
		return nil, ErrUnread
	}

	r.expect(count)
	for i := range count {
		number := first + i
		offset, err1 := p.integer()
		generation, err2 := p.integer()
		there := p.keyword("n")
		if err1 != nil || err2 != nil || !there && !p.keyword("f") {
			return nil, ErrUnread
		}

		const head = 65535 // the generation of object 0
		switch {
		case i == 0 && first == 1 && !there && offset == 0 && generation == head:
			first = 0 // Some programs count from 1.
			r.irregular = true
			freed = append(freed, 0)
		case !there:
			freed = append(freed, number)
		case offset == 0:
			freed = append(freed, number)
			r.irregular = true
		default:
			r.add(number, xrefEntry{offset: offset, generation: generation}, true)
		}
	}
	return freed, nil
}

// hybrid reads the table of a hybrid file that is a stream. It has objects that the other table declares free, for
// readers older than PDF 1.5.
func (r *tableReader) hybrid(at any) error {
	start, ok := at.(float64)
	if !ok || start < 0 || start >= float64(len(r.content)-r.origin) {
		return ErrUnread
	}
	_, err := r.stream(&parser{data: r.content, at: r.origin + int(start)})
	return err
}

// stream reads a table that is a stream, whose dictionary is the trailer.
func (r *tableReader) stream(p *parser) (Dict, error) {
	start := p.at - r.origin
	number, err1 := p.integer()
	generation, err2 := p.integer()
	if err1 != nil || err2 != nil {
		return nil, ErrUnread
	}

	value, body, err := r.readAt(number, xrefEntry{offset: start, generation: generation})
	trailer, _ := value.(Dict)
	if err != nil || body == 0 || trailer["/Type"] != "/XRef" {
		return nil, ErrUnread
	}

	raw, err := r.inflate(number, xrefEntry{}, trailer, body)
	if err != nil {
		return nil, err
	}

	widths := integers(trailer["/W"])
	index := integers(trailer["/Index"])
	if index == nil {
		size, _ := trailer["/Size"].(float64)
		index = []int{0, int(size)}
	}

	return trailer, r.rows(raw, widths, index)
}

const (
	// maxWidth is the maximum number of bytes of a field of a table. No offset needs more than maxDigits of them.
	maxWidth, maxDigits = 8, 6
	// maxRow is the maximum number of bytes of a predicted row.
	maxRow = 1 << 16
	// The values of a row's first field, the kind of the object.
	rowFree, rowPlain, rowPacked = 0, 1, 2
)

// rows reads the rows of a table, which are of fields of these widths, for the
// objects of an index: pairs of the first number and how many there are.
func (r *tableReader) rows(raw []byte, widths, index []int) error {
	if !isRow(widths) || len(index)%2 != 0 {
		return ErrUnread
	}

	tooLarge := false
	next := func(width, otherwise int) (value int) {
		if width == 0 {
			return otherwise
		}
		for i, c := range raw[:width] {
			if i < width-maxDigits && c != 0 {
				tooLarge = true
			}
			value = value<<8 | int(c)
		}
		raw = raw[width:]
		return value
	}

	for ; len(index) > 0; index = index[2:] {
		if index[0] < 0 || index[0] > maxObjects {
			return ErrUnread
		}
		for number := index[0]; number < index[0]+index[1]; number++ {
			if len(raw) < widths[0]+widths[1]+widths[2] {
				return ErrUnread
			}
			kind := next(widths[0], rowPlain)
			second := next(widths[1], 0)
			third := next(widths[2], 0)
			switch {
			case kind == rowFree:
				r.add(number, xrefEntry{}, false)
			case tooLarge:
				return ErrUnread
			case kind == rowPlain && second > 0:
				r.add(number, xrefEntry{offset: second, generation: third}, true)
			case kind == rowPacked && second > 0:
				r.add(number, xrefEntry{stream: second, index: third}, true)
			default: // of a kind of the future, or at no place: there is no such object
				r.add(number, xrefEntry{}, false)
				r.irregular = true
			}
		}
	}
	return nil
}

// isRow reports whether rows can have fields of these widths. The second one is never left out.
func isRow(widths []int) bool {
	const fields = 3
	outside := func(width int) bool { return width < 0 || width > maxWidth }
	return len(widths) == fields && widths[1] != 0 && !slices.ContainsFunc(widths, outside)
}

// integers returns a list of whole numbers; nil where v is none.
func integers(v any) (list []int) {
	items, _ := v.([]any)
	for _, item := range items {
		n, ok := item.(float64)
		if !ok {
			return nil
		}
		list = append(list, int(n))
	}
	return list
}

// enough reports whether the trailer declares all objects of the tables. Some readers ignore objects above the number.
func (f *File) enough() bool {
	size, _ := f.trailer["/Size"].(float64)
	return size > float64(f.highest)
}
