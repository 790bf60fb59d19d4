package einvoice

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/einvoice/xpath"
)

// Write returns an invoice as XML. Terms that the profile does not have are left out: minimum and basic-wl have no
// lines. UBL has all terms of en16931. It does not check the invoice; Check does.
func Write(invoice *Invoice, syntax Syntax, profile Profile) ([]byte, error) {
	document, err := New(invoice, syntax, profile)
	if err != nil {
		return nil, err
	}
	return document.XML(), nil
}

// New returns an invoice as a document of a syntax, with the terms that the profile has. A specification identifier of
// another profile becomes that of the profile.
func New(invoice *Invoice, syntax Syntax, profile Profile) (*ParsedInvoice, error) {
	if invoice == nil || profile.Specification() == "" {
		return nil, fmt.Errorf("einvoice: no invoice, or no profile %q", profile)
	}

	copied := *invoice
	if copied.Specification == "" || ProfileOf(copied.Specification) != profile {
		copied.Specification = profile.Specification()
	}
	w := writer{
		tree:   tree{dialect: dialectFor(syntax, &copied), variables: currencies(copied.Currency, copied.TaxCurrency)},
		places: map[placeKey]string{},
	}

	root := &node{name: rootNames[w.dialect]}
	if w.dialect == crossIndustry {
		for _, part := range header {
			w.put(root, path{{name: "rsm:SupplyChainTradeTransaction"}, {name: "ram:" + part}})
		}
	}

	w.fields(root, reflect.ValueOf(&copied).Elem(), "")
	root.prune()
	schema := schemaOf(syntax, profile)
	schema.arrange(root, schema.roots[root.local()])

	document := &ParsedInvoice{
		Invoice: &copied, Syntax: syntax, Profile: profile, root: root, dialect: w.dialect, places: w.places,
	}
	if syntax == CII {
		document.trim()
	}
	root.pruneEmpty()
	document.Dropped = dropped(root, w.places)
	document.Findings = document.structure()
	document.checkDates(reflect.ValueOf(invoice).Elem(), "")
	return document, nil
}

// XML returns the document as text.
func (d *ParsedInvoice) XML() []byte { return d.root.render() }

// trim removes the elements and attributes that the profile of Factur-X does not use.
func (d *ParsedInvoice) trim() {
	profile := d.Profile
	if profile == XRechnung {
		profile = EN16931
	}

	rules := facturxProfiles()[profile]
	tree := xpath.NewDocument(branch(d.root), nil)
	unused := map[*node]bool{}
	var visit func(n *xpath.Node, rule *elementRule)
	visit = func(n *xpath.Node, rule *elementRule) {
		at, _ := n.Origin.(*node) // Each node of the tree is one of ours.
		at.attrs = slices.DeleteFunc(at.attrs, func(a attr) bool {
			return slices.ContainsFunc(rule.attributes,
				func(r attributeRule) bool { return r.name == a.name && !r.required })
		})

		for _, child := range rule.children {
			for _, m := range n.Children {
				if !child.matches(tree, m) {
					continue
				}
				if child.unused {
					unused[m.Origin.(*node)] = true //nolint:errcheck // as above
					continue
				}
				visit(m, child)
			}
		}
	}

	visit(tree.Root.Children[0], rules.root)
	d.root.remove(unused)
}

// remove removes elements below a node.
func (n *node) remove(unused map[*node]bool) {
	n.children = slices.DeleteFunc(n.children, func(child *node) bool { return unused[child] })
	for _, child := range n.children {
		child.remove(unused)
	}
}

// pruneEmpty removes elements without content, except the parts that each document has.
func (n *node) pruneEmpty() {
	n.children = slices.DeleteFunc(n.children, func(child *node) bool {
		child.pruneEmpty()
		return child.text == "" && len(child.children) == 0 &&
			!slices.Contains(slices.Collect(maps.Values(header)), child.local())
	})
}

// dropped returns the places in the JSON whose elements a document does not have: a place instead of those below it,
// and a list instead of its items.
func dropped(root *node, places map[placeKey]string) (lost []string) {
	written := map[string]bool{}
	var visit func(n *node)
	visit = func(n *node) {
		for place := places[placeKey{n, ""}]; place != ""; place = outer(place) {
			written[place] = true
		}
		for _, a := range n.attrs {
			for place := places[placeKey{n, a.name}]; place != ""; place = outer(place) {
				written[place] = true
			}
		}
		for _, child := range n.children {
			visit(child)
		}
	}
	visit(root)

	seen := map[string]bool{}
	for _, place := range places {
		if written[place] {
			continue
		}
		for above := outer(place); above != "" && !written[above]; above = outer(place) {
			place = above
		}
		place = listIndex.ReplaceAllString(place, "")
		if !seen[place] {
			seen[place] = true
			lost = append(lost, place)
		}
	}

	slices.Sort(lost)
	return lost
}

var listIndex = regexp.MustCompile(`\[\d+\]`)

// outer is the place around a place in the JSON: lines[0] for lines[0].price, lines for lines[0], and "" for lines.
func outer(place string) string {
	return place[:max(0, strings.LastIndexAny(place, ".["))]
}

//nolint:gosec // a credit note is not a credential
var rootNames = map[dialect]string{
	crossIndustry: "rsm:CrossIndustryInvoice", ublInvoice: "ubl:Invoice", ublCreditNote: "cn:CreditNote",
}

// creditNoteTypes are the types of documents that are a CreditNote in UBL.
var creditNoteTypes = []string{"81", "83", "261", "262", "296", "308", "381", "396", "420", "458", "502", "503", "532"}

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

type writer struct {
	tree
	// places are the places of elements in the JSON of the invoice.
	places map[placeKey]string
}

// fields writes the fields of a struct below a node. at is their place in the JSON.
func (w *writer) fields(n *node, v reflect.Value, at string) {
	for _, b := range w.dialect.bindings(v.Type()) {
		field := v.Field(b.index)
		if len(b.paths) == 0 || field.IsZero() {
			continue
		}

		name := strings.TrimPrefix(at+"."+b.json, ".")
		switch b.kind {
		case leaf:
			if place := b.place(field); w.possible(place) {
				w.places[w.value(n, place, w.dialect.format(field))] = name
			}
		case group:
			place := b.place(field)
			group := w.put(n, place)
			if len(place) > 0 {
				w.places[placeKey{group, ""}] = name
			}
			w.fields(group, field.Elem(), name)
		case list:
			for i := range field.Len() {
				item := field.Index(i)
				added := w.add(n, b.place(item))
				w.places[placeKey{added, ""}] = indexed(name, i)
				w.fields(added, item, indexed(name, i))
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

// value writes a text or an attribute, and returns where it is.
func (w *writer) value(n *node, p path, text string) placeKey {
	if len(p) == 0 {
		n.text = text
		return placeKey{n, ""}
	}

	if last := p[len(p)-1]; last.attribute {
		at := w.put(n, p[:len(p)-1])
		at.setAttr(last.name, text)
		return placeKey{at, last.name}
	}

	at := w.put(n, p)
	if at.text != "" || len(at.children) > 0 {
		at = w.add(n, p)
	}
	at.text = text
	return placeKey{at, ""}
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
			value = c.otherwise
			ok = c.otherwise != ""
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
