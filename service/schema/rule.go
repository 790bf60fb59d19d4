package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// rule is a schema made ready for checking values while they are read.
type rule struct {
	doc *jsonschema.Schema
	// kind is the JSON type, empty where any is taken.
	kind    string
	members map[string]*rule
	// values is the rule of the members that are not declared. Without one,
	// an object with declared members has no others.
	values *rule
	// open marks free-form data: an object without declared members.
	open         bool
	items        *rule
	alternatives []*rule
	pattern      *regexp.Regexp
	low, high    float64
	file         bool
	verbatim     bool // stored as its text
	deferred     bool // the input of another operation
	changes      bool // members that cannot be null must not be, instead of being absent
	// longest is the maximum size of a long text in bytes, 0 for any other.
	longest int64
}

// longText is the length from which a string counts against its own limit and not as part of the JSON around it.
const longText = 64 << 10

// known are the keywords that a rule enforces or that have no effect on values. A schema with another one does not
// compile, so no keyword is published without being checked.
var known = []string{
	"type", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "items", "minItems", "maxItems",
	"properties", "required", "additionalProperties", "maxProperties", "oneOf", "contentEncoding",
	"description", "title", "default", "examples", "format", "deprecated", "readOnly", "writeOnly",
	"x-common", "x-requires", // for forms
	"x-advanced",                                                                      // for lists of tools, which omit the field
	patternExtension, filledExtension, uniqueExtension, rulesExtension, typeExtension, // for the OpenAPI document
}

// newRule compiles a schema.
func newRule(doc *jsonschema.Schema) (*rule, error) {
	if doc == nil || reflect.DeepEqual(doc, jsonschema.TrueSchema) {
		return nil, nil
	}
	if err := checkKeywords(doc); err != nil {
		return nil, err
	}

	r := &rule{
		doc: doc, kind: doc.Type, low: math.Inf(-1), high: math.Inf(1), file: doc.ContentEncoding == "base64",
		verbatim: doc.Type == "object" && doc.Format == VerbatimFormat,
		deferred: doc.Type == "object" && doc.Format == operationFormat,
		open:     doc.Type == "object" && doc.Properties == nil && doc.AdditionalProperties == nil,
	}

	var err error
	for _, bound := range []struct {
		n  json.Number
		to *float64
	}{{doc.Minimum, &r.low}, {doc.Maximum, &r.high}} {
		if bound.n != "" {
			if *bound.to, err = bound.n.Float64(); err != nil {
				return nil, err
			}
		}
	}

	if doc.MaxLength != nil && *doc.MaxLength >= longText {
		r.longest = int64(*doc.MaxLength)
	}
	if doc.Pattern != "" {
		if r.pattern, err = regexp.Compile(doc.Pattern); err != nil {
			return nil, err
		}
	}

	err = r.compileParts()
	return r, err
}

func (r *rule) compileParts() (err error) {
	if r.doc.AdditionalProperties != jsonschema.FalseSchema {
		if r.values, err = newRule(r.doc.AdditionalProperties); err != nil {
			return err
		}
	}
	if r.items, err = newRule(r.doc.Items); err != nil {
		return err
	}

	r.members = map[string]*rule{}
	for name, member := range members(r.doc) {
		if r.members[name], err = newRule(member); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}

	taken := map[byte]bool{}
	for _, alternative := range r.doc.OneOf {
		part, err := newRule(alternative)
		if err != nil {
			return err
		}
		for _, kind := range []byte(`{["0tn`) {
			if part.takes(kind) && taken[kind] {
				return fmt.Errorf("oneOf has two alternatives for values that start with %q", kind)
			}
			taken[kind] = taken[kind] || part.takes(kind)
		}
		r.alternatives = append(r.alternatives, part)
	}
	return nil
}

// unknown are the fields of a schema with other keywords than the known ones.
var unknown = slices.DeleteFunc(reflect.VisibleFields(reflect.TypeFor[jsonschema.Schema]()), func(f reflect.StructField) bool {
	return !f.IsExported() || f.Name == "Extras" || slices.Contains(known, keywordOf(f))
})

// keywordOf returns the keyword of a field of a schema.
func keywordOf(f reflect.StructField) string {
	keyword, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return keyword
}

// checkKeywords checks a schema's own keywords. The keywords of its parts are checked when the parts are compiled.
func checkKeywords(doc *jsonschema.Schema) error {
	used := slices.Collect(maps.Keys(doc.Extras))
	for _, field := range unknown {
		if !reflect.ValueOf(doc).Elem().FieldByIndex(field.Index).IsZero() {
			used = append(used, keywordOf(field))
		}
	}

	for _, keyword := range used {
		if !slices.Contains(known, keyword) {
			return fmt.Errorf("the keyword %s is not one that inputs are checked for", keyword)
		}
	}
	return nil
}

// takes reports whether a value of a kind, named by its first byte, may be valid. The kinds are those of jsontext: {
// [ " 0 t n.
func (r *rule) takes(kind byte) bool {
	if r == nil {
		return true
	}
	if len(r.alternatives) > 0 {
		return slices.ContainsFunc(r.alternatives, func(part *rule) bool { return part.takes(kind) })
	}

	switch r.kind {
	case "object":
		return kind == '{'
	case "array":
		return kind == '['
	case "string":
		return kind == '"'
	case "integer", "number":
		return kind == '0'
	case "boolean":
		return kind == 't'
	case "null":
		return kind == 'n'
	}
	return true
}

// meant returns the rule for a value of a kind: the matching one of alternatives. The second result is false if
// none matches.
func (r *rule) meant(kind byte) (*rule, bool) {
	if r == nil {
		return nil, true
	}

	for _, part := range r.alternatives {
		if part.takes(kind) {
			return part.meant(kind)
		}
	}
	fits := r.takes(kind)
	return r, fits
}

// member returns the rule of a member, and whether the object allows it.
func (r *rule) member(name string) (*rule, bool) {
	if !r.strict() {
		return nil, true
	}
	if member, ok := r.members[name]; ok {
		return member, true
	}
	return r.values, r.values != nil
}

// fits reports whether the schema accepts a string, number or boolean.
func (r *rule) fits(v any) bool {
	if r == nil {
		return true
	}

	switch v := v.(type) {
	case int64:
		if !r.within(float64(v)) {
			return false
		}
	case float64:
		if r.kind == "integer" && v != math.Trunc(v) || !r.within(v) {
			return false
		}
	case string:
		if r.pattern != nil && !r.pattern.MatchString(v) {
			return false
		}
	}

	return len(r.doc.Enum) == 0 || slices.ContainsFunc(r.doc.Enum, func(one any) bool { return same(one, v) })
}

func (r *rule) within(n float64) bool { return n >= r.low && n <= r.high }

// beyond reports whether a number is of the right kind and outside its bounds.
func (r *rule) beyond(v any) bool {
	switch v := v.(type) {
	case int64:
		return !r.within(float64(v))
	case float64:
		return (r.kind != "integer" || v == math.Trunc(v)) && !r.within(v)
	}
	return false
}

// strict reports whether all members of the object are declared, so null is an absent member. In free-form data null
// is a value.
func (r *rule) strict() bool { return r != nil && !r.open && r.kind == "object" }

// same compares a value of a schema, which Go wrote, with one that was read.
func same(one, v any) bool {
	switch v := v.(type) {
	case int64:
		return fmt.Sprint(one) == strconv.FormatInt(v, 10)
	case float64:
		n, err := strconv.ParseFloat(fmt.Sprint(one), 64)
		_, text := one.(string)
		return err == nil && !text && n == v
	}
	return one == v
}

// clears reports whether null has a meaning for a member, other than that the member is absent.
func (r *rule) clears() bool {
	return r != nil && (r.kind == "null" || len(r.alternatives) > 0) && r.takes('n')
}

// anyObject accepts every object.
var anyObject = &rule{
	doc: &jsonschema.Schema{Type: "object"}, kind: "object", open: true, low: math.Inf(-1), high: math.Inf(1),
}
