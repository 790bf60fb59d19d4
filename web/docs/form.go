package docs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/views"
)

// longText is the length from which on a text gets a field of several lines.
const longText = 1025

// sourcePrefix begins the description of a field that holds the source of a call, of which a call has one.
const sourcePrefix = "Source: "

// chooseOne is the sentence about the other sources. A form has a tab for each.
var chooseOne = regexp.MustCompile(` Send exactly one of [^.]*\.`)

// inputs are the fields of an object as a form has them, in the document's order.
func (d *openAPI) inputs(s schema) []views.InputField {
	s = d.resolve(s)
	var list []views.InputField
	for _, m := range s.Properties {
		list = append(list, d.input(m.name, d.resolve(m.schema), slices.Contains(s.Required, m.name)))
	}
	return list
}

// input returns a field of a form: its schema determines its control, and how its text becomes JSON.
func (d *openAPI) input(name string, s schema, required bool) views.InputField {
	doc := d.field(name, s, required)
	f := views.InputField{
		Name:        name,
		Kind:        views.InputText,
		Description: doc.Description,
		Limits:      doc.Limits,
		Required:    required,
		Common:      s.Common,
		Requires:    s.Requires,
		Secret:      s.Format == "password",
	}

	if text, isSource := strings.CutPrefix(doc.Description, sourcePrefix); isSource {
		f.Source = true
		f.Description = strings.ToUpper(text[:1]) + chooseOne.ReplaceAllString(text[1:], "")
	}
	if s.Default != nil {
		f.Default = fmt.Sprint(s.Default)
	}
	for _, v := range s.Enum {
		f.Choices = append(f.Choices, fmt.Sprint(v))
	}

	var kind string
	_ = json.Unmarshal(s.Type, &kind) // A list means several types.
	long, _ := strconv.Atoi(s.MaxLength.String())

	switch {
	case kind == "object" && hasFields(s):
		f.Kind = views.InputGroup
		f.Fields = within(d.inputs(s), required)
	case kind == "array" && s.Items != nil && d.hasFile(d.resolve(*s.Items)):
		f.Kind = views.InputList
		f.Fields = d.inputs(*s.Items)
		f.Most, _ = strconv.Atoi(s.MaxItems.String())
	case kind == "object", kind == "array":
		f.Kind = views.InputJSON
	case s.ContentEncoding == "base64":
		f.Kind = views.InputFile
	case kind == "boolean" && f.Default != "":
		f.Kind = views.InputCheck
	case kind == "boolean":
		f.Kind = views.InputSelect
		f.Bare = true
		f.Choices = []string{"true", "false"}
	case len(f.Choices) > 0:
		f.Kind = views.InputSelect
		f.Bare = kind != "string"
	case kind == "number", kind == "integer":
		f.Bare = true
	case kind == "string":
		if s.Format == "" && (long == 0 || long >= longText) {
			f.Kind = views.InputArea
		}
	default:
		d.several(&f, append(s.OneOf, s.AnyOf...))
	}

	return f
}

// within returns the fields of a group. They are required only if the group is.
func within(fields []views.InputField, required bool) []views.InputField {
	for i := range fields {
		fields[i].Required = fields[i].Required && required
	}
	return fields
}

// several adds the other types, besides text, that a field accepts.
func (d *openAPI) several(f *views.InputField, alternatives []schema) {
	for _, alternative := range alternatives {
		switch d.typeOf(alternative) {
		case "number", "integer":
			f.Bare = true
		case "string":
		default:
			f.Structured = true
		}
	}
}

// hasFields reports whether an object has members that a form shows. One with a format, such as an e-invoice, is JSON.
func hasFields(s schema) bool { return len(s.Properties) > 0 && s.Format == "" }

// hasFile reports whether an object has a member that holds a file.
func (d *openAPI) hasFile(s schema) bool {
	return slices.ContainsFunc(s.Properties, func(m member) bool { return d.resolve(m.schema).ContentEncoding == "base64" })
}
