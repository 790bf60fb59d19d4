package api

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"github.com/jinzhu/inflection"

	"github.com/relaypdf/relaypdf/service/schema"
)

// Client generators name a type after its component, so every object of the API is a component with the name of its
// Go type.

// componentNames maps Go types to other names in the API.
var componentNames = map[string]string{
	"PDFOptions": "PdfOptions", "FileItem": "FileSource", "namedFile": "NamedFileSource",
	"fromImagesPage": "FromImagesOptions", "JobStatus": "JobStatusResponse", "FileURL": "FileUrlResponse",
	"WalletEvent": "WalletEventData", "AlertEvent": "AlertEventData", "pdf.Permissions": "PdfPermissions",
	"form.Field": "FormField", "wire.Detail": "ErrorDetail", "Record": "TemplateRecord",
	// Names of schemas without their own type, by place.
	"PdfStampPositionChoice1": "Point", "StampMarkPositionChoice1": "Point", "PdfBookmarksBookmark": "Bookmark",
	"EmailCreateOptions": "SignOptions", "ConnectionsCreateS3": "S3Settings", "ConnectionsCreateSftp": "SFTPSettings",
	"ErrorError": "ErrorContent",
}

// defaultExtension holds the default of a member where generators do not see it.
const defaultExtension = "x-default"

// components collects the objects of a document.
type components struct {
	schemas map[string]*jsonschema.Schema
	// names are the names of the Go types, by the content of their schemas.
	names   map[string]string
	learned map[typedSchema]bool
	// shared are the names of members that many objects have, by memberKey.
	shared map[string]string
	// whole is the content of each component before its objects became references.
	whole    map[string]string
	contents map[*jsonschema.Schema]string
}

// typedSchema is a schema of a type.
type typedSchema struct {
	shape reflect.Type
	doc   *jsonschema.Schema
}

// learn keeps the name of a type by its schema, and the names of the types of its members.
func (c *components) learn(shape reflect.Type, doc *jsonschema.Schema) {
	kinds := []reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}
	for doc != nil && slices.Contains(kinds, shape.Kind()) {
		switch shape.Kind() {
		case reflect.Slice:
			doc = doc.Items
		case reflect.Map:
			doc = doc.AdditionalProperties
		}
		shape = shape.Elem()
	}

	place := typedSchema{shape, doc}
	if shape.Kind() != reflect.Struct || doc == nil || doc.Properties == nil || doc.Properties.Len() == 0 ||
		c.learned[place] {
		return
	}
	c.learned[place] = true

	if key := c.content(doc); shape.Name() != "" && c.names[key] == "" {
		name := shape.Name()
		if strings.HasPrefix(shape.String(), "einvoice.") && name != "Invoice" {
			name = "Invoice" + name
		}
		c.names[key] = cmp.Or(componentNames[shape.String()], componentOf(name))
	}

	for i := range shape.NumField() {
		field := shape.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		member, known := doc.Properties.Get(name)
		if !known {
			member = doc // of an embedded type, or of the type that a type stands for
		}
		c.learn(field.Type, member)
	}
}

// componentOf returns the name of a Go type in the API.
func componentOf(name string) string {
	if known := componentNames[name]; known != "" {
		return known
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// content returns a hash of a schema without what differs between its uses: its own description and extensions.
func (c *components) content(doc *jsonschema.Schema) string {
	if known := c.contents[doc]; known != "" {
		return known
	}

	bare := *doc
	all := sha256.New()
	bare.Description = ""
	bare.Properties = nil
	bare.Items = nil
	bare.AdditionalProperties = nil
	bare.OneOf = nil
	bare.AnyOf = nil
	schema.PublishKeywords(&bare)
	bare.Extras = nil

	part := func(place string, part *jsonschema.Schema) {
		if part != nil {
			fmt.Fprintf(all, "%s: %q %v %x\n", place, part.Description, schema.Unpublished(part.Extras), c.content(part))
		}
	}

	if doc.Properties != nil {
		for pair := doc.Properties.Oldest(); pair != nil; pair = pair.Next() {
			part(pair.Key, pair.Value)
		}
	}
	part("items", doc.Items)
	part("additionalProperties", doc.AdditionalProperties)
	for _, alternative := range slices.Concat(doc.OneOf, doc.AnyOf) {
		part("alternative", alternative)
	}

	text, err := json.Marshal(&bare)
	if err != nil {
		return "" // Encoding the document returns the error.
	}
	all.Write(text)
	c.contents[doc] = string(all.Sum(nil))
	return c.contents[doc]
}

// split makes components of the objects within all components.
func (c *components) split() {
	for name, doc := range c.schemas {
		c.whole[name] = c.content(doc)
	}
	for _, name := range slices.Sorted(maps.Keys(c.schemas)) {
		c.schemas[name] = c.parts(c.schemas[name], name)
	}
}

// component adds an object as a component, unless there is an equal one, and returns a reference to it. The component
// has the name of its type. place is its name if it has none, or if another object has that name.
func (c *components) component(doc *jsonschema.Schema, place string) *jsonschema.Schema {
	said := c.content(doc)
	taken := func(name string) bool { return c.whole[name] != "" && c.whole[name] != said }
	place = cmp.Or(componentNames[place], place)
	name := cmp.Or(c.names[said], place)
	if taken(name) {
		name = place
	}
	for base, n := name, 2; taken(name); n++ {
		name = fmt.Sprintf("%s%d", base, n)
	}

	if c.whole[name] == "" {
		c.whole[name] = said
		c.names[said] = name
		made := c.parts(doc, name)
		made.Description = ""
		made.Extras = nil
		c.schemas[name] = made
	}

	return &jsonschema.Schema{
		Ref: schemaRef(name).Ref, Description: doc.Description, Extras: schema.Unpublished(doc.Extras),
	}
}

// named adds a type of values that are not objects as a component, and returns a reference to it. The description and
// the default belong to the use of the type.
func (c *components) named(doc *jsonschema.Schema) *jsonschema.Schema {
	use := c.parts(&jsonschema.Schema{
		Description: doc.Description, Default: doc.Default, Extras: schema.Unpublished(doc.Extras),
	}, "")

	name := schema.TypeName(doc)
	use.Ref = schemaRef(name).Ref
	if c.schemas[name] == nil {
		kind := *doc
		kind.Description = ""
		kind.Default = nil
		made := c.parts(&kind, name)
		made.Extras = nil
		c.schemas[name] = made
	}
	return use
}

// share names the members of a struct type, which many inputs have, so that each becomes a component.
func (c *components) share(prefix string, shape reflect.Type) {
	c.shareMembers(prefix, schema.InputSchema(shape))
}

// shareMembers names the members of an object, unless they have names.
func (c *components) shareMembers(prefix string, doc *jsonschema.Schema) {
	for pair := doc.Properties.Oldest(); pair != nil; pair = pair.Next() {
		if key := c.memberKey(pair.Key, pair.Value); c.shared[key] == "" {
			c.shared[key] = prefix + strings.ToUpper(pair.Key[:1]) + pair.Key[1:]
		}
	}
}

// memberKey identifies a member of an object with all that is said of it.
func (c *components) memberKey(name string, doc *jsonschema.Schema) string {
	return fmt.Sprintf("%s %s %v %x", name, doc.Description, schema.Unpublished(doc.Extras), c.content(doc))
}

// member describes a member of an object: with a reference if many objects have it.
func (c *components) member(
	name string, doc *jsonschema.Schema, place string, above *jsonschema.Schema, aboveName string,
) *jsonschema.Schema {
	shared := c.shared[c.memberKey(name, doc)]
	if shared == "" {
		return c.part(doc, place, above, aboveName)
	}
	if c.schemas[shared] == nil {
		c.schemas[shared] = c.part(doc, place, above, aboveName)
	}
	return &jsonschema.Schema{Ref: schemaRef(shared).Ref}
}

// parts returns a copy of a schema whose objects are references. Defaults move to the description and to an
// extension: generators treat a member with a default as always present.
func (c *components) parts(doc *jsonschema.Schema, name string) *jsonschema.Schema {
	if doc == nil || doc == jsonschema.TrueSchema || doc == jsonschema.FalseSchema {
		return doc
	}

	made := *doc
	if doc.Default != nil {
		made.Default = nil
		made.Extras = map[string]any{defaultExtension: doc.Default}
		maps.Copy(made.Extras, doc.Extras)
		if !strings.Contains(doc.Description, "efault") {
			made.Description = strings.TrimSpace(fmt.Sprintf("%s Default: %v.", doc.Description, doc.Default))
		}
	}

	if doc.Properties != nil {
		made.Properties = jsonschema.NewProperties()
		for pair := doc.Properties.Oldest(); pair != nil; pair = pair.Next() {
			made.Properties.Set(pair.Key, c.member(pair.Key, pair.Value, memberName(name, pair.Key), doc, name))
		}
	}

	made.Items = c.part(doc.Items, name+"Item", nil, "")
	made.AdditionalProperties = c.part(doc.AdditionalProperties, name+"Value", nil, "")
	if doc.Type == "object" && doc.Properties == nil && doc.AdditionalProperties == nil {
		// Without it, openapi-typescript treats an object with any members as one without members.
		made.AdditionalProperties = jsonschema.TrueSchema
	}

	made.OneOf = nil
	made.AnyOf = nil
	for i, alternative := range doc.OneOf {
		made.OneOf = append(made.OneOf, c.part(alternative, fmt.Sprint(name, "Choice", i), nil, ""))
	}
	for i, alternative := range doc.AnyOf {
		made.AnyOf = append(made.AnyOf, c.part(alternative, fmt.Sprint(name, "Choice", i), nil, ""))
	}

	schema.PublishKeywords(&made)
	return &made
}

// part describes a member of an object, or an item of a list: with a reference if it is an object itself. An object
// that holds a list of objects of its own type refers to itself.
func (c *components) part(
	doc *jsonschema.Schema, name string, above *jsonschema.Schema, aboveName string,
) *jsonschema.Schema {
	if doc == nil || doc == jsonschema.TrueSchema || doc == jsonschema.FalseSchema {
		return doc
	}

	if schema.TypeName(doc) != "" {
		return c.named(doc)
	}
	if doc.Items != nil && above != nil && like(doc.Items, above) {
		made := *doc
		made.Items = &jsonschema.Schema{Ref: schemaRef(aboveName).Ref}
		return &made
	}
	if doc.Items != nil && doc.Items.Properties != nil {
		made := *doc
		made.Items = c.component(doc.Items, inflection.Singular(name))
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
