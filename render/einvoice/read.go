package einvoice

import (
	"reflect"
	"slices"
	"strings"
)

// ParsedInvoice is an e-invoice that Read has read.
type ParsedInvoice struct {
	Invoice *Invoice
	Syntax  Syntax
	Profile Profile
	// Findings are the deviations of the XML from the structure of its profile.
	Findings []Finding
	// Dropped are the fields of an invoice that New has left out, such as lines in minimum.
	Dropped []string
	// Embedded means that the document is, or will be, the XML in a PDF, where the profile en16931 is that of Factur-X.
	Embedded bool

	root    *node
	dialect dialect
	// places are the places of elements in the JSON of the invoice.
	places map[placeKey]string
}

// Read reads an e-invoice. It returns ErrXML or ErrNotInvoice for what is none. Deviations from the structure of the
// profile are findings, and the rest of the document is read all the same.
func Read(document []byte) (*ParsedInvoice, error) {
	root, err := parseXML(document)
	if err != nil {
		return nil, err
	}

	r := invoiceReader{tree: tree{dialect: -1, variables: variables{}}, places: map[placeKey]string{}}
	for d, name := range rootNames {
		if root.name == name {
			r.dialect = d
		}
	}
	if r.dialect < 0 {
		return nil, foreign(root)
	}

	invoice := new(Invoice)
	// The currencies first, on which other places depend.
	r.variables = currencies(r.text(root, "currency"), r.text(root, "taxCurrency"))
	r.fields(root, reflect.ValueOf(invoice).Elem(), "")

	profile := ProfileOf(invoice.Specification)
	made := &ParsedInvoice{
		Invoice: invoice, Syntax: r.dialect.syntax(), Profile: profile, root: root, dialect: r.dialect,
		places: r.places,
	}
	r.findings = append(r.findings, made.structure()...)
	r.findings = append(r.findings, root.unread(r.dialect.rootPath(), r.dialect)...)
	made.Findings = r.findings[:min(len(r.findings), maxFindings)]
	return made, nil
}

// structure returns the deviations of a document from its schema. D16B allows one preceding invoice; EN 16931 and the
// later schema of Factur-X allow several.
func (d *ParsedInvoice) structure() []Finding {
	schema := schemaFor(d.Syntax, d.Profile)
	findings := schema.structure(d.root, schema.roots[d.root.local()], d.dialect.rootPath())

	if d.Profile == EN16931 {
		findings = slices.DeleteFunc(findings,
			func(f Finding) bool { return f.at.local() == "InvoiceReferencedDocument" && f.Expected == "at most 1" })
	}

	for i := range findings {
		f := &findings[i]
		if f.missing != "" {
			f.JSONPath = d.missing(f.at, f.missing)
			continue
		}

		route := d.root.route(f.at)
		for n := len(route) - 1; n >= 0 && f.JSONPath == ""; n-- {
			f.JSONPath = d.places[placeKey{route[n], ""}]
		}
	}
	return findings
}

// maxFindings is the maximum number of deviations that Read reports.
const maxFindings = 1000

// ProfileOf returns the profile that a specification identifier stands for: EN16931 for unknown ones, whose rules all
// invoices follow.
func ProfileOf(specification string) Profile {
	for _, p := range Profiles() {
		if specification == p.Specification() {
			return p
		}
	}

	switch {
	case strings.Contains(specification, "xrechnung"):
		return XRechnung
	case strings.Contains(specification, "#conformant#"):
		return Extended
	case strings.Contains(specification, "zugferd.de:2p0:minimum"):
		return Minimum
	case strings.Contains(specification, "zugferd.de:2p0:basicwl"):
		return BasicWL
	case strings.Contains(specification, "zugferd.de:2p0:basic"):
		return Basic
	}

	return EN16931
}

type invoiceReader struct {
	tree
	findings []Finding
	places   map[placeKey]string
}

// text returns the text of a field of the invoice.
func (r *invoiceReader) text(root *node, field string) string {
	for _, found := range r.find(root, r.dialect.field(reflect.TypeFor[Invoice](), field).paths[0]) {
		return strings.TrimSpace(found.text)
	}
	return ""
}

// fields reads the fields of a struct from a node.
func (r *invoiceReader) fields(n *node, v reflect.Value, at string) {
	for _, b := range r.dialect.bindings(v.Type()) {
		field := v.Field(b.index)
		name := strings.TrimPrefix(at+"."+b.json, ".")

		for _, p := range b.paths {
			switch b.kind {
			case leaf:
				r.value(n, p, field, name)
			case group:
				r.group(n, p, field, name)
			case list:
				for _, found := range r.find(n, p) {
					item := reflect.New(field.Type().Elem()).Elem()
					r.places[placeKey{found, ""}] = indexed(name, field.Len())
					r.fields(found, item, indexed(name, field.Len()))
					field.Set(reflect.Append(field, item))
				}
			}
		}
	}

	if note, ok := v.Addr().Interface().(*Note); ok && r.dialect != crossIndustry {
		if parts := notePattern.FindStringSubmatch(note.Text); parts != nil {
			note.SubjectCode = parts[1]
			note.Text = parts[2]
		}
	}
}

func (r *invoiceReader) group(n *node, p path, field reflect.Value, name string) {
	found := r.find(n, p)
	if len(found) == 0 || !field.IsNil() {
		return
	}
	if len(p) > 0 {
		r.places[placeKey{found[0], ""}] = name
	}
	value := reflect.New(field.Type().Elem())
	r.fields(found[0], value.Elem(), name)
	if len(p) > 0 && len(found[0].children) == 0 || !value.Elem().IsZero() {
		field.Set(value)
	}
}

func (r *invoiceReader) value(n *node, p path, field reflect.Value, name string) {
	attribute := ""
	if len(p) > 0 && p[len(p)-1].attribute {
		attribute = p[len(p)-1].name
		p = p[:len(p)-1]
	}

	for _, found := range r.find(n, p) {
		text := found.text
		there := strings.TrimSpace(text) != ""
		read := &found.read
		if attribute != "" {
			text, there = found.attr(attribute)
			read = found.attrRead(attribute)
		}

		if key := (placeKey{found, attribute}); r.places[key] == "" {
			r.places[key] = name
		}
		if !there {
			continue
		}

		if !field.IsZero() { // A second place that says the same is fine.
			if r.dialect.format(field) == strings.TrimSpace(text) {
				*read = true
			}
			continue
		}
		*read = true
		if !r.dialect.assign(field, text) {
			r.findings = append(r.findings, Finding{Rule: Structure, Severity: Error, JSONPath: name,
				Message: "The value does not have the type of the field, such as a number, a date or a code.",
				Actual:  shortened(text)})
		}
	}
}

// find returns the elements of a path.
func (t *tree) find(n *node, p path) []*node {
	found := []*node{n}
	for _, s := range p {
		var next []*node
		for _, at := range found {
			next = append(next, t.match(at, s)...)
		}
		found = next
	}
	return found
}

// match returns the elements of a step.
func (t *tree) match(n *node, s step) (found []*node) {
	for _, child := range n.children {
		if child.name == s.name && t.meets(child, s) {
			found = append(found, child)
		}
	}
	return found
}

// meets reports whether an element meets the conditions of a step. The values of the conditions count as read.
func (t *tree) meets(n *node, s step) bool {
	var read []*bool
	for _, c := range s.conditions {
		at := c.path
		attribute := ""
		if last := at[len(at)-1]; last.attribute {
			at = at[:len(at)-1]
			attribute = last.name
		}

		value, ok := t.variables.resolve(c.value)
		met := c.kind != equal
		for _, found := range t.find(n, at) {
			text := strings.TrimSpace(found.text)
			flag := &found.read
			if attribute != "" {
				text, _ = found.attr(attribute)
				flag = found.attrRead(attribute)
			}

			switch {
			case c.kind == assigned:
				read = append(read, flag)
			case c.kind == unequal && text == value:
				return false
			case c.kind == unequal:
				if c.otherwise != "" {
					read = append(read, flag)
				}
			case ok && (text == value || value == "false" && text == "0" || value == "true" && text == "1"):
				met = true
				read = append(read, flag)
			}
		}

		if !met {
			return false
		}
	}

	for _, flag := range read {
		*flag = true
	}
	return true
}

// attrRead returns the mark of an attribute, or one that nobody reads if there is no such attribute.
func (n *node) attrRead(name string) *bool {
	for i := range n.attrs {
		if n.attrs[i].name == name {
			return &n.attrs[i].read
		}
	}
	return new(bool)
}
