package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/invopop/jsonschema"
)

// Files defines where the files inside a request are stored. The zero value stores them in memory, of any size.
type Files struct {
	// Open returns a place for one more file.
	Open func() Sink
	// Limit is the maximum size of one file, in bytes.
	Limit int64
	// Share is the budget that the rest of the input counts against during the call; nil counts nothing.
	Share *Share
	// Check returns the errors of an input outside its shape, or nil if the caller may not see any. They are listed
	// with those of the shape; otherwise the caller reports them. The inputs of steps come before the input with the
	// steps, whose place is empty, and whose errors are all of them.
	Check func(place string, input any) FieldErrors

	// steps are the results that the input of a step can refer to; nil outside a step.
	steps *earlier
	place string // of the step
}

// memory is a Sink in memory.
type memory struct{ bytes.Buffer }

func (m *memory) Size() int64         { return int64(m.Len()) }
func (m *memory) Open() io.ReadSeeker { return bytes.NewReader(m.Bytes()) }
func (m *memory) Close() error        { return nil }

// Sink receives the decoded bytes of one file as they arrive, and provides them as a Body afterwards.
type Sink interface {
	io.Writer
	Body
}

// File is a field that holds a file as Base64 text, in the standard or the
// URL-safe alphabet, with or without padding and a data URI before it.
type File struct{ *Inline }

// JSONSchema returns the schema of a File: a Base64 string.
func (File) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
}

// SetJSON stores the file that was decoded during the read.
func (f *File) SetJSON(v any) error {
	inline, ok := v.(*Inline)
	if !ok {
		return fmt.Errorf("a file field was given as %T", v)
	}
	f.Inline = inline
	return nil
}

// NewFile returns a File that holds content in memory, for an example.
func NewFile(content []byte) File {
	m := new(memory)
	m.Write(content)
	return File{&Inline{m}}
}

// IsZero reports whether no file is set.
func (f File) IsZero() bool { return f.Inline == nil }

// MarshalJSON writes the content as Base64.
func (f File) MarshalJSON() ([]byte, error) {
	content, err := io.ReadAll(f.Open())
	if err != nil {
		return nil, err
	}
	return json.Marshal(content)
}

// Inline is a file that came inside a request, already decoded.
type Inline struct{ Sink }

// MarshalJSON returns the representation of the content in a call's digest.
func (f *Inline) MarshalJSON() ([]byte, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, f.Open()); err != nil {
		return nil, err
	}
	return []byte(`"sha256:` + hex.EncodeToString(sum.Sum(nil)) + `"`), nil
}

// isCorrupt reports whether a text was not Base64.
func isCorrupt(err error) bool {
	var corrupt base64.CorruptInputError
	return errors.As(err, &corrupt) || errors.Is(err, io.ErrUnexpectedEOF)
}
