package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/schema"
)

// member is one of an object's, as it was spelled.
type member struct {
	name  string
	value json.RawMessage
}

// errNoObject means that the arguments are not a JSON object.
var errNoObject = errors.New("arguments must be a JSON object")

// membersOf reads an object's members in their order, including duplicates: the caller reports those. Null and an empty
// array have none.
func membersOf(object json.RawMessage) ([]member, error) {
	if trimmed := bytes.TrimSpace(object); len(trimmed) == 0 || bytes.Equal(trimmed, []byte("null")) ||
		emptyArray(object) {
		return nil, nil
	}

	dec := json.NewDecoder(bytes.NewReader(object))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errNoObject
	}

	var members []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, errNoObject
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, errNoObject
		}
		text, _ := name.(string)
		members = append(members, member{text, value})
	}
	return members, nil
}

// emptyArray reports whether a value is an array without items, as PHP encodes an empty object.
func emptyArray(value json.RawMessage) bool {
	// A value may have many megabytes, so it is not read again.
	inner, begins := bytes.CutPrefix(bytes.TrimSpace(value), []byte("["))
	inner, ends := bytes.CutSuffix(inner, []byte("]"))
	return begins && ends && len(bytes.TrimSpace(inner)) == 0
}

// objectOf writes members as an object.
func objectOf(members []member) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.value)
	}

	b.WriteByte('}')
	return b.Bytes(), nil
}

// request makes the request that arguments ask for. Its error is schema.FieldErrors, or
// errNoObject.
func (t *tool) request(ctx context.Context, arguments json.RawMessage) (*http.Request, error) {
	given, err := membersOf(arguments)
	if err != nil {
		return nil, err
	}
	if t.Upload {
		return uploadRequest(ctx, t, given)
	}

	q := toolRequest{tool: t, path: t.Pattern, values: map[string]string{}, query: url.Values{}, header: http.Header{}}
	if t.Operation != nil {
		given, err = withMode(given, q.mode())
	}
	if err == nil {
		err = q.take(given)
	}
	if err != nil {
		return nil, err
	}
	return q.build(ctx)
}

// mode is how the result is wanted by default.
func (t *tool) mode() string {
	if t.Operation.Bulk {
		return schema.Async
	}
	return schema.URL
}

// withMode puts how the result is wanted into the terms of the route.
func withMode(given []member, mode string) ([]member, error) {
	kept := given[:0:0]
	for _, m := range given {
		switch text := string(m.value); {
		case m.name == asyncMember && text == "true", m.name == "response" && text == `"async"`:
			mode = schema.Async
		case m.name == asyncMember && (text == "false" || text == "null"):
		case m.name == "response" && (text == `"url"` || text == `"binary"` || text == "null"):
		case m.name == asyncMember:
			return nil, schema.FieldErrors{{Field: asyncMember, Message: "must be true or false"}}
		case m.name == "response":
			return nil, schema.FieldErrors{{Field: "response", Message: "must be url or async"}}
		default:
			kept = append(kept, m)
		}
	}

	return append(kept, member{"response", json.RawMessage(`"` + mode + `"`)}), nil
}

// toolRequest is a request in the making.
type toolRequest struct {
	*tool

	path   string
	values map[string]string // of the path
	query  url.Values
	header http.Header
	body   []member
}

// take assigns members to the parameters of the route. Unknown members become part of the body or, in a route without
// one, of the query.
func (q *toolRequest) take(given []member) error {
	var faults schema.FieldErrors
	for _, m := range given {
		p, ok := q.param(m.name)
		switch {
		case !ok && q.Body != nil:
			q.body = append(q.body, m)
			continue
		case string(m.value) == "null":
			continue
		case !ok:
			p = schema.Param{Name: m.name, In: "query"}
		}

		text := textOf(m.value)
		switch p.In {
		case "path":
			if _, twice := q.values[m.name]; twice {
				faults.Add(m.name, "is given more than once")
			}
			q.values[m.name] = text
		case "header":
			q.header.Add(m.name, strings.Map(printable, text))
		default:
			q.query.Add(m.name, text)
		}
	}

	for _, p := range q.Params {
		if p.In != "path" {
			continue
		}
		if q.values[p.Name] == "" {
			faults.Add(p.Name, "is required")
		}
		q.path = strings.Replace(q.path, "{"+p.Name+"}", url.PathEscape(q.values[p.Name]), 1)
	}

	return faults.OrNil()
}

// printable filters out characters that are invalid in a header.
func printable(c rune) rune {
	if c < ' ' || c == 0x7f {
		return -1
	}
	return c
}

// textOf spells a value as an address or a header has it.
func textOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

func (q *toolRequest) build(ctx context.Context) (*http.Request, error) {
	path := q.path
	if len(q.query) > 0 {
		path += "?" + q.query.Encode()
	}

	var body []byte
	if q.Body != nil {
		var err error
		if body, err = objectOf(q.body); err != nil {
			return nil, err
		}
	}

	r, err := http.NewRequestWithContext(ctx, q.Method, path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}

	r.Header = q.header
	if q.Body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range q.values {
		r.SetPathValue(name, value)
	}
	return r, nil
}

// uploadInput describes a file that comes as an argument.
func uploadInput() *jsonschema.Schema {
	doc := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties()}
	doc.Properties.Set("file", &jsonschema.Schema{Type: "string", Description: "Content as Base64 or as a data URI."})
	doc.Properties.Set("text", &jsonschema.Schema{Type: "string", Description: "Content as text, instead of file."})
	doc.Properties.Set("filename", &jsonschema.Schema{
		Type: "string", Description: "Name of the file, such as data.csv.",
	})
	return doc
}

// uploadRequest sends a file as the request body.
func uploadRequest(ctx context.Context, t *tool, given []member) (*http.Request, error) {
	var in struct{ File, Text, Filename *string }
	var faults schema.FieldErrors
	for _, m := range given {
		to := map[string]**string{"file": &in.File, "text": &in.Text, "filename": &in.Filename}[m.name]
		switch {
		case to == nil:
			faults.Add(m.name, "is not a known field. Allowed fields: file, text, filename")
		case *to != nil:
			faults.Add(m.name, "is given more than once")
		case json.Unmarshal(m.value, to) != nil:
			faults.Add(m.name, "must be a string")
		}
	}

	if len(faults) > 0 {
		return nil, faults
	}

	var content []byte
	switch {
	case (in.File == nil) == (in.Text == nil):
		return nil, schema.FieldErrors{{Field: "file", Message: "is required without text. Send exactly one of file, text"}}
	case in.Text != nil:
		content = []byte(*in.Text)
	default:
		var err error
		if content, err = io.ReadAll(schema.NewBase64Reader(strings.NewReader(*in.File))); err != nil {
			return nil, schema.FieldErrors{{Field: "file", Message: "must be Base64, optionally with a data URI prefix"}}
		}
	}

	r, err := http.NewRequestWithContext(ctx, t.Method, t.Pattern, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/octet-stream")
	if in.Filename != nil {
		r.Header.Set(wire.FilenameHeader, url.PathEscape(*in.Filename))
	}
	return r, nil
}
