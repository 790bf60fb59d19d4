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
	"unicode/utf16"
)

// packedAtOnce is the number of objects of an object stream. Their text exceeds the window of the compression, so
// that more would save nothing.
const packedAtOnce = 1000

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
	w.out = []byte("%PDF-1.7\n%\xE2\xE3\xCF\xD3\n")
	w.rows = make([]tableRow, len(w.values)+1)
	for i, value := range w.values {
		w.add(i+1, value)
	}
	w.flush()
	trailer := Dict{"/Root": root, "/ID": u.file.identity()}
	if info != "" {
		trailer["/Info"] = info
	}
	w.table(trailer)
	return w.out, nil
}

// identity returns the two strings that name a file: the first is the document's, the second that of the change.
func (f *File) identity() []any {
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
	values  []any          // of the objects, in the order of their numbers
	out     []byte
	rows    []tableRow
	head    []byte // of the open object stream: numbers and offsets
	body    []byte
	members []int
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
		w.values = append(w.values, value)
		w.numbers[ref] = len(w.values)
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

// add writes an object, into the open object stream if it is not a stream itself.
func (w *compactor) add(number int, value any) {
	if s, ok := value.(Stream); ok {
		w.stream(number, s)
		return
	}
	w.head = fmt.Appendf(w.head, "%d %d ", number, len(w.body))
	w.members = append(w.members, number)
	w.body = append(w.value(w.body, value), '\n')
	if len(w.members) == packedAtOnce {
		w.flush()
	}
}

func (w *compactor) stream(number int, s Stream) {
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

// flush writes the open object stream, which gets the next number after all others.
func (w *compactor) flush() {
	if len(w.members) == 0 {
		return
	}
	number := len(w.rows)
	for i, member := range w.members {
		w.rows[member] = tableRow{rowPacked, number, i}
	}
	w.stream(number, Deflated(Dict{"/Type": "/ObjStm", "/N": len(w.members), "/First": len(w.head)}, append(w.head, w.body...)))
	w.head, w.body, w.members = w.head[:0], w.body[:0], w.members[:0]
}

// table writes the table, each row as the difference from the row above.
func (w *compactor) table(trailer Dict) {
	const widths, fromAbove = 6, 2
	start, number := len(w.out), len(w.rows)
	w.rows = append(w.rows, tableRow{rowPlain, start, 0})
	w.rows[0] = tableRow{rowFree, 0, 0}
	var above [1 + 4 + 2]byte
	data := make([]byte, 0, len(w.rows)*(1+len(above)))
	for _, r := range w.rows {
		row := [...]byte{byte(r.kind), byte(r.second >> 24), byte(r.second >> 16), byte(r.second >> 8), byte(r.second), byte(r.third >> 8), byte(r.third)}
		data = append(data, fromAbove)
		for i := range row {
			data = append(data, row[i]-above[i])
		}
		above = row
	}
	trailer["/Type"], trailer["/Size"], trailer["/W"] = "/XRef", len(w.rows), []any{1, 4, 2}
	trailer["/DecodeParms"] = Dict{"/Predictor": 10 + fromAbove, "/Columns": len(above)}
	w.stream(number, Deflated(trailer, data))
	w.out = fmt.Appendf(w.out, "startxref\n%d\n%%%%EOF\n", start)
}

// Deflated returns a compressed stream of a content.
func Deflated(entries Dict, content []byte) Stream {
	var out bytes.Buffer
	out.Grow(len(content)/4 + 64)
	z := zlib.NewWriter(&out)
	_, _ = z.Write(content) // A buffer has no errors.
	_ = z.Close()
	entries["/Filter"] = "/FlateDecode"
	return Stream{entries, out.Bytes()}
}

// value writes a value in PDF syntax, without spaces that no reader needs.
func (w *compactor) value(out []byte, v any) []byte {
	switch v := v.(type) {
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

// text writes a name, a reference or a string.
func (w *compactor) text(out []byte, text string) []byte {
	if number := w.numbers[text]; number > 0 {
		return append(strconv.AppendInt(out, int64(number), 10), " 0 R"...)
	}
	if unicode, ok := strings.CutPrefix(text, "u:"); ok {
		return appendLiteral(out, textBytes(unicode))
	}
	if digits, ok := strings.CutPrefix(text, "b:"); ok {
		if raw, err := hex.DecodeString(digits); err == nil {
			return appendLiteral(out, raw)
		}
	}
	if strings.HasPrefix(text, "/") {
		return appendName(out, text)
	}
	return append(out, "null"...) // a reference to nothing
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
