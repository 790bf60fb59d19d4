package schema

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/invopop/jsonschema"
)

// WriteInput writes the call's input as one JSON object that Bind reads back to
// an equal call. Files are encoded while they stream, so that the text of a
// large one is never in memory.
func (c *Call[Env]) WriteInput(w io.Writer) error {
	out := &inputWriter{Writer: bufio.NewWriterSize(w, 64<<10), file: writeFile}
	if err := out.value(c.input); err != nil {
		return err
	}
	return out.Flush()
}

// digest returns the hash of an operation's name and its decoded input, independent of the spelling of the input.
// Files are represented by their own sums.
func digest(name string, input any) ([]byte, error) {
	hash := sha256.New()
	out := &inputWriter{Writer: bufio.NewWriterSize(hash, 64<<10), file: writeSum}
	if err := out.value([]any{name, input}); err != nil {
		return nil, err
	}
	err := out.Flush()
	return hash.Sum(nil), err
}

// inputWriter writes decoded inputs as JSON, as json.Marshal would in one piece.
type inputWriter struct {
	*bufio.Writer
	file func(*bufio.Writer, *Inline) error
}

func (w *inputWriter) value(v any) error {
	switch v := v.(type) {
	case map[string]any:
		return w.object(v)
	case []any:
		return w.array(v)
	case *Inline:
		return w.file(w.Writer, v)
	case string:
		return w.text(v)
	}

	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func (w *inputWriter) object(object map[string]any) error {
	before := "{"
	for _, name := range slices.Sorted(maps.Keys(object)) {
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		// A bufio.Writer returns its errors from Flush.
		_, _ = w.WriteString(before + string(key) + ":")
		if err := w.value(object[name]); err != nil {
			return err
		}
		before = ","
	}

	if before == "{" {
		_ = w.WriteByte('{')
	}
	return w.WriteByte('}')
}

func (w *inputWriter) array(array []any) error {
	_ = w.WriteByte('[')
	for i, v := range array {
		if i > 0 {
			_ = w.WriteByte(',')
		}
		if err := w.value(v); err != nil {
			return err
		}
	}
	return w.WriteByte(']')
}

// text writes a string in parts, so that a long one is not in memory twice.
func (w *inputWriter) text(text string) error {
	_ = w.WriteByte('"')
	for len(text) > 0 {
		n := min(len(text), 32<<10)
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}

		part, err := json.Marshal(text[:n])
		if err != nil {
			return err
		}
		_, _ = w.Write(part[1 : len(part)-1])
		text = text[n:]
	}
	return w.WriteByte('"')
}

// writeSum writes the representation of a file's content.
func writeSum(w *bufio.Writer, file *Inline) error {
	text, err := file.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func writeFile(w *bufio.Writer, file *Inline) error {
	_ = w.WriteByte('"')
	text := base64.NewEncoder(base64.StdEncoding, w)
	if _, err := io.Copy(text, file.Open()); err != nil {
		return err
	}
	if err := text.Close(); err != nil {
		return err
	}
	return w.WriteByte('"')
}

// StoredFile is a member of an input that names a file which the service has.
type StoredFile struct {
	Field string // its path, such as "files[2].fileId"
	ID    string
}

// StoredFiles returns the stored files that the call reads, in the order of the
// input's fields. Names that a caller chose, such as a form's, do not count.
func (c *Call[Env]) StoredFiles() []StoredFile {
	var found []StoredFile
	for _, file := range c.sources() {
		if !strings.HasPrefix(file.ID, stepPrefix) {
			found = append(found, file)
		}
	}
	return found
}

// storedField is the name of the member that holds a stored file's id.
const storedField = "fileId"

// sources returns the stored files and the earlier results that the call and its steps read.
func (c *Call[Env]) sources() (found []StoredFile) {
	collectStored(c.schema, c.input, nil, &found)
	for _, step := range c.Steps {
		for _, file := range step.sources() {
			found = append(found, StoredFile{Field: InputPath(step.Place) + file.Field, ID: file.ID})
		}
	}
	return found
}

func collectStored(doc *jsonschema.Schema, v any, path []string, to *[]StoredFile) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range members(doc) {
			place := append(slices.Clone(path), name)
			if id, ok := v[name].(string); ok && name == storedField {
				*to = append(*to, StoredFile{Field: joinField(place), ID: id})
			}
			collectStored(member, v[name], place, to)
		}
	case []any:
		if doc == nil {
			return
		}
		for i, member := range v {
			collectStored(doc.Items, member, append(slices.Clone(path), strconv.Itoa(i)), to)
		}
	}
}
