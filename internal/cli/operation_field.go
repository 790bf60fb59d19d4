package cli

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
	"github.com/spf13/pflag"

	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/service/schema"
)

// field is one field of an operation's input as a flag.
type field struct {
	path   []string // from the input's root
	schema *jsonschema.Schema
	flag   string
	value  any
	given  bool
}

// addFields defines a flag for each field of an input that is not a source and returns them. Objects are flattened.
// A flag has the field's path without "options", or the whole path if that name exists already.
func addFields(flags *pflag.FlagSet, input *jsonschema.Schema) []*field {
	fields := leaves(input, nil)
	// Outer fields come first to the short names.
	slices.SortStableFunc(fields, func(a, b *field) int { return len(a.path) - len(b.path) })

	for _, f := range fields {
		f.flag = f.freeName(flags)
		flag := flags.VarPF(f, f.flag, "", f.usage())
		if f.schema.Default != nil {
			flag.DefValue = fmt.Sprint(f.schema.Default)
		}
		if f.schema.Type == "boolean" {
			flag.NoOptDefVal = "true"
		}
	}
	return fields
}

// leaves returns the fields below a schema that are not objects of fields.
func leaves(input *jsonschema.Schema, path []string) []*field {
	var fields []*field
	for name, member := range properties(input) {
		if path == nil && isSource(input, name) {
			continue
		}

		path := append(slices.Clone(path), name)
		if member.Properties.Len() > 0 && member.Format != schema.VerbatimFormat && !isFileSource(member) {
			fields = append(fields, leaves(member, path)...)
			continue
		}
		fields = append(fields, &field{path: path, schema: member})
	}
	return fields
}

// properties yields the members of an object's schema in their order.
func properties(schema *jsonschema.Schema) func(func(string, *jsonschema.Schema) bool) {
	return func(yield func(string, *jsonschema.Schema) bool) {
		if schema == nil || schema.Properties == nil {
			return
		}
		for pair := schema.Properties.Oldest(); pair != nil; pair = pair.Next() {
			if !yield(pair.Key, pair.Value) {
				return
			}
		}
	}
}

// freeName returns the first spelling of the field that is not a flag yet.
func (f *field) freeName(flags *pflag.FlagSet) string {
	whole := kebab(strings.Join(f.path, "-"))
	for _, name := range []string{strings.TrimPrefix(whole, "options-"), whole} {
		if flags.Lookup(name) == nil && !isClientSetting(name) && name != "help" {
			return name
		}
	}
	return "field-" + whole
}

var wordBorder = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// kebab spells a name in the command line's way: extraHTTPHeaders is
// extra-http-headers.
func kebab(name string) string {
	return strings.ToLower(wordBorder.ReplaceAllString(name, "$1$3-$2$4"))
}

// usage returns the field's own documentation and the flag's additions.
func (f *field) usage() string {
	text := strings.ReplaceAll(f.schema.Description, "`", "'")
	if len(f.enum()) > 0 && f.Type() != strings.Join(f.enum(), "|") {
		text += " One of " + strings.Join(f.enum(), ", ") + "."
	}

	switch {
	case isMap(f.schema):
		text += " Write name=value, and repeat the flag for more."
	case f.schema.Type == "array" && f.schema.Items != nil && !isFileSource(f.schema.Items) &&
		f.schema.Items.Properties.Len() > 0:
		var names []string
		for name := range properties(f.schema.Items) {
			names = append(names, name)
		}
		text += " Write a JSON object of " + strings.Join(names, ", ") + ", and repeat the flag for more."
	case f.schema.Type == "array":
		text += " Repeat the flag for more."
	}

	return text
}

// maxEnum is the maximum length of a list of values that replaces the type.
const maxEnum = 55

// enum returns the values that the field accepts, empty if they are not listed.
func (f *field) enum() []string {
	var all []string
	for _, choice := range f.schema.Enum {
		all = append(all, fmt.Sprint(choice))
	}
	return all
}

// Type names the flag's kind of value in the help text.
func (f *field) Type() string {
	if list := strings.Join(f.enum(), "|"); list != "" && len(list) <= maxEnum && f.schema.Type != "boolean" {
		return list
	}

	switch schema := f.schema; {
	case schema.Type == "boolean":
		return "bool" // pflag shows no value for it
	case isFileSource(schema) || isFileSource(schema.Items):
		return "file|url"
	case isMap(schema):
		return "name=value"
	case schema.Type == "array" && schema.Items != nil && schema.Items.Type == "":
		return "value"
	case schema.Type == "array" && schema.Items != nil && schema.Items.Type != "object":
		return schema.Items.Type
	case schema.Type == "array", schema.Type == "object":
		return "json"
	case schema.Type == "":
		return "value"
	default:
		return schema.Type
	}
}

// String returns nothing: the default is shown from the schema.
func (f *field) String() string { return "" }

// Set adds one value of the flag. Arrays and maps grow with each.
func (f *field) Set(text string) error {
	f.given = true

	switch {
	case isMap(f.schema):
		return f.setMember(text)
	case f.schema.Type == "array":
		items, err := f.parseItems(text)
		if err != nil {
			return err
		}
		before, _ := f.value.([]any)
		f.value = slices.Concat(before, items)
		return nil
	}

	var err error
	f.value, err = parseValue(f.schema, text)
	return err
}

// parseItems reads one item of an array, or for objects all items in one array.
func (f *field) parseItems(text string) ([]any, error) {
	if f.schema.Items.Type == "object" && !isFileSource(f.schema.Items) {
		all, err := parseValue(f.schema, text)
		if items, ok := all.([]any); ok && err == nil {
			return items, nil
		}
	}
	item, err := parseValue(f.schema.Items, text)
	return []any{item}, err
}

func (f *field) setMember(text string) error {
	name, text, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("write it like name=value")
	}

	value, err := parseValue(f.schema.AdditionalProperties, text)
	if err != nil {
		return err
	}

	members, _ := f.value.(map[string]any)
	if members == nil {
		members = map[string]any{}
	}
	members[name] = value
	f.value = members
	return nil
}

// put sets the field in a request, and makes the objects around it.
func (f *field) put(input map[string]any) error {
	last := len(f.path) - 1
	for _, name := range f.path[:last] {
		inner, ok := input[name].(map[string]any)
		if !ok {
			if input[name] != nil {
				return console.Usagef("--%s: %s in --json is not an object", f.flag, name)
			}
			inner = map[string]any{}
			input[name] = inner
		}
		input = inner
	}

	input[f.path[last]] = f.value
	return nil
}

// isIn reports whether a request holds the field already.
func (f *field) isIn(input map[string]any) bool { return f.in(input) != nil }

// in returns the value that the field has in a request, or nil.
func (f *field) in(input map[string]any) any {
	var value any = input
	for _, name := range f.path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

// with returns the field with a value.
func (f *field) with(value any) *field {
	given := *f
	given.value = value
	given.given = true
	return &given
}

// parseValue reads one value of the type that a schema names.
func parseValue(schema *jsonschema.Schema, text string) (any, error) {
	switch schema.Type {
	case "boolean":
		v, err := strconv.ParseBool(text)
		return v, remark(err, "write true or false")
	case "integer":
		v, err := strconv.ParseInt(text, 10, 64)
		return v, remark(err, "write a whole number")
	case "number":
		v, err := strconv.ParseFloat(text, 64)
		return v, remark(err, "write a number")
	}

	if isFileSource(schema) {
		return readFileSource(schema, text)
	}

	text, err := expand(text)
	if err != nil {
		return nil, err
	}

	switch schema.Type {
	case "string":
		return text, nil
	case "object":
		return parseJSON[map[string]any](text)
	case "array":
		return parseJSON[[]any](text)
	}
	return parseVariant(schema, text)
}

// parseVariant reads a value that may have several types. It is a string if no other type matches.
func parseVariant(schema *jsonschema.Schema, text string) (any, error) {
	variants := append(slices.Clone(schema.OneOf), schema.AnyOf...)
	for _, variant := range variants {
		if variant.Type == "string" {
			continue
		}
		if v, err := parseValue(variant, text); err == nil {
			return v, nil
		}
	}

	if len(variants) == 0 {
		if v, err := parseJSON[any](text); err == nil {
			return v, nil
		}
	}

	return text, nil
}

// parseJSON reads JSON of one type: a number is not an array of pages.
func parseJSON[T any](text string) (any, error) {
	// The value is wrapped, because the reader of request bodies reads objects.
	wrapped, err := schema.DecodeObject(strings.NewReader(`{"value":` + text + `}`))
	if v, ok := wrapped["value"].(T); err == nil && ok {
		return v, nil
	}
	return nil, errors.New("write valid JSON, or @ and the name of a file with it")
}

// expand replaces @FILE by the file's text.
func expand(text string) (string, error) {
	name, ok := strings.CutPrefix(text, "@")
	if !ok || strings.HasPrefix(name, "@") {
		return name, nil
	}
	content, err := os.ReadFile(name)
	return string(content), err
}

func remark(err error, text string) error {
	if err == nil {
		return nil
	}
	return errors.New(text)
}

// isMap reports whether a schema is one of names that the caller chooses, with
// values of one simple type.
func isMap(schema *jsonschema.Schema) bool {
	if schema == nil || schema.Type != "object" || schema.AdditionalProperties == nil {
		return false
	}
	switch schema.AdditionalProperties.Type {
	case "string", "number", "integer", "boolean":
		return true
	}
	return false
}
