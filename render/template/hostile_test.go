package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// TestHostileTemplates fills what would take for ever, or all of the memory.
func TestHostileTemplates(t *testing.T) {
	sharedtest.Slow(t)
	many := `{"a":[` + strings.Repeat("1,", 999) + `1]}`
	for _, test := range []struct {
		name, source, data string
		partials           map[string]string
	}{
		{"a partial that shows itself", "{{> p}}", `{}`, map[string]string{"p": "x{{> p}}"}},
		{"two partials that show each other", "{{> p}}", `{}`, map[string]string{"p": "{{> q}}", "q": "{{> p}}"}},
		{"an inline partial that shows itself", `{{#*inline "p"}}{{> p}}{{/inline}}{{> p}}`, `{}`, nil},
		{"a partial block that shows itself", `{{#> p}}{{> @partial-block}}{{/p}}`, `{}`, map[string]string{"p": "{{#> p}}{{> @partial-block}}{{/p}}"}},
		{"a partial that doubles itself", "{{> p n=1}}", `{}`, map[string]string{"p": "{{> p}}{{> p}}"}},
		{"loops in loops", strings.Repeat("{{#each @root.a}}", 4) + "x" + strings.Repeat("{{/each}}", 4), many, nil},
		{"loops in loops without output", strings.Repeat("{{#each @root.a}}", 5) + strings.Repeat("{{/each}}", 5), many, nil},
		{"an output that grows", strings.Repeat("{{#times 10000}}", 3) + strings.Repeat("0123456789", 100) + strings.Repeat("{{/times}}", 3), `{}`, nil},
		{"a range of a thousand million", "{{#each (range 1 1000000000)}}x{{/each}}", `{}`, nil},
		{"rounds without end", "{{#times n}}x{{/times}}", `{"n":1e300}`, nil},
		{"texts that double", strings.Repeat(`{{#with (replace (join (split this "") "xx") "x" "xxxxxxxxxx")}}`, 12) + "y" + strings.Repeat("{{/with}}", 12), `"` + strings.Repeat("x", 1000) + `"`, nil},
		{"parentheses without end", "{{#if " + strings.Repeat("(not ", 20000) + "x" + strings.Repeat(")", 20000) + "}}x{{/if}}", `{}`, nil},
		{"blocks without end", strings.Repeat("{{#if a}}", 20000) + strings.Repeat("{{/if}}", 20000), `{}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			began := time.Now()
			_, err := fill(t, Call{Template: Template{HTML: test.source, Partials: test.partials}, Data: json.RawMessage(test.data)})
			var limit *LimitError
			var faults *Error
			if !errors.As(err, &limit) && !errors.As(err, &faults) {
				t.Errorf("got %v, want a limit or a fault", err)
			}
			t.Logf("%v after %s", err, time.Since(began))
		})
	}
}

// TestPatternsOfText fills with texts on which regular expressions explode. The
// bound is for the race detector, under which all of this takes ten times longer.
func TestPatternsOfText(t *testing.T) {
	sharedtest.Slow(t)
	spaces := strings.Repeat(" ", 200_000)
	for _, source := range []string{
		"a" + spaces + "b", "{{#if a}}" + spaces + "\n" + spaces + "{{/if}}" + spaces, "{{name}}" + strings.Repeat("\n", 100_000) + "{{~name~}}",
		strings.Repeat("{", 3000), strings.Repeat("\\", 100_000) + "{{name}}", "{{! " + strings.Repeat("-", 100_000), `{{"` + strings.Repeat(`\"`, 50_000),
		strings.Repeat("{{[", 30_000), strings.Repeat("{{!", 30_000), strings.Repeat("{{'", 30_001), "{{" + strings.Repeat("1", 100_000), strings.Repeat("(", 30_000), "{{" + strings.Repeat("(", 30_000),
		"{{a" + strings.Repeat(".a", 2000) + "}}", strings.Repeat("{{!--", 2000), "{{lookup x '" + strings.Repeat("a", 100_000) + "'}}",
	} {
		began := processorTime()
		_, err := fill(t, Call{Template: Template{HTML: source}, Data: json.RawMessage(`{"name":"x"}`)})
		if took := processorTime() - began; took > 8*time.Second {
			t.Errorf("%.20q… of %d bytes took %s (%v)", source, len(source), took, err)
		}
	}
}

// TestNothingPassesBetweenRenders has one document change all that it can reach,
// and another account's looks for it.
func TestNothingPassesBetweenRenders(t *testing.T) {
	c := newCache()
	attack := Call{Template: Template{HTML: strings.Join([]string{
		`{{#with __proto__}}{{lookup this "x"}}{{/with}}`, `{{#with (lookup this "constructor")}}{{this}}{{/with}}`, `{{lookup (lookup this "__proto__") "constructor"}}`,
		`{{#*inline "left"}}secret{{/inline}}{{> left}}`, `{{#each this}}{{@key}}{{lookup this "constructor"}}{{/each}}`,
		`{{> p __proto__=secret constructor=secret toString=secret}}`, `{{lookup list.join "constructor"}}`, `{{#with list as |a b|}}{{a.constructor}}{{a.__proto__}}{{/with}}`,
	}, "\n"), Partials: map[string]string{"p": "{{secret}}{{toString}}{{constructor}}"}},
		Data: json.RawMessage(`{"secret":"secret","list":[1],"__proto__":{"polluted":"secret","secret":"secret"},"constructor":{"prototype":{"polluted":"secret"}}}`)}
	if _, _, err := c.render(t.Context(), "attacker", &attack, nil); err != nil {
		t.Fatal(err)
	}
	probe := Call{Template: Template{HTML: `{{polluted}}{{secret}}{{obj.polluted}}{{#each list}}{{polluted}}{{secret}}{{/each}}{{lookup obj "polluted"}}{{@root.polluted}}{{@secret}}{{#with obj}}{{polluted}}{{/with}}`},
		Data: json.RawMessage(`{"obj":{},"list":[{},[]]}`)}
	for _, account := range []string{"attacker", "neighbour"} {
		got, _, err := c.render(t.Context(), account, &probe, nil)
		if err != nil || got != "" {
			t.Errorf("%s sees %q (%v), want nothing", account, got, err)
		}
	}
	probe.HTML = "{{> left}}"
	if got, _, err := c.render(t.Context(), "neighbour", &probe, nil); err == nil {
		t.Errorf("an inline partial of another document is there: %q", got)
	}
}

// TestProgramsAreTheAccounts sees that no account learns by time what another has.
func TestProgramsAreTheAccounts(t *testing.T) {
	c := newCache()
	call := Call{Template: Template{HTML: "{{name}}"}, Data: json.RawMessage(`{"name":"x"}`)}
	for _, account := range []string{"a", "b", "a"} {
		if _, _, err := c.render(t.Context(), account, &call, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.items) != 2 {
		t.Errorf("%d programs, want one for each account", len(c.items))
	}
}

// TestCacheIsBounded compiles more than the cache holds.
func TestCacheIsBounded(t *testing.T) {
	c := newCache()
	for i := range 1000 {
		c.put(digestOf("a", fmt.Sprint(i), false), 64<<10, nil)
	}
	if c.size > maxCached || len(c.items) != maxCached/(64<<10) || c.order.Len() != len(c.items) {
		t.Errorf("%d bytes in %d programs", c.size, len(c.items))
	}
}
