package operation

import (
	"testing"

	"github.com/invopop/jsonschema"

	"relaypdf/api/schema"
)

// TestEveryInputIsBounded checks that every string, array and map of all inputs has a limit, so that the work of
// one request is bounded.
func TestEveryInputIsBounded(t *testing.T) {
	table, err := schema.NewTable(Rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, operation := range table.All() {
		for _, place := range schema.Unbounded(operation.Schema) {
			t.Errorf("%s: %s", operation.Name, place)
		}
	}
	for want, doc := range map[string]*jsonschema.Schema{
		"a string without maxLength": {Type: "string"}, "an array without maxItems": {Type: "array"},
		"a map without maxProperties": {Type: "object"},
	} {
		properties := jsonschema.NewProperties()
		properties.Set("field", &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "number"}, doc}})
		got := schema.Unbounded(&jsonschema.Schema{Type: "object", Properties: properties, AdditionalProperties: jsonschema.FalseSchema})
		if len(got) != 1 || got[0] != "field is "+want {
			t.Errorf("found %q, want field is %s", got, want)
		}
	}
}
