package schema

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/invopop/jsonschema"
)

// Some values are checked by their own types, because the errors of a schema would be harder to read. Their rules are
// extensions of the input's schema, which the decoder ignores. Publish makes keywords of them for the OpenAPI document.
const (
	// patternExtension holds the pattern of a text.
	patternExtension = "x-pattern"
	// filledExtension marks a text that must not be empty.
	filledExtension = "x-filled"
	// uniqueExtension marks an array without equal items.
	uniqueExtension = "x-unique"
	// rulesExtension holds schemas with rules of several members of an object.
	rulesExtension = "x-rules"
	// typeExtension holds the name of a type of values that are not objects.
	typeExtension = "x-type"
)

var publishedExtensions = []string{patternExtension, filledExtension, uniqueExtension, rulesExtension, typeExtension}

// Named gives the schema of a type of values that are not objects the name of the type.
func Named(name string, doc *jsonschema.Schema) *jsonschema.Schema {
	setExtra(doc, typeExtension, name)
	return doc
}

// SetPattern adds a pattern that the type of a text checks itself. It returns the schema.
func SetPattern(doc *jsonschema.Schema, pattern string) *jsonschema.Schema {
	setExtra(doc, patternExtension, pattern)
	return doc
}

// SetPatterns adds patterns of an object's members.
func SetPatterns(doc *jsonschema.Schema, patterns map[string]string) {
	for name, pattern := range patterns {
		if member := doc.Properties.Value(name); member != nil {
			SetPattern(member, pattern)
		}
	}
}

// AddRules adds rules of several members that the type of an object checks itself.
func AddRules(doc *jsonschema.Schema, rules ...*jsonschema.Schema) {
	known, _ := doc.Extras[rulesExtension].([]*jsonschema.Schema)
	setExtra(doc, rulesExtension, slices.Concat(known, rules))
}

// ExactlyOne is the rule that one of some members is given.
func ExactlyOne(names ...string) *jsonschema.Schema { return &jsonschema.Schema{OneOf: given(names)} }

// AtLeastOne is the rule that one or more of some members are given.
func AtLeastOne(names ...string) *jsonschema.Schema { return &jsonschema.Schema{AnyOf: given(names)} }

// Exclusive is the rule that two members are not given together.
func Exclusive(one, other string) *jsonschema.Schema {
	return &jsonschema.Schema{Not: &jsonschema.Schema{Required: []string{one, other}}}
}

// Requires is the rule that a member is given only with others.
func Requires(name string, others ...string) *jsonschema.Schema {
	return &jsonschema.Schema{DependentRequired: map[string][]string{name: others}}
}

func given(names []string) (one []*jsonschema.Schema) {
	for _, name := range names {
		one = append(one, &jsonschema.Schema{Required: []string{name}})
	}
	return one
}

// AnyCase returns a pattern of some words in upper or lower case. Patterns of JSON Schema have no flag for it. Words with
// the same beginning share it, since a pattern of 150 words is long.
func AnyCase(words []string) string {
	var beginnings []rune
	endings := map[rune][]string{}
	for _, word := range words {
		first, size := utf8.DecodeRuneInString(word)
		if endings[first] == nil {
			beginnings = append(beginnings, first)
		}
		endings[first] = append(endings[first], word[size:])
	}

	var patterns []string
	for _, first := range beginnings {
		pattern := string(first)
		if unicode.IsLetter(first) {
			pattern = "[" + string(unicode.ToUpper(first)) + string(unicode.ToLower(first)) + "]"
		}
		patterns = append(patterns, pattern+anyEnding(endings[first]))
	}
	return strings.Join(patterns, "|")
}

// anyEnding returns a pattern of the ends of words, of which one may be empty.
func anyEnding(endings []string) string {
	more := slices.DeleteFunc(slices.Clone(endings), func(ending string) bool { return ending == "" })
	pattern := AnyCase(more)
	switch {
	case len(more) == 0:
		return ""
	case len(more) < len(endings):
		return "(" + pattern + ")?"
	case strings.Contains(pattern, "|"):
		return "(" + pattern + ")"
	}
	return pattern
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

// PublishKeywords replaces the rules of a schema that its type checks itself by keywords of JSON Schema. It changes
// neither the schema's parts nor its extensions in place.
func PublishKeywords(doc *jsonschema.Schema) {
	if pattern, ok := doc.Extras[patternExtension].(string); ok {
		doc.Pattern = pattern
	}
	if doc.Extras[filledExtension] == true {
		doc.MinLength = new(uint64(1))
	}

	if doc.Extras[uniqueExtension] == true {
		doc.UniqueItems = true
	}

	rules, _ := doc.Extras[rulesExtension].([]*jsonschema.Schema)
	for _, rule := range rules {
		switch {
		case rule.OneOf != nil && doc.OneOf == nil:
			doc.OneOf = rule.OneOf
		case rule.AnyOf != nil && doc.OneOf == nil && doc.AnyOf == nil:
			doc.AnyOf = rule.AnyOf
		case rule.AnyOf != nil && doc.Not == nil:
			// Generators of clients name the alternatives of oneOf and anyOf alike, and fail. They skip not.
			doc.Not = &jsonschema.Schema{Not: rule}
		case rule.Not != nil && doc.Not == nil:
			doc.Not = rule.Not
		case rule.DependentRequired != nil:
			doc.DependentRequired = maps.Clone(doc.DependentRequired)
			if doc.DependentRequired == nil {
				doc.DependentRequired = map[string][]string{}
			}
			maps.Copy(doc.DependentRequired, rule.DependentRequired)
		default:
			doc.AllOf = append(slices.Clone(doc.AllOf), rule)
		}
	}

	doc.Extras = Unpublished(doc.Extras)
}

// Unpublished returns the extensions that Publish leaves.
func Unpublished(extras map[string]any) map[string]any {
	if extras == nil {
		return nil
	}
	left := maps.Clone(extras)
	maps.DeleteFunc(left, func(key string, _ any) bool { return slices.Contains(publishedExtensions, key) })
	return left
}
