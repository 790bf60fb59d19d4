package template

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// specCase is a case of Handlebars' own specification, as the npm package
// handlebars-spec exports it.
type specCase struct {
	Description, It, Template string
	Data                      json.RawMessage
	Expected                  *string
	Exception                 json.RawMessage
	Partials                  map[string]json.RawMessage
	Helpers, Decorators       json.RawMessage
	CompileOptions            map[string]json.RawMessage
	RuntimeOptions            json.RawMessage
}

// fits reports whether a case asks for nothing that our templates do not have: code of
// its own, and options of the compiler other than strict.
func (c specCase) fits() bool {
	if c.Helpers != nil || c.Decorators != nil || c.RuntimeOptions != nil || c.Template == "" || strings.Contains(string(c.Data), "!code") || strings.Contains(string(c.Data), `"!`) {
		return false
	}
	for option := range c.CompileOptions {
		if option != "strict" {
			return false
		}
	}
	return true
}

// TestHandlebarsSpecification runs the package's own specification.
func TestHandlebarsSpecification(t *testing.T) {
	files, err := filepath.Glob("../../.ci/node/node_modules/handlebars-spec/spec/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files (%v): run `make setup`, which installs them", len(files), err)
	}
	ran := 0
	cache := newCache()
	for _, file := range files {
		if name := filepath.Base(file); name == "parser.json" || name == "tokenizer.json" {
			continue // these expect trees and tokens, which TestLexerAgainstHandlebars compares
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var cases []specCase
		if err := json.Unmarshal(text, &cases); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, c := range cases {
			if !c.fits() || c.Expected == nil && c.Exception == nil {
				continue
			}
			call := Call{Template: Template{HTML: c.Template, Partials: map[string]string{}}, Data: c.Data, Strict: string(c.CompileOptions["strict"]) == "true"}
			plain := true
			for name, partial := range c.Partials {
				var source string
				plain = plain && json.Unmarshal(partial, &source) == nil
				call.Partials[name] = source
			}
			if !plain {
				continue
			}
			ran++
			got, _, err := cache.render(t.Context(), "a", &call, nil)
			switch {
			case c.Expected == nil && err == nil:
				t.Errorf("%s: %s: %q makes %q, and should fail with %s", filepath.Base(file), c.It, c.Template, got, c.Exception)
			case c.Expected != nil && err != nil:
				t.Errorf("%s: %s: %q with %s: %v, and should make %q", filepath.Base(file), c.It, c.Template, c.Data, err, *c.Expected)
			case c.Expected != nil && got != *c.Expected:
				t.Errorf("%s: %s: %q with %s:\n got %q\nwant %q", filepath.Base(file), c.It, c.Template, c.Data, got, *c.Expected)
			}
		}
	}
	if ran < 200 {
		t.Errorf("only %d cases could be run", ran)
	}
}

// writer makes templates at random.
type randomTemplate struct {
	*rand.Rand
	strings.Builder
}

func (w *randomTemplate) one(choices ...string) string { return choices[w.IntN(len(choices))] }

func (w *randomTemplate) path() string {
	return w.one("name", "html", "zero", "list", "people", "map", "deep.a.b.c", "deep.name", "missing", "missing.x", "this", ".", "../name", "../../name", "@root.name", "@index", "@key", "@first", "@last", "@../index",
		"people.0.name", "list.[1]", "[spaced key]", "empty", "nested", "this.name", "yes", "no", "nothing", "item", "item.name", "i", "constructor", "order.lines", "age", "tags")
}

func (w *randomTemplate) list() string {
	return w.one("list", "people", "map", "nested", "this", "tags", "order.lines", "none", "missing", "../list", "@root.people", "(lookup . 'list')", "item")
}

func (w *randomTemplate) tilde() string { return w.one("", "", "", "~") }

func (w *randomTemplate) text() {
	w.WriteString(w.one("x", " ", "\n", "\n\n", "  ", "a b", "<p>", "é", "🎉", "\t", "{ }", "line\n  ", "\r\n"))
}

// part writes one piece of a template.
func (w *randomTemplate) part(depth int) {
	if depth <= 0 {
		w.text()
		return
	}
	body := func() {
		for range 1 + w.IntN(3) {
			w.part(depth - 1)
		}
	}
	a, b := w.tilde(), w.tilde()
	switch w.IntN(16) {
	case 0, 1, 2:
		w.text()
	case 3, 4, 5:
		fmt.Fprintf(w, "{{%s%s%s}}", a, w.path(), b)
	case 6:
		fmt.Fprintf(w, "{{%s{%s}%s}}", a, w.path(), b)
	case 7, 8:
		fmt.Fprintf(w, "{{%s#%s %s%s}}", a, "if", w.path(), b)
		body()
		if w.IntN(2) == 0 {
			fmt.Fprintf(w, "{{%selse%s%s}}", w.tilde(), w.one("", " if "+w.path()), w.tilde())
			body()
		}
		fmt.Fprintf(w, "{{%s/if%s}}", w.tilde(), w.tilde())
	case 9, 10, 11:
		fmt.Fprintf(w, "{{%s#each %s%s%s}}", a, w.list(), w.one("", "", " as |item i|"), b)
		body()
		w.WriteString(w.one("", "{{else}}none"))
		fmt.Fprintf(w, "{{%s/each%s}}", w.tilde(), w.tilde())
	case 12:
		fmt.Fprintf(w, "{{#with %s%s}}", w.one("deep", "people.0", "order.customer", "missing", "this"), w.one("", " as |item|"))
		body()
		w.WriteString("{{/with}}")
	case 13:
		fmt.Fprintf(w, "{{%s> %s %s%s}}", a, w.one("row", "block", "indented", "params", "empty", "hole", "root"), w.one("", "deep", "name=name", "this a=1"), b)
	case 14:
		fmt.Fprintf(w, "{{#> %s}}", w.one("block", "nope", "layout", "inner"))
		body()
		w.WriteString("{{/" + "@@" + "}}")
	case 15:
		fmt.Fprintf(w, "{{^%s}}", w.path())
		body()
		w.WriteString("{{/@@}}")
	}
}

// TestRandomTemplates fills templates that are made at random, here and in node.
func TestRandomTemplates(t *testing.T) {
	sharedtest.Slow(t)
	random := rand.New(rand.NewPCG(11, 2026))
	var items []reference
	for range 600 {
		w := &randomTemplate{Rand: random}
		for range 1 + random.IntN(5) {
			w.part(4)
		}
		items = append(items, reference{Template: closeNames(w.String()), Data: json.RawMessage(referenceData), Partials: referencePartials})
	}
	agree(t, items)
}

// closeNames gives closing tags their blocks' names.
func closeNames(source string) string {
	for {
		at := strings.Index(source, "{{/@@}}")
		if at < 0 {
			return source
		}
		// The block that this closes is the last one that is open before it.
		var open []string
		for i := 0; i < at; i++ {
			rest := source[i:at]
			switch {
			case strings.HasPrefix(rest, "{{#> "), strings.HasPrefix(rest, "{{^"):
				name := strings.TrimPrefix(strings.TrimPrefix(rest, "{{#> "), "{{^")
				open = append(open, name[:strings.IndexAny(name, "}")])
			case strings.HasPrefix(rest, "{{#"), strings.HasPrefix(rest, "{{~#"):
				open = append(open, "")
			case strings.HasPrefix(rest, "{{/"), strings.HasPrefix(rest, "{{~/"):
				open = open[:len(open)-1]
			}
		}
		source = source[:at] + "{{/" + open[len(open)-1] + "}}" + source[at+len("{{/@@}}"):]
	}
}
