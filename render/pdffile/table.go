package pdffile

import (
	"regexp"
	"strconv"
)

var startPattern = regexp.MustCompile(`startxref\s+(\d+)`)

// maxTables bounds how often a document has been changed. Each change adds a
// table, which leads to the one before.
const maxTables = 256

// ReadTable reads the tables of a file, in either of their forms: as text, or as a stream. It checks the number of
// objects; Sound checks their positions.
func ReadTable(content []byte) (*File, error) {
	all := startPattern.FindAllSubmatch(content[max(0, len(content)-HeaderWithin):], -1)
	if len(all) == 0 {
		return nil, ErrUnread
	}
	start, err := strconv.Atoi(string(all[len(all)-1][1]))
	if err != nil {
		return nil, ErrUnread
	}
	r := &tableReader{File: newFile(content), freed: map[int]bool{}}
	for range maxTables {
		trailer, err := r.read(start)
		if err != nil || trailer == nil {
			return nil, ErrUnread
		}
		if r.tables = append(r.tables, start); r.trailer == nil {
			r.trailer = trailer
		}
		before, more := trailer["/Prev"].(float64)
		if !more {
			return r.File, r.whole()
		}
		start = int(before)
	}
	return nil, ErrUnread
}

// tableReader reads tables, the latest first.
type tableReader struct {
	*File
	freed map[int]bool // objects that are gone, wherever earlier tables have them
	// repeated means that an object has several entries.
	repeated bool
}

// add stores an entry of a table, unless a later table has stored one.
func (r *tableReader) add(number int, at place, there bool) {
	r.highest = max(r.highest, number)
	switch _, known := r.places[number]; {
	case known || r.freed[number]:
		r.repeated = true
	case there:
		r.File.add(number, at)
	default:
		r.freed[number] = true
	}
}

// expect makes room for a number of entries, at most as many as there can be.
func (r *tableReader) expect(count int) {
	const entry = 20 // bytes
	if len(r.places) == 0 {
		r.places = make(map[int]place, min(count, len(r.content)/entry))
	}
}

// read reads the table at an offset, and returns its trailer.
func (r *tableReader) read(start int) (Dict, error) {
	if start < 0 || start >= len(r.content) {
		return nil, ErrUnread
	}
	p := &parser{data: r.content, at: start}
	if !p.keyword("xref") {
		return r.stream(p)
	}
	var freed []int
	for !p.keyword("trailer") {
		first, err1 := p.integer()
		count, err2 := p.integer()
		if err1 != nil || err2 != nil || first < 0 || count < 0 || first > maxObjects {
			return nil, ErrUnread
		}
		r.expect(count)
		for number := first; number < first+count; number++ {
			offset, err1 := p.integer()
			generation, err2 := p.integer()
			there := p.keyword("n")
			if err1 != nil || err2 != nil || !there && !p.keyword("f") {
				return nil, ErrUnread
			}
			if !there {
				freed = append(freed, number)
				continue
			}
			r.add(number, place{offset: offset, generation: generation}, true)
		}
	}
	value, err := p.value(0)
	trailer, _ := value.(Dict)
	if err == nil && trailer["/XRefStm"] != nil {
		err = r.hybrid(trailer["/XRefStm"])
	}
	for _, number := range freed {
		r.add(number, place{}, false)
	}
	return trailer, err
}

// hybrid reads the table of a hybrid file that is a stream. It has objects that the other table declares free, for readers
// older than PDF 1.5.
func (r *tableReader) hybrid(at any) error {
	start, ok := at.(float64)
	if !ok || start < 0 || start >= float64(len(r.content)) {
		return ErrUnread
	}
	_, err := r.stream(&parser{data: r.content, at: int(start)})
	return err
}

// stream reads a table that is a stream, whose dictionary is the trailer.
func (r *tableReader) stream(p *parser) (Dict, error) {
	start := p.at
	number, err := p.integer()
	if err != nil {
		return nil, ErrUnread
	}
	value, body, err := r.readAt(number, place{offset: start})
	trailer, _ := value.(Dict)
	if err != nil || body == 0 || trailer["/Type"] != "/XRef" {
		return nil, ErrUnread
	}
	raw, err := r.inflate(number, place{}, trailer, body)
	if err != nil {
		return nil, err
	}
	if raw, err = unpredict(raw, trailer["/DecodeParms"]); err != nil {
		return nil, err
	}
	widths, index := integers(trailer["/W"]), integers(trailer["/Index"])
	if index == nil {
		size, _ := trailer["/Size"].(float64)
		index = []int{0, int(size)}
	}
	return trailer, r.rows(raw, widths, index)
}

const (
	// maxWidth is the maximum number of bytes of a field of a table: more than any offset needs.
	maxWidth = 6
	// maxRow is the maximum number of bytes of a predicted row.
	maxRow = 1 << 11
	// The values of a row's first field, the kind of the object.
	rowFree, rowPlain, rowPacked = 0, 1, 2
)

// rows reads the rows of a table, which are of fields of these widths, for the
// objects of an index: pairs of the first number and how many there are.
func (r *tableReader) rows(raw []byte, widths, index []int) error {
	const fields = 3
	if len(widths) != fields || len(index)%2 != 0 || widths[1] == 0 {
		return ErrUnread
	}
	next := func(width, otherwise int) (value int) {
		if width == 0 {
			return otherwise
		}
		for _, c := range raw[:width] {
			value = value<<8 | int(c)
		}
		raw = raw[width:]
		return value
	}
	for _, width := range widths {
		if width < 0 || width > maxWidth {
			return ErrUnread
		}
	}
	for ; len(index) > 0; index = index[2:] {
		if index[0] < 0 || index[0] > maxObjects {
			return ErrUnread
		}
		for number := index[0]; number < index[0]+index[1]; number++ {
			if len(raw) < widths[0]+widths[1]+widths[2] {
				return ErrUnread
			}
			kind, second, third := next(widths[0], rowPlain), next(widths[1], 0), next(widths[2], 0)
			switch kind {
			case rowFree:
				r.add(number, place{}, false)
			case rowPlain:
				r.add(number, place{offset: second, generation: third}, true)
			case rowPacked:
				r.add(number, place{stream: second, index: third}, true)
			default:
				return ErrUnread
			}
		}
	}
	return nil
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

// unpredict undoes the prediction of a table's bytes from the row above, the only predictor that writers of tables
// use.
func unpredict(raw []byte, parameters any) ([]byte, error) {
	const pngPredictors, fromAbove = 10, 2
	p, known := parameters.(Dict)
	predictor, _ := p["/Predictor"].(float64)
	if parameters == nil || known && (predictor == 1 || p["/Predictor"] == nil) {
		return raw, nil
	}
	columns, _ := p["/Columns"].(float64)
	width := int(columns)
	if predictor < pngPredictors || width < 1 || width > maxRow || len(raw)%(1+width) != 0 || p["/Colors"] != nil || p["/BitsPerComponent"] != nil {
		return nil, ErrUnread
	}
	above := make([]byte, width)
	plain := make([]byte, 0, len(raw))
	for ; len(raw) > 0; raw = raw[1+width:] {
		if raw[0] > fromAbove || raw[0] == 1 {
			return nil, ErrUnread
		}
		for i, c := range raw[1 : 1+width] {
			if raw[0] == fromAbove {
				c += above[i]
			}
			above[i] = c
		}
		plain = append(plain, above...)
	}
	return plain, nil
}

// whole returns an error unless the tables have as many objects as the trailer declares.
func (f *File) whole() error {
	if size, _ := f.trailer["/Size"].(float64); int(size) != f.highest+1 {
		return ErrUnread
	}
	return nil
}
