package einvoice

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Mismatch is a value of an invoice that its pages do not show.
type Mismatch struct {
	// Field is the place of the value in the JSON of Invoice.
	Field string
	// Contradiction means that the pages show another value. Otherwise the value is absent.
	Contradiction bool
	// Expected is the value of the invoice. Printed is the one on the page.
	Expected, Printed string
	// Page is the number of the page that shows Printed, from 1; 0 is none.
	Page int
}

// Compare looks for the values of an invoice in the text of its pages: number, dates, totals, VAT, accounts and
// parties, in the formats of European languages. It returns those that are absent, and those that a label, an address
// or a similar text shows to be different.
func Compare(invoice *Invoice, pages []string) []Mismatch {
	c := &comparer{invoice: invoice}
	for i, page := range pages {
		for line := range strings.Lines(page) {
			if line = strings.TrimSpace(line); line != "" {
				c.lines = append(c.lines, newPrintedLine(line, i+1))
			}
		}
	}

	c.squeezed = squeeze(strings.Join(pages, "\n"))
	c.number()
	c.dates()
	c.amounts()
	c.accounts()
	c.parties()

	slices.SortStableFunc(c.found, func(a, b Mismatch) int { return cmp.Compare(order(a), order(b)) })
	return c.found
}

// order puts contradictions first.
func order(d Mismatch) int {
	if d.Contradiction {
		return 0
	}
	return 1
}

type comparer struct {
	invoice *Invoice
	lines   []printedLine
	// squeezed is the text without spaces and in lower case.
	squeezed string
	found    []Mismatch
}

// printedLine is a line of a page.
type printedLine struct {
	text, lower string
	page        int
	amounts     []printedAmount
	dates       []printedDate
}

func newPrintedLine(text string, page int) printedLine {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\u202F' || r == '\u2007' {
			return ' '
		}
		return r
	}, text)
	return printedLine{
		text: text, lower: strings.ToLower(text), page: page, amounts: amountsIn(text), dates: datesIn(text),
	}
}

// squeeze removes white space, and the characters that programs break lines with.
func squeeze(text string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\u00AD' || r == '\u200B' {
			return -1
		}
		return r
	}, text))
}

// shows reports whether a text is on the pages.
func (c *comparer) shows(text string) bool { return strings.Contains(c.squeezed, squeeze(text)) }

func (c *comparer) absent(field, expected string) {
	c.found = append(c.found, Mismatch{Field: field, Expected: expected})
}

func (c *comparer) contradicts(field, expected, printed string, page int) {
	c.found = append(c.found,
		Mismatch{Field: field, Contradiction: true, Expected: expected, Printed: shortened(printed), Page: page})
}

// labels of values, in lower case. A label matches at the start of a word.
var (
	numberLabels = words(`rechnungsnummer|rechnungs-nr|rechnung nr|rechnungsnr|re-nr|gutschriftsnummer|` +
		`gutschrift nr|invoice number|invoice no|invoice #|credit note number|credit note no|` +
		`numéro de facture|n° de facture|facture n°|facture no|numero de factura|número de factura|factura n|` +
		`numero fattura|fattura n|factuurnummer`)
	issueLabels = words(
		`rechnungsdatum|ausstellungsdatum|invoice date|date of issue|issue date|issued|date de facture|` +
			`date de facturation|date d'émission|date d’émission|fecha de factura|fecha de emisión|data fattura|` +
			`factuurdatum`)
	dueLabels = words(
		`fällig am|fällig bis|fälligkeit|fälligkeitsdatum|zahlbar bis|zahlungsziel|due date|payment due|due by|` +
			`payable by|due on|date d'échéance|date d’échéance|échéance|à payer avant|fecha de vencimiento|` +
			`vencimiento|data di scadenza|scadenza|vervaldatum|te betalen voor`)
	grossLabels = words(`gesamtbetrag|rechnungsbetrag|gesamtsumme|endbetrag|endsumme|bruttobetrag|summe brutto|` +
		`gesamt brutto|gesamt (brutto)|total brutto|zu zahlender betrag|zahlbetrag|zahlungsbetrag|zu zahlen|` +
		`fälliger betrag|offener betrag|` +
		`grand total|total due|amount due|balance due|total incl|total including|invoice total|total with vat|` +
		`total payable|total ttc|montant ttc|net à payer|montant dû|reste à payer|` +
		`total a pagar|importe total|totale fattura|totale da pagare|totale documento|te betalen|totaalbedrag|` +
		`totaal incl`)
	netLabels = words(
		`nettobetrag|summe netto|gesamt netto|gesamt (netto)|total netto|zwischensumme|nettosumme|netto|subtotal|` +
			`subtotaal|sub-total|total excl|total excluding|total without vat|net amount|net total|total ht|` +
			`montant ht|sous-total|base imponible|imponibile|totaal excl`)
	taxLabels = words(`mwst|ust|umsatzsteuer|mehrwertsteuer|vat|tva|iva|btw|sales tax|igic|ipsi`)
	// conditional are words of lines whose amounts are due only in some cases.
	conditional = words(
		`skonto|rabatt|discount|escompte|remise|descuento|sconto|korting|vorauszahlung|anzahlung|deposit|acompte|` +
			`abschlag|bezahlt|paid|payé|rundung|rounding|arrondi`)
	taxIDs = words(
		`ust-id|ust.-id|ustid|umsatzsteuer-id|vat id|vat no|vat number|vat reg|n° tva|tva intra|numéro de tva|` +
			`n.i.f|p. iva|partita iva|btw-nummer|btw nr|steuernummer|tax number`)
)

// words makes a pattern of labels.
func words(list string) *regexp.Regexp {
	parts := strings.Split(list, "|")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	// Go's \b knows letters of ASCII only.
	return regexp.MustCompile(`(?:^|[^\p{L}])(?:` + strings.Join(parts, "|") + `)`)
}

// valueAfter returns the text after a label, on its line.
func (l *printedLine) valueAfter(label *regexp.Regexp) (string, bool) {
	at := label.FindStringIndex(l.lower)
	if at == nil || len(l.lower) != len(l.text) {
		return "", false
	}
	return l.text[at[1]:], true
}

// number compares the number of the invoice.
func (c *comparer) number() {
	want := strings.TrimSpace(c.invoice.Number)
	if want == "" || c.shows(want) {
		return
	}

	for i := range c.lines {
		l := &c.lines[i]
		value, ok := l.valueAfter(numberLabels)
		if !ok {
			continue
		}

		value = strings.TrimLeft(value, ".:#№° ")
		if value == "" && i+1 < len(c.lines) {
			value = c.lines[i+1].text
		}
		if word, _, _ := strings.Cut(value, " "); strings.ContainsAny(word, "0123456789") {
			c.contradicts("number", want, word, l.page)
			return
		}
	}

	for _, l := range c.lines {
		for word := range strings.FieldsSeq(l.text) {
			if word = strings.Trim(word, ".,:;()#"); similar(word, want) && strings.ContainsAny(word, "0123456789") {
				c.contradicts("number", want, word, l.page)
				return
			}
		}
	}

	c.absent("number", want)
}

// dates compares the date of issue and the due date.
func (c *comparer) dates() {
	for _, d := range []struct {
		field  string
		want   Date
		labels *regexp.Regexp
	}{{"issueDate", c.invoice.IssueDate, issueLabels}, {"dueDate", c.invoice.DueDate, dueLabels}} {
		if d.want == "" {
			continue
		}
		printed := false
		var other *printedDate
		page := 0

		for i := range c.lines {
			l := &c.lines[i]
			printed = printed || slices.ContainsFunc(l.dates, func(p printedDate) bool { return p.is(d.want) })
			at := d.labels.FindStringIndex(l.lower)
			if at == nil || len(l.lower) != len(l.text) {
				continue
			}

			date := firstAfter(l.dates, at[1])
			if date == nil && i+1 < len(c.lines) && len(l.amounts) == 0 && len(c.lines[i+1].dates) > 0 &&
				c.lines[i+1].dates[0].at == 0 {
				date = &c.lines[i+1].dates[0]
			}
			if date != nil && !date.is(d.want) && other == nil {
				other = date
				page = l.page
			}
		}

		switch {
		case other != nil:
			c.contradicts(d.field, string(d.want), other.text, page)
		case !printed:
			c.absent(d.field, string(d.want))
		}
	}
}

func firstAfter(dates []printedDate, at int) *printedDate {
	for i := range dates {
		if dates[i].at >= at {
			return &dates[i]
		}
	}
	return nil
}

// amountClass is a kind of totals with what the pages show of it.
type amountClass struct {
	fields []amountField
	// own are the sizes of its amounts, as plain texts.
	own map[string]bool
	// unmatched is the first amount with a label of the kind that is none of the invoice, and other the first other one
	// that is none of the kind.
	unmatched, other *printedAmount
}

type amountField struct {
	name   string
	amount *Decimal
}

func newAmountClass(fields ...amountField) *amountClass {
	class := &amountClass{fields: fields, own: map[string]bool{}}
	for _, f := range fields {
		if f.amount != nil {
			class.own[f.amount.abs().plain()] = true
		}
	}
	return class
}

// amounts compares totals and VAT.
func (c *comparer) amounts() {
	t := orNew(c.invoice.Totals)
	taxes := []amountField{{"totals.tax", t.Tax}}
	for i := range c.invoice.Taxes {
		taxes = append(taxes, amountField{indexed("taxes", i) + ".amount", c.invoice.Taxes[i].Amount})
	}

	gross := newAmountClass(amountField{"totals.due", t.Due}, amountField{"totals.withTax", t.WithTax})
	net := newAmountClass(amountField{"totals.withoutTax", t.WithoutTax})
	tax := newAmountClass(taxes...)

	classes := map[amountLabel]*amountClass{grossLabel: gross, netLabel: net, taxLabel: tax}
	known := c.knownAmounts()
	printed := map[string]bool{}
	for i := range c.lines {
		for _, a := range c.lines[i].amounts {
			for _, reading := range a.readings {
				printed[reading] = true
			}
		}

		last := c.lastAmount(i)
		if last == nil {
			continue
		}
		class := classes[labelOf(c.lines[i].lower)]
		switch {
		case class == nil:
		case class.unmatched == nil && !last.among(known):
			class.unmatched = last
		case class.other == nil && !last.among(class.own):
			class.other = last
		}
	}

	for _, class := range []*amountClass{gross, net, tax} {
		c.class(class, printed)
	}
}

// lastAmount returns the last amount of a line, or the only one of the next line if the line has none.
func (c *comparer) lastAmount(i int) *printedAmount {
	amounts := c.lines[i].amounts
	if len(amounts) == 0 && i+1 < len(c.lines) && onlyAmounts(c.lines[i+1]) {
		amounts = c.lines[i+1].amounts
	}
	if len(amounts) == 0 {
		return nil
	}
	last := amounts[len(amounts)-1]
	last.page = c.lines[i].page
	return &last
}

// amountLabel is the kind of amounts that a line names.
type amountLabel int

const (
	noLabel amountLabel = iota
	grossLabel
	netLabel
	taxLabel
)

// labelOf returns the kind that a line in lower case names. A total with VAT also names VAT, so the order counts.
func labelOf(lower string) amountLabel {
	switch {
	case conditional.MatchString(lower), taxIDs.MatchString(lower):
		return noLabel
	case grossLabels.MatchString(lower):
		return grossLabel
	case netLabels.MatchString(lower):
		return netLabel
	case taxLabels.MatchString(lower):
		return taxLabel
	}
	return noLabel
}

// knownAmounts are the sizes of all amounts of the invoice.
func (c *comparer) knownAmounts() map[string]bool {
	i := c.invoice
	t := orNew(c.invoice.Totals)
	known := map[string]bool{}
	add := func(amounts ...*Decimal) {
		for _, d := range amounts {
			if d != nil {
				known[d.abs().plain()] = true
			}
		}
	}

	add(t.Lines, t.Allowances, t.Charges, t.WithoutTax, t.Tax, t.AccountedTax, t.WithTax, t.Paid, t.Rounding, t.Due)
	for _, x := range i.Taxes {
		add(x.Base, x.Amount)
		gross := or0(x.Base).plus(or0(x.Amount))
		add(&gross)
	}
	for _, a := range slices.Concat(i.Allowances, i.Charges) {
		add(a.Amount, a.Base)
	}
	for _, l := range i.Lines {
		add(l.NetAmount, l.Price, l.GrossPrice, l.Discount, l.Quantity)
	}

	return known
}

// class compares the amounts of one kind. An amount with a label of the kind that the invoice does not have at all
// contradicts it. So does any other one if the right amount is nowhere. printed are all amounts of the pages.
func (c *comparer) class(class *amountClass, printed map[string]bool) {
	shown := func(f amountField) bool { return f.amount != nil && printed[f.amount.abs().plain()] }
	anyShown := slices.ContainsFunc(class.fields, shown)
	reported := false

	for _, f := range class.fields {
		switch {
		case f.amount == nil, shown(f):
		case class.unmatched != nil:
			c.contradicts(f.name, f.amount.String(), class.unmatched.text, class.unmatched.page)
			reported = true
		case class.other != nil && !anyShown:
			c.contradicts(f.name, f.amount.String(), class.other.text, class.other.page)
			reported = true
		case f.amount.sign() != 0:
			c.absent(f.name, f.amount.String())
		}
	}

	if first := class.fields[0]; class.unmatched != nil && !reported && first.amount != nil {
		c.contradicts(first.name, first.amount.String(), class.unmatched.text, class.unmatched.page)
	}
}

func onlyAmounts(l printedLine) bool {
	rest := l.text
	for _, a := range l.amounts {
		rest = strings.Replace(rest, a.text, "", 1)
	}
	return len(l.amounts) == 1 && strings.Trim(rest, "€$£ EURCHFSDGBPK.-") == ""
}

var printedIBAN = regexp.MustCompile(`[A-Z]{2}\d{2}(?: ?[A-Z0-9]{1,4}){2,8}`)

// accounts compares the IBANs. A page can show more accounts than the invoice has.
func (c *comparer) accounts() {
	type account struct{ field, iban string }
	var accounts []account
	for i, p := range c.invoice.Payments {
		if p.Account.looksLikeIBAN() {
			accounts = append(accounts, account{indexed("payments", i) + ".account", p.Account.compact()})
		}
	}

	printed := ""
	page := 0
	shown := false
	for _, l := range c.lines {
		for _, text := range printedIBAN.FindAllString(l.text, -1) {
			iban := AccountID(text).compact()
			right := slices.ContainsFunc(accounts, func(a account) bool { return strings.HasPrefix(iban, a.iban) })
			shown = shown || right
			if !right && printed == "" && (validIBAN(iban) || strings.Contains(l.lower, "iban")) &&
				iban != AccountID(orNew(c.invoice.DirectDebit).DebitedAccount).compact() {
				printed = text
				page = l.page
			}
		}
	}

	for _, a := range accounts {
		switch {
		case c.shows(a.iban):
		case printed != "" && !shown:
			c.contradicts(a.field, a.iban, printed, page)
		default:
			c.absent(a.field, a.iban)
		}
	}
}

// parties compares the names and VAT identifiers of the seller and the buyer.
func (c *comparer) parties() {
	for _, p := range []struct {
		field string
		party *Party
	}{{"seller", c.invoice.seller()}, {"buyer", c.invoice.buyer()}} {
		c.name(p.field+".name", p.party)
		if id := strings.TrimSpace(p.party.VATID); id != "" && !c.shows(id) {
			c.vatID(p.field+".vatId", id)
		}
	}
}

// name compares a name. Another name at the address of the party, or one that is nearly the same, contradicts it.
func (c *comparer) name(field string, party *Party) {
	want := strings.TrimSpace(party.Name)
	if want == "" || c.shows(want) || party.TradingName != "" && c.shows(party.TradingName) {
		return
	}

	for _, l := range c.lines {
		if similar(l.text, want) {
			c.contradicts(field, want, l.text, l.page)
			return
		}
	}

	if a := party.Address; a != nil && a.Line1 != "" && a.City != "" {
		for i, l := range c.lines {
			if !strings.Contains(squeeze(l.text), squeeze(a.Line1)) || !c.showsBelow(i, a.City) {
				continue
			}

			before, _, _ := strings.Cut(l.text, a.Line1)
			if squeeze(before) == "" && i > 0 {
				before = c.lines[i-1].text
			}
			if _, after, ok := strings.Cut(before, ":"); ok {
				before = after // a label
			}
			if before = strings.Trim(before, " ,;·•|–-"); c.otherName(before, want) {
				c.contradicts(field, want, before, l.page)
				return
			}
		}
	}

	c.absent(field, want)
}

// legalForm finds the forms of companies in their names.
var legalForm = regexp.MustCompile(
	`(?i)(^|[ ,&])(gmbh|mbh|ag|kg|kgaa|se|ug|ohg|gbr|e\. ?k\.|e\. ?v\.|eg|sarl|s\.à ?r\.l\.|sas|sasu|eurl|sa|s\.a\.|sci|ltd|limited|plc|llp|llc|inc|corp|bv|b\.v\.|nv|n\.v\.|spa|s\.p\.a\.|srl|s\.r\.l\.|sl|s\.l\.|ab|oy|as|aps|sp\. z o\.o\.)(\W|$)`)

// otherName reports whether a text at the address of a party is a name, and not that of the party or another one of the
// invoice: a company, or a person if the party is one. Headings and logos stand at addresses too.
func (c *comparer) otherName(text, want string) bool {
	if i := c.invoice; i.Payee != nil && strings.Contains(squeeze(text), squeeze(i.Payee.Name)) {
		return false
	}
	if legalForm.MatchString(text) || legalForm.MatchString(want) {
		return legalForm.MatchString(text)
	}
	words := strings.Fields(text)
	return len(words) > 1 && len(words) == len(strings.Fields(want)) &&
		!slices.ContainsFunc(words, func(word string) bool {
			first, _ := utf8.DecodeRuneInString(word)
			return !unicode.IsUpper(first)
		})
}

// showsBelow reports whether a text is on a line or the two below.
func (c *comparer) showsBelow(line int, text string) bool {
	for _, l := range c.lines[line:min(line+3, len(c.lines))] {
		if strings.Contains(squeeze(l.text), squeeze(text)) {
			return true
		}
	}
	return false
}

// vatID looks for another VAT identifier of the same country that nobody of the invoice has.
func (c *comparer) vatID(field, want string) {
	printed := regexp.MustCompile(`\b` + regexp.QuoteMeta(want[:min(2, len(want))]) +
		` ?[0-9A-Z]{2,3} ?[0-9]{3} ?[0-9A-Z]{2,6}\b`)
	others := []string{c.invoice.seller().VATID, c.invoice.buyer().VATID, orNew(c.invoice.TaxRepresentative).VATID}

	for _, l := range c.lines {
		if !taxIDs.MatchString(l.lower) && !strings.Contains(l.lower, "vat") && !strings.Contains(l.lower, "tva") {
			continue
		}
		for _, text := range printed.FindAllString(l.text, -1) {
			if !slices.Contains(others, AccountID(text).compact()) {
				c.contradicts(field, want, text, l.page)
				return
			}
		}
	}

	c.absent(field, want)
}

// similar reports whether two texts differ in a few letters: at most one in five, and at most three.
func similar(a, b string) bool {
	a = squeeze(a)
	b = squeeze(b)
	x := utf8.RuneCountInString(a)
	y := utf8.RuneCountInString(b)
	const longest = 100
	maximum := min(3, max(x, y)/5)
	return maximum > 0 && y <= longest && x-y <= maximum && y-x <= maximum && levenshtein.ComputeDistance(a, b) <= maximum
}
