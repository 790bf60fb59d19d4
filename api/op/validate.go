package op

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// check returns every fault of a decoded and normalized input.
func (s *schema) check(v any) Faults {
	var invalid *validator.ValidationError
	var faults Faults
	if errors.As(s.compiled.Validate(v), &invalid) {
		s.collect(&faults, invalid, v)
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return strings.Compare(a.Field, b.Field) })
	return faults
}

// collect turns the validator's tree of errors into faults. Of alternatives
// (oneOf) it looks into the one of the value's type; what each of them lacks
// would only confuse.
func (s *schema) collect(faults *Faults, invalid *validator.ValidationError, input any) {
	at := invalid.InstanceLocation
	switch failed := invalid.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf:
		for _, cause := range invalid.Causes {
			s.collect(faults, cause, input)
		}
	case *kind.OneOf:
		if meant := sameType(invalid); meant != nil {
			s.collect(faults, meant, input)
			return
		}
		s.misfit(faults, at, input)
	case *kind.Required:
		for _, name := range failed.Missing {
			faults.Add(joinField(append(slices.Clone(at), name)), "is required")
		}
	case *kind.AdditionalProperties:
		for _, name := range failed.Properties {
			faults.Add(joinField(append(slices.Clone(at), name)), "is not a known field%s", s.hint(at, name))
		}
	case *kind.Minimum, *kind.Maximum:
		faults.Add(joinField(at), "must be%s; got %s", bounds(s.at(at)), preview(lookup(input, at)))
	default:
		s.misfit(faults, at, input)
	}
}

// misfit adds the fault of a value that is not what its schema takes, once.
func (s *schema) misfit(faults *Faults, at []string, input any) {
	field := joinField(at)
	if !faults.has(field) || field == "" {
		faults.Add(field, "must be %s; got %s", expectation(s.at(at)), preview(lookup(input, at)))
	}
}

// sameType returns the error of the only alternative that takes values of the
// type given, and nil where there is none or more than one.
func sameType(invalid *validator.ValidationError) *validator.ValidationError {
	var meant []*validator.ValidationError
	for _, cause := range invalid.Causes {
		if _, other := cause.ErrorKind.(*kind.Type); other && len(cause.InstanceLocation) == len(invalid.InstanceLocation) {
			continue
		}
		meant = append(meant, cause)
	}
	if len(meant) != 1 {
		return nil
	}
	return meant[0]
}

// at returns the schema of the value at a location.
func (s *schema) at(location []string) *jsonschema.Schema {
	doc := s.doc
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

// lookup returns the value at a location of the input.
func lookup(v any, location []string) any {
	for _, name := range location {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		}
	}
	return v
}

// hint names the known field that was probably meant: one of the same name
// elsewhere in the input, or the nearest name beside it.
func (s *schema) hint(at []string, name string) string {
	for _, path := range fieldPaths(s.doc, "") {
		if path == name || strings.HasSuffix(path, "."+name) {
			return "; did you mean " + path + "?"
		}
	}
	best, distance := "", len(name)/2+1
	for member := range members(s.at(at)) {
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(member)); d < distance {
			best, distance = joinField(append(slices.Clone(at), member)), d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

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
		paths = append(paths, fieldPaths(member, prefix+name+".")...)
	}
	return paths
}

// expectation states what a schema takes: "a number between 0.1 and 2".
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
		"integer": "a whole number", "number": "a number", "": "another value",
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
		if doc.Items != nil && items == "" {
			return " of " + expectation(doc.Items)
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

// maxPreview bounds how much of a wrong value a message repeats.
const maxPreview = 40

// preview shows a wrong value: numbers and short words as they are, anything
// that could be content or a secret by its kind.
func preview(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		if len(v) > maxPreview {
			return fmt.Sprintf("a string of %d bytes", len(v))
		}
		return strconv.Quote(v)
	case []any:
		if len(v) == 1 {
			return "an array of 1 item"
		}
		return fmt.Sprintf("an array of %d items", len(v))
	case map[string]any:
		return "an object"
	}
	return fmt.Sprint(v)
}
