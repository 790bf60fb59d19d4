package einvoice

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Check returns all rules of a profile that an invoice breaks: the business rules of EN 16931 with its code lists,
// and those of XRechnung. Profiles without lines have the rules about the data that they have. The XPath of each
// finding is in a document of the syntax.
func Check(invoice *Invoice, syntax Syntax, profile Profile) []Finding {
	c := &checker{invoice: invoice, profile: profile, dialect: dialectFor(syntax, invoice)}
	checkEach(c, "", invoice, invoiceRules())
	checkEach(c, "totals", orNew(invoice.Totals), totalsRules)
	if i := invoice; i.Payee != nil {
		checkEach(c, "payee", i.Payee, payeeRules)
	}
	if invoice.TaxRepresentative != nil {
		checkEach(c, "taxRepresentative", invoice.TaxRepresentative, representativeRules)
	}
	if invoice.Period != nil {
		checkEach(c, "period", invoice.Period, periodRules)
	}
	checkList(c, "precedingInvoices", invoice.PrecedingInvoices, precedingRules)
	checkList(c, "notes", invoice.Notes, noteRules)
	checkList(c, "attachments", invoice.Attachments, attachmentRules)
	checkList(c, "payments", invoice.Payments, paymentRules)
	checkList(c, "allowances", invoice.Allowances, allowanceRules())
	checkList(c, "charges", invoice.Charges, chargeRules())
	checkList(c, "taxes", invoice.Taxes, taxRules())
	if profile.hasLines() {
		c.checkLines()
	}
	c.checkDates(reflect.ValueOf(invoice).Elem(), "")
	return c.findings
}

// checkDates looks for dates that are none, in a struct and all below it.
func (c *checker) checkDates(v reflect.Value, at string) {
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		field, path := v.Field(i), strings.Trim(at+"."+name, ".")
		if field.Kind() == reflect.Pointer && !field.IsNil() {
			field = field.Elem()
		}
		switch {
		case field.Type() == reflect.TypeFor[Decimal]():
		case field.Type() == reflect.TypeFor[Date]():
			if date := Date(field.String()); date != "" && !date.valid() {
				c.findings = append(c.findings, Finding{Rule: Structure, Severity: Error, Message: "The date must be a day as YYYY-MM-DD.",
					JSONPath: path, XMLPath: c.dialect.xmlPath(path), Actual: shortened(field.String())})
			}
		case field.Kind() == reflect.Struct:
			c.checkDates(field, path)
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
			for n := range field.Len() {
				c.checkDates(field.Index(n), indexed(path, n))
			}
		}
	}
}

// CheckAccounts returns the accounts that look like IBANs with wrong check digits, and the BICs that have another form
// than ISO 9362 gives them. EN 16931 has no rules about them, so only invoices that are being written need them.
func CheckAccounts(invoice *Invoice) (findings []Finding) {
	for i, p := range invoice.Payments {
		if p.Account.looksLikeIBAN() && !validIBAN(string(p.Account)) {
			findings = append(findings, Finding{Rule: "ISO 13616", Severity: Error, Message: "The check digits of the IBAN are wrong.",
				JSONPath: indexed("payments", i) + ".account", Actual: string(p.Account)})
		}
		if p.BIC != "" && !bicPattern.MatchString(p.BIC) {
			findings = append(findings, Finding{Rule: "ISO 9362", Severity: Error, Message: "The BIC must have 8 or 11 letters and digits.",
				JSONPath: indexed("payments", i) + ".bic", Actual: p.BIC})
		}
	}
	return findings
}

var bicPattern = regexp.MustCompile(`^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?$`)

func (c *checker) checkLines() {
	checkList(c, "lines", c.invoice.Lines, lineRules())
	for i := range c.invoice.Lines {
		at, l := indexed("lines", i), &c.invoice.Lines[i]
		checkList(c, at+".allowances", l.Allowances, lineAllowanceRules)
		checkList(c, at+".charges", l.Charges, lineChargeRules)
		checkList(c, at+".classifications", l.Classifications, classificationRules)
		checkList(c, at+".attributes", l.Attributes, attributeRules)
		if l.Period != nil {
			checkEach(c, at+".period", l.Period, linePeriodRules)
		}
	}
}

// checker collects the broken rules of one invoice.
type checker struct {
	invoice  *Invoice
	profile  Profile
	dialect  dialect
	findings []Finding
	// bases are the taxed amounts by category, and filenames the number of attachments of each name: nil until they
	// are needed.
	bases     map[baseKey]Decimal
	filenames map[string]int
}

// rule is a row of a table of rules about one kind of thing.
type rule[T any] struct {
	id string
	// field is the place of the finding below the thing.
	field string
	// message is the rule as a sentence.
	message string
	holds   func(c *checker, v *T) bool
	// expected returns the value that would be right.
	expected func(c *checker, v *T) string
	// warning means that the rule is a recommendation.
	warning bool
	// scope are the invoices that the rule is for.
	scope scope
}

// scope is a set of profiles.
type scope int

const (
	withDocumentData scope = iota // from basic-wl
	everywhere
	withLines // from basic
	germany   // xrechnung
)

func (s scope) has(p Profile) bool {
	switch s {
	case everywhere:
		return true
	case withLines:
		return p.hasLines()
	case germany:
		return p == XRechnung
	}
	return p != Minimum
}

func checkEach[T any](c *checker, at string, v *T, rules []rule[T]) {
	for i := range rules {
		r := &rules[i]
		if !r.scope.has(c.profile) || r.holds(c, v) {
			continue
		}
		finding := Finding{Rule: r.id, Severity: Error, Message: r.message, JSONPath: strings.Trim(at+"."+r.field, ".")}
		if r.warning {
			finding.Severity = Warning
		}
		finding.XMLPath = c.dialect.xmlPath(finding.JSONPath)
		finding.Actual = shortened(c.valueAt(finding.JSONPath))
		if r.expected != nil {
			finding.Expected = r.expected(c, v)
		}
		c.findings = append(c.findings, finding)
	}
}

func checkList[T any](c *checker, at string, list []T, rules []rule[T]) {
	for i := range list {
		checkEach(c, indexed(at, i), &list[i], rules)
	}
}

// valueAt returns the text of a value of the invoice; empty if it is none or not there.
func (c *checker) valueAt(jsonPath string) string {
	v := reflect.ValueOf(c.invoice).Elem()
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

func blank[T ~string](s T) bool { return strings.TrimSpace(string(s)) == "" }

// given reports whether an optional thing is there.
func given[T any](v *T) bool { return v != nil }

// required makes the rule that a text is given.
func required[T any, S ~string](id, field, message string, in scope, get func(v *T) S) rule[T] {
	return rule[T]{id: id, field: field, message: message, scope: in, holds: func(_ *checker, v *T) bool { return !blank(get(v)) }}
}

// counted makes the rule that a number is given.
func counted[T any](id, field, message string, in scope, get func(v *T) *Decimal) rule[T] {
	return rule[T]{id: id, field: field, message: message, scope: in, holds: func(_ *checker, v *T) bool { return get(v) != nil }}
}

// inCents makes the rule that an amount has two decimals at most.
func inCents[T any](id, field, message string, in scope, get func(v *T) *Decimal) rule[T] {
	return rule[T]{
		id: id, field: field, message: message + " must have at most 2 decimals.", scope: in,
		holds:    func(_ *checker, v *T) bool { return or0(get(v)).decimals() <= 2 },
		expected: func(_ *checker, v *T) string { return or0(get(v)).cents().String() },
	}
}

// coded makes the rule that a code is in its list.
func coded[T any](id, field, list, message string, within scope, get func(v *T) string) rule[T] {
	return rule[T]{
		id: id, field: field, message: message, scope: within,
		holds: func(_ *checker, v *T) bool { return in(list, get(v)) },
	}
}

// computed makes the rule that an amount is the result of a calculation, wherever the amount is given.
func computed[T any](id, field, message string, in scope, get func(v *T) *Decimal, want func(c *checker, v *T) Decimal) rule[T] {
	return rule[T]{
		id: id, field: field, message: message, scope: in,
		holds:    func(c *checker, v *T) bool { return get(v) == nil || get(v).equals(want(c, v)) },
		expected: func(c *checker, v *T) string { return want(c, v).String() },
	}
}
