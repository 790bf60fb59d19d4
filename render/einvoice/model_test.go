package einvoice

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestChangedModelsAreRefusedOrRight changes fields of valid invoices at random. Each is refused with errors that name a
// field, or becomes a document that has none when it is read.
func TestChangedModelsAreRefusedOrRight(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(58, 2))
	refused := 0
	const rounds = 600
	for n := range rounds {
		profile := Profiles()[r.IntN(len(Profiles()))]
		invoice := generateFor(r.Uint64N(generated), profile)
		change := ""
		for range 1 + r.IntN(3) {
			change += changeField(reflect.ValueOf(invoice).Elem(), r) + " "
		}

		document, err := New(invoice, CII, profile)
		if err != nil {
			t.Fatal(err)
		}
		document.Embedded = true
		errors := slices.DeleteFunc(append(document.Findings, document.Check()...), func(f Finding) bool { return f.Severity != Error })
		for _, f := range errors {
			if f.JSONPath == "" || f.Message == "" {
				t.Errorf("%d %s: %s: no field in %+v", n, profile, change, f)
			}
		}
		if len(errors) > 0 {
			refused++
			continue
		}

		read, err := Read(document.XML())
		if err != nil {
			t.Fatalf("%d %s: %s: %v", n, profile, change, err)
		}
		read.Embedded = true
		if again := ourErrorsOf(read); len(again) > 0 || read.Profile != profile {
			t.Errorf("%d %s: %s: the document is %s and has %v", n, profile, change, read.Profile, again)
		}
	}
	if refused < rounds/4 || refused > rounds*9/10 {
		t.Errorf("%d of %d are refused", refused, rounds)
	}
}

func ourErrorsOf(d *ParsedInvoice) (ids []string) {
	for _, f := range append(d.Findings, d.Check()...) {
		if f.Severity == Error {
			ids = append(ids, f.Rule+" "+f.XMLPath)
		}
	}
	return ids
}

// changeField changes a field of a struct or below it, and returns its name.
func changeField(v reflect.Value, r *rand.Rand) string {
	i := r.IntN(v.NumField())
	field, name := v.Field(i), v.Type().Field(i).Name
	texts := []string{"", " ", "X", "DE", "S", "O", "58", "381", "2026-02-30", "2026-01-01", "EUR", "<&>\x00", strings.Repeat("9", 40), "0088", "00000000-1"}
	numbers := []string{"0", "-1", "12.345", "19", "999999999999999999.999999999999999999"}
	switch {
	case field.Type() == reflect.TypeFor[*Decimal]():
		if r.IntN(3) == 0 {
			field.SetZero()
		} else {
			field.Set(reflect.ValueOf(number(numbers[r.IntN(len(numbers))])))
		}
	case field.Kind() == reflect.String:
		field.SetString(texts[r.IntN(len(texts))])
	case field.Kind() == reflect.Pointer:
		switch {
		case r.IntN(3) == 0:
			field.SetZero()
		case field.IsNil():
			field.Set(reflect.New(field.Type().Elem()))
		default:
			return name + "." + changeField(field.Elem(), r)
		}
	case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
		switch n := field.Len(); {
		case n > 0 && r.IntN(3) > 0:
			k := r.IntN(n)
			return fmt.Sprintf("%s[%d].%s", name, k, changeField(field.Index(k), r))
		case n > 0 && r.IntN(2) == 0:
			field.Set(reflect.Append(field, field.Index(0)))
		case r.IntN(2) == 0:
			field.SetZero()
		default:
			field.Set(reflect.Append(field, reflect.New(field.Type().Elem()).Elem()))
		}
	case field.Kind() == reflect.Slice:
		field.SetBytes([]byte("x"))
	}
	return name
}

// TestDroppedFieldsAreNamed writes an invoice in smaller profiles.
func TestDroppedFieldsAreNamed(t *testing.T) {
	t.Parallel()
	invoice := generate(0)
	for profile, want := range map[Profile]string{Minimum: "lines", BasicWL: "lines", Basic: "lines.attributes", EN16931: "", XRechnung: ""} {
		document, err := New(invoice, CII, profile)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" && len(document.Dropped) > 0 || want != "" && !slices.Contains(document.Dropped, want) {
			t.Errorf("%s: %v", profile, document.Dropped)
		}
	}
}

// TestDiscountNeedsGrossPrice has a discount of the price without the gross price, which CII cannot have.
func TestDiscountNeedsGrossPrice(t *testing.T) {
	t.Parallel()
	for _, profile := range []Profile{Basic, EN16931, Extended, XRechnung} {
		invoice := generateFor(0, profile)
		invoice.Lines[0].GrossPrice, invoice.Lines[0].Discount = nil, number("1")
		findings := Check(invoice, CII, profile)
		if !slices.ContainsFunc(findings, func(f Finding) bool { return f.JSONPath == "lines[0].grossPrice" && f.Severity == Error }) {
			t.Errorf("%s: %+v", profile, findings)
		}
	}
}
