package api

import (
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
)

// Operations also accept their input as a form. Its fields are those of the JSON, with files as parts.

const mediaForm = "multipart/form-data"

// callForm is the component with the fields of all forms.
const callForm = "CallForm"

const formDescription = "The fields of the JSON body, or their parts, such as options.format=A4 or files[0].password=secret. " +
	"Repeat a field for an array. Send files as parts with a file name."

// baseForms are components with fields that many forms have, each with those of the one before it.
var baseForms = []struct {
	name string
	of   reflect.Type
}{
	{callForm, reflect.TypeFor[schema.Common]()},
	{"FileForm", reflect.TypeFor[operation.FileSource]()},
	{"PdfForm", reflect.TypeFor[operation.PDFSource]()},
	{"PdfResultForm", reflect.TypeFor[operation.Described]()},
}

// addForms describes the form of each operation.
func (c *components) addForms(doc *openAPIDocument, routes []route) {
	var bases []*jsonschema.Schema
	for i, base := range baseForms {
		members := c.parts(schema.InputSchema(base.of), base.name)
		if options := c.schemas["ResultOptions"]; options != nil && i == len(baseForms)-1 {
			members.Properties.Set("options", &jsonschema.Schema{Ref: schemaRef("ResultOptions").Ref})
		}
		bases = append(bases, members)
		made := c.form(members, bases[:i])
		if i > 0 {
			made.Type = ""
			made.AllOf = []*jsonschema.Schema{{Ref: schemaRef(baseForms[i-1].name).Ref}}
		}
		c.schemas[base.name] = made
	}
	c.schemas[callForm].Description = formDescription

	for _, r := range routes {
		if r.operation != nil {
			input := c.schemas[componentName(r.operation.Name, "Input")]
			last := 0
			for last+1 < len(bases) && hasAll(input, bases[last+1]) {
				last++
			}

			own := c.form(input, bases[:last+1])
			own.Type = "" // It has that of its base.
			own.AllOf = []*jsonschema.Schema{{Ref: schemaRef(baseForms[last].name).Ref}}
			if own.Properties.Len() == 0 {
				own = own.AllOf[0]
			}
			body := doc.Paths[r.pattern][strings.ToLower(r.method)].RequestBody
			body.Content[mediaForm] = mediaType{Schema: own}
		}
	}
}

// hasAll reports whether an input has all members of another, which are references.
func hasAll(input, other *jsonschema.Schema) bool {
	for pair := other.Properties.Oldest(); pair != nil; pair = pair.Next() {
		if member := input.Properties.Value(pair.Key); member == nil || member.Ref != pair.Value.Ref {
			return false
		}
	}
	return true
}

// form describes the members of an input as the fields of a form, without those of other inputs. The descriptions are
// those of the input.
func (c *components) form(input *jsonschema.Schema, without []*jsonschema.Schema) *jsonschema.Schema {
	made := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties()}
	for pair := input.Properties.Oldest(); pair != nil; pair = pair.Next() {
		in := func(other *jsonschema.Schema) bool { return other.Properties.Value(pair.Key) != nil }
		if slices.ContainsFunc(without, in) {
			continue
		}

		field := c.field(pair.Value)
		made.Properties.Set(pair.Key, field)
		// The parts of an object or an array may come instead of it.
		if slices.Contains(input.Required, pair.Key) && (field.Type == "string" || field.Type == "integer") {
			made.Required = append(made.Required, pair.Key)
		}
	}
	return made
}

// field describes a member of an input as a field of a form: a source is a file.
func (c *components) field(member *jsonschema.Schema) *jsonschema.Schema {
	meant := c.resolve(member)
	switch {
	case c.isFile(meant):
		return binarySchema()
	case c.isFile(meant.Items):
		return &jsonschema.Schema{Type: "array", Items: binarySchema(), MinItems: meant.MinItems, MaxItems: meant.MaxItems}
	case member.Ref != "":
		return &jsonschema.Schema{Ref: member.Ref}
	}

	made := *member
	made.Description = ""
	made.Extras = nil
	return &made
}

// isFile reports whether a member of an input is a file, or an object with one.
func (c *components) isFile(member *jsonschema.Schema) bool {
	if member == nil {
		return false
	}
	member = c.resolve(member)
	if member.ContentEncoding == "base64" {
		return true
	}
	return member.Properties != nil && member.Properties.Value("file") != nil
}

// resolve follows the references of a schema.
func (c *components) resolve(doc *jsonschema.Schema) *jsonschema.Schema {
	for doc.Ref != "" {
		doc = c.schemas[strings.TrimPrefix(doc.Ref, schemaRef("").Ref)]
	}
	return doc
}
