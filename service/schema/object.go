package schema

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/service/schema/scan"
)

// maxObject is the size that an Object may have, in bytes. It does not count
// against the JSON around it.
const maxObject = 5 << 20

// VerbatimFormat marks an Object in its schema. Its members, if the schema declares any, are checked by its own type.
const VerbatimFormat = "json-object"

// Object is a field that holds any JSON object as its original text, with the order of its members and every digit
// of its numbers.
type Object struct{ json.RawMessage }

// JSONSchema returns the schema of an Object: any object.
func (Object) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Format: VerbatimFormat}
}

// SetJSON stores the text, or an empty object in another spelling.
func (o *Object) SetJSON(v any) error {
	switch v := v.(type) {
	case json.RawMessage:
		o.RawMessage = v
		return nil
	case nil:
		o.RawMessage = nil
		return nil
	}

	text, err := json.Marshal(v)
	o.RawMessage = text
	return err
}

// MarshalJSON writes the text.
func (o Object) MarshalJSON() ([]byte, error) {
	if o.RawMessage == nil {
		return []byte("{}"), nil
	}
	return o.RawMessage, nil
}

// IsZero reports whether no object is set.
func (o Object) IsZero() bool { return o.RawMessage == nil }

// verbatim reads an object for its syntax, and keeps its text.
func (d *decoder) verbatim() (any, error) {
	tape := &scan.Tape{Limit: maxObject}

	d.Free = true
	d.Record(tape)
	_, err := d.value(nil, false)
	d.Free = false
	d.Record(nil)

	switch {
	case errors.Is(err, scan.ErrTape):
		return nil, &SizeError{Field: d.field(), Limit: maxObject}
	case err != nil:
		return nil, err
	}
	return json.RawMessage(tape.Text), d.keep.Share.take(int64(len(tape.Text)))
}

// pinned is an input that fixes its dependencies when its call is accepted: it changes the decoded input, which a
// job's worker reads again, and reports whether it did.
type pinned[Env any] interface {
	Pin(ctx context.Context, env Env, input map[string]any) (changed bool, err error)
}

// tree is a decoded input, which is an object.
func tree(input any) (map[string]any, error) {
	object, ok := input.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("an input was decoded as %T", input)
	}
	return object, nil
}

// Tree decodes a JSON object into the types of decoded inputs.
func Tree(text json.RawMessage) (map[string]any, error) {
	d := newDecoder(context.Background(), bytes.NewReader(text), nil, Files{})
	v, err := d.value(nil, true)
	if err != nil {
		return nil, err
	}
	return tree(v)
}
