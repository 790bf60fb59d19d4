package api_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
)

// randomBodies is the number of random bodies of each operation.
const randomBodies = 60

// inexpressible are the rules that the schemas do not express, by parts of the fields and of the messages of their
// errors.
var inexpressible = []struct{ rule, reason, field, message string }{
	{"input of a step", "It is that of the step's operation, whose source may be an earlier result.",
		`^(then|steps)\[|^options\.sign\b`, ``},
	{"step of a pipeline", "A reference to another value of the body has no keyword.", `^output`, `must be the id of a step|more than once`},
	{"member that depends on the value of another", "A condition on values in the schema of each operation would be " +
		"longer than the schema, and generators ignore it.", ``,
		`^requires? |^is required (for|when|with|because|,)|^is mutually exclusive with [a-zA-Z.]+( and [a-zA-Z.]+)?(, which|:|$)|cannot be combined` +
			`|because store is false|^must (be|not be) [^.]*(if|unless|with|or absent|got false)|^must contain levels|^must differ` +
			`|Move them into|applies to Markdown only|must be shorter than|is outside the viewport|must not be a value that metadata sets|is too large|already used by another|^is already used`},
	{"at least one member that counts", "Zero, false and empty text are given, but mean nothing.", ``,
		`at least one (of top|value)|must have at least one|must describe`},
	{"size on paper", "The bounds of a length depend on its unit and on other lengths.", ``, `must be (between|less than) `},
	{"reversed range", "A pattern cannot compare numbers.", `(?i)pages|from|repeat`, `is reversed`},
	{"e-invoice", "The rules of EN 16931 compare values. The result of pdf.facturx.read has the same type, with dates as the " +
		"XML has them.", `invoice`, ``},
	{"path with variables", "Its rules are those of segments after the variables are replaced.", `^deliverTo\.(s3|sftp)\.|^assets\[`,
		`segments|start or end with|variable|relative path`},
	{"name of a header or a value", "The values have any names, which a generator cannot check.", `(?i)headers|^metadata\.custom$`, ``},
	{"text in another language", "A pattern is not a parser of locales, time zones, certificates, regular expressions or " +
		"JSON Schema.", `^(options\.(locale|timeZone)|trust|patterns|schema|filenamePattern)\b`, ``},
}

// TestOpenAPISchemasRefuseWhatTheServerRefuses makes random bodies that are valid for the schema of each operation. The
// server accepts them, except for rules that the schemas do not express.
func TestOpenAPISchemasRefuseWhatTheServerRefuses(t *testing.T) {
	t.Parallel()
	text, _ := productDocument(t)
	var doc struct {
		Components struct{ Schemas map[string]*randomSchema }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	table, err := schema.NewTable(operation.Rows)
	if err != nil {
		t.Fatal(err)
	}

	used := map[string]int{}
	accepted := 0
	for i, o := range table.All() {
		random := &randomBody{rand.New(rand.NewPCG(1, uint64(i))), doc.Components.Schemas}
		input := doc.Components.Schemas[inputComponent(o.Tool())]
		if input == nil {
			t.Fatalf("there is no component %s", inputComponent(o.Tool()))
		}
		some := false
		for range randomBodies {
			body, err := json.Marshal(random.value(input, 0))
			if err != nil {
				t.Fatal(err)
			}
			call, err := o.Bind(t.Context(), bytes.NewReader(body), schema.Files{})
			var faults schema.FieldErrors
			switch {
			case err == nil:
				some = true
				accepted++
				if err := call.Close(); err != nil {
					t.Error(err)
				}
			case !errors.As(err, &faults):
				t.Errorf("%s refuses a valid body: %v\n%s", o.Name, err, body)
			}
			for _, fault := range faults {
				rule := ruleOf(fault)
				if used[rule]++; rule == "" {
					t.Errorf("%s refuses a valid body: %s %s\n%.2000s", o.Name, fault.Field, fault.Message, body)
				}
			}
		}
		if !some && !o.Flow { // Its steps are inputs of other operations.
			t.Errorf("%s refuses all bodies", o.Name)
		}
	}
	for _, rule := range inexpressible {
		if used[rule.rule] == 0 {
			t.Errorf("no body breaks the rule %q: remove it, or make more bodies", rule.rule)
		}
	}
	t.Logf("%d of %d bodies are accepted; the errors of the others: %v", accepted, randomBodies*len(table.All()), used)
}

// ruleOf returns the inexpressible rule that a body breaks; empty for any other.
func ruleOf(fault schema.FieldError) string {
	for _, rule := range inexpressible {
		if regexp.MustCompile(rule.field).MatchString(fault.Field) && regexp.MustCompile(rule.message).MatchString(fault.Message) {
			return rule.rule
		}
	}
	return ""
}

// inputComponent is the name of the component of an operation's input.
func inputComponent(tool string) string {
	var name strings.Builder
	for word := range strings.SplitSeq(tool, "_") {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String() + "Input"
}

// randomSchema has the keywords of the document's schemas of inputs.
type randomSchema struct {
	Ref                  string `json:"$ref"`
	Type                 string
	Properties           map[string]*randomSchema
	Required             []string
	AdditionalProperties json.RawMessage
	Items                *randomSchema
	OneOf, AnyOf, AllOf  []*randomSchema
	Not                  *randomSchema
	DependentRequired    map[string][]string
	Enum                 []any
	Minimum, Maximum     *float64
	MinLength, MaxLength *int
	MinItems, MaxItems   *int
	UniqueItems          bool
	Pattern, Format      string
	ContentEncoding      string
}

// randomBody makes random values that are valid for a schema.
type randomBody struct {
	*rand.Rand
	schemas map[string]*randomSchema
}

// maxRandom is the maximum number of items, characters and levels that a value has without a reason.
const maxRandom = 4

func (r *randomBody) value(s *randomSchema, depth int) any {
	if s.Ref != "" {
		return r.value(r.schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]], depth)
	}
	switch {
	case len(s.Enum) > 0:
		return s.Enum[r.IntN(len(s.Enum))]
	case s.Type == "" && len(s.OneOf) > 0:
		return r.value(s.OneOf[r.IntN(len(s.OneOf))], depth)
	}
	switch s.Type {
	case "object":
		return r.object(s, depth)
	case "array":
		return r.array(s, depth)
	case "string":
		return r.text(s)
	case "integer":
		low, high := r.bounds(s)
		return int64(low) + r.Int64N(int64(high)-int64(low)+1)
	case "number":
		low, high := r.bounds(s)
		return math.Round((low+r.Float64()*(high-low))*1000) / 1000
	case "boolean":
		return r.IntN(2) == 0
	case "null":
		return nil
	}
	return r.text(&randomSchema{})
}

func (r *randomBody) bounds(s *randomSchema) (low, high float64) {
	low, high = -10, 1000
	if s.Minimum != nil {
		low = *s.Minimum
		high = low + 1000
	}
	if s.Maximum != nil {
		high = *s.Maximum
		low = min(low, high)
	}
	return low, high
}

func (r *randomBody) object(s *randomSchema, depth int) any {
	chosen := slices.Clone(s.Required)
	excluded := map[string]bool{}
	rules := append([]*randomSchema{s}, s.AllOf...)
	if s.Not != nil && s.Not.Not != nil { // as Publish writes a second choice
		rules = append(rules, s.Not.Not)
	}
	for _, rule := range rules {
		for _, choice := range [][]*randomSchema{rule.OneOf, rule.AnyOf} {
			for _, one := range choice {
				excluded[one.Required[0]] = true
			}
			if len(choice) > 0 {
				chosen = append(chosen, choice[r.IntN(len(choice))].Required...)
			}
		}
		if rule.Not != nil && rule.Not.Not == nil {
			excluded[rule.Not.Required[r.IntN(2)]] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		// Few members, so that few rules of several members apply.
		if !excluded[name] && depth < maxRandom && r.IntN(6) == 0 {
			chosen = append(chosen, name)
		}
	}
	// A member is left out if one that it requires is excluded.
	chosen = slices.DeleteFunc(chosen, func(name string) bool {
		return slices.ContainsFunc(s.DependentRequired[name], func(other string) bool {
			return excluded[other] && !slices.Contains(chosen, other)
		})
	})
	for _, name := range chosen {
		chosen = append(chosen, s.DependentRequired[name]...)
	}

	made := map[string]any{}
	for _, name := range slices.Sorted(slices.Values(chosen)) {
		if made[name] == nil {
			made[name] = r.value(s.Properties[name], depth+1)
		}
	}
	if len(s.Properties) == 0 && r.IntN(2) == 0 && depth < maxRandom {
		values := &randomSchema{Type: "string"}
		if len(s.AdditionalProperties) > 0 && s.AdditionalProperties[0] == '{' {
			if err := json.Unmarshal(s.AdditionalProperties, values); err != nil {
				panic(err)
			}
		}
		made[r.word()] = r.value(values, depth+1)
	}
	return made
}

func (r *randomBody) array(s *randomSchema, depth int) any {
	low, high := 0, maxRandom
	if s.MinItems != nil {
		low = *s.MinItems
	}
	if high = max(low, high); s.MaxItems != nil {
		high = min(high, *s.MaxItems)
	}
	items := []any{}
	for range low + r.IntN(high-low+1) {
		item := r.value(s.Items, depth+1)
		if !s.UniqueItems || !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	return items
}

// randomWords are texts of languages, signs and an empty one.
var randomWords = []string{"a", "Ada", "B2", "ärger", "日本", "x y", "-", "1,2", "{{x}}", "/", ".", "A4", "%", "😀", "", " ", "0"}

func (r *randomBody) word() string { return randomWords[r.IntN(len(randomWords))] }

func (r *randomBody) text(s *randomSchema) string {
	switch {
	case s.ContentEncoding == "base64":
		return base64.StdEncoding.EncodeToString([]byte("content"))
	case s.Format == "uri":
		return "https://example.com/" + fmt.Sprint(r.IntN(100))
	}
	low, high := 0, 64
	if s.MinLength != nil {
		low = *s.MinLength
	}
	if s.MaxLength != nil {
		high = *s.MaxLength
	}
	for range 1000 {
		text := r.word()
		if s.Pattern != "" {
			text = r.matching(s.Pattern)
		}
		if n := len([]rune(text)); n >= low && n <= high {
			return text
		}
	}
	return strings.Repeat("a", low)
}

// matching makes a text that matches a pattern.
func (r *randomBody) matching(pattern string) string {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(err)
	}
	var text strings.Builder
	r.write(&text, tree)
	return text.String()
}

func (r *randomBody) write(to *strings.Builder, tree *syntax.Regexp) {
	times := func(low, high int) {
		if high < 0 {
			high = low + maxRandom
		}
		for range low + r.IntN(min(high, low+maxRandom)-low+1) {
			r.write(to, tree.Sub[0])
		}
	}
	switch tree.Op {
	case syntax.OpLiteral:
		to.WriteString(string(tree.Rune))
	case syntax.OpCharClass:
		var printable []rune
		for c := rune('!'); c <= '~'; c++ {
			for i := 0; i < len(tree.Rune); i += 2 {
				if c >= tree.Rune[i] && c <= tree.Rune[i+1] {
					printable = append(printable, c)
				}
			}
		}
		if len(printable) == 0 { // spaces
			printable = []rune{' '}
		}
		to.WriteRune(printable[r.IntN(len(printable))])
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		to.WriteRune('a' + r.Int32N(26))
	case syntax.OpCapture, syntax.OpConcat:
		for _, part := range tree.Sub {
			r.write(to, part)
		}
	case syntax.OpAlternate:
		r.write(to, tree.Sub[r.IntN(len(tree.Sub))])
	case syntax.OpStar:
		times(0, -1)
	case syntax.OpPlus:
		times(1, -1)
	case syntax.OpQuest:
		times(0, 1)
	case syntax.OpRepeat:
		times(tree.Min, tree.Max)
	}
}
