package markup

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// FrontMatter holds the YAML in front of a Markdown document.
type FrontMatter struct {
	Title, Author, Description, Keywords string
	// Options is the object below "options", whose members have not been checked; nil if there is none.
	Options map[string]any
}

// FrontMatterHead is the number of bytes of a document that ReadFrontMatter reads.
const FrontMatterHead = 2 * maxFrontMatter

// ReadFrontMatter reads the front matter of Markdown, a bounded part of it in linear time. An error names the
// option that cannot be read.
func ReadFrontMatter(src string) (FrontMatter, error) {
	block, _, found := frontMatter([]byte(strings.TrimPrefix(src[:min(len(src), FrontMatterHead)], "\ufeff")))
	if !found {
		return FrontMatter{}, nil
	}
	meta := scalars(block)
	options, err := readOptions(string(block))
	return FrontMatter{
		Title: meta["title"], Author: meta["author"], Description: meta["description"], Keywords: meta["keywords"], Options: options,
	}, err
}

// OptionsError is a line of the options that cannot be read.
type OptionsError struct {
	Line    int // of the document, from 1
	Problem string
}

func (e *OptionsError) Error() string { return fmt.Sprintf("line %d %s", e.Line, e.Problem) }

// level is an object that is being read, and the indentation of its members.
type level struct {
	indent int // -1 until the first one
	object map[string]any
}

// deepestOptions bounds objects in objects.
const deepestOptions = 4

// readOptions reads the lines below "options:", each "name: value", an object's
// members further in than its name. More of YAML is not understood.
func readOptions(block string) (map[string]any, error) {
	const lineOfBlock = 2 // the first line is ---
	var levels []level
	number := lineOfBlock - 1
	for line := range strings.Lines(block) {
		number++
		line = strings.TrimRight(line, " \t\r\n")
		text := strings.TrimLeft(line, " ")
		indent := len(line) - len(text)
		if text == "" || text[0] == '#' {
			continue
		}
		if indent == 0 {
			if len(levels) > 0 {
				break
			}
			if text == "options:" {
				levels = []level{{-1, map[string]any{}}}
			}
			continue
		}
		if len(levels) == 0 {
			continue // of something else
		}
		var problem string
		if levels, problem = addOption(levels, indent, text); problem != "" {
			return nil, &OptionsError{number, problem}
		}
	}
	if len(levels) == 0 {
		return nil, nil
	}
	return levels[0].object, nil
}

// addOption puts a line into the object of its indentation.
func addOption(levels []level, indent int, text string) (_ []level, problem string) {
	if last := &levels[len(levels)-1]; last.indent < 0 {
		if len(levels) > 1 && indent <= levels[len(levels)-2].indent {
			levels = levels[:len(levels)-1] // it has no members
		} else {
			last.indent = indent
		}
	}
	for len(levels) > 1 && indent < levels[len(levels)-1].indent {
		levels = levels[:len(levels)-1]
	}
	last := levels[len(levels)-1]
	name, value, ok := strings.Cut(text, ":")
	switch {
	case indent != last.indent:
		return nil, "is not indented like the names above it"
	case !ok || strings.ContainsAny(name, " \"'\t") || value != "" && value[0] != ' ':
		return nil, "must be written as name: value"
	case last.object[name] != nil:
		return nil, "has the name " + name + " more than once"
	}
	if strings.TrimSpace(value) == "" {
		if len(levels) == deepestOptions {
			return nil, "is nested too deeply"
		}
		object := map[string]any{}
		last.object[name] = object
		return append(levels, level{-1, object}), ""
	}
	parsed, err := optionValue(value)
	if err != nil {
		return nil, err.Error()
	}
	last.object[name] = parsed
	return levels, ""
}

// plainNumber is a number as JSON writes it.
var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,15})?$`)

// optionValue reads a word, a quoted text, a number, true or false, or a JSON array or object; an object on one
// line may be YAML's.
func optionValue(text string) (any, error) {
	text = strings.TrimSpace(text)
	var value any
	switch {
	case text == "true" || text == "false":
		return text == "true", nil
	case plainNumber.MatchString(text):
		return json.Number(text), nil
	case text[0] == '"':
		if unquoted, err := strconv.Unquote(text); err == nil {
			return unquoted, nil
		}
	case text[0] == '[' || text[0] == '{':
		if err := json.Unmarshal([]byte(text), &value); err == nil {
			return value, nil
		}
		if object, ok := flowObject(text); ok {
			return object, nil
		}
		return nil, fmt.Errorf("must be valid JSON if it begins with %q. Alternatively, write each member on its own line", text[0])
	}
	if plain := plainScalar(text); plain != "" {
		return plain, nil
	}
	return nil, fmt.Errorf("has an unsupported value. Quote it with \"")
}

// flowObject reads a YAML object on one line, without nested ones: {top: 20mm, left:
// "1in"}.
func flowObject(text string) (map[string]any, bool) {
	inner, ok := strings.CutPrefix(text, "{")
	inner, closed := strings.CutSuffix(inner, "}")
	if !ok || !closed || strings.ContainsAny(inner, "[]{}") {
		return nil, false
	}
	object := map[string]any{}
	for _, member := range strings.Split(inner, ",") {
		name, value, ok := strings.Cut(member, ": ")
		name = strings.Trim(strings.TrimSpace(name), `"`)
		if !ok || name == "" || strings.ContainsAny(name, " \"'\t") || strings.TrimSpace(value) == "" || object[name] != nil {
			return nil, false
		}
		parsed, err := optionValue(value)
		if err != nil {
			return nil, false
		}
		object[name] = parsed
	}
	return object, true
}
