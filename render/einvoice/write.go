package einvoice

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
)

// Write returns an invoice as XML. Terms that the profile does not have are left out: minimum and basic-wl have no
// lines. UBL has all terms of en16931. It does not check the invoice; Check does.
func Write(invoice *Invoice, syntax Syntax, profile Profile) ([]byte, error) {
	if invoice == nil || profile.Specification() == "" {
		return nil, fmt.Errorf("einvoice: no invoice, or no profile %q", profile)
	}
	copied := *invoice
	if copied.Specification == "" {
		copied.Specification = profile.Specification()
	}
	if profile == Minimum { // which has the VAT in one currency only
		copied.TaxCurrency = ""
	}
	w := writer{tree: tree{dialect: dialectFor(syntax, &copied), variables: currencies(copied.Currency, copied.TaxCurrency)}}
	root := &node{name: rootNames[w.dialect]}
	if w.dialect == crossIndustry {
		for _, part := range header {
			w.put(root, path{{name: "rsm:SupplyChainTradeTransaction"}, {name: "ram:" + part}})
		}
	}
	w.fields(root, reflect.ValueOf(&copied).Elem())
	root.prune()
	if w.dialect == crossIndustry {
		root.arrange("CrossIndustryInvoice", profile.level())
	} else {
		root.arrangeUBL()
	}
	return root.render(), nil
}

//nolint:gosec // a credit note is not a credential
var rootNames = map[dialect]string{crossIndustry: "rsm:CrossIndustryInvoice", ublInvoice: "ubl:Invoice", ublCreditNote: "cn:CreditNote"}

// creditNoteTypes are the types of documents that are a CreditNote in UBL.
var creditNoteTypes = []string{"81", "83", "261", "262", "296", "308", "381", "396", "420", "458", "532"}

func dialectFor(syntax Syntax, invoice *Invoice) dialect {
	switch {
	case syntax == CII:
		return crossIndustry
	case slices.Contains(creditNoteTypes, invoice.TypeCode):
		return ublCreditNote
	}
	return ublInvoice
}

// tree finds places in a document.
type tree struct {
	dialect   dialect
	variables variables
}

// variables are values of conditions that the document itself decides.
type variables map[string]string

// currencies are the variables of an invoice. A second currency that is the first has no places of its own.
func currencies(currency, tax string) variables {
	if tax == currency {
		tax = ""
	}
	return variables{"$currency": currency, "$taxCurrency": tax}
}

// resolve returns the value of a condition. A variable without a value is not ok.
func (v variables) resolve(value string) (resolved string, ok bool) {
	if len(value) > 0 && value[0] == '$' {
		return v[value], v[value] != ""
	}
	return value, true
}

type writer struct{ tree }

// fields writes the fields of a struct below a node.
func (w *writer) fields(n *node, v reflect.Value) {
	for _, b := range w.dialect.bindings(v.Type()) {
		field := v.Field(b.index)
		if len(b.paths) == 0 || field.IsZero() {
			continue
		}
		switch b.kind {
		case leaf:
			if place := b.place(field); w.possible(place) {
				w.value(n, place, w.dialect.format(field))
			}
		case group:
			w.fields(w.put(n, b.place(field)), field.Elem())
		case list:
			for i := range field.Len() {
				item := field.Index(i)
				w.fields(w.add(n, b.place(item)), item)
			}
		}
	}
	if note, ok := v.Interface().(Note); ok && w.dialect != crossIndustry && note.SubjectCode != "" {
		n.text = "#" + note.SubjectCode + "#" + n.text
	}
}

// possible reports whether the values of a path's conditions exist.
func (w *writer) possible(p path) bool {
	for _, s := range p {
		for _, c := range s.conditions {
			if _, ok := w.variables.resolve(c.value); !ok && c.kind != assigned {
				return false
			}
		}
	}
	return true
}

// value writes a text or an attribute.
func (w *writer) value(n *node, p path, text string) {
	if len(p) == 0 {
		n.text = text
		return
	}
	if last := p[len(p)-1]; last.attribute {
		w.put(n, p[:len(p)-1]).setAttr(last.name, text)
		return
	}
	at := w.put(n, p)
	if at.text != "" || len(at.children) > 0 {
		at = w.add(n, p)
	}
	at.text = text
}

// put returns the element of a path, created if it does not exist.
func (w *writer) put(n *node, p path) *node {
	for _, s := range p {
		n = w.step(n, s, s.fresh)
	}
	return n
}

// add creates an element for an item of a list.
func (w *writer) add(n *node, p path) *node {
	fresh := slices.IndexFunc(p, func(s step) bool { return s.fresh })
	for i, s := range p {
		n = w.step(n, s, fresh >= 0 && i >= fresh || i == len(p)-1)
	}
	return n
}

func (w *writer) step(n *node, s step, fresh bool) *node {
	if !fresh {
		if found := w.match(n, s); len(found) > 0 {
			return found[0]
		}
	}
	child := &node{name: s.name}
	n.children = append(n.children, child)
	for _, c := range s.conditions {
		value, ok := w.variables.resolve(c.value)
		if c.kind == unequal {
			value, ok = c.otherwise, c.otherwise != ""
		}
		if ok {
			w.value(child, c.path, value)
		}
	}
	return child
}

// prune removes elements that have nothing but attributes: those of values that the invoice lacks.
func (n *node) prune() {
	n.children = slices.DeleteFunc(n.children, func(child *node) bool {
		child.prune()
		return len(child.attrs) > 0 && child.text == "" && len(child.children) == 0
	})
}

var notePattern = regexp.MustCompile(`(?s)^#([A-Z0-9]{2,3})#(.*)$`)
