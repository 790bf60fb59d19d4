package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/invopop/jsonschema"
)

// schemaAt returns the schema of the value at a location.
func schemaAt(doc *jsonschema.Schema, location []string) *jsonschema.Schema {
	for _, name := range location {
		doc = below(doc, name)
	}
	return doc
}

// below returns the schema of a member or an item of what doc describes: of the
// first alternative that has one.
func below(doc *jsonschema.Schema, name string) *jsonschema.Schema {
	if doc == nil {
		return nil
	}
	for _, alternative := range doc.OneOf {
		if found := below(alternative, name); found != nil {
			return found
		}
	}

	if doc.Type == "array" {
		return doc.Items
	}
	return memberSchema(doc, name)
}

// suggestion comes before the path of the field that was probably meant. Fault.Inside completes the path.
const suggestion = "; did you mean "

// maxHinted is the longest name that a known one is looked for.
const maxHinted = 64

// minEnding is the minimum length of a name that may mean a known one that ends with it.
const minEnding = 4

// hint returns the known field that was probably meant: one of the same name elsewhere in the input, or the closest
// name next to it.
func hint(doc *jsonschema.Schema, at []string, name string) string {
	if len(name) > maxHinted {
		return ""
	}

	for _, path := range fieldPaths(doc, "") {
		if path == name || strings.HasSuffix(path, "."+name) {
			return suggestion + path + "?"
		}
	}

	best := ""
	distance := len(name)/2 + 1
	for _, member := range namesIn(schemaAt(doc, at)) {
		if len(name) >= minEnding && strings.HasSuffix(strings.ToLower(member), strings.ToLower(name)) {
			best = joinField(append(slices.Clone(at), member))
			break
		}
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(member)); d < distance {
			best = joinField(append(slices.Clone(at), member))
			distance = d
		}
	}

	if best == "" {
		return ""
	}
	return suggestion + best + "?"
}

// maxListed is the maximum number of fields that are listed to who gives an unknown one.
const maxListed = 20

// listed lists the fields that an object may have, as the continuation of a message; empty if there are too many to
// read.
func listed(doc *jsonschema.Schema, at []string) string {
	names := namesIn(schemaAt(doc, at))
	if len(names) == 0 || len(names) > maxListed {
		return ""
	}
	return ". Allowed fields: " + strings.Join(names, ", ")
}

// namesIn lists the members that an object may have, in any of the alternatives.
func namesIn(doc *jsonschema.Schema) (names []string) {
	for name := range members(doc) {
		names = append(names, name)
	}

	if doc != nil {
		for _, alternative := range doc.OneOf {
			names = append(names, namesIn(alternative)...)
		}
	}
	return names
}

// Near returns the field of an input that a name probably means; empty if none is similar.
func Near(input *jsonschema.Schema, name string) string { return hint(input, nil, name) }

// members ranges over an object schema's declared members in order.
func members(doc *jsonschema.Schema) func(func(string, *jsonschema.Schema) bool) {
	return func(yield func(string, *jsonschema.Schema) bool) {
		if doc == nil || doc.Properties == nil {
			return
		}

		for pair := doc.Properties.Oldest(); pair != nil; pair = pair.Next() {
			if !yield(pair.Key, pair.Value) {
				return
			}
		}
	}
}

// fieldPaths lists the paths of all declared fields that are not in an array.
func fieldPaths(doc *jsonschema.Schema, prefix string) []string {
	var paths []string
	for name, member := range members(doc) {
		paths = append(paths, prefix+name)
		if member.Format != VerbatimFormat {
			paths = append(paths, fieldPaths(member, prefix+name+".")...)
		}
	}
	return paths
}

// expectation describes the values that a schema accepts: "a number between 0.1 and 2".
func expectation(doc *jsonschema.Schema) string {
	switch {
	case doc == nil:
		return "another value"
	case len(doc.Enum) > 0:
		return "one of " + enumeration(doc.Enum)
	case len(doc.OneOf) > 0:
		parts := make([]string, len(doc.OneOf))
		for i, alternative := range doc.OneOf {
			parts[i] = expectation(alternative)
		}
		return strings.Join(parts, ", or ")
	}

	limits := bounds(doc)
	if strings.HasPrefix(limits, " at least") || strings.HasPrefix(limits, " at most") {
		limits = "," + limits
	}

	return map[string]string{
		"string": "a string", "boolean": "true or false", "object": "an object", "array": "an array",
		"integer": "a whole number", "number": "a number", "null": "null", "": "another value",
	}[doc.Type] + limits
}

func enumeration(values []any) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = fmt.Sprint(v)
	}
	return strings.Join(parts, ", ")
}

// bounds states a schema's limits, with the space before it.
func bounds(doc *jsonschema.Schema) string {
	number := func(n fmt.Stringer) string { return n.String() }
	count := func(n *uint64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatUint(*n, 10)
	}

	switch doc.Type {
	case "integer", "number":
		return between(number(doc.Minimum), number(doc.Maximum), "")
	case "string":
		text := between(count(doc.MinLength), count(doc.MaxLength), " characters")
		if doc.Pattern != "" {
			text += " matching " + doc.Pattern
		}
		return text
	case "array":
		items := between(count(doc.MinItems), count(doc.MaxItems), " items")
		switch {
		case doc.Items != nil && items == "":
			return " of " + expectation(doc.Items)
		case doc.Items != nil && len(doc.Items.Enum) > 0:
			return items + ", each " + expectation(doc.Items)
		}
		return items
	case "object":
		if doc.AdditionalProperties != nil && doc.AdditionalProperties.Type != "" {
			return " whose values are each " + expectation(doc.AdditionalProperties)
		}
		if len(doc.Required) > 0 {
			return " with " + strings.Join(doc.Required, " and ")
		}
	}

	return ""
}

func between(low, high, unit string) string {
	switch {
	case low != "" && high != "" && unit == "":
		return " between " + low + " and " + high
	case low != "" && low == high:
		return " of exactly " + low + unit
	case low != "" && high != "":
		return " of " + low + " to " + high + unit
	case low != "" && unit == "":
		return " at least " + low
	case low != "":
		return " of at least " + low + unit
	case high != "" && unit == "":
		return " at most " + high
	case high != "":
		return " of at most " + high + unit
	}
	return ""
}

// passwordFormat marks a text that messages never repeat.
const passwordFormat = "password"

// maxPreview bounds how much of a wrong value a message repeats.
const maxPreview = 40

// preview formats a wrong value: numbers and short words unchanged, and anything that could be content or a secret
// by its kind.
func preview(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		if len(v) > maxPreview {
			return fmt.Sprintf("a string of %d bytes", len(v))
		}
		return strconv.Quote(v)
	case passedString:
		return fmt.Sprintf("a string of %d bytes", v)
	case itemCount:
		if v == 1 {
			return "an array of 1 item"
		}
		return fmt.Sprintf("an array of %d items", v)
	case map[string]any:
		return "an object"
	}
	return fmt.Sprint(v)
}
