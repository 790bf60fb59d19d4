package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"relaypdf/views"
)

// playInput is the input of an operation in the fields of its form.
type playInput struct {
	fields []views.InputField
	// values are by path: options.margin.top, files[0].url. counts are the lengths of lists, uploads the names of the
	// uploaded files.
	values  map[string]string
	counts  map[string]int
	uploads map[string]string
	// wrong has the errors of fields, by path.
	wrong map[string]string
}

func newPlayInput(fields []views.InputField) *playInput {
	return &playInput{fields: fields, values: map[string]string{}, counts: map[string]int{}, uploads: map[string]string{}, wrong: map[string]string{}}
}

// itemPath is the path of a thing in a list.
func itemPath(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// fill puts the JSON of an input into the fields, and returns the paths that no
// field is for.
func (in *playInput) fill(text []byte) (unknown []string, err error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	in.fillObject(in.fields, "", object, &unknown)
	slices.Sort(unknown)
	return unknown, nil
}

func (in *playInput) fillObject(fields []views.InputField, at string, object map[string]json.RawMessage, unknown *[]string) {
	for _, f := range fields {
		value, given := object[f.Name]
		delete(object, f.Name)
		switch {
		case given:
		case f.Kind == views.InputCheck:
			in.values[at+f.Name] = f.Default
		case f.Kind == views.InputGroup:
			in.fillObject(f.Fields, at+f.Name+".", nil, unknown)
		}
		if given && !bytes.Equal(value, []byte("null")) && !in.fillField(f, at+f.Name, value, unknown) {
			*unknown = append(*unknown, at+f.Name)
		}
	}
	for name := range object {
		*unknown = append(*unknown, at+name)
	}
}

// fillField reports whether the field can hold the value.
func (in *playInput) fillField(f views.InputField, path string, value json.RawMessage, unknown *[]string) bool {
	var object map[string]json.RawMessage
	var list []map[string]json.RawMessage
	var text string
	switch {
	case f.Kind == views.InputGroup:
		if json.Unmarshal(value, &object) != nil {
			return false
		}
		in.fillObject(f.Fields, path+".", object, unknown)
	case f.Kind == views.InputList:
		if json.Unmarshal(value, &list) != nil || len(list) > f.Most {
			return false
		}
		in.counts[path] = len(list)
		for i, item := range list {
			in.fillObject(f.Fields, itemPath(path, i)+".", item, unknown)
		}
	case f.Kind == views.InputJSON:
		var out bytes.Buffer
		if json.Indent(&out, value, "", "  ") != nil {
			return false
		}
		in.values[path] = out.String()
	case json.Unmarshal(value, &text) == nil:
		in.values[path] = text
	default:
		in.values[path] = string(value)
	}
	return true
}

// read puts the values of a form into the fields.
func (in *playInput) read(values map[string]string) {
	for name, text := range values {
		if path, ok := strings.CutPrefix(name, "upload-name:"); ok {
			in.uploads[path] = text
		}
	}
	in.readFields(in.fields, "", values)
}

func (in *playInput) readFields(fields []views.InputField, at string, values map[string]string) {
	for _, f := range fields {
		path := at + f.Name
		switch f.Kind {
		case views.InputGroup:
			in.readFields(f.Fields, path+".", values)
		case views.InputList:
			n, err := strconv.Atoi(values["count:"+path])
			if err != nil || n < 0 {
				n = 0
			}
			in.counts[path] = min(n, f.Most)
			for i := range in.counts[path] {
				in.readFields(f.Fields, itemPath(path, i)+".", values)
			}
		case views.InputCheck:
			in.values[path] = strconv.FormatBool(values[path] != "")
		default:
			in.values[path] = strings.ReplaceAll(values[path], "\r\n", "\n")
		}
	}
}

// JSON returns the input with the values of the fields, in their order. It records the errors of fields with invalid
// JSON.
func (in *playInput) JSON() []byte {
	if text := in.object(in.fields, ""); text != nil {
		return text
	}
	return []byte("{}")
}

// object returns nil if nothing is filled in.
func (in *playInput) object(fields []views.InputField, at string) []byte {
	var out bytes.Buffer
	before := byte('{')
	for _, f := range fields {
		value := in.member(f, at+f.Name)
		if value == nil {
			continue
		}
		out.WriteByte(before)
		out.Write(quotedJSON(f.Name))
		out.WriteByte(':')
		out.Write(value)
		before = ','
	}
	if out.Len() == 0 {
		return nil
	}
	out.WriteByte('}')
	return out.Bytes()
}

func (in *playInput) member(f views.InputField, path string) []byte {
	text := in.values[path]
	switch f.Kind {
	case views.InputGroup:
		return in.object(f.Fields, path+".")
	case views.InputList:
		return in.list(f, path)
	case views.InputCheck:
		if text == f.Default || text == "" {
			return nil
		}
		return []byte(text)
	case views.InputJSON:
		return in.raw(path, text)
	}
	trimmed := strings.TrimSpace(text)
	switch {
	case text == "":
		return nil
	case f.Bare && isBare(trimmed):
		return []byte(trimmed)
	case f.Structured && (strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[")):
		return in.raw(path, text)
	}
	return quotedJSON(text)
}

// list leaves out the empty items at its end.
func (in *playInput) list(f views.InputField, path string) []byte {
	var items [][]byte
	filled := 0
	for i := range in.counts[path] {
		item := in.object(f.Fields, itemPath(path, i)+".")
		if item != nil {
			filled = i + 1
		} else {
			item = []byte("{}")
		}
		items = append(items, item)
	}
	if filled == 0 {
		return nil
	}
	return slices.Concat([]byte("["), bytes.Join(items[:filled], []byte(",")), []byte("]"))
}

// raw is JSON that was typed, without the space in it.
func (in *playInput) raw(path, text string) []byte {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(text)); err != nil {
		in.wrong[path] = fmt.Sprintf("Must be valid JSON: %s.", err)
		return nil
	}
	return out.Bytes()
}

// isBare reports whether a text is a JSON number, true or false.
func isBare(text string) bool {
	return json.Valid([]byte(text)) && (text == "true" || text == "false" || strings.ContainsRune("-0123456789", rune(text[0])))
}

// quotedJSON writes a text as JSON, without escapes for HTML's special characters.
func quotedJSON(text string) []byte {
	var out bytes.Buffer
	writer := json.NewEncoder(&out)
	writer.SetEscapeHTML(false)
	if err := writer.Encode(text); err != nil {
		return []byte(`""`) // A string can always be written.
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// add appends a thing to a list that has room for it, and returns its path.
func (in *playInput) add(path string) (item string, ok bool) {
	f := in.field(path)
	if f == nil || f.Kind != views.InputList || in.counts[path] >= f.Most {
		return "", false
	}
	in.counts[path]++
	item = itemPath(path, in.counts[path]-1)
	in.readFields(f.Fields, item+".", defaultsOf(f.Fields, item+"."))
	return item, true
}

// defaultsOf are the values of a form in which nothing was touched.
func defaultsOf(fields []views.InputField, at string) map[string]string {
	values := map[string]string{}
	for _, f := range fields {
		if f.Kind == views.InputCheck && f.Default == "true" {
			values[at+f.Name] = "on"
		}
	}
	return values
}

// drop removes an item from its list, or a file from its field.
func (in *playInput) drop(path string) {
	list, rest, isItem := strings.Cut(path, "[")
	number, ended := strings.CutSuffix(rest, "]")
	n, err := strconv.Atoi(number)
	if !isItem || !ended || err != nil {
		in.forget(path)
		return
	}
	if n < 0 || n >= in.counts[list] {
		return
	}
	// The items behind it move up.
	for _, texts := range []map[string]string{in.values, in.uploads} {
		for at := n; at < in.counts[list]; at++ {
			from, to := itemPath(list, at+1)+".", itemPath(list, at)+"."
			for name := range texts {
				if strings.HasPrefix(name, to) {
					delete(texts, name)
				}
			}
			for name, text := range texts {
				if rest, ok := strings.CutPrefix(name, from); ok {
					texts[to+rest] = text
				}
			}
		}
	}
	in.counts[list]--
}

// forget empties a field of a file, and the one of its id.
func (in *playInput) forget(path string) {
	for _, name := range []string{path, path + idSuffix} {
		delete(in.values, name)
		delete(in.uploads, name)
	}
}

// idSuffix is the suffix that turns the name of a file field into the name of its ID field.
const idSuffix = "Id"

// uploaded replaces a file with its ID, and adds its name if the input has a member for it. In the top-level object,
// filename is the result's.
func (in *playInput) uploaded(path, id, name, about string) {
	in.forget(path)
	at := path[:strings.LastIndexByte(path, '.')+1]
	in.values[path+idSuffix], in.uploads[path+idSuffix] = id, about
	delete(in.values, at+"url")
	for _, field := range []string{"filename", "sourceFilename"} {
		if f := in.field(at + field); f != nil && in.values[at+field] == "" && (at != "" || field != "filename") {
			in.values[at+field] = name
		}
	}
}

// field returns the field of a path, or nil.
func (in *playInput) field(path string) *views.InputField {
	fields := in.fields
	for {
		name, rest, more := strings.Cut(path, ".")
		name, _, _ = strings.Cut(name, "[")
		i := slices.IndexFunc(fields, func(f views.InputField) bool { return f.Name == name })
		if i < 0 {
			return nil
		}
		if !more {
			return &fields[i]
		}
		fields, path = fields[i].Fields, rest
	}
}

// fault records an error of the API at its field or at the one around it. It reports whether there is one.
func (in *playInput) fault(path, message string) bool {
	for at := path; at != ""; at = at[:max(0, strings.LastIndexAny(at, ".["))] {
		f := in.field(at)
		if f == nil || f.Kind == views.InputGroup && at != path {
			continue
		}
		if at != path {
			message = path + " " + message
		}
		for f.Kind != views.InputList && strings.HasSuffix(at, "]") {
			at = at[:strings.LastIndexByte(at, '[')] // errors inside JSON are reported for its field
		}
		in.wrong[at] = strings.TrimSpace(in.wrong[at] + " " + asSentence(message))
		return true
	}
	return false
}

// asSentence begins a text with a capital and ends it.
func asSentence(text string) string {
	if text == "" {
		return text
	}
	if !strings.HasSuffix(text, "?") && !strings.HasSuffix(text, ".") {
		text += "."
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// shown returns the fields as the page shows them. Fields that an example uses, that are required, filled in or wrong
// are expanded; the rest is folded.
func (in *playInput) shown(example json.RawMessage) []views.PlayField {
	return in.shownFields(in.fields, "", example)
}

func (in *playInput) shownFields(fields []views.InputField, at string, example json.RawMessage) []views.PlayField {
	var used map[string]json.RawMessage
	_ = json.Unmarshal(example, &used) // an example that is not an object uses no fields
	var list []views.PlayField
	for _, f := range fields {
		path := at + f.Name
		p := views.PlayField{InputField: f, Path: path, Value: in.values[path], Wrong: in.wrong[path], Upload: in.uploads[path]}
		_, p.Open = used[f.Name]
		p.Open = p.Open || f.Required || p.Wrong != ""
		switch f.Kind {
		case views.InputGroup:
			p.Fields = in.shownFields(f.Fields, path+".", used[f.Name])
			p.Open = p.Open || slices.ContainsFunc(p.Fields, views.PlayField.Touched)
		case views.InputList:
			var first []json.RawMessage
			_ = json.Unmarshal(used[f.Name], &first)
			first = append(first, nil)
			for i := range max(in.counts[path], 1) {
				p.Items = append(p.Items, views.PlayItem{Path: itemPath(path, i), Wrong: in.wrong[itemPath(path, i)], Fields: in.shownFields(f.Fields, itemPath(path, i)+".", first[0])})
			}
		case views.InputFile:
			p.Upload = in.uploads[path+idSuffix]
		default:
			p.Open = p.Open || p.Touched()
		}
		list = append(list, p)
	}
	return besideFile(list)
}

// besideFile puts a file before its URL and its ID, which are alternatives: they are expanded with it.
func besideFile(list []views.PlayField) []views.PlayField {
	i := slices.IndexFunc(list, func(p views.PlayField) bool { return p.Kind == views.InputFile })
	if i < 0 {
		return list
	}
	file := list[i]
	file.Open = true
	sorted := []views.PlayField{file}
	for _, p := range slices.Delete(list, i, i+1) {
		if p.Name == file.Name+idSuffix || p.Name == "url" {
			p.Open = true
		}
		sorted = append(sorted, p)
	}
	return sorted
}
