package einvoice

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/relaypdf/relaypdf/render/einvoice/xpath"
)

// Check returns all rules of a profile that an invoice breaks as a document of a syntax: the structure of the profile,
// the business rules of EN 16931 with its code lists, and those of Factur-X or XRechnung.
func Check(invoice *Invoice, syntax Syntax, profile Profile) []Finding {
	document, err := New(invoice, syntax, profile)
	if err != nil {
		return nil
	}
	return append(document.Findings, document.Check()...)
}

// Check returns all rules that a document breaks.
func (d *ParsedInvoice) Check() []Finding {
	c := &checker{document: d, dialect: d.dialect, tree: xpath.NewDocument(branch(d.root), nil)}
	if d.Syntax == UBL {
		if d.Profile == XRechnung {
			c.apply(nil, "ubl", "xrechnung-ubl")
		} else {
			c.apply(nil, "ubl")
		}
		return c.findings
	}

	switch d.Profile {
	case XRechnung:
		c.apply(nil, "cii", "xrechnung-cii")
	case EN16931:
		c.apply(nil, "cii")
		if d.Embedded {
			c.apply(map[string]bool{}, "cii", "facturx", "facturx-exact")
			c.profile(facturxProfiles()[EN16931])
		}
	case Extended:
		c.facturx("cii", "facturx", "facturx-extended")
	default:
		c.facturx("cii", "facturx", "facturx-exact")
	}

	return c.findings
}

// facturx applies the rules of a profile of Factur-X: those of EN 16931 that it has, its own, and its elements.
func (c *checker) facturx(names ...string) {
	profile := facturxProfiles()[c.document.Profile]
	c.apply(profile.rules, names...)
	c.profile(profile)
}

// branch copies an element for the evaluation of rules.
func branch(n *node) *xpath.Node {
	copied := &xpath.Node{Name: n.local(), Text: n.text, Origin: n}
	for _, a := range n.attrs {
		copied.Attrs = append(copied.Attrs, xpath.Attr{Name: a.name, Value: a.value})
	}
	for _, child := range n.children {
		copied.Children = append(copied.Children, branch(child))
	}
	return copied
}

// checker collects the broken rules of a document.
type checker struct {
	document *ParsedInvoice
	dialect  dialect
	tree     *xpath.Tree
	findings []Finding
}

// apply adds the findings of tables of rules, or of those among them that a profile has.
func (c *checker) apply(among map[string]bool, names ...string) {
	set := ruleSetOf(names...)
	c.tree.Use(set.library)
	for _, b := range set.check(c.tree, among) {
		if len(c.findings) == maxFindings {
			return
		}

		if errors.Is(b.err, xpath.ErrSteps) {
			c.findings = append(c.findings, Finding{
				Rule: Structure, Severity: Error,
				Message:  "The invoice has too many lines and VAT breakdowns to check all rules.",
				JSONPath: "lines", XMLPath: nodePath(c.tree.Root.Children[0]),
			})
			return
		}

		severity := c.document.severity(b.rule)
		if severity == "" {
			continue
		}

		finding := c.finding(&b)
		finding.Severity = severity
		same := func(f Finding) bool { return f.JSONPath == finding.JSONPath && f.JSONPath != "" }
		if finding.Rule == "CII-DT-097" && slices.ContainsFunc(c.document.Findings, same) {
			continue // The date is reported already.
		}
		c.findings = append(c.findings, finding)
	}
}

// finding describes a broken rule.
func (c *checker) finding(b *broken) Finding {
	about := ruleTexts()[b.rule.id]
	f := Finding{Rule: b.rule.id, Message: about.message, Expected: b.expectedAt(c.tree)}
	if f.Message == "" {
		f.Message = b.rule.message
	}

	at, _ := b.at.Origin.(*node) // The root of the tree has none.
	f.XMLPath = nodePath(b.at)
	switch {
	case strings.HasPrefix(about.place, "@"):
		f.JSONPath = c.document.placeOf(b.at, about.place[1:])
		f.XMLPath += "/" + about.place
		if at != nil {
			f.Actual, _ = at.attr(about.place[1:])
		}
	case about.place == "" || about.place == ".":
		f.JSONPath = c.document.placeOf(b.at, "")
		if at != nil && len(b.rule.path) > 0 {
			f.JSONPath = c.document.missing(at, b.rule.path...)
		}
		if at != nil && len(at.children) == 0 {
			f.Actual = strings.TrimSpace(at.text)
		}
	default:
		f.JSONPath = filled(about.place, c.document.placeOf(b.at, ""))
		f.Actual = c.valueAt(f.JSONPath)
		if path := c.dialect.xmlPath(f.JSONPath); path != "" {
			f.XMLPath = path
		}
	}

	f.Actual = shortened(f.Actual)
	return f
}

// filled puts the numbers of the items of a place into a template such as lines[].allowances[].amount. A template ends
// at the first list that the place is not in.
func filled(template, place string) string {
	for strings.Contains(template, "[]") {
		list, rest, _ := strings.Cut(template, "[]")
		item, ok := strings.CutPrefix(place, list+"[")
		if !ok {
			return list
		}
		number, _, _ := strings.Cut(item, "]")
		template = list + "[" + number + "]" + rest
	}
	return template
}

// placeOf returns the place of an element, or of its attribute, in the JSON of the invoice; that of the nearest element
// around it that has one; or "".
func (d *ParsedInvoice) placeOf(n *xpath.Node, attribute string) string {
	for ; n != nil; n = n.Parent {
		at, ok := n.Origin.(*node)
		if !ok {
			break
		}
		if place, ok := d.places[placeKey{at, attribute}]; ok {
			return place
		}
		if place, ok := d.places[placeKey{at, ""}]; ok {
			return place
		}
		attribute = ""
	}

	return ""
}

// placeKey is an element, or one of its attributes.
type placeKey struct {
	of        *node
	attribute string
}

// missing is the place in the JSON of an element that is not below another, by the names on the way to it: that of the
// first field whose path leads through it, or that of the element around it.
func (d *ParsedInvoice) missing(parent *node, below ...string) string {
	route := d.root.route(parent)
	for from := len(route) - 1; from >= 0; from-- {
		place, known := d.places[placeKey{route[from], ""}]
		if !known && from > 0 {
			continue
		}

		var names []string
		for _, n := range route[from+1:] {
			names = append(names, n.local())
		}

		if field := d.dialect.fieldAt(typeAt(place), append(names, below...)); field != "" {
			return strings.TrimPrefix(place+"."+field, ".")
		}
		return place
	}
	return ""
}

// route returns the elements from the root to a node.
func (n *node) route(to *node) []*node {
	if n == to {
		return []*node{n}
	}
	for _, child := range n.children {
		if below := child.route(to); below != nil {
			return append([]*node{n}, below...)
		}
	}
	return nil
}

// typeAt is the type of a place in the JSON: that of an item for a list.
func typeAt(place string) reflect.Type {
	t := reflect.TypeFor[Invoice]()
	for part := range strings.SplitSeq(place, ".") {
		name, _, _ := strings.Cut(part, "[")
		b := crossIndustry.field(t, name)
		if b == nil || b.kind == leaf {
			return t
		}
		t = t.Field(b.index).Type.Elem()
	}
	return t
}

// fieldAt returns the first field of a type whose path begins with the names of elements.
func (d dialect) fieldAt(t reflect.Type, names []string) string {
	for _, b := range d.bindings(t) {
		for _, p := range b.paths {
			if len(p) == 0 && b.kind == group {
				if field := d.fieldAt(t.Field(b.index).Type.Elem(), names); field != "" {
					return b.json + "." + field
				}
			}

			if len(p) == 0 || len(p) < len(names) && b.kind != list {
				continue
			}

			same := true
			for i, name := range names[:min(len(names), len(p))] {
				local := p[i].name[strings.IndexByte(p[i].name, ':')+1:]
				same = same && local == name
			}
			if same {
				return b.json
			}
		}
	}

	return ""
}

// nodePath is the XPath of an element.
func nodePath(n *xpath.Node) string {
	at, ok := n.Origin.(*node)
	if !ok {
		return ""
	}
	if n.Parent == nil || n.Parent.Name == "" {
		return "/" + at.name
	}

	same := 0
	number := 0
	for _, sibling := range n.Parent.Children {
		if sibling.Name == n.Name {
			same++
		}
		if sibling == n {
			number = same
		}
	}

	path := nodePath(n.Parent) + "/" + at.name
	if same > 1 {
		path += "[" + strconv.Itoa(number) + "]"
	}
	return path
}

// severity returns the severity of a broken rule in the document; empty if the rule is not for it. The configuration
// of KoSIT's validator for XRechnung changes that of some rules of EN 16931.
func (d *ParsedInvoice) severity(r *treeRule) Severity {
	severity := Error
	if r.warning {
		severity = Warning
	}
	if changed, ok := d.severities()[r.id]; ok {
		return changed
	}
	return severity
}

// severities are the changed severities of rules for the document. The extension has none for credit notes of UBL.
func (d *ParsedInvoice) severities() map[string]Severity {
	if d.dialect == ublCreditNote && d.Invoice.Specification == xrechnungExtension {
		return nil
	}
	return xrechnungSeverities[d.Invoice.Specification]
}

// xrechnungSeverities are the changed severities of rules by specification identifier.
var xrechnungSeverities = map[string]map[string]Severity{
	xrechnungSpecification: {"BR-CL-21": Warning, "BR-CL-23": Warning, "UBL-CR-646": Error, "CII-SR-452": Error, "CII-SR-453": Error, "CII-SR-454": Error},
	xrechnungExtension: {
		"BR-CL-10": "", "BR-CL-11": "", "BR-CL-21": "", "BR-CL-23": Warning, "BR-CL-24": "", "BR-CL-25": "",
		"BR-CL-26": "", "BR-CO-16": "",
		"UBL-CR-646": "", "CII-SR-452": Error, "CII-SR-453": Error, "CII-SR-454": Error,
	},
	xrechnungCVD: {
		"BR-CL-13": "", "BR-CL-21": Warning, "BR-CL-23": Warning, "UBL-CR-646": Error, "CII-SR-452": Error,
		"CII-SR-453": Error, "CII-SR-454": Error,
	},
}

// ruleText is the place and the message of a rule.
type ruleText struct{ place, message string }

// ruleTexts are the texts by the ID of their rule.
var ruleTexts = sync.OnceValue(func() map[string]ruleText {
	text, err := tables.ReadFile("rules/messages.txt")
	if err != nil {
		panic(err) // for a file that is not embedded
	}
	all := map[string]ruleText{}
	for line := range strings.Lines(string(text)) {
		id, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		place, message, _ := strings.Cut(rest, " ")
		all[id] = ruleText{place, message}
	}
	return all
})

// checkDates looks for dates of an invoice that are none, in a struct and all below it.
func (d *ParsedInvoice) checkDates(v reflect.Value, at string) {
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		field := v.Field(i)
		path := strings.Trim(at+"."+name, ".")
		if field.Kind() == reflect.Pointer && !field.IsNil() {
			field = field.Elem()
		}

		switch {
		case field.Type() == reflect.TypeFor[Decimal]():
		case field.Type() == reflect.TypeFor[Date]():
			if date := Date(field.String()); date != "" && !date.valid() {
				d.Findings = append(d.Findings, Finding{
					Rule: Structure, Severity: Error, Message: "The date must be a day as YYYY-MM-DD.",
					JSONPath: path, XMLPath: d.dialect.xmlPath(path), Actual: shortened(field.String()),
				})
			}
		case field.Kind() == reflect.Struct:
			d.checkDates(field, path)
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
			for n := range field.Len() {
				d.checkDates(field.Index(n), indexed(path, n))
			}
		}
	}
}

// CheckAccounts returns the accounts that look like IBANs with wrong check digits, and the BICs that have another form
// than ISO 9362 gives them. EN 16931 has no rules about them, so only invoices that are being written need them.
func CheckAccounts(invoice *Invoice) (findings []Finding) {
	for i, p := range invoice.Payments {
		if p.Account.looksLikeIBAN() && !validIBAN(string(p.Account)) {
			findings = append(findings, Finding{
				Rule: "ISO 13616", Severity: Error, Message: "The check digits of the IBAN are wrong.",
				JSONPath: indexed("payments", i) + ".account", Actual: string(p.Account),
			})
		}
		if p.BIC != "" && !bicPattern.MatchString(p.BIC) {
			findings = append(findings, Finding{
				Rule: "ISO 9362", Severity: Error, Message: "The BIC must have 8 or 11 letters and digits.",
				JSONPath: indexed("payments", i) + ".bic", Actual: p.BIC,
			})
		}
	}
	return findings
}

var bicPattern = regexp.MustCompile(`^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?$`)

// valueAt returns the text of a value of the invoice; empty if it is none or not there.
func (c *checker) valueAt(jsonPath string) string {
	v := reflect.ValueOf(c.document.Invoice).Elem()
	for part := range strings.SplitSeq(jsonPath, ".") {
		name, index, isItem := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		b := c.dialect.field(v.Type(), name)
		if b == nil {
			return ""
		}

		v = v.Field(b.index)
		if b.kind == leaf {
			return c.dialect.syntaxFree(v)
		}

		if number, err := strconv.Atoi(index); isItem && err == nil && number < v.Len() {
			v = v.Index(number)
		} else if b.kind == group && !v.IsNil() {
			v = v.Elem()
		} else {
			return ""
		}
	}
	return ""
}

// syntaxFree returns a value as it is in JSON.
func (dialect) syntaxFree(v reflect.Value) string { return ublInvoice.format(v) }

// orNew returns what a pointer points to, or an empty value.
func orNew[T any](v *T) *T {
	if v == nil {
		return new(T)
	}
	return v
}

func (i *Invoice) seller() *Party { return orNew(i.Seller) }
func (i *Invoice) buyer() *Party  { return orNew(i.Buyer) }
