package template

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// reference is one template for the npm package.
type reference struct {
	Template string            `json:"template"`
	Data     json.RawMessage   `json:"data"`
	Partials map[string]string `json:"partials,omitempty"`
	Strict   bool              `json:"strict,omitempty"`
	Parse    bool              `json:"parse,omitempty"`
}

type referenceAnswer struct {
	Out   *string `json:"out"`
	Error string  `json:"error"`
}

// ask has the npm package fill templates in node.
func ask(t testing.TB, items []reference) []referenceAnswer {
	t.Helper()
	in, err := json.Marshal(items)
	if err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Abs("../../.ci/node/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	node := exec.Command("node", "--stack-size=4000", "testdata/reference.js")
	node.Env = append(node.Environ(), "NODE_PATH="+modules)
	node.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	node.Stderr = &stderr
	out, err := node.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s\nThe package comes with `make setup`.", err, stderr.String())
	}
	var answers []referenceAnswer
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != len(items) {
		t.Fatalf("node answered %d of %d: %v", len(answers), len(items), err)
	}
	return answers
}

// agree fills templates here and in node, and compares byte for byte.
func agree(t *testing.T, items []reference) {
	t.Helper()
	failed := 0
	c := newCache()
	for i, want := range ask(t, items) {
		item := items[i]
		call := Call{Template: Template{HTML: item.Template, Partials: item.Partials}, Data: item.Data, Strict: item.Strict}
		got, _, err := c.render(t.Context(), "a", &call, nil)
		switch {
		case want.Out == nil && err == nil:
			t.Errorf("%q: got %q, but Handlebars fails: %s", item.Template, got, want.Error)
		case want.Out != nil && err != nil:
			t.Errorf("%q: %v, but Handlebars makes %q", item.Template, err, *want.Out)
		case want.Out != nil && got != *want.Out:
			t.Errorf("%q:\n got %q\nwant %q", item.Template, got, *want.Out)
		default:
			continue
		}
		if failed++; failed == 20 {
			t.Fatal("too many differences")
		}
	}
}

const referenceData = `{"name":"Ada","html":"<b>&\"'` + "`" + `=</b>","zero":0,"one":1,"pi":3.14,"yes":true,"no":false,"nothing":null,"empty":"","list":["a","b","c"],"none":[],
"people":[{"name":"Bob","age":30,"tags":["x","y"]},{"name":"Cy","age":40,"tags":[]},{"age":5}],
"map":{"k1":"v1","k2":"v2","3":"three"},"deep":{"a":{"b":{"c":"end"}},"name":"inner"},"spaced key":"sk","dashed-key":"dk","nested":[[1,2],[3]],
"order":{"lines":[{"sku":"A1","qty":2},{"sku":"B2","qty":1}],"customer":{"name":"Zed"}},"length":7,"first":"F","title":"T&T","constructor":"c","big":1e+21,"small":1e-7,"minus":-0.5,"text":"line1\nline2","unicode":"日本語 ünï 🎉","key":"name","which":"row"}`

var referencePartials = map[string]string{
	"row": "[{{name}}]", "tree": "{{name}}{{#each children}}({{> tree}}){{/each}}", "block": "<{{> @partial-block}}>",
	"indented": "line 1\nline 2 {{name}}\n", "params": "{{a}}-{{b}}-{{name}}", "inner": "{{#> block}}in {{name}}{{/block}}", "hole": "{{#> slot}}default{{/slot}}",
	"layout": "{{> head}}|{{> @partial-block}}", "root": "{{@root.name}}/{{@index}}/{{../name}}", "dir/file": "df", "empty": "",
}

func TestHandlebars(t *testing.T) {
	var items []reference
	for source := range strings.SplitSeq(strings.TrimSpace(referenceCases), "\n§\n") {
		items = append(items, reference{Template: source, Data: json.RawMessage(referenceData), Partials: referencePartials})
	}
	if len(items) < 200 {
		t.Errorf("%d cases; there should be at least 200", len(items))
	}
	agree(t, items)
}

// TestHandlebarsStrict compares results that do not depend on how many paths are reported.
func TestHandlebarsStrict(t *testing.T) {
	var items []reference
	for _, source := range []string{
		"{{name}}", "{{missing}}", "{{deep.a.b.c}}", "{{deep.x.y}}", "{{#each list}}{{this}}{{/each}}", "{{#each people}}{{age}}{{/each}}",
		"{{#each people}}{{name}}{{/each}}", "{{#with deep}}{{name}}{{/with}}", "{{#with deep}}{{nope}}{{/with}}", "{{nothing}}", "{{empty}}", "{{zero}}{{no}}",
		"{{#if missing}}x{{else}}y{{/if}}", "{{@root.name}}", "{{@root.nope}}", "{{#each list}}{{@index}}{{@last}}{{/each}}", "{{lookup map 'k1'}}",
		"{{> row}}", "{{> params a=1 b=2}}", "{{#missing}}x{{/missing}}", "{{^no}}x{{/no}}", "{{this.name}}", "{{this.nope}}", "{{list.length}}", "{{list.0}}", "{{list.9}}",
		"{{#each people as |p|}}{{p.age}}{{/each}}", "{{#each people as |p|}}{{p.nope}}{{/each}}", "{{constructor}}",
		"{{#*inline 'x'}}{{name}}{{/inline}}{{> x}}", "{{#with deep}}{{../name}}{{../nope}}{{/with}}", "{{unknown 1}}",
	} {
		items = append(items, reference{Template: source, Data: json.RawMessage(referenceData), Partials: referencePartials, Strict: true})
	}
	agree(t, items)
}

// TestLexerAgainstHandlebars compares trees, with their places, of templates that
// are made at random of everything that a lexer looks at.
func TestLexerAgainstHandlebars(t *testing.T) {
	sharedtest.Slow(t)
	parts := []string{
		"{{", "}}", "{{{", "}}}", "{{{{", "}}}}", "{{{{/", "{{#", "{{/", "{{^", "{{~", "~}}", "{{!", "{{!--", "--}}", "{{>", "{{#>", "{{#*", "{{*", "{{&", "else", "{{else}}", "{{^}}", "{{~^~}}",
		"a", "b.c", "../d", "./e", "this", ".", "..", "/", "@index", "@", "[x y]", "[a\\]b]", "\"s\"", "'q'", `"a\"b"`, "\"", "'", "1", "-2.5", "3.", "true", "false", "null", "undefined", "truey",
		"=", "x=1", "(", ")", "|", "as |i|", "as  |a b|", "as", " ", "  ", "\n", "\r\n", "\t", "\\", "\\\\", "\\{{", "text", "é", "日本", "🎉", "\u2028", "\u00a0", "\ufeff", "#if", "/if", "if", "raw", "{{{{raw}}}}", "{{{{/raw}}}}",
		"{{#if a}}", "{{/if}}", "{{#each b}}", "{{/each}}", "{{name}}", "{{> p}}", "{{!c}}", "{{!-- x --}}", "$", "-", "%", ";", "<", "`", "elsewhere", "else-if", "\x00",
	}
	random := rand.New(rand.NewPCG(7, 42))
	var items []reference
	for range 3000 {
		var source strings.Builder
		for range 1 + random.IntN(9) {
			source.WriteString(parts[random.IntN(len(parts))])
		}
		items = append(items, reference{Template: source.String(), Parse: true})
	}
	// Most of those are not valid templates; these are, with one part put into them.
	for range 2000 {
		source := []string{"{{#if a}}", " x ", "{{ b.c }}", "\n", "{{else}}", "{{{d 'e' f=1}}}", "{{/if}}", "{{> p q}}", "{{!-- c --}}", "{{{{r}}}} {{x}} {{{{/r}}}}"}
		at := random.IntN(len(source))
		source[at] += parts[random.IntN(len(parts))]
		items = append(items, reference{Template: strings.Join(source, ""), Parse: true})
	}
	c, err := newCompiler()
	if err != nil {
		t.Fatal(err)
	}
	show, _ := goja.AssertFunction(c.vm.Get("JSON").ToObject(c.vm).Get("stringify"))
	parsed, failed := 0, 0
	for i, want := range ask(t, items) {
		source := items[i].Template
		tree, fault, err := c.parse(source)
		if err != nil {
			t.Fatalf("%q: %v", source, err)
		}
		switch {
		case fault != nil && want.Out != nil:
			t.Errorf("%q: %+v, but Handlebars parses it", source, fault)
		case fault == nil && want.Out == nil:
			t.Errorf("%q is parsed, but Handlebars says %s", source, want.Error)
		case fault == nil:
			parsed++
			text, err := show(goja.Undefined(), tree)
			if err != nil {
				t.Fatal(err)
			}
			if text.String() == *want.Out {
				continue
			}
			t.Errorf("%q:\n got %s\nwant %s", source, text, *want.Out)
		default:
			continue
		}
		if failed++; failed == 10 {
			t.Fatal("too many differences")
		}
	}
	if parsed < 1000 {
		t.Errorf("only %d of %d templates could be parsed", parsed, len(items))
	}
}
