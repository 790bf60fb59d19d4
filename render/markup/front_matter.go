package markup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// FrontMatter holds the YAML in front of a Markdown document.
type FrontMatter struct {
	Title, Author, Date, Description, Keywords, Lang string
	// Options is the object below "options", whose members have not been checked; nil if there is none.
	Options map[string]any
}

const (
	// maxFrontMatter bounds the search for the end of the front matter in bytes.
	maxFrontMatter = 64 << 10
	// FrontMatterHead is the number of bytes of a document that ReadFrontMatter reads.
	FrontMatterHead = 2 * maxFrontMatter
	// maxYAMLDepth and maxYAMLValues bound the options, aliases resolved.
	maxYAMLDepth  = 16
	maxYAMLValues = 10_000
)

// FrontMatterError is a line of front matter that cannot be read.
type FrontMatterError struct {
	Line    int // of the document, from 1
	Problem string
}

func (e *FrontMatterError) Error() string { return fmt.Sprintf("line %d %s", e.Line, e.Problem) }

// ReadFrontMatter reads the front matter of Markdown, a bounded part of it. Its error is a *FrontMatterError.
func ReadFrontMatter(src string) (FrontMatter, error) {
	about, _, err := cutFrontMatter([]byte(strings.TrimPrefix(src[:min(len(src), FrontMatterHead)], "\ufeff")))
	return about, err
}

// cutFrontMatter splits front matter off: a YAML object between a first line "---" and the next line "---" or "...".
// A document that merely starts with a rule keeps it. So does one whose front matter cannot be read.
func cutFrontMatter(src []byte) (FrontMatter, []byte, error) {
	block, body, ok := frontMatter(src)
	if !ok {
		return FrontMatter{}, src, nil
	}

	// With its first line, the block has the lines of the document.
	var doc yaml.Node
	err := yaml.Unmarshal(block, &doc)
	keyed := startsWithKey(block)
	switch {
	case err != nil && keyed:
		return FrontMatter{}, src, syntaxError(block, err)
	case err != nil:
		return FrontMatter{}, src, nil //nolint:nilerr // text between rules
	case len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode:
		return FrontMatter{}, src, nil
	}

	about, known, err := readMembers(doc.Content[0])
	switch {
	case !known && !keyed:
		return FrontMatter{}, src, nil // a sentence with a colon
	case err != nil:
		return FrontMatter{}, src, err
	}
	return about, body, nil
}

// frontMatter finds the block of lines that may be front matter, and what follows it.
func frontMatter(src []byte) (block, body []byte, found bool) {
	first, rest, ok := bytes.Cut(src, []byte("\n"))
	if !ok || string(bytes.TrimRight(first, " \t\r")) != "---" {
		return nil, nil, false
	}

	for at := 0; at < len(rest) && at < maxFrontMatter; {
		line, _, more := bytes.Cut(rest[at:], []byte("\n"))
		next := at + len(line)
		if more {
			next++
		}
		if end := string(bytes.TrimRight(line, " \t\r")); end == "---" || end == "..." {
			return src[:len(src)-len(rest)+at], rest[next:], true
		}
		at = next
	}
	return nil, nil, false
}

// startsWithKey reports whether the first line that is neither blank nor a comment reads "key:" or "key: value". The
// key is a word, or quoted.
func startsWithKey(block []byte) bool {
	_, block, _ = bytes.Cut(block, []byte("\n"))
	for line := range bytes.Lines(block) {
		line = bytes.TrimRight(line, " \t\r\n")
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		key, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || len(key) == 0 || len(value) > 0 && value[0] != ' ' && value[0] != '\t' {
			return false
		}
		if quote := key[0]; len(key) > 2 && (quote == '"' || quote == '\'') && key[len(key)-1] == quote {
			return true
		}
		return bytes.IndexFunc(key, func(r rune) bool {
			return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) < 0
	}
	return false
}

// yamlError is the text of a syntax error of the library.
var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

func syntaxError(block []byte, err error) error {
	found := yamlError.FindStringSubmatch(err.Error())
	if found == nil {
		return &FrontMatterError{1, "is not valid YAML"}
	}
	line, _ := strconv.Atoi(found[1])
	return &FrontMatterError{errorLine(block, max(line, 1)), "is not valid YAML: " + found[2]}
}

// errorLine returns the line after the longest beginning of a block that is valid. The library names the line on which
// the object around the error begins, which is the answer for large blocks.
func errorLine(block []byte, otherwise int) int {
	const maxBlock = 8 << 10
	if len(block) > maxBlock {
		return otherwise
	}

	for line := bytes.Count(block, []byte("\n")); line > 0; line-- {
		block = block[:bytes.LastIndexByte(block, '\n')+1]
		var doc yaml.Node
		if yaml.Unmarshal(block, &doc) == nil {
			return line + 1
		}
		block = block[:len(block)-1]
	}
	return otherwise
}

// readMembers reads the members that have a meaning here, and reports whether there are any.
func readMembers(object *yaml.Node) (about FrontMatter, known bool, err error) {
	texts := map[string]*string{
		"title": &about.Title, "author": &about.Author, "date": &about.Date, "description": &about.Description,
		"keywords": &about.Keywords, "lang": &about.Lang,
	}
	err = members(object, func(key, value *yaml.Node) error {
		name := strings.ToLower(key.Value)
		to := texts[name]
		known = known || to != nil || name == "options"

		var err error
		switch {
		case to != nil:
			*to, err = textOf(name, value)
		case name == "options":
			about.Options, err = optionsOf(value)
		}
		return err
	})
	return about, known, err
}

// members calls each for the members of an object, whose names differ.
func members(object *yaml.Node, each func(key, value *yaml.Node) error) error {
	seen := map[string]bool{}
	for i := 0; i+1 < len(object.Content); i += 2 {
		key, value := object.Content[i], object.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode:
			return &FrontMatterError{key.Line, "has a name that is not text"}
		case key.Tag == "!!merge":
			return &FrontMatterError{key.Line, "has a merge (<<), which is not supported"}
		case seen[key.Value]:
			return &FrontMatterError{key.Line, fmt.Sprintf("has the name %.40s more than once", key.Value)}
		}
		seen[key.Value] = true
		if err := each(key, value); err != nil {
			return err
		}
	}
	return nil
}

// textOf returns a scalar as it is written, or the items of a list. An item may be an object with a name, as authors
// are written for pandoc.
func textOf(name string, value *yaml.Node) (string, error) {
	value = resolved(value)
	items := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		items = value.Content
	}

	var texts []string
	for _, item := range items {
		item = resolved(item)
		if item.Kind == yaml.MappingNode && value.Kind == yaml.SequenceNode {
			for i := 0; i+1 < len(item.Content); i += 2 {
				if item.Content[i].Value == "name" {
					item = resolved(item.Content[i+1])
					break
				}
			}
		}
		if item.Kind != yaml.ScalarNode {
			return "", &FrontMatterError{item.Line, fmt.Sprintf("has a %s that is neither text nor a list of texts", name)}
		}
		if text := strings.TrimSpace(item.Value); text != "" && item.Tag != "!!null" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ", "), nil
}

func resolved(value *yaml.Node) *yaml.Node {
	if value.Kind == yaml.AliasNode {
		return value.Alias
	}
	return value
}

// optionsOf returns the object of options in the types of JSON.
func optionsOf(value *yaml.Node) (map[string]any, error) {
	reader := optionReader{left: maxYAMLValues}
	options, err := reader.value(value, 0)
	if err != nil || options == nil {
		return nil, err
	}
	object, ok := options.(map[string]any)
	if !ok {
		return nil, &FrontMatterError{value.Line, "has options that are not an object"}
	}
	return object, nil
}

// optionReader reads a bounded number of values.
type optionReader struct{ left int }

func (r *optionReader) value(node *yaml.Node, depth int) (any, error) {
	node = resolved(node)
	if r.left--; r.left < 0 || depth > maxYAMLDepth {
		return nil, &FrontMatterError{node.Line, "has options that are too large or nested too deeply"}
	}

	switch node.Kind {
	case yaml.MappingNode:
		object := map[string]any{}
		err := members(node, func(key, value *yaml.Node) (err error) {
			object[key.Value], err = r.value(value, depth+1)
			return err
		})
		return object, err
	case yaml.SequenceNode:
		array := []any{}
		for _, item := range node.Content {
			value, err := r.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			array = append(array, value)
		}
		return array, nil
	}
	return scalar(node)
}

// scalar returns a text, number, boolean or null. Dates stay texts.
func scalar(node *yaml.Node) (any, error) {
	var value any
	switch node.Tag {
	case "!!str", "!!timestamp":
		return node.Value, nil
	case "!!null", "!!bool", "!!int", "!!float":
		if err := node.Decode(&value); err != nil {
			return nil, &FrontMatterError{node.Line, "has a value that cannot be read: " + fmt.Sprintf("%.40s", node.Value)}
		}
	default:
		return nil, &FrontMatterError{node.Line, "has a value of the type " + fmt.Sprintf("%.40s", node.Tag) + ", which is not supported"}
	}

	if _, isBool := value.(bool); isBool || value == nil {
		return value, nil
	}
	text, err := json.Marshal(value)
	if err != nil { // Infinity
		return nil, &FrontMatterError{node.Line, "has a number without a finite value"}
	}
	return json.Number(text), nil
}
