package schema

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"mime/multipart"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

const (
	// maxFormParts and maxFormName bound the parts of a form and their names.
	maxFormParts, maxFormName = 2000, 512
	// maxFormText bounds all texts of a form together, in bytes: those that may be
	// long are 10 MiB each.
	maxFormText = 32 << 20
)

// BindForm is Bind for a multipart/form-data body: each part is a field of the input, named like its path in the JSON
// (options.margin.top, files[1].password). Fields that are arrays may be repeated, objects and arrays be JSON. A part
// with a file name is a file, or the text of a field of another type. Its errors are the same as those of the same
// input in JSON.
func (o *Operation[Env]) BindForm(
	ctx context.Context, body io.Reader, boundary string, files Files,
) (*Call[Env], error) {
	form := &form{files: files, root: &formNode{}, schema: o.Schema}
	if form.files.Open == nil {
		form.files.Open = func() Sink { return new(memory) }
		form.files.Limit = math.MaxInt64 - 1
	}

	defer form.close()
	if err := form.read(contextReader{ctx, body}, boundary); err != nil {
		files.Share.Close()
		return nil, err
	}
	return o.bind(ctx, io.MultiReader(form.json(nil, form.root)...), files)
}

// form is a body that is being read.
type form struct {
	files  Files
	root   *formNode
	schema *jsonschema.Schema
	texts  int64
	sinks  []Sink
}

// formNode is a value of the input: one of a JSON text, a file, members and items.
type formNode struct {
	text    []byte
	file    Sink
	members map[string]*formNode
	items   []*formNode
}

// formBytes holds the facts that a multipart.Reader does not return: the original error of a reader, and whether the
// final boundary of a form has come.
type formBytes struct {
	io.Reader
	last  []byte // the line
	tail  []byte // the latest bytes read, shorter than the line
	ended bool
	err   error
}

func (f *formBytes) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}

	if !f.ended {
		f.tail = append(f.tail, p[:n]...) // the line may lie across two reads
		f.ended = bytes.Contains(f.tail, f.last)
		f.tail = append(f.tail[:0], f.tail[max(0, len(f.tail)-len(f.last)):]...)
	}
	return n, err
}

func (f *form) read(body io.Reader, boundary string) error {
	source := &formBytes{Reader: body, last: []byte("--" + boundary + "--")}
	parts := multipart.NewReader(source, boundary)

	for count := 0; ; count++ {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) && source.ended {
			return nil
		}
		if err == nil && count >= maxFormParts {
			return FieldErrors{{Message: "must have at most " + strconv.Itoa(maxFormParts) + " form parts"}}
		}
		if err == nil {
			err = f.part(part)
		}

		var faults FieldErrors
		var size *SizeError
		var busy *BusyError
		var unkept *sinkError
		switch {
		case err == nil:
		case source.err != nil:
			return source.err
		case errors.As(err, &faults), errors.As(err, &size), errors.As(err, &busy):
			return err
		case errors.As(err, &unkept):
			return unkept.cause
		default:
			return FieldErrors{{Message: "is not a complete multipart/form-data body: " + err.Error()}}
		}
	}
}

// sinkError means that a file could not be stored.
type sinkError struct{ cause error }

// storing marks the errors of a file's sink.
type storing struct{ io.Writer }

func (s storing) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if err != nil {
		err = &sinkError{err}
	}
	return n, err
}

func (e *sinkError) Error() string { return e.cause.Error() }
func (e *sinkError) Unwrap() error { return e.cause }

// formName is one step of a part's name: a member, or an item by its number or by
// none.
var formName = regexp.MustCompile(`^([^.\[\]]+)|^\.([^.\[\]]+)|^\[([0-9]{0,4})\]`)

// part reads one part.
func (f *form) part(part *multipart.Part) error {
	name := part.FormName()
	at := f.root
	doc := f.schema
	var parent *jsonschema.Schema
	var owner *formNode
	if name == "" || len(name) > maxFormName {
		return FieldErrors{
			{Message: "has a form part without a name, or with one longer than " + strconv.Itoa(maxFormName) + " bytes"},
		}
	}

	for rest := name; rest != ""; {
		step := formName.FindStringSubmatch(rest)
		if step == nil {
			return FieldErrors{
				{Field: name, Message: "is not a valid field name. Use names such as options.margin.top or files[0].password"},
			}
		}
		rest = rest[len(step[0]):]
		parent = doc
		owner = at
		if member := step[1] + step[2]; member != "" {
			at = at.member(member)
			doc = formMember(doc, member)
			continue
		}

		n := len(at.items)
		if step[3] != "" {
			n, _ = strconv.Atoi(step[3])
		}
		if n > len(at.items) {
			return FieldErrors{{Field: name, Message: "has a gap before this index. Number the items from 0 without gaps"}}
		}
		at = at.item(n)
		doc = itemSchema(doc)
	}

	if at.text != nil || at.file != nil || at.members != nil {
		return FieldErrors{{Field: name, Message: "is given more than once"}}
	}

	if part.FileName() == "" || !takesFile(doc) && doc != nil {
		return f.textPart(part, at, doc, name)
	}
	return f.filePart(part, at, doc, name, func(field, text string) {
		if property(parent, field) != nil && owner.members[field] == nil {
			owner.member(field).text = jsonText(text)
		}
	})
}

func (n *formNode) member(name string) *formNode {
	if n.members == nil {
		n.members = map[string]*formNode{}
	}
	if n.members[name] == nil {
		n.members[name] = &formNode{}
	}
	return n.members[name]
}

func (n *formNode) item(i int) *formNode {
	if i == len(n.items) {
		n.items = append(n.items, &formNode{})
	}
	return n.items[i]
}

// property returns the schema of a declared member, or nil.
func property(doc *jsonschema.Schema, name string) *jsonschema.Schema {
	if doc == nil || doc.Properties == nil {
		return nil
	}
	return doc.Properties.Value(name)
}

// formMember returns the schema of a member, declared or not, or nil.
func formMember(doc *jsonschema.Schema, name string) *jsonschema.Schema {
	if doc == nil {
		return nil
	}
	return memberSchema(doc, name)
}

func itemSchema(doc *jsonschema.Schema) *jsonschema.Schema {
	if doc == nil {
		return nil
	}
	return doc.Items
}

// takesFile reports whether a file is a valid value of a field: a source, several of them, or the file itself.
func takesFile(doc *jsonschema.Schema) bool {
	switch {
	case doc == nil:
		return false
	case doc.ContentEncoding == "base64":
		return true
	case doc.Type == "array":
		return takesFile(doc.Items)
	}

	member := property(doc, "file")
	return member != nil && member.ContentEncoding == "base64"
}

// filePart stores a file in the field. The last argument sets a sibling field, if there is one of that name.
func (f *form) filePart(
	part *multipart.Part, at *formNode, doc *jsonschema.Schema, field string, beside func(field, text string),
) error {
	if doc != nil && doc.Type == "array" {
		at = at.item(len(at.items))
		doc = doc.Items
		field += "[]"
	}

	name := path.Base(strings.ReplaceAll(part.FileName(), `\`, "/"))
	if doc != nil && doc.ContentEncoding != "base64" {
		if property(doc, "filename") != nil {
			// The name may be a path, which assets are found at: part.FileName has
			// none.
			at.member("filename").text = jsonText(dispositionName(part, name))
		}
		at = at.member("file")
		field += ".file"
	} else {
		beside("sourceFilename", name)
	}

	sink := f.files.Open()
	f.sinks = append(f.sinks, sink)
	at.file = sink
	size, err := io.Copy(storing{sink}, io.LimitReader(part, f.files.Limit+1))
	if size > f.files.Limit {
		return &SizeError{Field: field, Limit: f.files.Limit}
	}
	return err
}

// dispositionPath is the file's name as the client has written it.
var dispositionPath = regexp.MustCompile(`filename="([^"\\]+)"`)

// dispositionName returns the name of a part's file, with its folders if they were sent.
func dispositionName(part *multipart.Part, base string) string {
	found := dispositionPath.FindStringSubmatch(part.Header.Get("Content-Disposition"))
	if len(found) < 2 || strings.HasPrefix(found[1], "/") || path.Base(found[1]) != base {
		return base
	}
	return found[1]
}

// textPart reads a field that is not a file.
func (f *form) textPart(part *multipart.Part, at *formNode, doc *jsonschema.Schema, field string) error {
	text, err := io.ReadAll(io.LimitReader(part, maxFormText-f.texts+1))
	if err != nil {
		return err
	}

	if f.texts += int64(len(text)); f.texts > maxFormText {
		return &SizeError{Field: "request", Limit: maxFormText}
	}
	if err := f.files.Share.take(int64(len(text))); err != nil {
		return err
	}

	if doc != nil && doc.Type == "array" && !isJSONOf(text, '[') {
		if len(at.items) >= maxFormParts {
			return FieldErrors{{Field: field, Message: "has too many items"}}
		}
		at = at.item(len(at.items))
		doc = doc.Items
	}
	at.text = formValue(doc, text)
	return nil
}

// formValue writes the text of a field as JSON: unchanged, if it is valid JSON for the field, and else as a string.
func formValue(doc *jsonschema.Schema, text []byte) []byte {
	if doc == nil {
		return jsonText(string(text))
	}

	if len(doc.OneOf) > 0 {
		for _, one := range doc.OneOf {
			composite := one.Type == "array" || one.Type == "object"
			if one.Type != "string" && formValue(one, text)[0] != '"' && (composite || !takesText(doc)) {
				return formValue(one, text)
			}
		}
		return jsonText(string(text))
	}

	trimmed := bytes.TrimSpace(text)
	switch doc.Type {
	case "array":
		if isJSONOf(trimmed, '[') {
			return trimmed
		}
	case "object":
		if isJSONOf(trimmed, '{') {
			return trimmed
		}
	case "integer", "number", "boolean", "":
		if len(trimmed) > 0 && trimmed[0] != '"' && json.Valid(trimmed) {
			return trimmed
		}
	}
	return jsonText(string(text))
}

// takesText reports whether a field may be a string.
func takesText(doc *jsonschema.Schema) bool {
	return slices.ContainsFunc(doc.OneOf, func(one *jsonschema.Schema) bool {
		return one.Type == "string" && one.Pattern == ""
	})
}

// isJSONOf reports whether a text is JSON with that first byte.
func isJSONOf(text []byte, first byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && text[0] == first && json.Valid(text)
}

// jsonText writes a string as JSON. Invalid UTF-8 stays invalid, and is refused as in any other body.
func jsonText(text string) []byte {
	var out bytes.Buffer
	out.WriteByte('"')
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			out.WriteByte('\\')
			out.WriteByte(c)
		case c < ' ':
			out.WriteString(`\u00`)
			out.WriteByte("0123456789abcdef"[c>>4])
			out.WriteByte("0123456789abcdef"[c&15])
		default:
			out.WriteByte(c)
		}
	}

	out.WriteByte('"')
	return out.Bytes()
}

// json appends the readers of a value's JSON. Files are encoded while they are read.
func (f *form) json(to []io.Reader, n *formNode) []io.Reader {
	text := func(s string) { to = append(to, strings.NewReader(s)) }

	switch {
	case n.text != nil:
		return append(to, bytes.NewReader(n.text))
	case n.file != nil:
		text(`"`)
		to = append(to, &encoding{from: n.file.Open()})
		text(`"`)
		return to
	case n.items != nil:
		before := "["
		for _, item := range n.items {
			text(before)
			to = f.json(to, item)
			before = ","
		}
		text("]")
		return to
	}

	before := "{"
	for _, name := range slices.Sorted(maps.Keys(n.members)) {
		text(before + string(jsonText(name)) + ":")
		to = f.json(to, n.members[name])
		before = ","
	}
	if before == "{" {
		text("{")
	}
	text("}")
	return to
}

// encoding is a reader that encodes its input as Base64.
type encoding struct {
	from io.Reader
	left []byte
}

func (e *encoding) Read(p []byte) (int, error) {
	if len(e.left) == 0 {
		raw := make([]byte, 48<<10) // a multiple of three
		n, err := io.ReadFull(e.from, raw)
		if n == 0 {
			return 0, err
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, err
		}
		e.left = base64.StdEncoding.AppendEncode(nil, raw[:n])
	}

	n := copy(p, e.left)
	e.left = e.left[n:]
	return n, nil
}

// close frees the files, which the call has copies of.
func (f *form) close() {
	for _, sink := range f.sinks {
		_ = sink.Close() // it was only read
	}
}
