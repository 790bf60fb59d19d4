package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/views"
)

// playInput is the input of an operation in the fields of its form.
type playInput struct {
	fields []views.InputField
	// tabs are the tabs of a form with several sources, and source is the one whose fields are sent. It is empty if no
	// source is filled in.
	tabs   []string
	source string
	// values are by path: options.margin.top, files[0].url. counts are the lengths of lists, uploads the names of the
	// uploaded files.
	values  map[string]string
	counts  map[string]int
	uploads map[string]string
	// wrong has the errors of fields, by path.
	wrong map[string]string
}

// newPlayInput returns the empty input of an operation. The source of its example has the first tab.
func newPlayInput(o views.Operation) *playInput {
	in := &playInput{
		fields:  o.Inputs,
		values:  map[string]string{},
		counts:  map[string]int{},
		uploads: map[string]string{},
		wrong:   map[string]string{},
	}
	var used map[string]json.RawMessage
	_ = json.Unmarshal(o.Example, &used) // an example that is not an object uses no fields

	for _, f := range o.Inputs {
		tab := tabOf(f)
		_, first := used[f.Name]
		if !f.Source || slices.Contains(in.tabs, tab) && !first {
			continue
		}
		if first {
			in.tabs = append(
				[]string{tab}, slices.DeleteFunc(in.tabs, func(other string) bool { return other == tab })...,
			)
			continue
		}
		in.tabs = append(in.tabs, tab)
	}

	if len(in.tabs) == 1 {
		in.tabs = nil
	}
	return in
}

// tabOf returns the tab of a field: that of its source, where a file and its ID have one. It is empty for a field of
// every call.
func tabOf(f views.InputField) string {
	if f.Source {
		return strings.TrimSuffix(f.Name, idSuffix)
	}
	return strings.TrimSuffix(f.Requires, idSuffix)
}

// given reports whether a field on top has a value of its own.
func (in *playInput) given(f views.InputField) bool {
	return in.values[f.Name] != "" && (f.Kind != views.InputCheck || in.values[f.Name] != f.Default)
}

// chooseSource chooses a tab by its name, or else the first one that is filled in.
func (in *playInput) chooseSource(name string) {
	in.source = ""
	for _, tab := range in.tabs {
		filled := slices.ContainsFunc(
			in.fields, func(f views.InputField) bool { return tabOf(f) == tab && in.given(f) },
		)

		if tab == name || in.source == "" && filled {
			in.source = tab
		}
		if tab == name {
			return
		}
	}
}

// unsent reports whether a field on top belongs to another source than the chosen one.
func (in *playInput) unsent(f views.InputField) bool {
	tab := tabOf(f)
	return tab != "" && len(in.tabs) > 0 && in.source != "" && tab != in.source
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
	in.chooseSource("")
	for _, f := range in.fields {
		if in.unsent(f) && in.given(f) {
			unknown = append(unknown, f.Name)
			in.values[f.Name] = ""
		}
	}

	slices.Sort(unknown)
	return unknown, nil
}

func (in *playInput) fillObject(
	fields []views.InputField, at string, object map[string]json.RawMessage, unknown *[]string,
) {
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
	in.chooseSource(values["source"])
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
		if at == "" && in.unsent(f) {
			continue
		}
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
	return json.Valid([]byte(text)) &&
		(text == "true" || text == "false" || strings.ContainsRune("-0123456789", rune(text[0])))
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
	list, n, isItem := itemOf(path)
	if !isItem {
		in.forget(path)
		return
	}

	if n < 0 || n >= in.counts[list] {
		return
	}

	in.renumber(list, func(i int) int {
		switch {
		case i == n:
			return -1
		case i > n:
			return i - 1
		}
		return i
	})
	in.counts[list]--
}

// raise moves an item of a list before the one above it.
func (in *playInput) raise(path string) {
	list, n, ok := itemOf(path)
	if !ok || n < 1 || n >= in.counts[list] {
		return
	}

	in.renumber(list, func(i int) int {
		switch i {
		case n:
			return n - 1
		case n - 1:
			return n
		}
		return i
	})
}

// renumber moves the items of a list. An item without a new place is removed.
func (in *playInput) renumber(list string, place func(int) int) {
	for _, texts := range []map[string]string{in.values, in.uploads} {
		moved := map[string]string{}
		for name, text := range texts {
			if rest, inside := strings.CutPrefix(name, list+"["); inside {
				number, field, _ := strings.Cut(rest, "]")
				i, err := strconv.Atoi(number)
				if err != nil || place(i) < 0 {
					continue
				}
				name = itemPath(list, place(i)) + field
			}
			moved[name] = text
		}

		clear(texts)
		maps.Copy(texts, moved)
	}
}

// itemOf returns the list and the number of an item's path.
func itemOf(path string) (list string, n int, ok bool) {
	list, rest, isItem := strings.Cut(path, "[")
	number, ended := strings.CutSuffix(rest, "]")
	n, err := strconv.Atoi(number)
	return list, n, isItem && ended && err == nil
}

// forget empties a field of a file, and the one of its id.
func (in *playInput) forget(path string) {
	for _, name := range []string{path, path + idSuffix} {
		delete(in.values, name)
		delete(in.uploads, name)
	}
}

// uploadSeparator is between the name of an upload and its size.
const uploadSeparator = " · "

// idSuffix is the suffix that turns the name of a file field into the name of its ID field.
const idSuffix = "Id"

// uploaded replaces a file with its ID, and adds its name if the input has a member for it. In the top-level object,
// filename is the result's.
func (in *playInput) uploaded(path, id, name, about string) {
	in.forget(path)
	at := path[:strings.LastIndexByte(path, '.')+1]
	in.values[path+idSuffix] = id
	in.uploads[path+idSuffix] = about
	delete(in.values, at+"url")
	if at == "" {
		in.chooseSource(path)
	}

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

		fields = fields[i].Fields
		path = rest
	}
}

// fault records an error of the API at its field or at the one around it. It reports whether there is one. An error of
// a file has the file's name, and an error of a source is shown at the chosen one.
func (in *playInput) fault(path, message string) bool {
	for at := path; at != ""; at = at[:max(0, strings.LastIndexAny(at, ".["))] {
		f := in.field(at)
		if f == nil || f.Kind == views.InputGroup && at != path {
			continue
		}

		for f.Kind != views.InputList && strings.HasSuffix(at, "]") {
			at = at[:strings.LastIndexByte(at, '[')] // errors inside JSON are reported for its field
		}
		message = asSentence(message)
		if at != path {
			message = path + " " + strings.ToLower(message[:1]) + message[1:] // A path keeps its case.
		}
		if name := in.fileName(at); name != "" {
			message = name + ": " + message
		}

		at = in.placeOf(*f, at)
		in.wrong[at] = strings.TrimSpace(in.wrong[at] + " " + message)
		return true
	}
	return false
}

// placeOf returns the place of an error of a field: an item of a list for its sources, the chosen source for another.
func (in *playInput) placeOf(f views.InputField, path string) string {
	if i := strings.LastIndexByte(path, '.'); f.Source && strings.HasSuffix(path[:max(i, 0)], "]") {
		return path[:i]
	}
	if path != f.Name || !f.Source || len(in.tabs) == 0 {
		return path
	}

	tab := cmp.Or(in.source, in.tabs[0])
	for _, other := range in.fields {
		if other.Source && tabOf(other) == tab {
			return other.Name
		}
	}
	return path
}

// fileName returns the name of the file that a field or an item of a list holds, or nothing.
func (in *playInput) fileName(path string) string {
	at := path + "."

	if f := in.field(path); f != nil && !strings.HasSuffix(path, "]") {
		if !f.Source {
			return ""
		}
		at = path[:strings.LastIndexByte(path, '.')+1]
	}

	name, _, uploaded := strings.Cut(in.uploads[at+"fileId"], uploadSeparator)
	switch {
	case uploaded:
		return name
	case in.values[at+"file"] == "" && in.values[at+"url"] == "":
		return ""
	case at == "": // filename is the name of the result
		return in.values["sourceFilename"]
	}
	return in.values[at+"filename"]
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
