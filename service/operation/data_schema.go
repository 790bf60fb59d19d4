package operation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/relaypdf/relaypdf/service/llm"
)

const (
	// maxSchema is the maximum size of a schema, in bytes: the model reads it.
	maxSchema = 16 << 10
	// maxSchemaParts limits a schema with its references expanded, maxPatternSteps its patterns: they determine the
	// cost of validation.
	maxSchemaParts, maxPatternSteps = 5000, 5000
	// maxData is the maximum size of a model's data in bytes, maxDigits the maximum number of digits of a number in
	// it, and maxExponent the maximum power of ten.
	maxData, maxDigits, maxExponent = 128 << 10, 64, 300
)

// schemaAddress is a placeholder URL for a schema, which has none. Nothing is there.
const schemaAddress = "https://schema.invalid/"

// drafts lists the drafts of JSON Schema that a schema may name.
var drafts = []string{"json-schema.org/draft/2020-12/schema", "json-schema.org/draft/2019-09/schema", "json-schema.org/draft-07/schema"}

// elsewhere are keywords that give parts of a schema addresses, or mean others by them.
var elsewhere = []string{
	"$id",
	"$anchor",
	"$dynamicAnchor",
	"$dynamicRef",
	"$recursiveAnchor",
	"$recursiveRef",
	"$vocabulary",
}

// errNoAddress refuses all addresses.
var errNoAddress = errors.New("nothing is loaded from an address")

// unlocated loads no schema.
type unlocated struct{}

func (unlocated) Load(string) (any, error) { return nil, errNoAddress }

// newDataSchema reads a schema. Its references must resolve within it and must not recurse without end.
func newDataSchema(text json.RawMessage) (*jsonschema.Schema, error) {
	if len(text) > maxSchema {
		return nil, fmt.Errorf("must be at most %d bytes; got %d", maxSchema, len(text))
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("must be valid JSON: %w", err)
	}

	if object, _ := root.(map[string]any); object["type"] != "object" {
		return nil, errors.New(`must describe an object. Set "type": "object"`)
	}

	m := &schemaMeasure{root: root, known: map[string]schemaSize{}}
	if _, err := m.size(root); err != nil {
		return nil, err
	}

	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(unlocated{})
	compiler.AssertFormat()

	var compiled *jsonschema.Schema
	if err = compiler.AddResource(schemaAddress, root); err == nil {
		compiled, err = compiler.Compile(schemaAddress)
	}

	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		err = invalid.Err
	}

	var faults *jsonschema.ValidationError
	switch {
	case errors.As(err, &faults):
		return nil, errors.New("must be a valid JSON Schema: " + schemaFaults(faults)[0])
	case err != nil:
		return nil, errors.New("must be a valid JSON Schema: " + strings.ReplaceAll(err.Error(), schemaAddress, ""))
	}

	return compiled, nil
}

// schemaSize is the size of a part of a schema with its references.
type schemaSize struct{ parts, steps int }

func (s *schemaSize) add(other schemaSize) error {
	s.parts += other.parts
	s.steps += other.steps
	switch {
	case s.parts > maxSchemaParts:
		return fmt.Errorf("is too large: at most %d parts with all $refs expanded", maxSchemaParts)
	case s.steps > maxPatternSteps:
		return fmt.Errorf(
			"has patterns that are too long: at most about %d characters together, repeats expanded",
			maxPatternSteps,
		)
	}
	return nil
}

// schemaMeasure looks at all parts of a schema.
type schemaMeasure struct {
	root  any
	known map[string]schemaSize // by references
	open  []string              // references that are being looked at
}

// size measures a part of a schema.
func (m *schemaMeasure) size(v any) (sum schemaSize, err error) {
	sum.parts = 1
	var parts []any
	switch v := v.(type) {
	case json.Number:
		err = checkNumber(v)
	case []any:
		parts = v
	case map[string]any:
		for key, part := range v {
			of, err := m.keyword(key, part)
			if err == nil {
				err = sum.add(of)
			}
			if err != nil {
				return sum, err
			}
			parts = append(parts, part)
		}
	}

	for _, part := range parts {
		if err != nil {
			break
		}
		var of schemaSize
		if of, err = m.size(part); err == nil {
			err = sum.add(of)
		}
	}

	return sum, err
}

// keyword measures a member of a schema by its meaning.
func (m *schemaMeasure) keyword(key string, value any) (size schemaSize, err error) {
	if object, ok := value.(map[string]any); ok {
		if key == "patternProperties" {
			for pattern := range object {
				if err = size.add(schemaSize{steps: patternSteps(pattern)}); err != nil {
					break
				}
			}
		}
		return size, err // a property may be called as a keyword
	}

	text, isText := value.(string)
	switch {
	case slices.Contains(elsewhere, key):
		return size, errors.New("must not use " + key + ". Refer to its parts with $ref, such as #/$defs/money")
	case !isText:
	case key == "$schema":
		name := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(text, "https://"), "http://"), "#")
		if !slices.Contains(drafts, name) {
			err = errors.New("has an unsupported $schema. Use 2020-12, 2019-09 or draft-07, or omit $schema")
		}
	case key == "pattern":
		size.steps = patternSteps(text)
	case key == "$ref":
		return m.reference(text)
	}

	return size, err
}

// patternSteps estimates the steps of matching one character. Unreadable patterns are refused later.
func patternSteps(pattern string) int {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return len(program.Inst)
}

// reference measures the target of a reference.
func (m *schemaMeasure) reference(ref string) (size schemaSize, err error) {
	if size, ok := m.known[ref]; ok {
		return size, nil
	}
	if slices.Contains(m.open, ref) || ref == "#" {
		return size, fmt.Errorf("is recursive: $ref %q refers to itself. Remove the recursion", ref)
	}

	part := m.root
	pointer, local := strings.CutPrefix(ref, "#")
	pointer, err = url.PathUnescape(pointer)
	if !local || err != nil || !strings.HasPrefix(pointer, "/") {
		return size, fmt.Errorf("has an external $ref %q. Refer to a part of this schema, such as #/$defs/money", ref)
	}

	for _, step := range strings.Split(pointer[1:], "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch at := part.(type) {
		case map[string]any:
			part = at[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(at) {
				part = nil
				break
			}
			part = at[n]
		default:
			part = nil
		}
	}

	if part == nil {
		return size, fmt.Errorf("has a $ref %q that does not resolve", ref)
	}

	m.open = append(m.open, ref)
	size, err = m.size(part)
	m.open = m.open[:len(m.open)-1]
	m.known[ref] = size
	return size, err
}

// exponent finds the power of ten of a number.
var exponent = regexp.MustCompile(`[eE]([+-]?[0-9]+)$`)

// checkNumber refuses numbers that are long to count with.
func checkNumber(n json.Number) error {
	if found := exponent.FindStringSubmatch(n.String()); found != nil {
		if power, err := strconv.Atoi(found[1]); err != nil || max(power, -power) > maxExponent {
			return fmt.Errorf("has a number out of range: %.20s", n)
		}
	}
	if len(n) > maxDigits {
		return fmt.Errorf("has a number with more than %d digits", maxDigits)
	}
	return nil
}

// english formats errors of a schema validation.
var english = message.NewPrinter(language.English)

// schemaFaults returns the violations of a schema, by their place.
func schemaFaults(e *jsonschema.ValidationError) (lines []string) {
	if len(e.Causes) == 0 {
		where := "the whole"
		if len(e.InstanceLocation) > 0 {
			where = ""
			for _, step := range e.InstanceLocation {
				where += "/" + pointerStep.Replace(step)
			}
		}
		return []string{fmt.Sprintf("%s: %s.", where, e.ErrorKind.LocalizedString(english))}
	}

	const maximum = 100
	for _, cause := range e.Causes {
		if lines = append(lines, schemaFaults(cause)...); len(lines) > maximum {
			break
		}
	}
	return lines
}

// pointerStep writes a name as a part of a JSON Pointer.
var pointerStep = strings.NewReplacer("~", "~0", "/", "~1")

// foundData are a model's data that fit a schema.
type foundData struct {
	data  json.RawMessage
	found []FoundValue
	// strange are the places of values that are not written on their pages so.
	strange []string
}

// readData checks a model's response, or returns its errors. texts are the texts of the pages that the model got, by
// page number.
func readData(answer llm.Response, schema *jsonschema.Schema, texts map[int]string) (made foundData, faults []string) {
	draft, fault := answer.ReadData()
	if fault != "" {
		return made, []string{fault}
	}

	if len(draft.Data) > maxData {
		return made, []string{fmt.Sprintf("data has more than %d bytes.", maxData)}
	}

	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(draft.Data))
	if err != nil {
		return made, []string{"data is not valid JSON: " + err.Error() + "."}
	}

	leaves, err := leavesOf(nil, "", value)
	if err != nil {
		return made, []string{"data " + err.Error() + "."}
	}

	if err := schema.Validate(value); err != nil {
		var invalid *jsonschema.ValidationError
		if errors.As(err, &invalid) {
			return made, schemaFaults(invalid)
		}
		return made, []string{err.Error()}
	}

	pages := map[int]pageWords{} // there may be many values
	for page, text := range texts {
		pages[page] = pageWords{text: text, letters: plainLetters(text), figures: onlyFigures(text)}
	}

	for _, leaf := range leaves {
		page, told := pageOf(leaf.path, draft.Pages)
		words, shown := pages[page]
		switch {
		case !told:
			faults = append(faults, fmt.Sprintf("pages has no page number for %q.", leaf.path))
			continue
		case !shown:
			faults = append(
				faults,
				fmt.Sprintf(
					"pages has %[2]d for %[1]q, but that page was not part of the document text.",
					leaf.path, page,
				),
			)
			continue
		}
		made.found = append(made.found, FoundValue{Path: leaf.path, Page: page})
		if !leaf.on(words) {
			made.strange = append(made.strange, leaf.path)
		}
	}

	// With the members in order, each once.
	made.data, err = json.Marshal(value)
	if err != nil {
		faults = append(faults, err.Error())
	}

	return made, faults
}

// schemaLeaf is a value that is neither an object nor a list.
type schemaLeaf struct {
	path  string // JSON Pointer
	value any
}

// leavesOf adds the values within a value, but those that are null.
func leavesOf(leaves []schemaLeaf, path string, v any) (_ []schemaLeaf, err error) {
	switch v := v.(type) {
	case nil:
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			if leaves, err = leavesOf(leaves, path+"/"+pointerStep.Replace(key), v[key]); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, item := range v {
			if leaves, err = leavesOf(leaves, path+"/"+strconv.Itoa(i), item); err != nil {
				return nil, err
			}
		}
	case json.Number:
		return append(leaves, schemaLeaf{path, v}), checkNumber(v)
	default:
		leaves = append(leaves, schemaLeaf{path, v})
	}
	return leaves, nil
}

// pageOf returns the page of a value, or otherwise of its parent.
func pageOf(path string, pages map[string]int) (int, bool) {
	for {
		if page, ok := pages[path]; ok {
			return page, true
		}
		at := strings.LastIndexByte(path, '/')
		if at < 0 {
			return 0, false
		}
		path = path[:at]
	}
}

// isoDate is a date as data have it.
var isoDate = regexp.MustCompile(`^([0-9]{4})-[0-9]{2}-([0-9]{2})`)

// pageWords holds the text of a page, and its letters and its figures alone.
type pageWords struct{ text, letters, figures string }

// on reports whether a page contains a value, whatever is between its letters and digits. Dates may have the name of
// their month. A page without text is an image and counts as containing every value.
func (l schemaLeaf) on(page pageWords) bool {
	if page.text == "" {
		return true
	}

	switch v := l.value.(type) {
	case string:
		if date := isoDate.FindStringSubmatch(v); date != nil {
			return strings.Contains(page.text, date[1]) && strings.Contains(page.text, strings.TrimPrefix(date[2], "0"))
		}
		return strings.Contains(page.letters, plainLetters(v))
	case json.Number:
		// 1234.50 may be written 1.234,5.
		figures := strings.TrimPrefix(v.String(), "-")
		if strings.ContainsAny(figures, ".") && !strings.ContainsAny(figures, "eE") {
			figures = strings.TrimRight(strings.TrimRight(figures, "0"), ".")
		}
		return strings.Contains(page.figures, onlyFigures(figures))
	}
	return true
}

// plainLetters is a text without all but letters and figures, in lower case.
func plainLetters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// onlyFigures is a text without all but figures.
func onlyFigures(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text)
}
