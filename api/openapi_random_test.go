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
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
)

// randomBodies is the number of random bodies of each operation.
const randomBodies = 60

// TestOpenAPISchemasRefuseWhatTheServerRefuses makes random bodies that are valid for the schema of each operation. The
// server accepts them, except for rules that the schema does not express.
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

	counts := map[string]int{}
	bodies, refused := 0, 0
	for _, o := range table.All() {
		// Each operation has its own numbers, so that a change of one does not change the bodies of others.
		source := rand.NewPCG(1, uint64(len(o.Name))<<32|uint64(o.Name[len(o.Name)-1]))
		random := &randomBody{rand.New(source), doc.Components.Schemas}
		input := random.schemas[inputComponent(o.Tool())]
		if input == nil {
			t.Fatalf("there is no component %s", inputComponent(o.Tool()))
		}
		for range randomBodies {
			body, err := json.Marshal(random.value(input, 0))
			if err != nil {
				t.Fatal(err)
			}
			call, err := o.Bind(t.Context(), bytes.NewReader(body), schema.Files{})
			bodies++
			if err == nil {
				_ = call.Close()
				continue
			}
			refused++
			var faults schema.FieldErrors
			if !errors.As(err, &faults) {
				t.Errorf("%s: %v\n%s", o.Name, err, body)
				continue
			}
			for _, fault := range faults {
				fmt.Printf("FAULT %s: %s %s\n", o.Name, fault.Field, fault.Message)
			}
		}
	}
	t.Logf("%d bodies, %d refused: %v", bodies, refused, counts)
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
	for _, rule := range append([]*randomSchema{s}, s.AllOf...) {
		for _, choice := range [][]*randomSchema{rule.OneOf, rule.AnyOf} {
			for _, one := range choice {
				excluded[one.Required[0]] = true
			}
			if len(choice) > 0 {
				chosen = append(chosen, choice[r.IntN(len(choice))].Required...)
			}
		}
		if rule.Not != nil {
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
