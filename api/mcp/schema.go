package mcp

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/service/schema"
)

// A model reads the list of tools with every conversation, so the list must be short. It leaves out limits that are
// not exceeded by accident, and default values: the error of a value beyond a limit names it.

// inputDepth is the maximum depth of a described input. Deeper levels of recursive types, such as bookmarks, repeat
// the described ones.
const inputDepth = 5

// advanced marks fields that the list leaves out.
const advanced = "x-advanced"

// unneeded finds the descriptions of fields that have no effect of their own.
var unneeded = regexp.MustCompile(`^(Ignored|Alias)\b`)

// trimmed finds the parts of descriptions that a model does without: sizes that are not exceeded by accident,
// references to the form of other fields, and long asides.
var trimmed = regexp.MustCompile(`, (at most [0-9,]+ (MiB|KiB|bytes)( together)?|in the same form as \w+)| \([^)]{26,}\)`)

// shrink returns a schema without the parts that a model does not need in order to write a valid input.
func shrink(doc *jsonschema.Schema, depth int) *jsonschema.Schema {
	if doc == nil || doc == jsonschema.TrueSchema || doc == jsonschema.FalseSchema {
		return doc
	}

	short := *doc
	short.Version = ""
	short.ContentEncoding = ""
	short.Format = ""
	short.Pattern = ""
	short.Extras = nil
	short.Default = nil
	short.MinLength = nil
	short.MaxLength = nil
	short.MinItems = nil
	short.MaxItems = nil
	short.MaxProperties = nil
	short.MinProperties = nil
	short.Minimum = ""
	short.Maximum = ""
	short.Description = brief(doc.Description, depth < inputDepth-1)

	if depth == 0 || doc.Format == schema.VerbatimFormat {
		short.Properties = nil
		short.Items = nil
		short.Required = nil
		short.AdditionalProperties = nil
		return &short
	}

	short.Items = shrink(doc.Items, depth-1)
	short.AdditionalProperties = shrink(doc.AdditionalProperties, depth-1)
	if doc.AdditionalProperties == jsonschema.FalseSchema || doc.AdditionalProperties == jsonschema.TrueSchema {
		short.AdditionalProperties = nil
	}

	if slices.ContainsFunc(doc.OneOf, plainText) {
		// A model sees a value that may be text or another type as text.
		short.OneOf = nil
		short.Type = "string"
		return &short
	}

	short.OneOf = shrinkAll(doc.OneOf, depth-1)
	short.AnyOf = shrinkAll(doc.AnyOf, depth-1)
	if doc.Properties != nil {
		short.Properties = jsonschema.NewProperties()
		for pair := doc.Properties.Oldest(); pair != nil; pair = pair.Next() {
			// A member with one possible value has it without being set. Rarely needed ones are accepted without being
			// listed.
			if pair.Value.Extras[advanced] != true && len(pair.Value.Enum) != 1 &&
				!unneeded.MatchString(pair.Value.Description) {
				short.Properties.Set(pair.Key, shrink(pair.Value, depth-1))
			}
		}
	}
	return &short
}

// longSentences is the maximum length, in bytes, up to which a description has more than its first sentence. The
// error of a wrong value contains the rest.
const longSentences = 48

// brief returns the sentences of a description that fit, or only the first, for example for a part of a field.
func brief(description string, part bool) string {
	// Models know the effect of true.
	if effect, ok := strings.CutPrefix(description, "If true, "); ok {
		description = strings.ToUpper(effect[:1]) + effect[1:]
	}

	short, rest, more := strings.Cut(description, ". ")
	for more && !part {
		var next string
		next, rest, more = strings.Cut(rest, ". ")
		if len(short)+len(next) > longSentences {
			break
		}
		short += ". " + next
	}

	return trimmed.ReplaceAllString(strings.TrimSuffix(short, "."), "")
}

// plainText reports whether a schema accepts any text.
func plainText(doc *jsonschema.Schema) bool { return doc.Type == "string" && doc.Enum == nil }

func shrinkAll(docs []*jsonschema.Schema, depth int) []*jsonschema.Schema {
	var short []*jsonschema.Schema
	for _, doc := range docs {
		short = append(short, shrink(doc, depth))
	}
	return short
}

// without removes members from an object's schema in place.
func without(doc *jsonschema.Schema, names ...string) *jsonschema.Schema {
	for _, name := range names {
		doc.Properties.Delete(name)
	}
	doc.Required = slices.DeleteFunc(slices.Clone(doc.Required),
		func(name string) bool { return slices.Contains(names, name) })
	return doc
}

// longMember is the length, in bytes of JSON, from which a member that two tools share is described once.
const longMember = 220

// longRest is the length in bytes from which text after a colon appears only once.
const longRest = 50

// maxObvious is the maximum number of spaces in a description that says no more than its field's name.
const maxObvious = 9

// descriptionIndex records the descriptions of members, so later tools need not repeat them.
type descriptionIndex struct {
	members    map[string]string // the first tool that has one, by its name and JSON
	said       map[string]bool   // descriptions, with the member's name before them, and parts of them
	beginnings map[string]bool
}

// refer replaces members that an earlier tool has too by a reference to that tool, and shortens repeated
// descriptions.
func (o descriptionIndex) refer(tool string, doc *jsonschema.Schema) error {
	if doc.Properties == nil {
		return nil
	}

	own := map[string]string{}
	for pair := doc.Properties.Oldest(); pair != nil; pair = pair.Next() {
		member := pair.Value
		text, err := bare(member)
		if err != nil {
			return err
		}
		own[pair.Key] = text

		if err := likeOwn(member, own); err != nil {
			return err
		}
		member.Description = o.once(pair.Key, member.Description)

		first, seen := o.members[pair.Key+text]
		switch {
		case len(text) < longMember:
		case seen && first != tool:
			doc.Properties.Set(pair.Key, &jsonschema.Schema{
				Type: member.Type,
				Description: o.once(pair.Key,
					strings.TrimPrefix(strings.TrimSuffix(member.Description, ".")+". As in "+first+".", ". ")),
			})
			continue
		default:
			o.members[pair.Key+text] = tool
		}

		if err := o.refer(tool, member); err != nil {
			return err
		}
		if member.Items != nil {
			if err := o.refer(tool, member.Items); err != nil {
				return err
			}
		}
	}
	return nil
}

// bare is the JSON of a schema without its own description.
func bare(doc *jsonschema.Schema) (string, error) {
	short := *doc
	short.Description = ""
	text, err := json.Marshal(&short)
	return string(text), err
}

// manyAlike is the number of members of list items from which they are described only once, if the object that holds
// the list has the same members.
const manyAlike = 6

// likeOwn removes members of list items that equal members of the object that holds the list. Members with nested
// members stay, as there may be files among them.
func likeOwn(list *jsonschema.Schema, own map[string]string) error {
	if list.Items == nil || list.Items.Properties == nil {
		return nil
	}

	var alike []string
	for pair := list.Items.Properties.Oldest(); pair != nil; pair = pair.Next() {
		text, err := bare(pair.Value)
		if err != nil {
			return err
		}
		if pair.Value.Properties == nil && own[pair.Key] == text {
			alike = append(alike, pair.Key)
		}
	}

	if len(alike) >= manyAlike {
		without(list.Items, alike...)
		list.Description += ". They accept the members above, too"
	}
	return nil
}

// once shortens a description that begins like an earlier one to that beginning. It leaves out a description that a
// member of the same name already has, and repeated text after a colon.
func (o descriptionIndex) once(name, said string) string {
	if o.said[name+": "+said] || obvious(name, said) {
		return ""
	}
	o.said[name+": "+said] = true

	if head, rest, ok := strings.Cut(said, ": "); ok && len(rest) > longRest {
		start, _, _ := strings.Cut(rest, ",")
		if o.said[start] {
			return head
		}
		o.said[start] = true
	}

	first := said
	for _, end := range []string{". ", ", ", "; "} {
		first, _, _ = strings.Cut(first, end)
	}
	if !o.beginnings[first] {
		o.beginnings[first] = true
		return said
	}
	return first
}

// camelWord finds the words of a field's name.
var camelWord = regexp.MustCompile(`[A-Z]*[a-z]+|[A-Z]+`)

// obvious reports whether a description says no more than the name of its field, as "Title of the document" does.
func obvious(name, said string) bool {
	if strings.Count(said, " ") > maxObvious || strings.ContainsAny(said, ",:;(0123456789") ||
		strings.Contains(said, " in ") {
		return false
	}

	for _, word := range camelWord.FindAllString(name, -1) {
		if !strings.Contains(strings.ToLower(said), strings.ToLower(word)) {
			return false
		}
	}
	return true
}

// withoutContent removes the Base64 of files from an input that accepts the ID of an upload instead: models write no
// Base64. The tools accept it nevertheless.
func withoutContent(doc *jsonschema.Schema) {
	if doc == nil || doc.Properties == nil {
		return
	}
	if _, ok := doc.Properties.Get("fileId"); ok {
		doc.Properties.Delete("file")
	}

	for pair := doc.Properties.Oldest(); pair != nil; pair = pair.Next() {
		withoutContent(pair.Value)
		withoutContent(pair.Value.Items)
	}
}
