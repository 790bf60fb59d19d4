package template

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func check(t testing.TB, source, data string, partials map[string]string) Report {
	t.Helper()
	report, err := validate(t.Context(), &Call{Template: Template{HTML: source, Partials: partials}, Data: json.RawMessage(data)})
	if err != nil {
		t.Fatalf("%q: %v", source, err)
	}
	return report
}

// TestValidateFaults lists what is wrong with templates, all at once.
func TestValidateFaults(t *testing.T) {
	partials := map[string]string{"ok": "{{x}}", "bad": "a\n{{#if}}x{{/unless}}", "ring": "{{> other}}", "other": "{{#if a}}{{> ring}}{{/if}}"}
	for _, test := range []struct {
		source string
		want   []string
	}{
		{"{{name}}", nil},
		{"{{#if a}}", []string{`1:1 {{#if}} is not closed: {{/if}} is missing`}},
		{"x\n{{#each a}}\n{{#if b}}\n{{/each}}\n", []string{`3:1 {{#if}} is not closed before {{/each}} of line 4`}},
		{"{{/if}}x{{#a.b}}", []string{"1:1 {{/if}} closes a block that is not open", "1:9 {{#a.b}} is not closed: {{/a.b}} is missing"}},
		{"{{#each a}}{{/eech}}\n{{#if b}}", []string{"1:12 {{/eech}} does not match {{#each}} opened on line 1", "2:1 {{#if}} is not closed: {{/if}} is missing"}},
		{"{{a b=}} and\n{{c d)}} and {{e", []string{"1:7 unexpected", "2:6 unexpected", "2:14 {{e is not closed: }} is missing"}},
		{"{{a}\n{{b}}", []string{"1:1 {{a is not closed: }} is missing"}},
		{"<p>\n<b>{{cust</b>\n{{name}}", []string{"2:4 {{cust is not closed: }} is missing"}},
		{"{{#each items}}{{nam</td>{{/each}}{{/if}}", []string{"1:16 {{nam is not closed: }} is missing", "1:35 {{/if}} closes a block that is not open"}},
		{"{{#if a <b>x</b>{{/if}}{{> foo", []string{"1:1 {{#if is not closed: }} is missing", "1:24 {{> foo is not closed: }} is missing"}},
		{"{{#if a}}x{{else{{/if}} {{{b}} {{c", []string{"1:11 {{else is not closed: }} is missing", "1:25 {{{b is not closed: }}} is missing", "1:32 {{c is not closed: }} is missing"}},
		{"{{#if a}}x{{/if", []string{"1:11 {{/if is not closed: }} is missing"}},
		{"{{cust</p><style>@media print{a{b:c}}</style>", []string{"1:1 {{cust is not closed: }} is missing"}},
		{"a {{!-- {{b}}", []string{"1:3 {{!-- is not closed: --}} is missing"}},
		{"{{", []string{"1:1 {{ is not closed: }} is missing"}},
		{"{{#if a < b}}x{{/if}}{{f \"{{\"}}", []string{`1:9 unexpected "<"`}},
		{"{{formatDat x}}\n{{#eech y}}{{/eech}}{{if (subtrakt 1 2)}}", []string{`1:3 unknown helper "formatDat"; did you mean "formatDate"?`, `2:4 unknown helper "eech"; did you mean "each"?`, `2:27 unknown helper "subtrakt"; did you mean "subtract"?`}},
		{"{{> ok}}{{> okk}}", []string{`1:9 unknown partial "okk"; did you mean "ok"?`}},
		{"{{> bad}}", []string{"2:1 in bad: {{#if}} is not closed", "2:9 in bad: {{/unless}} closes"}},
		{"{{> ring}}", []string{"1:10 in other: the partials ring → other → ring include one another endlessly"}},
		{"{{#*inlin 'x'}}{{/inlin}}", []string{`1:5 unknown decorator "inlin"`}},
		{"{{! {{#if}} }}\\{{#if}} {{{{raw}}}} {{#if}} {{{{/raw}}}}", nil},
		{"日本🎉{{#if a}}", []string{"1:5 {{#if}} is not closed"}},
	} {
		var got []string
		for _, f := range check(t, test.source, "", partials).Faults {
			where := ""
			if f.Partial != "" {
				where = "in " + f.Partial + ": "
			}
			got = append(got, fmt.Sprintf("%d:%d %s%s", f.Line, f.Column, where, f.Message))
		}
		matches := len(got) == len(test.want)
		for i := 0; matches && i < len(got); i++ {
			matches = strings.HasPrefix(got[i], test.want[i])
		}
		if !matches {
			t.Errorf("%q:\n got %q\nwant %q", test.source, got, test.want)
		}
	}
}

// TestValidateVariables follows paths through blocks, helpers and partials.
func TestValidateVariables(t *testing.T) {
	partials := map[string]string{"address": "{{street}}{{#if country}}{{country.code}}{{/if}}", "line": "{{sku}}{{@root.currency}}"}
	for _, test := range []struct{ source, data, variables, missing string }{
		{"{{a.[0].b}}{{a.[1].b}}{{#with a.[0]}}{{b}}{{/with}}{{a.[2].b}}", `{"a":[{"b":1},{"c":2}]}`, "a.0.b a.1.b a.0 a.2.b", "a.1.b a.2.b"},
		{"{{a}}{{b.c}}{{a}}", `{"a":1,"b":{}}`, "a b.c", "b.c"},
		{"{{#each items}}{{sku}}{{../currency}}{{@index}}{{/each}}", `{"items":[{"sku":1},{}],"currency":"EUR"}`, "items items[].sku currency", "items[].sku"},
		{"{{#with customer}}{{name}}{{#with address}}{{street}}{{../name}}{{/with}}{{/with}}", `{}`, "customer customer.name customer.address customer.address.street", "customer customer.name customer.address customer.address.street"},
		{"{{#each items as |item i|}}{{item.sku}}{{i}}{{total}}{{/each}}", `{"items":[]}`, "items items[].sku items[].total", ""},
		{"{{> address customer.home}}", `{"customer":{"home":{"street":1,"country":{"code":1}}}}`, "customer.home customer.home.street customer.home.country customer.home.country.code", ""},
		{"{{#each items}}{{> line}}{{/each}}", `{"items":[{"sku":1}]}`, "items items[].sku currency", "currency"},
		{"{{formatCurrency total currency}}{{add (multiply qty price) 1}}", `{"total":1,"currency":2,"qty":1}`, "total currency qty price", "price"},
		{"{{#each (sortBy items 'x')}}{{name}}{{/each}}{{#each (groupBy items 'kind')}}{{key}}{{#each items}}{{sku}}{{/each}}{{/each}}", ``, "items items[].name items[].sku", ""},
		{"{{#if a}}{{b}}{{else}}{{c}}{{/if}}{{#unless d}}{{/unless}}", ``, "a b c d", ""},
		{"{{#people}}{{name}}{{/people}}{{^none}}x{{/none}}", `{"people":[{"name":1}],"none":false}`, "people people.name none", ""},
		{"{{first}}{{pageBreak}}{{first items}}{{@root.x}}{{this.y}}{{./z}}{{[a b]}}", ``, "items x y z a b", ""},
		{"{{#each m}}{{@key}}{{this}}{{/each}}{{lookup m k}}", `{"m":{"a":1}}`, "m k", "k"},
	} {
		report := check(t, test.source, test.data, partials)
		if got := strings.Join(report.Variables, " "); got != test.variables {
			t.Errorf("%q uses %q, want %q", test.source, got, test.variables)
		}
		if got := strings.Join(report.Missing, " "); got != test.missing {
			t.Errorf("%q misses %q, want %q", test.source, got, test.missing)
		}
		if len(report.Faults) > 0 {
			t.Errorf("%q: %v", test.source, report.Faults)
		}
	}
}

// TestValidateAnything must end on whatever it is given.
func FuzzValidate(f *testing.F) {
	for _, seed := range []string{"{{#if a}}{{/each}}", "{{> a}}{{{", "{{#a}}{{else b}}{{/a}}", "{{{{a}}}}", "\\{{a}}{{!--"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if _, err := validate(t.Context(), &Call{Template: Template{HTML: source}}); err != nil && strings.Contains(err.Error(), "TypeError") {
			t.Errorf("%q: %v", source, err)
		}
	})
}
