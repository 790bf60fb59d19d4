// Package records reads the records of a bulk job from a file: a JSON array, JSON Lines, CSV or XLSX. The file is
// untrusted, so a child of render/engine reads it and writes one JSON object per line.
//
//	count, err := records.Read(file, size, out, records.Options{})
package records

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// Max is the maximum number of records of a file.
	Max = 10_000
	// MaxRecord is the maximum size of a record as JSON, in bytes. It is that of a template's data.
	MaxRecord = 5 << 20
	// MaxTotal is the maximum size of all records as JSON, in bytes.
	MaxTotal = 64 << 20
	// MaxColumns is the maximum number of columns of a table.
	MaxColumns = 1000
	// maxDepth is the maximum number of names in the path of a column.
	maxDepth = 16
)

// Options are the choices of the reader.
type Options struct {
	// Flat keeps the names of columns as they are. By default they are paths: customer.name is the member name of
	// the object customer, and items.0 the first item of the array items.
	Flat bool `json:"flat,omitempty"`
}

// Error is a file that cannot be read. Its text continues a sentence that begins with the name of its field.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

func fault(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Read writes the records of a file to out, one JSON object per line, and returns how many there are. The line of a
// record that cannot be read is a JSON text with the reason. Read tells the formats apart by their content. Its errors
// are *Error and those of the file and of out.
func Read(file io.ReaderAt, size int64, out io.Writer, options Options) (count int, err error) {
	w := &writer{out: bufio.NewWriterSize(out, 64<<10), flat: options.Flat}
	in := bufio.NewReaderSize(io.NewSectionReader(file, 0, size), 64<<10)
	if head, _ := in.Peek(3); bytes.Equal(head, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(3)
	}

	head, _ := in.Peek(4)
	switch text := bytes.TrimLeft(peekText(in), " \t\r\n"); {
	case bytes.Equal(head, []byte("PK\x03\x04")):
		err = readXLSX(file, size, w)
	case bytes.HasPrefix(text, []byte("[")):
		err = readArray(in, w)
	case bytes.HasPrefix(text, []byte("{")):
		err = readLines(in, w)
	default:
		err = readCSV(in, w)
	}

	if err == nil && w.count == 0 {
		err = fault("has no records")
	}
	return w.count, errors.Join(err, w.out.Flush())
}

// peekText returns the beginning of a text.
func peekText(in *bufio.Reader) []byte {
	text, _ := in.Peek(4 << 10)
	return text
}

// readArray reads a JSON array of objects.
func readArray(in io.Reader, w *writer) error {
	decoder := json.NewDecoder(in)
	if _, err := decoder.Token(); err != nil {
		return jsonFault(err, 1)
	}

	for decoder.More() {
		if err := readObject(decoder, w); err != nil {
			return err
		}
	}

	if _, err := decoder.Token(); err != nil {
		return jsonFault(err, w.count)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fault("must be one JSON array; remove the text after it")
	}
	return nil
}

// readLines reads JSON objects that follow each other, as a rule one per line.
func readLines(in io.Reader, w *writer) error {
	decoder := json.NewDecoder(in)
	for {
		err := readObject(decoder, w)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func readObject(decoder *json.Decoder, w *writer) error {
	var object json.RawMessage
	err := decoder.Decode(&object)
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case err != nil:
		return jsonFault(err, w.count)
	case !bytes.HasPrefix(object, []byte("{")):
		return fault("must be an array of objects; records[%d] is not an object", w.count)
	case !utf8.Valid(object):
		return fault("must be UTF-8; records[%d] is not", w.count)
	}

	return w.write(object)
}

// jsonFault returns the error of a JSON text at a record.
func jsonFault(err error, record int) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fault("is not valid JSON at records[%d]: %.100v", record, err)
	}
	return err
}

// writer writes records within the limits.
type writer struct {
	out   *bufio.Writer
	flat  bool
	count int
	total int
}

// write writes one record, which is JSON.
func (w *writer) write(record []byte) error {
	if w.count++; w.count > Max {
		return fault("must have at most %d records. Split the file", Max)
	}

	var line bytes.Buffer
	if err := json.Compact(&line, record); err != nil {
		return err
	}
	if line.Len() > MaxRecord {
		return fault("must have records of at most %d MiB; records[%d] is larger", MaxRecord>>20, w.count-1)
	}
	if w.total += line.Len(); w.total > MaxTotal {
		return fault("must have at most %d MiB of records", MaxTotal>>20)
	}

	line.WriteByte('\n')
	_, err := w.out.Write(line.Bytes())
	return err
}

// fail writes the reason why a record cannot be read.
func (w *writer) fail(reason string) error {
	text, err := json.Marshal(reason)
	if err != nil {
		return err
	}
	return w.write(text)
}

// header holds the columns of a table: the path of each, or none for an empty one.
type header struct {
	paths [][]string
	// exists reports whether a table has begun.
	exists bool
}

// set reads the names of the columns.
func (h *header) set(names []string, flat bool) error {
	if len(names) > MaxColumns {
		return fault("has %d columns; the limit is %d", len(names), MaxColumns)
	}

	h.exists = true
	seen := map[string]string{} // how a path is used
	for i, name := range names {
		name = strings.TrimSpace(name)
		path := []string{name}
		switch {
		case name == "":
			h.paths = append(h.paths, nil)
			continue
		case !utf8.ValidString(name):
			return fault("must be UTF-8; column %d is not. Save the table as CSV UTF-8", i+1)
		case !flat:
			path = strings.Split(name, ".")
		}

		if len(path) > maxDepth {
			return fault("has a column with more than %d names in its path: %.80q", maxDepth, name)
		}

		for n := range path {
			use := "object"
			if n == len(path)-1 {
				use = "value"
			}
			part := strings.Join(path[:n+1], ".")
			before := seen[part]
			switch {
			case path[n] == "":
				return fault("has a column with an empty name in its path: %.80q", name)
			case before == "value" && use == "value":
				return fault("has two columns named %.80q", name)
			case before != "" && before != use:
				return fault("has conflicting columns: %.80q is both a value and an object", part)
			}
			seen[part] = use
		}

		h.paths = append(h.paths, path)
	}

	if len(seen) == 0 {
		return fault("has no column names in its first row")
	}
	return nil
}

// record makes an object of the cells of a row. Cells that are not there are empty texts.
func (h *header) record(cells []any, row int) ([]byte, error) {
	object := map[string]any{}

	for i, cell := range cells {
		if cell != nil && cell != "" && (i >= len(h.paths) || h.paths[i] == nil) {
			return nil, fault("has a value without a name: row %d, column %d. Name the column in the first row",
				row, i+1)
		}
	}

	for i, path := range h.paths {
		if path == nil {
			continue
		}
		var cell any = ""
		if i < len(cells) && cells[i] != nil {
			cell = cells[i]
		}

		at := object
		for _, name := range path[:len(path)-1] {
			below, ok := at[name].(map[string]any)
			if !ok {
				below = map[string]any{}
				at[name] = below
			}
			at = below
		}

		at[path[len(path)-1]] = cell
	}
	return json.Marshal(withArrays(object, true))
}

// withArrays makes arrays of objects whose names are 0, 1 and so on.
func withArrays(v any, top bool) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}

	for name, member := range object {
		object[name] = withArrays(member, false)
	}
	if top {
		return object
	}

	items := make([]any, len(object))
	for i := range items {
		item, ok := object[strconv.Itoa(i)]
		if !ok {
			return object
		}
		items[i] = item
	}
	return items
}
