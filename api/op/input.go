package op

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/invopop/jsonschema"
)

// WriteInput writes the call's input as one JSON object that Bind reads back to
// an equal call. Files are encoded while they stream, so that the text of a
// large one is never in memory.
func (c *Call[Env]) WriteInput(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	if err := writeInput(out, c.input); err != nil {
		return err
	}
	return out.Flush()
}

func writeInput(w *bufio.Writer, v any) error {
	switch v := v.(type) {
	case map[string]any:
		return writeObject(w, v)
	case []any:
		return writeArray(w, v)
	case *Inline:
		return writeFile(w, v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func writeObject(w *bufio.Writer, object map[string]any) error {
	before := "{"
	for _, name := range slices.Sorted(maps.Keys(object)) {
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		// What a bufio.Writer fails with is returned by its Flush.
		_, _ = w.WriteString(before + string(key) + ":")
		if err := writeInput(w, object[name]); err != nil {
			return err
		}
		before = ","
	}
	if before == "{" {
		_ = w.WriteByte('{')
	}
	return w.WriteByte('}')
}

func writeArray(w *bufio.Writer, array []any) error {
	_ = w.WriteByte('[')
	for i, v := range array {
		if i > 0 {
			_ = w.WriteByte(',')
		}
		if err := writeInput(w, v); err != nil {
			return err
		}
	}
	return w.WriteByte(']')
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
	collectStored(c.schema, c.input, nil, &found)
	return found
}

// storedField is the name of the member that holds a stored file's id.
const storedField = "fileId"

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
