package operation

import (
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
)

// TestEveryInputIsBounded checks that every string, array and map of all inputs has a limit, so that the work of
// one request is bounded.
func TestEveryInputIsBounded(t *testing.T) {
	table := newTable(t)
	for _, operation := range table.All() {
		for _, place := range unbounded(operation.Schema, "") {
			t.Errorf("%s: %s", operation.Name, place)
		}
	}
	for want, doc := range map[string]*jsonschema.Schema{
		"a string without maxLength": {Type: "string"}, "an array without maxItems": {Type: "array"},
		"a map without maxProperties": {Type: "object"},
	} {
		properties := jsonschema.NewProperties()
		properties.Set("field", &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "number"}, doc}})
		got := unbounded(&jsonschema.Schema{Type: "object", Properties: properties, AdditionalProperties: jsonschema.FalseSchema}, "")
		if len(got) != 1 || got[0] != "field is "+want {
			t.Errorf("found %q, want field is %s", got, want)
		}
	}
}

// unbounded lists the unbounded parts of a schema: strings without maxLength, arrays without maxItems, maps without
// maxProperties. Free-form data inside a map is bounded by the maximum size of an input.
func unbounded(doc *jsonschema.Schema, place string) []string {
	if doc == nil {
		return nil
	}
	var found []string
	switch {
	case doc.Type == "string" && doc.MaxLength == nil && len(doc.Enum) == 0 && doc.ContentEncoding == "":
		found = append(found, place+" is a string without maxLength")
	case doc.Type == "array" && doc.MaxItems == nil:
		found = append(found, place+" is an array without maxItems")
	case doc.Type == "object" && doc.MaxProperties == nil && doc.Format != "json-object" && doc.Format != "operation-input" && doc.AdditionalProperties != jsonschema.FalseSchema:
		found = append(found, place+" is a map without maxProperties")
	}
	if doc.Properties != nil {
		for name, member := range doc.Properties.FromOldest() {
			found = append(found, unbounded(member, strings.TrimPrefix(place+"."+name, "."))...)
		}
	}
	found = append(found, unbounded(doc.Items, place+"[]")...)
	if doc.AdditionalProperties != jsonschema.FalseSchema {
		found = append(found, unbounded(doc.AdditionalProperties, place+"{}")...)
	}
	for _, alternative := range doc.OneOf {
		found = append(found, unbounded(alternative, place)...)
	}
	return found
}
