package op

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
)

// schema is the shape of one input: as published, and compiled for checking.
type schema struct {
	doc      *jsonschema.Schema
	compiled *validator.Schema
	files    map[string]bool // the places of Base64 files, such as "files[].file"
}

// AnswerSchema derives the schema of a JSON answer from the tags of its struct
// type. Unlike an input's it allows members that it does not name, because
// answers may grow.
func AnswerSchema(answer reflect.Type) *jsonschema.Schema { return describe(answer, true) }

// describe derives a schema from the tags of a struct type. It stands alone,
// without references, so that it can be put into an OpenAPI document and an
// agent's tool list as it is.
func describe(shape reflect.Type, open bool) *jsonschema.Schema {
	reflector := jsonschema.Reflector{
		Anonymous: true, DoNotReference: true, RequiredFromJSONSchemaTags: true, AllowAdditionalProperties: open,
	}
	doc := reflector.ReflectFromType(shape)
	doc.Version = ""
	return doc
}

// reflectSchema derives the schema of an input and compiles it.
func reflectSchema(input reflect.Type) (*schema, error) {
	doc := describe(input, false)
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	tree, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	compiler := validator.NewCompiler()
	if err := compiler.AddResource("input", tree); err != nil {
		return nil, err
	}
	compiled, err := compiler.Compile("input")
	if err != nil {
		return nil, fmt.Errorf("schema of %v: %w", input, err)
	}
	files := map[string]bool{}
	collectFiles(doc, "", files)
	return &schema{doc: doc, compiled: compiled, files: files}, nil
}

// collectFiles finds the members that hold files.
func collectFiles(doc *jsonschema.Schema, place string, found map[string]bool) {
	switch {
	case doc == nil:
	case doc.ContentEncoding == "base64":
		found[place] = true
	case doc.Items != nil:
		collectFiles(doc.Items, place+"[]", found)
	default:
		for name, member := range members(doc) {
			collectFiles(member, strings.TrimPrefix(place+"."+name, "."), found)
		}
	}
}

// normalize rewrites v in place to what the schema's author meant: a null
// member is an absent one, and an empty array where an object is expected is
// an empty object, which is how PHP spells it. Free-form data (an object
// without declared properties) keeps its nulls.
func normalize(doc *jsonschema.Schema, v any) any {
	if doc == nil {
		return v
	}
	switch v := v.(type) {
	case []any:
		if doc.Type == "object" && len(v) == 0 {
			return map[string]any{}
		}
		for i := range v {
			v[i] = normalize(doc.Items, v[i])
		}
	case map[string]any:
		if doc.Properties == nil && doc.AdditionalProperties == nil {
			return v
		}
		for name, member := range v {
			if member == nil {
				delete(v, name)
				continue
			}
			v[name] = normalize(memberSchema(doc, name), member)
		}
	}
	return v
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
