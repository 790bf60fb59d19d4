package schema

import (
	"maps"
	"slices"

	"github.com/invopop/jsonschema"
)

// Some values are checked by their own types, because the errors of a schema would be harder to read. Their rules are
// extensions of the input's schema, which the decoder ignores. Publish makes keywords of them for the OpenAPI document.
const (
	// patternExtension holds the pattern of a text.
	patternExtension = "x-pattern"
	// choicesExtension holds groups of an object's members: exactly one of each group is given.
	choicesExtension = "x-choices"
	// typeExtension holds the name of a type of values that are not objects.
	typeExtension = "x-type"
)

// Text returns the schema of a type of texts, which checks the pattern itself.
func Text(name, pattern string, maxLength uint64) *jsonschema.Schema {
	doc := &jsonschema.Schema{Type: "string", MaxLength: &maxLength}
	SetPattern(doc, pattern)
	return Named(name, doc)
}

// Named gives the schema of a type of values that are not objects the name of the type.
func Named(name string, doc *jsonschema.Schema) *jsonschema.Schema {
	setExtra(doc, typeExtension, name)
	return doc
}

// SetPattern adds a pattern that the type of the text checks itself.
func SetPattern(doc *jsonschema.Schema, pattern string) { setExtra(doc, patternExtension, pattern) }

// SetExactlyOne adds to the schema of an object that exactly one of some members is given, which the type of the
// object checks itself.
func SetExactlyOne(doc *jsonschema.Schema, names ...string) {
	groups, _ := doc.Extras[choicesExtension].([][]string)
	setExtra(doc, choicesExtension, append(slices.Clone(groups), names))
}

func setExtra(doc *jsonschema.Schema, key string, value any) {
	if doc.Extras == nil {
		doc.Extras = map[string]any{}
	}
	doc.Extras[key] = value
}

// TypeName returns the name of the type of a schema that Named has named; empty for any other.
func TypeName(doc *jsonschema.Schema) string {
	name, _ := doc.Extras[typeExtension].(string)
	return name
}

// Publish replaces the rules of a schema that its type checks itself by keywords of JSON Schema. It changes neither the
// schema's parts nor its extensions in place.
func Publish(doc *jsonschema.Schema) {
	if pattern, ok := doc.Extras[patternExtension].(string); ok {
		doc.Pattern = pattern
	}

	groups, _ := doc.Extras[choicesExtension].([][]string)
	for _, group := range groups {
		var one []*jsonschema.Schema
		for _, name := range group {
			one = append(one, &jsonschema.Schema{Required: []string{name}})
		}
		if len(groups) == 1 {
			doc.OneOf = one
			break
		}
		doc.AllOf = append(doc.AllOf, &jsonschema.Schema{OneOf: one})
	}

	doc.Extras = Unpublished(doc.Extras)
}

// Unpublished returns the extensions that Publish leaves.
func Unpublished(extras map[string]any) map[string]any {
	if extras == nil {
		return nil
	}
	left := maps.Clone(extras)
	for _, key := range []string{patternExtension, choicesExtension, typeExtension} {
		delete(left, key)
	}
	return left
}
