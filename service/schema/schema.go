package schema

import (
	"reflect"

	"github.com/invopop/jsonschema"
)

// AnswerSchema derives the schema of a JSON response from the tags of its struct
// type. Unlike the schema of an input, it allows unknown members, because
// responses may get new members.
func AnswerSchema(answer reflect.Type) *jsonschema.Schema { return describe(answer, true) }

// InputSchema derives the schema of a JSON input, which allows only the members that it names. The members common to
// all operations come after its own.
func InputSchema(input reflect.Type) *jsonschema.Schema {
	doc := describe(input, false)
	if common, embeds := input.FieldByName("Common"); embeds && common.Type == reflect.TypeFor[Common]() {
		for name := range members(describe(common.Type, false)) {
			member, _ := doc.Properties.Delete(name)
			doc.Properties.Set(name, member)
		}
	}
	return doc
}

// describe derives a schema from the tags of a struct type. It is self-contained, without references, so it fits into
// an OpenAPI document and an agent's tool list as it is.
func describe(shape reflect.Type, open bool) *jsonschema.Schema {
	reflector := jsonschema.Reflector{
		Anonymous: true, DoNotReference: true, RequiredFromJSONSchemaTags: true, AllowAdditionalProperties: open,
	}
	doc := reflector.ReflectFromType(shape)
	doc.Version = ""
	return doc
}

// memberSchema returns the schema of an object's member, or nil.
func memberSchema(doc *jsonschema.Schema, name string) *jsonschema.Schema {
	if doc.Properties != nil {
		if member, ok := doc.Properties.Get(name); ok {
			return member
		}
	}

	if doc.AdditionalProperties != jsonschema.FalseSchema {
		return doc.AdditionalProperties
	}
	return nil
}
