package einvoice

import (
	"reflect"
	"strings"
	"sync"
)

// step is one element of a path, or an attribute at its end.
type step struct {
	name       string
	attribute  bool
	conditions []condition
	// fresh means that each item of a list has its own element here.
	fresh bool
}

// condition is a restriction of a step: the element has a value below it.
type condition struct {
	path  path
	kind  conditionKind
	value string
	// otherwise is the value that a new element gets if the condition only excludes one.
	otherwise string
}

type conditionKind int

const (
	equal    conditionKind = iota // elements with another value do not match; new ones get it
	unequal                       // elements with the value do not match
	assigned                      // all elements match; new ones get the value
)

// path is a way to an element; empty is the element itself.
type path []step

// binding is a field of the invoice and its places in one syntax: more than one where the value decides which is
// used.
type binding struct {
	index int
	json  string
	kind  fieldKind
	paths []path
}

type fieldKind int

const (
	leaf fieldKind = iota
	group
	list
)

// dialect is a syntax: UBL is two of them.
type dialect int

const (
	crossIndustry dialect = iota
	ublInvoice
	ublCreditNote
)

func (d dialect) syntax() Syntax {
	if d == crossIndustry {
		return CII
	}
	return UBL
}

// bindings returns the fields of a struct of the invoice.
func (d dialect) bindings(t reflect.Type) []binding {
	return allBindings()[d][t]
}

// allBindings reads the tags of all structs of the invoice, once.
var allBindings = sync.OnceValue(func() map[dialect]map[reflect.Type][]binding {
	all := map[dialect]map[reflect.Type][]binding{}
	for _, d := range []dialect{crossIndustry, ublInvoice, ublCreditNote} {
		all[d] = map[reflect.Type][]binding{}
		d.bind(reflect.TypeFor[Invoice](), all[d])
	}
	return all
})

func (d dialect) bind(t reflect.Type, into map[reflect.Type][]binding) {
	if _, done := into[t]; done {
		return
	}
	into[t] = nil

	var fields []binding
	for i := range t.NumField() {
		field := t.Field(i)
		b := binding{index: i, kind: kindOf(field.Type)}
		b.json, _, _ = strings.Cut(field.Tag.Get("json"), ",")

		tag := field.Tag.Get(string(d.syntax()))
		if d == ublCreditNote {
			tag = creditNoteTag(tag)
		}
		if tag != "" {
			for text := range strings.SplitSeq(outside(tag, '|'), "\x00") {
				b.paths = append(b.paths, d.parse(text, b.kind == leaf, field.Type == reflect.TypeFor[Date]()))
			}
		}

		fields = append(fields, b)
		if b.kind != leaf {
			d.bind(field.Type.Elem(), into)
		}
	}
	into[t] = fields
}

func kindOf(t reflect.Type) fieldKind {
	switch {
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct && t.Elem() != reflect.TypeFor[Decimal]():
		return group
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return list
	}
	return leaf
}

// creditNoteTag returns the place in a credit note for one in an invoice.
func creditNoteTag(tag string) string {
	switch tag {
	case "DueDate":
		return "PaymentMeans/PaymentDueDate"
	case "ProjectReference/ID":
		return "AdditionalDocumentReference[DocumentTypeCode=50]/ID"
	}
	return strings.NewReplacer("InvoiceTypeCode", "CreditNoteTypeCode", "InvoiceLine", "CreditNoteLine",
		"InvoicedQuantity", "CreditedQuantity").Replace(tag)
}

// header are the three parts of a Cross Industry Invoice that most paths begin with.
var header = map[string]string{
	"A": "ApplicableHeaderTradeAgreement", "D": "ApplicableHeaderTradeDelivery",
	"S": "ApplicableHeaderTradeSettlement",
}

// parse reads a path of a tag. Names have the prefix ram in CII, cbc for the last element of a value in UBL, and cac
// before it, unless they have their own.
func (d dialect) parse(text string, value, date bool) path {
	var p path
	if text == "." {
		return p
	}
	if d == crossIndustry && date && !strings.Contains(text, ":Date") {
		text += "/udt:DateTimeString[@format=102]"
	}

	parts := strings.Split(outside(text, '/'), "\x00")
	last := len(parts) - 1
	if strings.HasPrefix(parts[last], "@") {
		last--
	}

	for i, part := range parts {
		if full, ok := header[part]; ok && d == crossIndustry && i == 0 {
			p = append(p, step{name: "rsm:SupplyChainTradeTransaction"}, step{name: "ram:" + full})
			continue
		}

		name, rest, _ := strings.Cut(part, "[")
		s := step{fresh: strings.HasSuffix(name, "+")}
		name = strings.TrimSuffix(name, "+")
		s.attribute = strings.HasPrefix(name, "@")
		switch {
		case s.attribute:
			s.name = name[1:]
		case strings.Contains(name, ":"):
			s.name = name
		case d == crossIndustry:
			s.name = "ram:" + name
		case i == last && value:
			s.name = "cbc:" + name
		default:
			s.name = "cac:" + name
		}

		for condition := range strings.SplitSeq(strings.TrimSuffix(rest, "]"), "][") {
			if condition != "" {
				s.conditions = append(s.conditions, d.condition(condition))
			}
		}
		p = append(p, s)
	}
	return p
}

func (d dialect) condition(text string) condition {
	for _, form := range []struct {
		sign string
		kind conditionKind
	}{{":=", assigned}, {"!=", unequal}, {"=", equal}} {
		if at, value, ok := strings.Cut(text, form.sign); ok {
			c := condition{path: d.parse(at, true, false), kind: form.kind}
			c.value, c.otherwise, _ = strings.Cut(value, "|")
			return c
		}
	}
	panic("einvoice: a tag has the condition " + text)
}

// outside marks a separator outside brackets with NUL.
func outside(text string, separator byte) string {
	depth := 0
	out := []byte(text)

	for i, c := range out {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == separator && depth == 0:
			out[i] = 0
		}
	}

	return string(out)
}
