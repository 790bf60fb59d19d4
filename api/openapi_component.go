package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/invopop/jsonschema"

	"relaypdf/api/schema"
)

// Client generators name a type after its component, so every object of the API is a component with the name of its
// Go type.

// componentNames maps Go types to other names in the API.
var componentNames = map[string]string{
	"PDFOptions": "PdfOptions", "FileItem": "FileSource", "NamedFile": "NamedFileSource", "FromImagesPage": "FromImagesOptions",
	"JobStatus": "JobStatusResponse", "FileURL": "FileUrlResponse", "WalletNews": "WalletEventData", "AlertNews": "AlertEventData",
	"pdf.Permissions": "PdfPermissions", "pdf.Field": "FormField", "wire.Detail": "ErrorDetail", "Record": "TemplateRecord",
	// Names of schemas without their own type, by place.
	"PdfStampPositionChoice1": "Point", "StampMarkPositionChoice1": "Point", "PdfBookmarksBookmark": "Bookmark", "ErrorError": "ErrorContent",
}

// defaultExtension holds the default of a member where generators do not see it.
const defaultExtension = "x-default"

// components collects the objects of a document.
type components struct {
	schemas map[string]*jsonschema.Schema
	// names are the names of the Go types, by their schemas.
	names map[string]string
	// whole is the full schema of each component before its objects became references.
	whole map[string]string
}

// learned caches the result of learn for a type, which never changes: test binaries make many servers.
var learned sync.Map // of objectNames, by reflect.Type

// learn keeps the names of a type and of those that it is made of.
func (c *components) learn(shape reflect.Type) {
	found, ok := learned.Load(shape)
	if !ok {
		of := objectNames{}
		of.add(shape)
		found, _ = learned.LoadOrStore(shape, of)
	}
	of, _ := found.(objectNames)
	for key, name := range of {
		if c.names[key] == "" {
			c.names[key] = name
		}
	}
}

// objectNames are names of objects, by their schemas.
type objectNames map[string]string

func (names objectNames) add(shape reflect.Type) {
	for shape.Kind() == reflect.Pointer || shape.Kind() == reflect.Slice || shape.Kind() == reflect.Map {
		shape = shape.Elem()
	}
	if shape.Kind() != reflect.Struct || shape.PkgPath() == "time" {
		return
	}
	for _, doc := range []*jsonschema.Schema{schema.InputSchema(shape), schema.AnswerSchema(shape)} {
		if shape.Name() != "" && doc.Properties != nil && doc.Properties.Len() > 0 {
			key := content(doc)
			if names[key] != "" {
				return
			}
			name := shape.Name()
			if strings.HasPrefix(shape.String(), "einvoice.") && name != "Invoice" {
				name = "Invoice" + name
			}
			names[key] = cmp.Or(componentNames[shape.String()], componentOf(name))
		}
	}
	for i := range shape.NumField() {
		names.add(shape.Field(i).Type)
	}
}

// componentOf returns the name of a Go type in the API.
func componentOf(name string) string {
	if known := componentNames[name]; known != "" {
		return known
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// content returns a schema as text, without its own description.
func content(doc *jsonschema.Schema) string {
	bare := *doc
	bare.Description = ""
	text, err := json.Marshal(&bare)
	if err != nil {
		return ""
	}
	return string(text)
}

// split makes components of the objects within all components.
func (c *components) split() {
	for name, doc := range c.schemas {
		c.whole[name] = content(doc)
	}
	for _, name := range slices.Sorted(maps.Keys(c.schemas)) {
		c.schemas[name] = c.parts(c.schemas[name], name)
	}
}

// component adds an object as a component under a name, unless there is an equal one, and returns a reference to it.
func (c *components) component(doc *jsonschema.Schema, name string) *jsonschema.Schema {
	said := content(doc)
	name = cmp.Or(c.names[said], componentNames[name], name)
	for base, n := name, 2; c.whole[name] != "" && c.whole[name] != said; n++ {
		name = fmt.Sprintf("%s%d", base, n)
	}
	if c.whole[name] == "" {
		c.whole[name] = said
		made := c.parts(doc, name)
		made.Description = ""
		c.schemas[name] = made
	}
	return &jsonschema.Schema{Ref: "#/components/schemas/" + name, Description: doc.Description}
}

// parts returns a copy of a schema whose objects are references. Defaults move to the description and to an
// extension: generators treat a member with a default as always present.
func (c *components) parts(doc *jsonschema.Schema, name string) *jsonschema.Schema {
	if doc == nil || doc == jsonschema.TrueSchema || doc == jsonschema.FalseSchema {
		return doc
	}
	made := *doc
	if doc.Default != nil {
		made.Default, made.Extras = nil, map[string]any{defaultExtension: doc.Default}
		maps.Copy(made.Extras, doc.Extras)
		if !strings.Contains(doc.Description, "efault") {
			made.Description = strings.TrimSpace(fmt.Sprintf("%s Default: %v.", doc.Description, doc.Default))
		}
	}
	if doc.Properties != nil {
		made.Properties = jsonschema.NewProperties()
		for pair := doc.Properties.Oldest(); pair != nil; pair = pair.Next() {
			made.Properties.Set(pair.Key, c.part(pair.Value, memberName(name, pair.Key), doc, name))
		}
	}
	made.Items = c.part(doc.Items, name+"Item", nil, "")
	made.AdditionalProperties = c.part(doc.AdditionalProperties, name+"Value", nil, "")
	if doc.Type == "object" && doc.Properties == nil && doc.AdditionalProperties == nil {
		// Without it, openapi-typescript treats an object with any members as one without members.
		made.AdditionalProperties = jsonschema.TrueSchema
	}
	made.OneOf, made.AnyOf = nil, nil
	for i, alternative := range doc.OneOf {
		made.OneOf = append(made.OneOf, c.part(alternative, fmt.Sprint(name, "Choice", i), nil, ""))
	}
	for i, alternative := range doc.AnyOf {
		made.AnyOf = append(made.AnyOf, c.part(alternative, fmt.Sprint(name, "Choice", i), nil, ""))
	}
	return &made
}

// part describes a member of an object, or an item of a list: with a reference if it is an object itself. An object
// that holds a list of objects of its own type refers to itself.
func (c *components) part(doc *jsonschema.Schema, name string, above *jsonschema.Schema, aboveName string) *jsonschema.Schema {
	if doc == nil || doc == jsonschema.TrueSchema || doc == jsonschema.FalseSchema {
		return doc
	}
	if doc.Items != nil && above != nil && like(doc.Items, above) {
		made := *doc
		made.Items = &jsonschema.Schema{Ref: "#/components/schemas/" + aboveName}
		return &made
	}
	if doc.Items != nil && doc.Items.Properties != nil {
		made := *doc
		made.Items = c.component(doc.Items, singular(name))
		return &made
	}
	if doc.Properties != nil && doc.Properties.Len() > 0 && doc.Ref == "" {
		return c.component(doc, name)
	}
	return c.parts(doc, name)
}

// like reports whether an object has only members of another object, which has few more.
func like(item, doc *jsonschema.Schema) bool {
	if item.Properties == nil || doc.Properties == nil || item.Properties.Len()+1 < doc.Properties.Len() {
		return false
	}
	for pair := item.Properties.Oldest(); pair != nil; pair = pair.Next() {
		if _, ok := doc.Properties.Get(pair.Key); !ok {
			return false
		}
	}
	return true
}

// memberName names a member without its own type after its place.
func memberName(above, member string) string {
	for _, ending := range []string{"Input", "Result"} {
		above = strings.TrimSuffix(above, ending)
	}
	return above + strings.ToUpper(member[:1]) + member[1:]
}

func singular(name string) string { return strings.TrimSuffix(name, "s") }
