package template

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestNumbersAppearAsWritten prints numbers that JavaScript would print in other digits.
func TestNumbersAppearAsWritten(t *testing.T) {
	cache := newCache()
	for _, text := range []string{
		"12345678901234567890", "9007199254740993", "-9007199254740993", "0.12345678901234567890123456789", "1.10", "100.00", "-100.00", "0.0", "0.00", "-0",
		"1e-7", "0.0000001", "1E5", "1e5", "1e+2", "1.50e3", "1e21", "1000000000000000000000", "1e400", "-1e-400", "3.0", "7", "-7", "0", "0.1", "1.25", "123456789.123",
	} {
		data := fmt.Sprintf(`{"n":%[1]s,"list":[%[1]s],"below":{"n":%[1]s},"key":"n"}`, text)
		for source, want := range map[string]string{
			"{{n}}": "%", "{{{n}}}": "%", "{{below.n}}": "%", "{{list.[0]}}": "%", "{{#each list}}{{this}}{{/each}}": "%", "{{#each list as |x|}}{{x}}{{/each}}": "%",
			"{{#with below}}{{n}}{{/with}}": "%", "{{#below}}{{n}}{{/below}}": "%", `{{lookup this key}}`: "%", "{{list}}": "%", "{{join list}}": "%", "{{first list}}": "%",
			"{{default missing n}}": "%", "{{or missing n}}": "%", `{{padStart n 1}}`: "%", `{{replace n "x" "y"}}`: "%", "{{truncate n 400}}": "%", `<i title="{{n}}">`: `<i title="%">`,
			"{{{json n}}}": "%", "{{{json below}}}": `{"n":%}`, "{{{json list}}}": "[%]", "{{> row n=below.n}}": "%", "{{> row below}}": "%", "{{#each (sortBy list)}}{{this}}{{/each}}": "%",
			"{{#groupBy list}}{{key}}{{/groupBy}}": "%", "{{max list}}": "%", "{{#each (where list '' op='ne')}}{{this}}{{/each}}": "", "{{length n}}": "1", "{{n.length}}{{n.String}}{{n.text}}": "",
		} {
			if strings.HasPrefix(source, "{{max") && strings.ContainsAny(text, "eE") {
				continue // a number that JavaScript prints as it is written is calculated to digits
			}
			html, _, err := cache.render(t.Context(), "a", &Call{Template: Template{HTML: source, Partials: map[string]string{"row": "{{n}}"}}, Data: json.RawMessage(data)}, nil)
			if want := strings.ReplaceAll(want, "%", text); err != nil || html != want {
				t.Errorf("%s of %s:\n got %q (%v)\nwant %q", source, text, html, err, want)
			}
		}
	}
}

// TestNumbersKeepTheirValue calculates with, compares and formats numbers that doubles lose digits of.
func TestNumbersKeepTheirValue(t *testing.T) {
	const data = `{"big":12345678901234567890,"next":12345678901234567891,"price":1.10,"same":1.1,"zero":0.00,"tiny":1e-7,"ms":1795271400000.0,"one":1.0,"two":2.00,"list":["a","b","c"],
		"items":[{"id":12345678901234567892,"p":2.50},{"id":12345678901234567890,"p":10.00},{"id":12345678901234567891,"p":2.5}]}`
	for source, want := range map[string]string{
		"{{add big 1}}":                                 "12345678901234567891",
		"{{subtract next big}}":                         "1",
		"{{multiply price 3}}":                          "3.3",
		"{{add price 2.20}}":                            "3.3",
		"{{add tiny tiny}}":                             "0.0000002",
		`{{sum items "id"}}`:                            "37037036703703703673",
		`{{sum items "p"}}`:                             "15",
		`{{max items "id"}}`:                            "12345678901234567892",
		`{{min items "p"}}`:                             "2.50",
		"{{round big}}":                                 "12345678901234567890",
		"{{mod big 1000}}":                              "890",
		"{{eq big next}}":                               "false",
		"{{lt big next}}":                               "true",
		"{{eq price same}}":                             "true",
		`{{eq price "1.1"}}`:                            "true",
		`{{eq price "1.10"}}`:                           "true",
		`{{eq same 1.10}}`:                              "true",
		`{{ne price 1.2}}`:                              "true",
		"{{formatNumber big}}":                          "12,345,678,901,234,567,890",
		"{{formatNumber price 2}}":                      "1.10",
		`{{formatCurrency big "EUR"}}`:                  "€12,345,678,901,234,567,890.00",
		"{{formatNumber tiny 7}}":                       "0.0000001",
		`{{formatDate ms "iso"}}`:                       "2026-11-21T14:30:00Z",
		`{{plural one "item" "items"}}`:                 "item",
		"{{ordinal two}}":                               "2nd",
		`{{#each (sortBy items "id")}}{{id}} {{/each}}`: "12345678901234567890 12345678901234567891 12345678901234567892 ",
		`{{#each (where items "id" big op="gt")}}{{p}} {{/each}}`: "2.50 2.5 ",
		`{{count items "p" 2.50}}`:                                "2",
		`{{#groupBy items "p"}}{{key}}:{{count}} {{/groupBy}}`:    "2.50:2 10.00:1 ",
		"{{#if zero}}yes{{else}}no{{/if}}":                        "no",
		"{{#unless zero}}no{{/unless}}":                           "no",
		"{{#if zero includeZero=true}}yes{{/if}}":                 "yes",
		"{{#if (and price zero)}}yes{{else}}no{{/if}}":            "no",
		"{{#if (or zero price)}}yes{{/if}}":                       "yes",
		"{{#if (not zero)}}no{{/if}}":                             "no",
		"{{#if price}}yes{{/if}}":                                 "yes",
		"{{#with zero}}{{this}}{{/with}}":                         "0.00",
		"{{#each price}}x{{else}}none{{/each}}":                   "none",
		"{{lookup list one}}":                                     "b",
		"{{join (first list two)}}":                               "a, b",
		"{{#times two}}{{@index}}{{/times}}":                      "01",
		"{{#each (range one two 0.1)}}{{this}} {{/each}}":         "1 1.1 1.2 1.3 1.4 1.5 1.6 1.7 1.8 1.9 2 ",
		`{{#if (barcode big)}}svg{{/if}}`:                         "svg",
		"{{default missing 0.00}} {{default missing 12345678901234567890}} {{default missing -1.50}} {{default missing 7}}": "0.00 12345678901234567890 -1.50 7",
		"{{#with 1.50}}{{this}}{{/with}}":  "1.50",
		"{{> row n=2.50}}":                 "2.50",
		"{{#if 0.00}}yes{{else}}no{{/if}}": "no",
		`{{{json items indent=1.0}}}`:      "[\n {\n  \"id\": 12345678901234567892,\n  \"p\": 2.50\n },\n {\n  \"id\": 12345678901234567890,\n  \"p\": 10.00\n },\n {\n  \"id\": 12345678901234567891,\n  \"p\": 2.5\n }\n]",
	} {
		for _, strict := range []bool{false, true} {
			if strict && strings.Contains(source, "missing") {
				continue
			}
			html, err := fill(t, Call{Template: Template{HTML: source, Partials: map[string]string{"row": "{{n}}"}}, Data: json.RawMessage(data), Strict: strict})
			if err != nil || html != want {
				t.Errorf("%s, strict %v:\n got %q (%v)\nwant %q", source, strict, html, err, want)
			}
		}
	}
}

// TestBarcodesHaveTheDigitsOfNumbers holds the barcode of a number against that of its text.
func TestBarcodesHaveTheDigitsOfNumbers(t *testing.T) {
	got := mustFill(t, `{{barcode n}}{{qr n}}`, `{"n":12345678901234567890}`)
	want := mustFill(t, `{{barcode n}}{{qr n}}`, `{"n":"12345678901234567890"}`)
	if got != want || got == "" {
		t.Errorf("the barcodes differ:\n%s\n%s", got, want)
	}
}

// TestDataIsPlain reads names and values that must not reach prototypes, and texts that look like marked numbers.
func TestDataIsPlain(t *testing.T) {
	const data = `{"__proto__":{"x":1},"constructor":"c","a":null,"b":[true,false,null,"","\ud83c\udf89"],"":{"k":1.0},"dup":1,"dup":2.0}`
	got := mustFill(t, `{{x}}|{{{json b}}}|{{dup}}|{{{json this}}}`, data)
	const want = `|[true,false,null,"","🎉"]|2.0|{"__proto__":{"x":1},"constructor":"c","a":null,"b":[true,false,null,"","🎉"],"":{"k":1.0},"dup":2.0}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestNumbersFitInMemory fills a template with as many different decimals as data has room for.
func TestNumbersFitInMemory(t *testing.T) {
	var data strings.Builder
	data.WriteString(`{"list":[0.10`)
	for i := 0; data.Len() < maxData-20; i++ {
		fmt.Fprintf(&data, ",%d.0", i)
	}
	data.WriteString("]}")
	if got := mustFill(t, "{{list.[9]}} {{length list}}", data.String()); !strings.HasPrefix(got, "8.0 ") {
		t.Errorf("got %s", got)
	}
}
