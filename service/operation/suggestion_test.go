package operation

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/service/schema"
)

// nested is a field inside of an object or an array: the names on the way to it, with 0 for items.
type nested []string

// nestedFields lists the fields of a schema that are not at its top, through arrays and alternatives.
func nestedFields(doc *jsonschema.Schema, at nested) (fields []nested) {
	if doc == nil || doc.Format == schema.VerbatimFormat {
		return nil // The operation itself checks such an object.
	}
	for _, alternative := range doc.OneOf {
		fields = append(fields, nestedFields(alternative, at)...)
	}
	if doc.Type == "array" {
		return append(fields, nestedFields(doc.Items, append(slices.Clone(at), "0"))...)
	}
	if doc.Properties == nil {
		return fields
	}
	for pair := doc.Properties.Oldest(); pair != nil; pair = pair.Next() {
		field := append(slices.Clone(at), pair.Key)
		if len(at) > 0 {
			fields = append(fields, field)
		}
		fields = append(fields, nestedFields(pair.Value, field)...)
	}
	return fields
}

// body returns a JSON object that has only this field.
func (n nested) body(t *testing.T) string {
	t.Helper()
	var value any = "x"
	for _, name := range slices.Backward(n) {
		if name == "0" {
			value = []any{value}
		} else {
			value = map[string]any{name: value}
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// path returns the path of the field in messages.
func (n nested) path() string {
	return strings.ReplaceAll(strings.Join(n, "."), ".0", "[0]")
}

// misspelled returns the field without a letter in the middle of its last name.
func (n nested) misspelled() nested {
	other := slices.Clone(n)
	last := &other[len(other)-1]
	middle := len(*last) / 2
	*last = (*last)[:middle] + (*last)[middle+1:]
	return other
}

// TestMisspelledNestedFields: each unknown field gets the name that was meant, wherever the field is. The suggestion is the
// path from the top, in steps, too.
func TestMisspelledNestedFields(t *testing.T) {
	const minName = 6 // In shorter names, other fields may be as close.
	count := 0
	for _, operation := range newTable(t).All() {
		for _, field := range nestedFields(operation.Schema, nil) {
			wrong := field.misspelled()
			if len(field[len(field)-1]) < minName {
				continue
			}
			count++
			want := wrong.path() + " is not a known field; did you mean " + field.path() + "?"
			if got := bind(t, operation.Name, wrong.body(t)); !slices.Contains(got, want) {
				t.Errorf("%s %s: got %q, want %q", operation.Name, wrong.body(t), got, want)
			}
		}
	}
	if count < 400 {
		t.Errorf("only %d fields were tried", count)
	}
	for body, want := range map[string]string{
		`{"html":"x","then":[{"op":"pdf.rotate","input":{"degres":90}}]}`:           "then[0].input.degres is not a known field; did you mean then[0].input.degrees?",
		`{"html":"x","then":[{"op":"pdf.stamp","input":{"stamps":[{"txt":"x"}]}}]}`: "then[0].input.stamps[0].txt is not a known field; did you mean then[0].input.stamps[0].text?",
		`{"html":"x","then":[{"op":"pdf.rotate","inptu":{"degrees":90}}]}`:          "then[0].inptu is not a known field; did you mean then[0].input?",
		`{"html":"x","options":{"facturx":{"invoice":{"seler":{}}}}}`:               "options.facturx.invoice.seler is not a known field; did you mean options.facturx.invoice.seller?",
		`{"html":"x","options":{"facturx":{"invoice":{"seller":{"adrress":{}}}}}}`:  "options.facturx.invoice.seller.adrress is not a known field; did you mean options.facturx.invoice.seller.address?",
		`{"html":"x","options":{"facturx":{"invoice":{"lines":[{"quantty":1}]}}}}`:  "options.facturx.invoice.lines[0].quantty is not a known field; did you mean options.facturx.invoice.lines[0].quantity?",
		`{"html":"x","deliverTo":{"s3":{"connecton":"a"}}}`:                         "deliverTo.s3.connecton is not a known field; did you mean deliverTo.s3.connection?",
		`{"html":"x","options":{"sign":{"reasn":"x"}}}`:                             "options.sign.reasn is not a known field; did you mean options.sign.reason?",
	} {
		if got := bind(t, "pdf.create", body); !slices.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}
