package einvoice

import (
	"regexp"
	"slices"
	"strings"
)

func (i *Invoice) seller() *Party { return orNew(i.Seller) }
func (i *Invoice) buyer() *Party  { return orNew(i.Buyer) }

// invoiceRules are the rules about the invoice as a whole.
func invoiceRules() []rule[Invoice] {
	return slices.Concat(headRules, partyRules(), codeRules, vatInvoiceRules(), germanRules)
}

var headRules = []rule[Invoice]{
	required("BR-01", "specification", "The invoice must state the specification that it follows (BT-24).", everywhere, func(i *Invoice) string { return i.Specification }),
	required("BR-02", "number", "The invoice must have a number (BT-1).", everywhere, func(i *Invoice) string { return i.Number }),
	required("BR-03", "issueDate", "The invoice must have a date of issue (BT-2), YYYY-MM-DD.", everywhere, func(i *Invoice) Date { return i.IssueDate }),
	required("BR-04", "typeCode", "The invoice must have a type code (BT-3).", everywhere, func(i *Invoice) string { return i.TypeCode }),
	required("BR-05", "currency", "The invoice must have a currency (BT-5).", everywhere, func(i *Invoice) string { return i.Currency }),
	{id: "BR-16", field: "lines", message: "The invoice must have at least one line (BG-25).", scope: withLines,
		holds: func(_ *checker, i *Invoice) bool { return len(i.Lines) > 0 }},
	{id: "BR-53", field: "totals.taxInTaxCurrency", message: "An invoice with a currency for VAT (BT-6) must have the VAT in it (BT-111).",
		holds: func(c *checker, i *Invoice) bool {
			if i.TaxCurrency == i.Currency && c.dialect != crossIndustry {
				return true // The VAT is in it already. CII forbids to repeat the currency.
			}
			return blank(i.TaxCurrency) || i.TaxCurrency != i.Currency && given(orNew(i.Totals).AccountedTax)
		}},
	{id: "BR-57", field: "delivery.address.country", message: "The address of delivery (BG-15) must have a country (BT-80).",
		holds: func(_ *checker, i *Invoice) bool {
			a := orNew(i.Delivery).Address
			return a == nil || !blank(a.Country)
		}},
	{id: "BR-CO-03", field: "taxPointCode", message: "The date (BT-7) and the event (BT-8) when VAT becomes due exclude each other.",
		holds: func(_ *checker, i *Invoice) bool { return blank(i.TaxPointDate) || blank(i.TaxPointCode) }},
	{id: "BR-CO-15", field: "totals.withTax", message: "The total with VAT (BT-112) must be the sum of the total without VAT (BT-109) and the VAT (BT-110).", scope: everywhere,
		holds: func(c *checker, i *Invoice) bool {
			t := orNew(i.Totals)
			if t.WithTax == nil || t.WithoutTax == nil {
				return true // BR-13 and BR-14
			}
			if t.Tax == nil && c.dialect == crossIndustry {
				return t.WithTax.equals(*t.WithoutTax)
			}
			return given(t.Tax) && t.WithTax.equals(t.WithoutTax.plus(*t.Tax).cents())
		},
		expected: func(_ *checker, i *Invoice) string {
			return or0(i.Totals.WithoutTax).plus(or0(i.Totals.Tax)).cents().String()
		}},
	{id: "BR-CO-18", field: "taxes", message: "The invoice must have at least one VAT breakdown (BG-23).",
		holds: func(_ *checker, i *Invoice) bool { return len(i.Taxes) > 0 }},
	{id: "BR-B-01", field: "taxes", message: "Split payment (category B) is for invoices within Italy.",
		holds: func(_ *checker, i *Invoice) bool { return !i.uses("B") || i.onlyIn("IT") }},
	{id: "BR-B-02", field: "taxes", message: "An invoice with split payment (category B) must not have the standard rate (S).",
		holds: func(_ *checker, i *Invoice) bool { return !i.uses("B") || !i.uses("S") }},
	{id: "CII-SR-467", field: "payments", message: "All payments must have the same means (BT-81).",
		holds: func(_ *checker, i *Invoice) bool {
			return !slices.ContainsFunc(i.Payments, func(p Payment) bool { return p.MeansCode != i.Payments[0].MeansCode })
		}},
}

// partyRules are the rules about the seller and the buyer.
func partyRules() []rule[Invoice] {
	rules := []rule[Invoice]{
		required("BR-06", "seller.name", "The seller must have a name (BT-27).", everywhere, func(i *Invoice) string { return i.seller().Name }),
		required("BR-07", "buyer.name", "The buyer must have a name (BT-44).", everywhere, func(i *Invoice) string { return i.buyer().Name }),
		{id: "BR-08", field: "seller.address", message: "The seller must have a postal address (BG-5).", scope: everywhere,
			holds: func(_ *checker, i *Invoice) bool { return given(i.seller().Address) }},
		required("BR-09", "seller.address.country", "The address of the seller must have a country (BT-40).", everywhere, func(i *Invoice) string { return orNew(i.seller().Address).Country }),
		{id: "BR-10", field: "buyer.address", message: "The buyer must have a postal address (BG-8).",
			holds: func(_ *checker, i *Invoice) bool { return given(i.buyer().Address) }},
		required("BR-11", "buyer.address.country", "The address of the buyer must have a country (BT-55).", withDocumentData, func(i *Invoice) string { return orNew(i.buyer().Address).Country }),
		{id: "BR-CO-26", field: "seller", message: "The seller must have an identifier (BT-29), a legal registration (BT-30) or a VAT identifier (BT-31).",
			holds: func(_ *checker, i *Invoice) bool {
				s := i.seller()
				return len(s.Identifiers) > 0 || given(s.LegalRegistration) || !blank(s.VATID)
			}},
	}
	for _, p := range []struct {
		json, address string
		get           func(*Invoice) *Party
	}{{"seller", "BR-62", (*Invoice).seller}, {"buyer", "BR-63", (*Invoice).buyer}} {
		rules = append(rules, rule[Invoice]{id: p.address, field: p.json + ".electronicAddress.scheme", message: "The electronic address must have a scheme.",
			holds: func(_ *checker, i *Invoice) bool {
				e := p.get(i).ElectronicAddress
				return e == nil || !blank(e.Scheme)
			}},
			coded("BR-CL-25", p.json+".electronicAddress.scheme", "electronic-address", "The scheme of an electronic address must be in the list EAS.", withDocumentData,
				func(i *Invoice) string { return orNew(p.get(i).ElectronicAddress).Scheme }),
			rule[Invoice]{id: "BR-CL-10", field: p.json + ".identifiers", message: "The scheme of an identifier must be in the list of ISO 6523.",
				holds: func(_ *checker, i *Invoice) bool {
					return !slices.ContainsFunc(p.get(i).Identifiers, func(id Identifier) bool { return !in("identifier-scheme", id.Scheme) })
				}},
			coded("BR-CL-11", p.json+".legalRegistration.scheme", "identifier-scheme", "The scheme of a registration must be in the list of ISO 6523.", everywhere,
				func(i *Invoice) string { return orNew(p.get(i).LegalRegistration).Scheme }),
			coded("BR-CL-14", p.json+".address.country", "country", "The country must be a code of ISO 3166-1.", everywhere,
				func(i *Invoice) string { return orNew(p.get(i).Address).Country }),
			rule[Invoice]{id: "BR-CO-09", field: p.json + ".vatId", message: "A VAT identifier must begin with the code of its country; EL is Greece.", scope: everywhere,
				holds: func(_ *checker, i *Invoice) bool { return vatPrefix(p.get(i).VATID) }})
	}
	return rules
}

// vatPrefix reports whether a VAT identifier begins with a country.
func vatPrefix(id string) bool {
	return id == "" || len(id) >= 2 && (in("country", id[:2]) || id[:2] == "EL" || id[:2] == "XI")
}

// codeRules are the rules about codes of the whole invoice.
var codeRules = []rule[Invoice]{
	coded("BR-CL-01", "typeCode", "document-type", "The type must be a code for invoices or credit notes of UNTDID 1001.", everywhere, func(i *Invoice) string { return i.TypeCode }),
	coded("BR-CL-04", "currency", "currency", "The currency must be a code of ISO 4217.", everywhere, func(i *Invoice) string { return i.Currency }),
	coded("BR-CL-05", "taxCurrency", "currency", "The currency for VAT must be a code of ISO 4217.", withDocumentData, func(i *Invoice) string { return i.TaxCurrency }),
	{id: "BR-CL-06", field: "taxPointCode", message: "The event when VAT becomes due must be 3, 35 or 432.",
		holds: func(_ *checker, i *Invoice) bool {
			return slices.Contains([]TaxPointCode{"", "3", "35", "432"}, i.TaxPointCode)
		}},
	coded("BR-CL-07", "invoicedObject.scheme", "reference-type", "The kind of an object must be a code of UNTDID 1153.", withLines, func(i *Invoice) string { return orNew(i.InvoicedObject).Scheme }),
	coded("BR-CL-14", "delivery.address.country", "country", "The country must be a code of ISO 3166-1.", withDocumentData, func(i *Invoice) string { return orNew(orNew(i.Delivery).Address).Country }),
	coded("BR-CL-14", "taxRepresentative.address.country", "country", "The country must be a code of ISO 3166-1.", withDocumentData,
		func(i *Invoice) string { return orNew(orNew(i.TaxRepresentative).Address).Country }),
	coded("BR-CL-26", "delivery.location.scheme", "identifier-scheme", "The scheme of a place of delivery must be in the list of ISO 6523.", withDocumentData,
		func(i *Invoice) string { return orNew(orNew(i.Delivery).Location).Scheme }),
	coded("BR-CL-10", "payee.identifier.scheme", "identifier-scheme", "The scheme of an identifier must be in the list of ISO 6523.", withDocumentData,
		func(i *Invoice) string { return orNew(orNew(i.Payee).Identifier).Scheme }),
	coded("BR-CL-11", "payee.legalRegistration.scheme", "identifier-scheme", "The scheme of a registration must be in the list of ISO 6523.", withDocumentData,
		func(i *Invoice) string { return orNew(orNew(i.Payee).LegalRegistration).Scheme }),
}

var totalsRules = []rule[Totals]{
	counted("BR-12", "lines", "The invoice must have the sum of its lines (BT-106).", withDocumentData, func(t *Totals) *Decimal { return t.Lines }),
	counted("BR-13", "withoutTax", "The invoice must have a total without VAT (BT-109).", everywhere, func(t *Totals) *Decimal { return t.WithoutTax }),
	counted("BR-14", "withTax", "The invoice must have a total with VAT (BT-112).", everywhere, func(t *Totals) *Decimal { return t.WithTax }),
	counted("BR-15", "due", "The invoice must have an amount due for payment (BT-115).", everywhere, func(t *Totals) *Decimal { return t.Due }),
	computed("BR-CO-10", "lines", "The sum of the lines (BT-106) must be that of their net amounts (BT-131).", withLines, func(t *Totals) *Decimal { return t.Lines },
		func(c *checker, _ *Totals) Decimal {
			return sum(c.invoice.Lines, func(l *Line) *Decimal { return l.NetAmount })
		}),
	computed("BR-CO-11", "allowances", "The sum of the allowances (BT-107) must be that of their amounts (BT-92).", withDocumentData, func(t *Totals) *Decimal { return t.Allowances }, allowancesOf),
	computed("BR-CO-12", "charges", "The sum of the charges (BT-108) must be that of their amounts (BT-99).", withDocumentData, func(t *Totals) *Decimal { return t.Charges }, chargesOf),
	{id: "BR-CO-11", field: "allowances", message: "An invoice with allowances (BG-20) must have their sum (BT-107).",
		holds: func(c *checker, t *Totals) bool { return len(c.invoice.Allowances) == 0 || given(t.Allowances) }, expected: textOf(allowancesOf)},
	{id: "BR-CO-12", field: "charges", message: "An invoice with charges (BG-21) must have their sum (BT-108).",
		holds: func(c *checker, t *Totals) bool { return len(c.invoice.Charges) == 0 || given(t.Charges) }, expected: textOf(chargesOf)},
	computed("BR-CO-13", "withoutTax", "The total without VAT (BT-109) must be the lines (BT-106) less allowances (BT-107) plus charges (BT-108).", withDocumentData,
		func(t *Totals) *Decimal { return t.WithoutTax },
		func(_ *checker, t *Totals) Decimal {
			return or0(t.Lines).minus(or0(t.Allowances)).plus(or0(t.Charges)).cents()
		}),
	computed("BR-CO-14", "tax", "The VAT (BT-110) must be the sum of the VAT of all categories (BT-117).", withDocumentData, func(t *Totals) *Decimal { return t.Tax },
		func(c *checker, _ *Totals) Decimal {
			return sum(c.invoice.Taxes, func(t *Tax) *Decimal { return t.Amount })
		}),
	computed("BR-CO-16", "due", "The amount due (BT-115) must be the total with VAT (BT-112) less the paid amount (BT-113) plus the rounding (BT-114).", withDocumentData,
		func(t *Totals) *Decimal { return t.Due },
		func(_ *checker, t *Totals) Decimal { return or0(t.WithTax).minus(or0(t.Paid)).plus(or0(t.Rounding)) }),
	inCents("BR-DEC-09", "lines", "The sum of the lines (BT-106)", withDocumentData, func(t *Totals) *Decimal { return t.Lines }),
	inCents("BR-DEC-10", "allowances", "The sum of the allowances (BT-107)", withDocumentData, func(t *Totals) *Decimal { return t.Allowances }),
	inCents("BR-DEC-11", "charges", "The sum of the charges (BT-108)", withDocumentData, func(t *Totals) *Decimal { return t.Charges }),
	inCents("BR-DEC-12", "withoutTax", "The total without VAT (BT-109)", everywhere, func(t *Totals) *Decimal { return t.WithoutTax }),
	inCents("BR-DEC-13", "tax", "The VAT (BT-110)", everywhere, func(t *Totals) *Decimal { return t.Tax }),
	inCents("BR-DEC-14", "withTax", "The total with VAT (BT-112)", everywhere, func(t *Totals) *Decimal { return t.WithTax }),
	inCents("BR-DEC-15", "taxInTaxCurrency", "The VAT in the currency for VAT (BT-111)", withDocumentData, func(t *Totals) *Decimal { return t.AccountedTax }),
	inCents("BR-DEC-16", "paid", "The paid amount (BT-113)", withDocumentData, func(t *Totals) *Decimal { return t.Paid }),
	inCents("BR-DEC-17", "rounding", "The rounding (BT-114)", withDocumentData, func(t *Totals) *Decimal { return t.Rounding }),
	inCents("BR-DEC-18", "due", "The amount due (BT-115)", everywhere, func(t *Totals) *Decimal { return t.Due }),
}

func allowancesOf(c *checker, _ *Totals) Decimal {
	return sum(c.invoice.Allowances, func(a *Allowance) *Decimal { return a.Amount })
}

func chargesOf(c *checker, _ *Totals) Decimal {
	return sum(c.invoice.Charges, func(a *Allowance) *Decimal { return a.Amount })
}

func textOf[T any](value func(*checker, *T) Decimal) func(*checker, *T) string {
	return func(c *checker, v *T) string { return value(c, v).String() }
}

// sum adds amounts, rounded to cents.
func sum[T any](list []T, amount func(v *T) *Decimal) (total Decimal) {
	for i := range list {
		total = total.plus(or0(amount(&list[i])))
	}
	return total.cents()
}

var payeeRules = []rule[Payee]{
	{id: "BR-17", field: "name", message: "A payee (BG-10) must have a name (BT-59) and must not be the seller.",
		holds: func(c *checker, p *Payee) bool {
			s := c.invoice.seller()
			same := given(p.Identifier) && slices.ContainsFunc(s.Identifiers, func(id Identifier) bool { return id.Value == p.Identifier.Value }) ||
				given(p.LegalRegistration) && given(s.LegalRegistration) && p.LegalRegistration.Value == s.LegalRegistration.Value
			return !blank(p.Name) && p.Name != s.Name && !same
		}},
}

var representativeRules = []rule[TaxRepresentative]{
	required("BR-18", "name", "A tax representative (BG-11) must have a name (BT-62).", withDocumentData, func(r *TaxRepresentative) string { return r.Name }),
	{id: "BR-19", field: "address", message: "A tax representative must have a postal address (BG-12).",
		holds: func(_ *checker, r *TaxRepresentative) bool { return given(r.Address) }},
	required("BR-20", "address.country", "The address of a tax representative must have a country (BT-69).", withDocumentData,
		func(r *TaxRepresentative) string { return orNew(r.Address).Country }),
	required("BR-56", "vatId", "A tax representative must have a VAT identifier (BT-63).", withDocumentData, func(r *TaxRepresentative) string { return r.VATID }),
	{id: "BR-CO-09", field: "vatId", message: "A VAT identifier must begin with the code of its country; EL is Greece.",
		holds: func(_ *checker, r *TaxRepresentative) bool { return vatPrefix(r.VATID) }},
}

func periodHolds(_ *checker, p *Period) bool {
	return blank(p.Start) || blank(p.End) || p.Start <= p.End
}
func periodGiven(_ *checker, p *Period) bool { return !blank(p.Start) || !blank(p.End) }

var periodRules = []rule[Period]{
	{id: "BR-29", field: "end", message: "The period (BG-14) must not end (BT-74) before it starts (BT-73).", holds: periodHolds},
	{id: "BR-CO-19", message: "The period (BG-14) must have a start (BT-73) or an end (BT-74).", holds: periodGiven},
}

var linePeriodRules = []rule[Period]{
	{id: "BR-30", field: "end", message: "The period of a line (BG-26) must not end (BT-135) before it starts (BT-134).", holds: periodHolds},
	{id: "BR-CO-20", message: "The period of a line (BG-26) must have a start (BT-134) or an end (BT-135).", holds: periodGiven},
}

var precedingRules = []rule[PrecedingInvoice]{
	required("BR-55", "number", "A preceding invoice (BG-3) must have a number (BT-25).", withDocumentData, func(p *PrecedingInvoice) string { return p.Number }),
}

var noteRules = []rule[Note]{
	coded("BR-CL-08", "subjectCode", "note-subject", "The subject of a note must be a code of UNTDID 4451.", withDocumentData, func(n *Note) string { return n.SubjectCode }),
}

var attachmentRules = []rule[Attachment]{
	required("BR-52", "reference", "A supporting document (BG-24) must have a reference (BT-122).", withLines, func(a *Attachment) string { return a.Reference }),
	{id: "BR-CL-24", field: "mimeType", message: "The MIME type of an attachment must be that of PDF, PNG, JPEG, CSV, XLSX or ODS.", scope: withLines,
		holds: func(_ *checker, a *Attachment) bool {
			return len(a.Content) == 0 && a.MIMEType == "" || slices.Contains(attachmentTypes, a.MIMEType)
		}},
	{id: "BR-DE-22", field: "filename", message: "All attachments must have different file names.", scope: germany,
		holds: func(c *checker, a *Attachment) bool {
			if c.filenames == nil {
				c.filenames = map[string]int{}
				for i := range c.invoice.Attachments {
					c.filenames[c.invoice.Attachments[i].Filename]++
				}
			}
			return a.Filename == "" || c.filenames[a.Filename] < 2
		}},
	{id: "BR-TMP-2", field: "url", message: "The URL of a supporting document (BT-124) must be absolute.", scope: germany, warning: true,
		holds: func(_ *checker, a *Attachment) bool { return a.URL == "" || urlPattern.MatchString(a.URL) }},
}

var urlPattern = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]+:.*`)

var creditTransfers = []string{"30", "58"}

var paymentRules = slices.Concat([]rule[Payment]{
	required("BR-49", "meansCode", "A payment (BG-16) must have the code of its means (BT-81).", withDocumentData, func(p *Payment) string { return p.MeansCode }),
	{id: "BR-50", field: "account", message: "A credit transfer (BG-17) must have an account (BT-84).",
		holds: func(_ *checker, p *Payment) bool { return !blank(p.Account) || blank(p.AccountName) && blank(p.BIC) }},
	{id: "BR-51", field: "card.number", message: "A card number (BT-87) must be its last 4 to 6 digits; 10 characters are the maximum.",
		holds: func(_ *checker, p *Payment) bool { return p.Card == nil || len(strings.TrimSpace(p.Card.Number)) <= 10 }},
	{id: "BR-61", field: "account", message: "A payment by credit transfer (30, 58) must have an account (BT-84).",
		holds: func(_ *checker, p *Payment) bool {
			return !slices.Contains(creditTransfers, p.MeansCode) || !blank(p.Account)
		}},
	coded("BR-CL-16", "meansCode", "payment-means", "The means of payment must be a code of UNTDID 4461.", withDocumentData, func(p *Payment) string { return p.MeansCode }),
}, germanPaymentRules)

// lineRules are the rules about each line.
func lineRules() []rule[Line] {
	return slices.Concat([]rule[Line]{
		required("BR-21", "id", "A line must have an identifier (BT-126).", withLines, func(l *Line) string { return l.ID }),
		counted("BR-22", "quantity", "A line must have a quantity (BT-129).", withLines, func(l *Line) *Decimal { return l.Quantity }),
		required("BR-23", "unit", "The quantity of a line must have a unit (BT-130).", withLines, func(l *Line) string { return l.Unit }),
		counted("BR-24", "netAmount", "A line must have a net amount (BT-131).", withLines, func(l *Line) *Decimal { return l.NetAmount }),
		required("BR-25", "name", "A line must have the name of its item (BT-153).", withLines, func(l *Line) string { return l.Name }),
		counted("BR-26", "price", "A line must have a net price (BT-146).", withLines, func(l *Line) *Decimal { return l.Price }),
		{id: "BR-27", field: "price", message: "The net price (BT-146) must not be negative.", scope: withLines,
			holds: func(_ *checker, l *Line) bool { return or0(l.Price).sign() >= 0 }},
		{id: "BR-28", field: "grossPrice", message: "The gross price (BT-148) must not be negative.", scope: withLines,
			holds: func(_ *checker, l *Line) bool { return or0(l.GrossPrice).sign() >= 0 }},
		{id: "BR-64", field: "standardItemId.scheme", message: "A standard item number (BT-157) must have a scheme.", scope: withLines,
			holds: func(_ *checker, l *Line) bool { return l.StandardItemID == nil || !blank(l.StandardItemID.Scheme) }},
		required("BR-CO-04", "taxCategory", "A line must have a VAT category (BT-151).", withLines, func(l *Line) string { return l.Category }),
		inCents("BR-DEC-23", "netAmount", "The net amount of a line (BT-131)", withLines, func(l *Line) *Decimal { return l.NetAmount }),
		coded("BR-CL-07", "invoicedObject.scheme", "reference-type", "The kind of an object must be a code of UNTDID 1153.", withLines, func(l *Line) string { return orNew(l.InvoicedObject).Scheme }),
		coded("BR-CL-15", "originCountry", "country", "The country of origin must be a code of ISO 3166-1.", withLines, func(l *Line) string { return l.OriginCountry }),
		coded("BR-CL-18", "taxCategory", "tax-category", "The VAT category must be a code of UNTDID 5305 that invoices use.", withLines, func(l *Line) string { return l.Category }),
		coded("BR-CL-21", "standardItemId.scheme", "identifier-scheme", "The scheme of an item number must be in the list of ISO 6523.", withLines, func(l *Line) string { return orNew(l.StandardItemID).Scheme }),
		coded("BR-CL-23", "unit", "unit", "The unit must be a code of UN/ECE recommendation 20 or 21.", withLines, func(l *Line) string { return l.Unit }),
		coded("BR-CL-23", "priceUnit", "unit", "The unit must be a code of UN/ECE recommendation 20 or 21.", withLines, func(l *Line) string { return l.PriceUnit }),
	}, vatLineRules())
}

var classificationRules = []rule[Classification]{
	required("BR-65", "list", "The class of an item (BT-158) must name its list.", withLines, func(c *Classification) string { return c.List }),
	coded("BR-CL-13", "list", "item-classification", "The list of a class must be a code of UNTDID 7143.", withLines, func(c *Classification) string { return c.List }),
}

var attributeRules = []rule[Attribute]{
	{id: "BR-54", message: "A property of an item (BG-32) must have a name (BT-160) and a value (BT-161).", scope: withLines,
		holds: func(_ *checker, a *Attribute) bool { return !blank(a.Name) && !blank(a.Value) }},
}

func lineAllowanceAmount(a *LineAllowance) *Decimal { return a.Amount }
func lineAllowanceBase(a *LineAllowance) *Decimal   { return a.Base }

func lineReasoned(_ *checker, a *LineAllowance) bool { return !blank(a.Reason) || !blank(a.ReasonCode) }

var lineAllowanceRules = []rule[LineAllowance]{
	counted("BR-41", "amount", "An allowance of a line (BG-27) must have an amount (BT-136).", withLines, lineAllowanceAmount),
	{id: "BR-42", field: "reason", message: "An allowance of a line must have a reason (BT-139) or its code (BT-140).", scope: withLines, holds: lineReasoned},
	{id: "BR-CO-23", field: "reason", message: "An allowance of a line must have a reason (BT-139), its code (BT-140), or both.", scope: withLines, holds: lineReasoned},
	inCents("BR-DEC-24", "amount", "The amount of an allowance of a line (BT-136)", withLines, lineAllowanceAmount),
	inCents("BR-DEC-25", "base", "The base of an allowance of a line (BT-137)", withLines, lineAllowanceBase),
	coded("BR-CL-19", "reasonCode", "allowance-reason", "The reason of an allowance must be a code of UNTDID 5189.", withLines, func(a *LineAllowance) string { return a.ReasonCode }),
}

var lineChargeRules = []rule[LineAllowance]{
	counted("BR-43", "amount", "A charge of a line (BG-28) must have an amount (BT-141).", withLines, lineAllowanceAmount),
	{id: "BR-44", field: "reason", message: "A charge of a line must have a reason (BT-144) or its code (BT-145).", scope: withLines, holds: lineReasoned},
	{id: "BR-CO-24", field: "reason", message: "A charge of a line must have a reason (BT-144), its code (BT-145), or both.", scope: withLines, holds: lineReasoned},
	inCents("BR-DEC-27", "amount", "The amount of a charge of a line (BT-141)", withLines, lineAllowanceAmount),
	inCents("BR-DEC-28", "base", "The base of a charge of a line (BT-142)", withLines, lineAllowanceBase),
	coded("BR-CL-20", "reasonCode", "charge-reason", "The reason of a charge must be a code of UNTDID 7161.", withLines, func(a *LineAllowance) string { return a.ReasonCode }),
}

func allowanceAmount(a *Allowance) *Decimal { return a.Amount }
func allowanceBase(a *Allowance) *Decimal   { return a.Base }

func reasoned(_ *checker, a *Allowance) bool { return !blank(a.Reason) || !blank(a.ReasonCode) }

// allowanceRules are the rules about each allowance on the whole invoice.
func allowanceRules() []rule[Allowance] {
	return slices.Concat([]rule[Allowance]{
		counted("BR-31", "amount", "An allowance (BG-20) must have an amount (BT-92).", withDocumentData, allowanceAmount),
		required("BR-32", "taxCategory", "An allowance must have a VAT category (BT-95).", withDocumentData, func(a *Allowance) string { return a.Category }),
		{id: "BR-33", field: "reason", message: "An allowance must have a reason (BT-97) or its code (BT-98).", holds: reasoned},
		{id: "BR-CO-21", field: "reason", message: "An allowance must have a reason (BT-97), its code (BT-98), or both.", holds: reasoned},
		inCents("BR-DEC-01", "amount", "The amount of an allowance (BT-92)", withDocumentData, allowanceAmount),
		inCents("BR-DEC-02", "base", "The base of an allowance (BT-93)", withDocumentData, allowanceBase),
		coded("BR-CL-17", "taxCategory", "tax-category", "The VAT category must be a code of UNTDID 5305 that invoices use.", withDocumentData, func(a *Allowance) string { return a.Category }),
		coded("BR-CL-19", "reasonCode", "allowance-reason", "The reason of an allowance must be a code of UNTDID 5189.", withDocumentData, func(a *Allowance) string { return a.ReasonCode }),
	}, vatAllowanceRules(3))
}

// chargeRules are the rules about each charge on the whole invoice.
func chargeRules() []rule[Allowance] {
	return slices.Concat([]rule[Allowance]{
		counted("BR-36", "amount", "A charge (BG-21) must have an amount (BT-99).", withDocumentData, allowanceAmount),
		required("BR-37", "taxCategory", "A charge must have a VAT category (BT-102).", withDocumentData, func(a *Allowance) string { return a.Category }),
		{id: "BR-38", field: "reason", message: "A charge must have a reason (BT-104) or its code (BT-105).", holds: reasoned},
		{id: "BR-CO-22", field: "reason", message: "A charge must have a reason (BT-104), its code (BT-105), or both.", holds: reasoned},
		inCents("BR-DEC-05", "amount", "The amount of a charge (BT-99)", withDocumentData, allowanceAmount),
		inCents("BR-DEC-06", "base", "The base of a charge (BT-100)", withDocumentData, allowanceBase),
		coded("BR-CL-17", "taxCategory", "tax-category", "The VAT category must be a code of UNTDID 5305 that invoices use.", withDocumentData, func(a *Allowance) string { return a.Category }),
		coded("BR-CL-20", "reasonCode", "charge-reason", "The reason of a charge must be a code of UNTDID 7161.", withDocumentData, func(a *Allowance) string { return a.ReasonCode }),
	}, vatAllowanceRules(4))
}

// taxRules are the rules about the VAT of each category and rate.
func taxRules() []rule[Tax] {
	return slices.Concat([]rule[Tax]{
		counted("BR-45", "base", "A VAT breakdown (BG-23) must have a taxed amount (BT-116).", withDocumentData, func(t *Tax) *Decimal { return t.Base }),
		counted("BR-46", "amount", "A VAT breakdown must have a VAT amount (BT-117).", withDocumentData, func(t *Tax) *Decimal { return t.Amount }),
		required("BR-47", "category", "A VAT breakdown must have a category (BT-118).", withDocumentData, func(t *Tax) string { return t.Category }),
		{id: "BR-48", field: "rate", message: "A VAT breakdown must have a rate (BT-119), unless its category is O.",
			holds: func(_ *checker, t *Tax) bool { return given(t.Rate) || t.Category == "O" }},
		{id: "BR-CO-17", field: "amount", message: "The VAT (BT-117) must be the taxed amount (BT-116) times the rate (BT-119), rounded to cents.",
			holds: func(_ *checker, t *Tax) bool {
				return t.Amount == nil || t.Base == nil || near(t.Amount.abs(), t.Base.abs().times(or0(t.Rate)).times(percent).cents())
			},
			expected: func(_ *checker, t *Tax) string { return t.Base.times(or0(t.Rate)).times(percent).cents().String() }},
		inCents("BR-DEC-19", "base", "The taxed amount (BT-116)", withDocumentData, func(t *Tax) *Decimal { return t.Base }),
		inCents("BR-DEC-20", "amount", "The VAT (BT-117)", withDocumentData, func(t *Tax) *Decimal { return t.Amount }),
		coded("BR-CL-18", "category", "tax-category", "The VAT category must be a code of UNTDID 5305 that invoices use.", withDocumentData, func(t *Tax) string { return t.Category }),
		{id: "BR-CL-22", field: "exemptionReasonCode", message: "The reason of an exemption must be a code of the list VATEX.",
			holds: func(_ *checker, t *Tax) bool { return in("exemption-reason", strings.ToUpper(t.ExemptionReasonCode)) }},
		{id: "BR-DE-14", field: "rate", message: "A VAT breakdown must have a rate (BT-119).", scope: germany,
			holds: func(_ *checker, t *Tax) bool { return given(t.Rate) }},
	}, vatTaxRules())
}
