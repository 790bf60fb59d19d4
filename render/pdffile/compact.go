package pdffile

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
)

const (
	// packedAtOnce is the maximum number of objects of an object stream. Their text exceeds the window of the
	// compression, so that more would save little.
	packedAtOnce = 4000
	// fewestAlike is the number of structure elements that differ in numbers only from which on they are written as a
	// table. Of few, all readers can read the structure: some ignore predictors.
	fewestAlike = 200
)

// Compact returns the whole document after the update as a new file, as small as can be: only objects that are
// reachable from the catalog or the information, in object streams, with a compressed table. The error is ErrUnread
// if an object on the way cannot be read.
func (u *Update) Compact() ([]byte, error) {
	w := &compactor{update: u, numbers: map[string]int{}}
	info := u.info
	if info == "" {
		info = Reference(u.file.trailer["/Info"])
	}

	root := u.file.Root()
	if err := w.collect(root, info); err != nil {
		return nil, err
	}

	w.order()
	w.out = []byte("%PDF-1.7\n%\xE2\xE3\xCF\xD3\n")
	w.rows = make([]tableRow, 1+len(w.objects))

	for first := 0; first < len(w.objects); {
		end := first + 1
		for end < len(w.objects) && end < first+packedAtOnce && w.objects[end].shape == w.objects[first].shape {
			end++
		}
		w.pack(first+1, w.objects[first:end])
		first = end
	}

	trailer := Dict{"/Root": root, "/ID": u.identity()}
	if u.cipher != nil {
		trailer["/Encrypt"], trailer["/ID"] = w.encryption(), []any{u.cipher.first, u.identity()[1]}
	}
	if info != "" {
		trailer["/Info"] = info
	}

	w.table(trailer)
	return w.out, nil
}

// identity returns the two strings that name a file: the first is the document's, the second that of the change.
func (u *Update) identity() []any {
	if u.id != nil {
		return u.id
	}
	f := u.file
	sum := sha256.Sum256(f.content)
	name := "b:" + hex.EncodeToString(sum[:16])
	if old, ok := f.trailer["/ID"].([]any); ok && len(old) > 0 {
		if first, ok := old[0].(string); ok && strings.HasPrefix(first, "b:") {
			return []any{first, name}
		}
	}
	return []any{name, name}
}

// compactor writes a file.
type compactor struct {
	update  *Update
	numbers map[string]int // of objects in the new file, by their references
	objects []packable     // in the order of their numbers
	out     []byte
	rows    []tableRow
	digits  int // that numbers are written with; 0 is as many as they need, and anyNumber writes a placeholder
}

const anyNumber = -1

// packable is an object to be written.
type packable struct {
	ref   string
	value any
	shape *shape // nil if few others have it
}

// shape is what structure elements that differ in numbers only have in common, or lists of references.
type shape struct {
	first, size int // the first object, and the number of objects or references
	list        bool
}

// tableRow is the position of an object, as its kind has it.
type tableRow struct{ kind, second, third int }

// collect numbers the objects in the order of their use, as a reader meets them.
func (w *compactor) collect(roots ...string) error {
	slices.Reverse(roots)
	for next := roots; len(next) > 0; {
		ref := next[len(next)-1]
		next = next[:len(next)-1]
		if _, seen := w.numbers[ref]; seen || ref == "" {
			continue
		}

		value, err := w.update.compactValue(ref)
		if err != nil {
			return err
		}
		if value == nil {
			w.numbers[ref] = 0 // it refers to nothing
			continue
		}

		w.objects = append(w.objects, packable{ref: ref, value: value})
		w.numbers[ref] = len(w.objects)
		start := len(next)
		next = orderedReferences(value, next)
		slices.Reverse(next[start:])
	}

	return nil
}

// compactValue returns an object's value after the update, with its content if it is a stream.
func (u *Update) compactValue(ref string) (any, error) {
	if value, ok := u.changed[ref]; ok {
		return value, nil
	}
	if u.omitted != nil && u.omitted(ref) {
		return nil, nil
	}

	value, body, err := u.file.Object(ref)
	if err != nil || body == 0 {
		return value, err
	}

	entries, _ := value.(Dict)
	content, err := filtered(u.file, entries, body)
	return Stream{entries, content}, err
}

// orderedReferences is references in the order of writing, without the length of a stream, which is rewritten.
func orderedReferences(v any, list []string) []string {
	switch v := v.(type) {
	case string:
		if v != "" && v[0] >= '1' && v[0] <= '9' {
			list = append(list, v)
		}
	case []any:
		for _, item := range v {
			list = orderedReferences(item, list)
		}
	case Dict:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = orderedReferences(v[key], list)
		}
	case Stream:
		return orderedReferences(Without(v.Entries, "/Length"), list)
	}

	return list
}

// order numbers the objects again: many of a shape are next to each other, after all others.
func (w *compactor) order() {
	w.digits = anyNumber
	shapes := map[string]*shape{}

	for i := range w.objects {
		o := &w.objects[i]
		text, size := w.shape(o.value)
		if text == "" {
			continue
		}
		if shapes[text] == nil {
			shapes[text] = &shape{first: i + 1, list: text == listShape}
		}
		o.shape = shapes[text]
		o.shape.size += size
	}

	place := func(o packable) int {
		if o.shape == nil || o.shape.size < fewestAlike {
			return 0
		}
		return o.shape.first
	}

	slices.SortStableFunc(w.objects, func(a, b packable) int { return place(a) - place(b) })
	for i, o := range w.objects {
		w.numbers[o.ref] = i + 1
		if place(o) == 0 {
			w.objects[i].shape = nil
		}
	}
}

// shape returns the text of a structure element without its numbers. All lists of references have one text, as those of
// parents of marks are; other objects have none, so that readers that ignore predictors still find the pages.
func (w *compactor) shape(v any) (text string, size int) {
	switch v := v.(type) {
	case []any:
		if !slices.ContainsFunc(v, func(item any) bool { return Reference(item) == "" }) {
			return listShape, len(v)
		}
	case Dict:
		if v["/S"] != nil && v["/P"] != nil {
			if raw := w.value(nil, v); len(raw) < maxRow/8 {
				return string(raw), 1
			}
		}
	}

	return "", 0
}

const listShape = "[]"

// pack writes objects of a shape, in an object stream unless they are streams themselves. A table of objects that
// differ in numbers only is written in columns: of each row, only the difference from the row above is compressed.
func (w *compactor) pack(first int, objects []packable) {
	w.digits = 0
	width := 1
	common := objects[0].shape
	if common != nil {
		w.digits = len(strconv.Itoa(len(w.objects)))
		width = w.digits + len(" 0 R ")
	}

	var texts [][]byte
	var members []int
	for i, o := range objects {
		if s, ok := o.value.(Stream); ok {
			w.stream(first+i, s)
			continue
		}
		text := append(w.value(nil, o.value), '\n')
		if common != nil && !common.list {
			width = max(width, len(text))
		}
		texts, members = append(texts, text), append(members, first+i)
	}

	if len(members) == 0 {
		return
	}

	var head, body []byte
	number := len(w.rows)
	for i, member := range members {
		w.rows[member] = tableRow{rowPacked, number, i}
		head = padded(fmt.Appendf(head, "%*d %*d ", w.digits, member, w.digits, len(body)), width)
		body = padded(append(body, texts[i]...), width)
	}

	entries := Dict{"/Type": "/ObjStm", "/N": len(members), "/First": len(head)}
	content := slices.Concat(head, body)
	if width > 1 {
		content = predicted(entries, content, width)
	}

	w.digits = 0
	w.stream(number, Deflated(entries, content))
}

// encryptReference refers to the encryption dictionary. No file has an object of this generation.
const encryptReference = "1 65536 R"

// encryption writes the encryption dictionary, which is not encrypted itself, and returns its reference.
func (w *compactor) encryption() string {
	number := len(w.rows)
	w.rows = append(w.rows, tableRow{rowPlain, len(w.out), 0})
	w.out = fmt.Appendf(w.out, "%d 0 obj\n", number)
	w.out = append(w.value(w.out, w.update.cipher.entries), "\nendobj\n"...)
	w.numbers[encryptReference] = number
	return encryptReference
}

// padded adds spaces up to a multiple of a width.
func padded(out []byte, width int) []byte {
	return append(out, bytes.Repeat([]byte{' '}, (width-len(out)%width)%width)...)
}

// predicted returns rows as the differences from the rows above, and says so in the entries of their stream.
func predicted(entries Dict, rows []byte, width int) []byte {
	const fromAbove = 2
	entries["/DecodeParms"] = Dict{"/Predictor": 10 + fromAbove, "/Columns": width}
	out := make([]byte, 0, len(rows)+len(rows)/width)
	above := make([]byte, width)
	for ; len(rows) > 0; rows = rows[width:] {
		out = append(out, fromAbove)
		for i, c := range rows[:width] {
			out = append(out, c-above[i])
		}
		above = rows[:width]
	}
	return out
}

func (w *compactor) stream(number int, s Stream) {
	if c := w.update.cipher; c != nil && s.Entries["/Type"] != "/XRef" {
		s, _ = c.encrypted(number, 0, s).(Stream)
	}
	entries := maps.Clone(s.Entries)
	entries["/Length"] = len(s.Content)
	for number >= len(w.rows) {
		w.rows = append(w.rows, tableRow{})
	}
	w.rows[number] = tableRow{rowPlain, len(w.out), 0}
	w.out = fmt.Appendf(w.out, "%d 0 obj\n", number)
	w.out = append(w.value(w.out, entries), "stream\n"...)
	w.out = append(append(w.out, s.Content...), "\nendstream\nendobj\n"...)
}

// table writes the table.
func (w *compactor) table(trailer Dict) {
	start := len(w.out)
	number := len(w.rows)
	w.rows = append(w.rows, tableRow{rowPlain, start, 0})
	w.rows[0] = tableRow{rowFree, 0, 0}
	var data []byte
	for _, r := range w.rows {
		data = append(data, byte(r.kind), byte(r.second>>24), byte(r.second>>16), byte(r.second>>8), byte(r.second), byte(r.third>>8), byte(r.third))
	}
	trailer["/Type"], trailer["/Size"], trailer["/W"] = "/XRef", len(w.rows), []any{1, 4, 2}
	data = predicted(trailer, data, 1+4+2)
	w.stream(number, Deflated(trailer, data))
	w.out = fmt.Appendf(w.out, "startxref\n%d\n%%%%EOF\n", start)
}

// Deflated returns a compressed stream of a content.
func Deflated(entries Dict, content []byte) Stream {
	var out bytes.Buffer
	out.Grow(len(content)/4 + 64)
	z, _ := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(z)
	z.Reset(&out)
	_, _ = z.Write(content) // A buffer has no errors.
	_ = z.Close()
	entries["/Filter"] = "/FlateDecode"
	return Stream{entries, out.Bytes()}
}

// deflaters are writers, each of which has a large table.
var deflaters = sync.Pool{New: func() any { return zlib.NewWriter(nil) }} // a pool

// value writes a value in PDF syntax, without spaces that no reader needs.
func (w *compactor) value(out []byte, v any) []byte {
	switch v := v.(type) {
	case int:
		return w.number(out, v)
	case string:
		return w.text(out, v)
	case []any:
		out = append(out, '[')
		for _, item := range v {
			out = w.item(out, item)
		}
		return append(out, ']')
	case Dict:
		out = append(out, "<<"...)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = w.item(appendName(out, key), v[key])
		}
		return append(out, ">>"...)
	}

	return appendValue(out, v)
}

// item writes a value after another, with a space if both are words.
func (w *compactor) item(out []byte, v any) []byte {
	word := true
	switch v := v.(type) {
	case []any, Dict:
		word = false
	case string:
		word = Reference(v) != ""
	}
	if word && isRegular(out[len(out)-1]) {
		out = append(out, ' ')
	}
	return w.value(out, v)
}

func (w *compactor) number(out []byte, n int) []byte {
	if w.digits == anyNumber {
		return append(out, '#')
	}
	digits := strconv.Itoa(n)
	for range w.digits - len(digits) {
		out = append(out, ' ')
	}
	return append(out, digits...)
}

// text writes a name, a reference or a string.
func (w *compactor) text(out []byte, text string) []byte {
	if number := w.numbers[text]; number > 0 {
		return append(w.number(out, number), " 0 R"...)
	}
	if raw, ok := stringBytes(text); ok {
		return appendLiteral(out, raw)
	}
	if strings.HasPrefix(text, "/") {
		return appendName(out, text)
	}
	return append(out, "null"...) // a reference to nothing
}

// stringBytes returns the bytes of a string; ok is false for a name, a reference and what is malformed.
func stringBytes(text string) (raw []byte, ok bool) {
	if unicode, ok := strings.CutPrefix(text, "u:"); ok {
		return textBytes(unicode), true
	}
	digits, ok := strings.CutPrefix(text, "b:")
	if !ok {
		return nil, false
	}
	raw, err := hex.DecodeString(digits)
	return raw, err == nil
}

// textBytes encodes a text string: as it is while that is ASCII, otherwise as UTF-16.
func textBytes(text string) []byte {
	if strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
		return []byte(text)
	}
	out := []byte("\xFE\xFF")
	for _, unit := range utf16.Encode([]rune(text)) {
		out = append(out, byte(unit>>8), byte(unit))
	}
	return out
}

// appendLiteral writes a string in parentheses.
func appendLiteral(out, raw []byte) []byte {
	out = append(out, '(')
	for _, c := range raw {
		switch c {
		case '(', ')', '\\':
			out = append(out, '\\', c)
		case '\r':
			out = append(out, '\\', 'r')
		default:
			out = append(out, c)
		}
	}
	return append(out, ')')
}
