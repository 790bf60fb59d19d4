package einvoice

import (
	"slices"
	"strings"
	"testing"
)

// TestGeneratedInvoicesBreakNoRule checks the good invoices of the property test.
func TestGeneratedInvoicesBreakNoRule(t *testing.T) {
	for seed := range uint64(generated) {
		for _, profile := range Profiles() {
			invoice := generateFor(seed, profile)
			for _, syntax := range []Syntax{CII, UBL} {
				if findings := Check(invoice, syntax, profile); len(findings) > 0 {
					t.Fatalf("%d %s %s: %+v", seed, syntax, profile, findings[0])
				}
			}
		}
	}
}

// TestWrongDateBreaksOneRule checks that a date that is none is reported once, not as missing too.
func TestWrongDateBreaksOneRule(t *testing.T) {
	invoice := generate(0)
	invoice.Specification, invoice.IssueDate = EN16931.Specification(), "13/01/2026"
	findings := Check(invoice, CII, EN16931)
	if len(findings) != 1 || findings[0].Rule != Structure || findings[0].JSONPath != "issueDate" {
		t.Errorf("%+v", findings)
	}
}

// xrechnung adds what XRechnung requires.
func xrechnung(i *Invoice) {
	i.Specification = XRechnung.Specification()
	i.BuyerReference = "04011000-12345-67"
	i.PrecedingInvoices = i.PrecedingInvoices[:min(1, len(i.PrecedingInvoices))] // D16B has one
	for k := range i.Taxes {                                                     // The rules of XRechnung and EN 16931 contradict each other about O.
		if i.Taxes[k].Rate == nil {
			i.Taxes[k].Rate = number("0")
		}
	}
}

// fault is an error that is planted in an invoice, and the rule that finds it.
type fault struct {
	rule  string
	plant func(i *Invoice)
}

// categorySeed is a seed of an invoice with a category.
var categorySeed = map[string]uint64{"S": 0, "Z": 31, "E": 5, "AE": 2, "K": 3, "G": 4, "L": 6, "M": 7, "O": 8}

func (i *Invoice) allowance() *Allowance {
	l := i.Lines[0]
	i.Allowances = append(i.Allowances, Allowance{Amount: number("0.00"), Category: l.Category, Rate: l.Rate, Reason: "Rabatt"})
	if i.Totals.Allowances == nil {
		i.Totals.Allowances = number("0")
	}
	return &i.Allowances[len(i.Allowances)-1]
}

func (i *Invoice) charge() *Allowance {
	l := i.Lines[0]
	i.Charges = append(i.Charges, Allowance{Amount: number("0.00"), Category: l.Category, Rate: l.Rate, Reason: "Fracht"})
	if i.Totals.Charges == nil {
		i.Totals.Charges = number("0")
	}
	return &i.Charges[len(i.Charges)-1]
}

func (l *Line) allowance() *LineAllowance {
	l.Allowances = append(l.Allowances, LineAllowance{Amount: number("1.00"), Reason: "Rabatt"})
	return &l.Allowances[len(l.Allowances)-1]
}

func (l *Line) charge() *LineAllowance {
	l.Charges = append(l.Charges, LineAllowance{Amount: number("1.00"), Reason: "Fracht"})
	return &l.Charges[len(l.Charges)-1]
}

// off adds a number to an amount.
func off(d *Decimal, by string) *Decimal {
	sum := d.plus(*number(by))
	return &sum
}

var faults = []fault{
	{"BR-02", func(i *Invoice) { i.Number = "" }},
	{"BR-03", func(i *Invoice) { i.IssueDate = "" }},
	{"BR-04", func(i *Invoice) { i.TypeCode = "" }},
	{"BR-05", func(i *Invoice) { i.Currency = "" }},
	{"BR-06", func(i *Invoice) { i.Seller.Name = "" }},
	{"BR-07", func(i *Invoice) { i.Buyer.Name = " " }},
	{"BR-08", func(i *Invoice) { i.Seller.Address = nil }},
	{"BR-09", func(i *Invoice) { i.Seller.Address.Country = "" }},
	{"BR-10", func(i *Invoice) { i.Buyer.Address = nil }},
	{"BR-11", func(i *Invoice) { i.Buyer.Address.Country = "" }},
	{"BR-12", func(i *Invoice) { i.Totals.Lines = nil }},
	{"BR-13", func(i *Invoice) { i.Totals.WithoutTax = nil }},
	{"BR-14", func(i *Invoice) { i.Totals.WithTax = nil }},
	{"BR-15", func(i *Invoice) { i.Totals.Due = nil }},
	{"BR-16", func(i *Invoice) { i.Lines = nil }},
	{"BR-17", func(i *Invoice) { i.Payee = &Payee{Name: i.Seller.Name} }},
	{"BR-18", func(i *Invoice) { i.TaxRepresentative = representative(); i.TaxRepresentative.Name = "" }},
	{"BR-19", func(i *Invoice) { i.TaxRepresentative = representative(); i.TaxRepresentative.Address = nil }},
	{"BR-20", func(i *Invoice) { i.TaxRepresentative = representative(); i.TaxRepresentative.Address.Country = "" }},
	{"BR-21", func(i *Invoice) { i.Lines[0].ID = "" }},
	{"BR-22", func(i *Invoice) { i.Lines[0].Quantity = nil; i.Lines[0].Unit = "" }},
	{"BR-23", func(i *Invoice) { i.Lines[0].Unit = "" }},
	{"BR-24", func(i *Invoice) { i.Lines[0].NetAmount = nil }},
	{"BR-25", func(i *Invoice) { i.Lines[0].Name = "" }},
	{"BR-26", func(i *Invoice) { i.Lines[0].Price = nil }},
	{"BR-27", func(i *Invoice) { i.Lines[0].Price = number("-1") }},
	{"BR-28", func(i *Invoice) { i.Lines[0].GrossPrice = number("-1") }},
	{"BR-29", func(i *Invoice) { i.Period = &Period{Start: "2026-05-02", End: "2026-05-01"} }},
	{"BR-30", func(i *Invoice) { i.Lines[0].Period = &Period{Start: "2026-05-02", End: "2026-05-01"} }},
	{"BR-31", func(i *Invoice) { i.allowance().Amount = nil }},
	{"BR-32", func(i *Invoice) { a := i.allowance(); a.Category, a.Rate = "", nil }},
	{"BR-33", func(i *Invoice) { i.allowance().Reason = "" }},
	{"BR-36", func(i *Invoice) { i.charge().Amount = nil }},
	{"BR-37", func(i *Invoice) { a := i.charge(); a.Category, a.Rate = "", nil }},
	{"BR-38", func(i *Invoice) { i.charge().Reason = "" }},
	{"BR-41", func(i *Invoice) { i.Lines[0].allowance().Amount = nil }},
	{"BR-42", func(i *Invoice) { i.Lines[0].allowance().Reason = "" }},
	{"BR-43", func(i *Invoice) { i.Lines[0].charge().Amount = nil }},
	{"BR-44", func(i *Invoice) { i.Lines[0].charge().Reason = "" }},
	{"BR-45", func(i *Invoice) { i.Taxes[0].Base = nil }},
	{"BR-46", func(i *Invoice) { i.Taxes[0].Amount = nil }},
	{"BR-47", func(i *Invoice) { i.Taxes[0].Category = "" }},
	{"BR-48", func(i *Invoice) { i.Taxes[0].Rate = nil }},
	{"BR-49", func(i *Invoice) { i.Payments = []Payment{{Account: "DE89370400440532013000"}} }},
	{"BR-50", func(i *Invoice) { i.Payments = []Payment{{MeansCode: "58", AccountName: "Müller"}} }},
	{"BR-51", func(i *Invoice) { i.Payments = []Payment{{MeansCode: "48", Card: &Card{Number: "4111111111111111"}}} }},
	{"BR-52", func(i *Invoice) { i.Attachments = []Attachment{{Description: "x"}} }},
	{"BR-53", func(i *Invoice) { i.TaxCurrency, i.Totals.AccountedTax = "USD", nil }},
	{"BR-54", func(i *Invoice) { i.Lines[0].Attributes = []Attribute{{Name: "Farbe"}} }},
	{"BR-55", func(i *Invoice) { i.PrecedingInvoices = []PrecedingInvoice{{IssueDate: "2026-01-01"}} }},
	{"BR-56", func(i *Invoice) { i.TaxRepresentative = representative(); i.TaxRepresentative.VATID = "" }},
	{"BR-57", func(i *Invoice) { i.Delivery.Address.Country = "" }},
	{"BR-61", func(i *Invoice) { i.Payments = []Payment{{MeansCode: "30", AccountName: "Müller"}} }},
	{"BR-62", func(i *Invoice) { i.Seller.ElectronicAddress.Scheme = "" }},
	{"BR-63", func(i *Invoice) { i.Buyer.ElectronicAddress.Scheme = "" }},
	{"BR-64", func(i *Invoice) { i.Lines[0].StandardItemID = &Identifier{Value: "4012345001235"} }},
	{"BR-65", func(i *Invoice) { i.Lines[0].Classifications = []Classification{{Code: "1"}} }},
	{"BR-B-01", func(i *Invoice) { i.Lines[0].Category = "B" }},
	{"BR-B-02", func(i *Invoice) { i.allowance().Category = "B" }},
	{"BR-CO-03", func(i *Invoice) { i.TaxPointDate, i.TaxPointCode = "2026-05-01", "35" }},
	{"BR-CO-04", func(i *Invoice) { i.Lines[0].Category = "" }},
	{"BR-CO-09", func(i *Invoice) { i.Seller.VATID = "123456789" }},
	{"BR-CO-09", func(i *Invoice) { i.Buyer.VATID = "QQ123456789" }},
	{"BR-CO-10", func(i *Invoice) { i.Totals.Lines = off(i.Totals.Lines, "0.01") }},
	{"BR-CO-10", func(i *Invoice) { i.Lines[0].NetAmount = off(i.Lines[0].NetAmount, "-7") }},
	{"BR-CO-11", func(i *Invoice) { i.allowance().Amount = number("0.01") }},
	{"BR-CO-12", func(i *Invoice) { i.charge().Amount = number("0.01") }},
	{"BR-CO-13", func(i *Invoice) { i.Totals.WithoutTax = off(i.Totals.WithoutTax, "100") }},
	{"BR-CO-14", func(i *Invoice) { i.Totals.Tax = off(i.Totals.Tax, "-0.01") }},
	{"BR-CO-15", func(i *Invoice) { i.Totals.WithTax = off(i.Totals.WithTax, "0.10") }},
	{"BR-CO-15", func(i *Invoice) { i.Totals.Tax = nil }},
	{"BR-CO-16", func(i *Invoice) { i.Totals.Due = off(i.Totals.Due, "0.01") }},
	{"BR-CO-16", func(i *Invoice) { i.Totals.Paid = off(&zero, "77.7") }},
	{"BR-CO-17", func(i *Invoice) { i.Taxes[0].Amount = off(i.Taxes[0].Amount, "2") }},
	{"BR-CO-18", func(i *Invoice) { i.Taxes = nil }},
	{"BR-CO-19", func(i *Invoice) { i.Period = &Period{} }},
	{"BR-CO-20", func(i *Invoice) { i.Lines[0].Period = &Period{} }},
	{"BR-CO-21", func(i *Invoice) { i.allowance().Reason = "" }},
	{"BR-CO-22", func(i *Invoice) { i.charge().Reason = "" }},
	{"BR-CO-23", func(i *Invoice) { i.Lines[0].allowance().Reason = "" }},
	{"BR-CO-24", func(i *Invoice) { i.Lines[0].charge().Reason = "" }},
	{"BR-CO-26", func(i *Invoice) { i.Seller.Identifiers, i.Seller.LegalRegistration, i.Seller.VATID = nil, nil, "" }},
	{"CII-SR-467", func(i *Invoice) { i.Payments = []Payment{{MeansCode: "10"}, {MeansCode: "20"}} }},

	{"BR-DEC-01", func(i *Invoice) { i.allowance().Amount = number("0.001") }},
	{"BR-DEC-02", func(i *Invoice) { i.allowance().Base = number("0.001") }},
	{"BR-DEC-05", func(i *Invoice) { i.charge().Amount = number("0.001") }},
	{"BR-DEC-06", func(i *Invoice) { i.charge().Base = number("0.001") }},
	{"BR-DEC-09", func(i *Invoice) { i.Totals.Lines = off(i.Totals.Lines, "0.000") }},
	{"BR-DEC-10", func(i *Invoice) { i.allowance(); i.Totals.Allowances = off(i.Totals.Allowances, "0.000") }},
	{"BR-DEC-11", func(i *Invoice) { i.charge(); i.Totals.Charges = off(i.Totals.Charges, "0.000") }},
	{"BR-DEC-12", func(i *Invoice) { i.Totals.WithoutTax = off(i.Totals.WithoutTax, "0.000") }},
	{"BR-DEC-13", func(i *Invoice) { i.Totals.Tax = off(i.Totals.Tax, "0.001") }},
	{"BR-DEC-14", func(i *Invoice) { i.Totals.WithTax = off(i.Totals.WithTax, "0.000") }},
	{"BR-DEC-15", func(i *Invoice) { i.TaxCurrency, i.Totals.AccountedTax = "USD", number("1.001") }},
	{"BR-DEC-16", func(i *Invoice) { i.Totals.Paid = number("0.000") }},
	{"BR-DEC-17", func(i *Invoice) { i.Totals.Rounding = number("0.000") }},
	{"BR-DEC-18", func(i *Invoice) { i.Totals.Due = off(i.Totals.Due, "0.000") }},
	{"BR-DEC-19", func(i *Invoice) { i.Taxes[0].Base = off(i.Taxes[0].Base, "0.000") }},
	{"BR-DEC-20", func(i *Invoice) { i.Taxes[0].Amount = off(i.Taxes[0].Amount, "0.000") }},
	{"BR-DEC-23", func(i *Invoice) { i.Lines[0].NetAmount = off(i.Lines[0].NetAmount, "0.000") }},
	{"BR-DEC-24", func(i *Invoice) { i.Lines[0].allowance().Amount = number("0.001") }},
	{"BR-DEC-25", func(i *Invoice) { i.Lines[0].allowance().Base = number("0.001") }},
	{"BR-DEC-27", func(i *Invoice) { i.Lines[0].charge().Amount = number("0.001") }},
	{"BR-DEC-28", func(i *Invoice) { i.Lines[0].charge().Base = number("0.001") }},

	{"BR-CL-01", func(i *Invoice) { i.TypeCode = "999" }},
	{"BR-CL-04", func(i *Invoice) { i.Currency = "EURO" }},
	{"BR-CL-05", func(i *Invoice) { i.TaxCurrency, i.Totals.AccountedTax = "XYZ", number("1") }},
	{"BR-CL-06", func(i *Invoice) { i.TaxPointDate, i.TaxPointCode = "", "9" }},
	{"BR-CL-07", func(i *Invoice) { i.InvoicedObject = &ObjectReference{Value: "1", Scheme: "0000"} }},
	{"BR-CL-07", func(i *Invoice) { i.Lines[0].InvoicedObject = &ObjectReference{Value: "1", Scheme: "0000"} }},
	{"BR-CL-08", func(i *Invoice) { i.Notes = []Note{{Text: "x", SubjectCode: "QQQ"}} }},
	{"BR-CL-10", func(i *Invoice) { i.Seller.Identifiers = []Identifier{{Value: "1", Scheme: "GLN"}} }},
	{"BR-CL-10", func(i *Invoice) { i.Payee = &Payee{Name: "X", Identifier: &Identifier{Value: "1", Scheme: "GLN"}} }},
	{"BR-CL-11", func(i *Invoice) { i.Buyer.LegalRegistration = &Identifier{Value: "1", Scheme: "HRB"} }},
	{"BR-CL-13", func(i *Invoice) { i.Lines[0].Classifications = []Classification{{Code: "1", List: "CPV"}} }},
	{"BR-CL-14", func(i *Invoice) { i.Seller.Address.Country = "Deutschland" }},
	{"BR-CL-14", func(i *Invoice) { i.Delivery.Address.Country = "UK" }},
	{"BR-CL-15", func(i *Invoice) { i.Lines[0].OriginCountry = "EU" }},
	{"BR-CL-16", func(i *Invoice) { i.Payments = []Payment{{MeansCode: "SEPA"}} }},
	{"BR-CL-17", func(i *Invoice) { i.allowance().Category = "X" }},
	{"BR-CL-18", func(i *Invoice) { i.Lines[0].Category = "X" }},
	{"BR-CL-18", func(i *Invoice) { i.Taxes[0].Category = "VAT" }},
	{"BR-CL-19", func(i *Invoice) { i.allowance().ReasonCode = "FC" }},
	{"BR-CL-19", func(i *Invoice) { i.Lines[0].allowance().ReasonCode = "1" }},
	{"BR-CL-20", func(i *Invoice) { i.charge().ReasonCode = "95" }},
	{"BR-CL-20", func(i *Invoice) { i.Lines[0].charge().ReasonCode = "95" }},
	{"BR-CL-21", func(i *Invoice) { i.Lines[0].StandardItemID = &Identifier{Value: "1", Scheme: "EAN"} }},
	{"BR-CL-22", func(i *Invoice) { i.Taxes[0].ExemptionReasonCode = "EXEMPT" }},
	{"BR-CL-23", func(i *Invoice) { i.Lines[0].Unit = "Stk" }},
	{"BR-CL-23", func(i *Invoice) { i.Lines[0].PriceQuantity, i.Lines[0].PriceUnit = number("1"), "pieces" }},
	{"BR-CL-24", func(i *Invoice) {
		i.Attachments = []Attachment{{Reference: "1", Content: []byte("x"), MIMEType: "text/plain", Filename: "x.txt"}}
	}},
	{"BR-CL-25", func(i *Invoice) { i.Seller.ElectronicAddress.Scheme = "EMAIL" }},
	{"BR-CL-26", func(i *Invoice) { i.Delivery.Location = &Identifier{Value: "1", Scheme: "GLN"} }},
}

func representative() *TaxRepresentative {
	return &TaxRepresentative{Name: "Steuer KG", VATID: "DE999999999", Address: &Address{Country: "DE"}}
}

// germanFaults are those of XRechnung.
var germanFaults = []fault{
	{"BR-DE-1", func(i *Invoice) { i.Payments, i.PaymentReference, i.DirectDebit = nil, "", nil }},
	{"BR-DE-2", func(i *Invoice) { i.Seller.Contact = nil }},
	{"BR-DE-3", func(i *Invoice) { i.Seller.Address.City = "" }},
	{"BR-DE-4", func(i *Invoice) { i.Seller.Address.PostCode = "" }},
	{"BR-DE-5", func(i *Invoice) { i.Seller.Contact.Name = "" }},
	{"BR-DE-6", func(i *Invoice) { i.Seller.Contact.Phone = "" }},
	{"BR-DE-7", func(i *Invoice) { i.Seller.Contact.Email = "" }},
	{"BR-DE-8", func(i *Invoice) { i.Buyer.Address.City = "" }},
	{"BR-DE-9", func(i *Invoice) { i.Buyer.Address.PostCode = "" }},
	{"BR-DE-10", func(i *Invoice) { i.Delivery.Address.City = "" }},
	{"BR-DE-11", func(i *Invoice) { i.Delivery.Address.PostCode = "" }},
	{"BR-DE-14", func(i *Invoice) { i.Taxes[0].Rate = nil }},
	{"BR-DE-15", func(i *Invoice) { i.BuyerReference = "" }},
	{"BR-DE-16", func(i *Invoice) { i.Seller.VATID, i.Seller.TaxNumber, i.TaxRepresentative = "", "", nil }},
	{"BR-DE-17", func(i *Invoice) { i.TypeCode = "395" }},
	{"BR-DE-18", func(i *Invoice) { i.PaymentTerms = "#SKONTO#TAGE=14#PROZENT=2#\n" }},
	{"BR-DE-18", func(i *Invoice) { i.PaymentTerms = "#SKONTO#TAGE=14#PROZENT=2.00#" }},
	{"BR-DE-19", func(i *Invoice) { i.Payments = []Payment{{MeansCode: "58", Account: "DE89370400440532013001"}} }},
	{"BR-DE-20", func(i *Invoice) {
		i.Payments, i.DirectDebit = []Payment{{MeansCode: "59"}}, &DirectDebit{Mandate: "1", CreditorID: "C", DebitedAccount: "DE02120300000000202052"}
	}},
	{"BR-DE-21", func(i *Invoice) {
		i.Specification = "urn:cen.eu:en16931:2017#compliant#urn:xoev-de:kosit:standard:xrechnung_2.3"
	}},
	{"BR-DE-22", func(i *Invoice) {
		a := Attachment{Reference: "1", Content: []byte("x"), MIMEType: "text/csv", Filename: "x.csv"}
		i.Attachments = []Attachment{a, a}
	}},
	{"BR-DE-23-a", func(i *Invoice) { i.Payments, i.DirectDebit = []Payment{{MeansCode: "58"}}, nil }},
	{"BR-DE-23-b", func(i *Invoice) {
		i.Payments = []Payment{{MeansCode: "58", Account: "DE89370400440532013000", Card: &Card{Number: "1234"}}}
	}},
	{"BR-DE-24-a", func(i *Invoice) { i.Payments, i.DirectDebit = []Payment{{MeansCode: "48"}}, nil }},
	{"BR-DE-24-b", func(i *Invoice) {
		i.Payments = []Payment{{MeansCode: "48", Account: "DE89370400440532013000", Card: &Card{Number: "1234"}}}
	}},
	{"BR-DE-25-a", func(i *Invoice) { i.Payments, i.DirectDebit = []Payment{{MeansCode: "59"}}, nil }},
	{"BR-DE-25-b", func(i *Invoice) { i.Payments = []Payment{{MeansCode: "59", Account: "DE89370400440532013000"}} }},
	{"BR-DE-26", func(i *Invoice) { i.TypeCode, i.PrecedingInvoices = "384", nil }},
	{"BR-DE-27", func(i *Invoice) { i.Seller.Contact.Phone = "12" }},
	{"BR-DE-28", func(i *Invoice) { i.Seller.Contact.Email = "erika" }},
	{"BR-DE-30", func(i *Invoice) { i.DirectDebit = &DirectDebit{Mandate: "1", DebitedAccount: "DE02120300000000202051"} }},
	{"BR-DE-31", func(i *Invoice) { i.DirectDebit = &DirectDebit{Mandate: "1", CreditorID: "C"} }},
	{"BR-DE-TMP-32", func(i *Invoice) { i.Delivery.Date, i.Period, i.Lines[0].Period = "", nil, nil }},
	{"BR-TMP-2", func(i *Invoice) { i.Attachments = []Attachment{{Reference: "1", URL: "example.com"}} }},
}

// vatCategory is a VAT category with its rules.
type vatCategory struct {
	code, prefix, wrongRate string
	exempt                  bool
}

var vatCategories = []vatCategory{
	{"S", "BR-S", "0", false}, {"Z", "BR-Z", "19", false}, {"E", "BR-E", "19", true}, {"AE", "BR-AE", "19", true}, {"K", "BR-IC", "19", true},
	{"G", "BR-G", "19", true}, {"O", "BR-O", "0", true}, {"L", "BR-AF", "-1", false}, {"M", "BR-AG", "-1", false},
}

// charges reports whether a line, an allowance or a charge has a category.
func (i *Invoice) charges(category string) bool {
	is := func(a Allowance) bool { return a.Category == category }
	return slices.ContainsFunc(i.Lines, func(l Line) bool { return l.Category == category }) || slices.ContainsFunc(i.Allowances, is) || slices.ContainsFunc(i.Charges, is)
}

// vatFaults are those of one category.
func vatFaults(v vatCategory) []fault {
	of := func(number string) string { return v.prefix + "-" + number }
	wrongRate := number(v.wrongRate)
	noParties := func(i *Invoice) {
		if v.code == "O" {
			i.Seller.VATID = "DE123456789"
			return
		}
		i.Seller.VATID, i.Seller.TaxNumber, i.TaxRepresentative = "", "", nil
	}
	own := func(i *Invoice) *Tax {
		return &i.Taxes[slices.IndexFunc(i.Taxes, func(t Tax) bool { return t.Category == v.code })]
	}
	return []fault{
		{of("01"), func(i *Invoice) {
			i.Taxes = slices.DeleteFunc(i.Taxes, func(t Tax) bool { return t.Category == v.code })
		}},
		{of("02"), noParties},
		{of("03"), func(i *Invoice) { i.allowance().Category = v.code; noParties(i) }},
		{of("04"), func(i *Invoice) { i.charge().Category = v.code; noParties(i) }},
		{of("05"), func(i *Invoice) {
			i.Lines[slices.IndexFunc(i.Lines, func(l Line) bool { return l.Category == v.code })].Rate = wrongRate
		}},
		{of("06"), func(i *Invoice) { a := i.allowance(); a.Category, a.Rate = v.code, wrongRate }},
		{of("07"), func(i *Invoice) { a := i.charge(); a.Category, a.Rate = v.code, wrongRate }},
		{of("08"), func(i *Invoice) { t := own(i); t.Base = off(t.Base, "5") }},
		{of("09"), func(i *Invoice) { t := own(i); t.Amount = off(t.Amount, "5") }},
		{of("10"), func(i *Invoice) {
			t := own(i)
			t.ExemptionReason, t.ExemptionReasonCode = "", ""
			if !v.exempt {
				t.ExemptionReason = "Kleinunternehmer"
			}
		}},
	}
}

// otherVATFaults are those of only one category.
var otherVATFaults = map[string][]fault{
	"K": {
		{"BR-IC-11", func(i *Invoice) { i.Delivery.Date, i.Period = "", nil }},
		{"BR-IC-12", func(i *Invoice) { i.Delivery.Address = nil }},
		{"BR-IC-02", func(i *Invoice) { i.Buyer.VATID = "" }},
	},
	"AE": {{"BR-AE-02", func(i *Invoice) { i.Buyer.VATID, i.Buyer.LegalRegistration = "", nil }}},
	"O": {
		{"BR-O-11", func(i *Invoice) {
			i.Taxes = append(i.Taxes, Tax{Category: "S", Rate: number("19"), Base: number("0"), Amount: number("0")})
		}},
		{"BR-O-12", func(i *Invoice) { i.Lines[0].Category, i.Lines[0].Rate = "S", number("19") }},
		{"BR-O-13", func(i *Invoice) { a := i.allowance(); a.Category, a.Rate = "S", number("19") }},
		{"BR-O-14", func(i *Invoice) { a := i.charge(); a.Category, a.Rate = "S", number("19") }},
	},
}

// planted is an invoice with a fault.
type planted struct {
	fault

	invoice *Invoice
	profile Profile
}

// plantedInvoices returns all faults, each in an invoice that is otherwise right.
func plantedInvoices() (all []planted) {
	add := func(seed uint64, f fault, profile Profile) {
		invoice := generate(seed)
		if profile == XRechnung {
			xrechnung(invoice)
		}
		f.plant(invoice)
		all = append(all, planted{f, invoice, profile})
	}
	for n, f := range faults {
		add(uint64(10*n%generated), f, EN16931)
	}
	for n, f := range germanFaults {
		add(uint64(10*n), f, XRechnung)
	}
	for _, v := range vatCategories {
		for _, f := range slices.Concat(vatFaults(v), otherVATFaults[v.code]) {
			seed := categorySeed[v.code]
			for !generate(seed).charges(v.code) {
				seed += 10
			}
			add(seed, f, EN16931)
		}
	}
	return all
}

// TestPlantedFaultsAreFound plants each fault. Its findings, which TestOfficialRules compares with the official ones, have a
// place in JSON and XML and a message.
func TestPlantedFaultsAreFound(t *testing.T) {
	all := plantedInvoices()
	if len(all) < 200 {
		t.Errorf("%d faults; want at least 200", len(all))
	}
	named := 0
	for n, p := range all {
		for _, syntax := range []Syntax{CII, UBL} {
			findings := Check(p.invoice, syntax, p.profile)
			if slices.ContainsFunc(findings, func(f Finding) bool { return f.Rule == p.rule }) {
				named++
			}
			for _, f := range findings {
				if f.JSONPath == "" || !strings.HasPrefix(f.XMLPath, "/") || f.Message == "" {
					t.Errorf("%d %s %s: %+v", n, syntax, p.rule, f)
				}
			}
		}
	}
	if named < 2*len(all)-40 { // Some rules have no effect in a syntax, or another rule finds the fault.
		t.Errorf("%d of %d faults are found by their rule", named, 2*len(all))
	}
}

// TestDatesAndAccountsAreChecked plants dates and accounts that no business rule is about.
func TestDatesAndAccountsAreChecked(t *testing.T) {
	for place, plant := range map[string]func(i *Invoice){
		"dueDate":             func(i *Invoice) { i.DueDate = "28.12.2026" },
		"lines[0].period.end": func(i *Invoice) { i.Lines[0].Period = &Period{Start: "2026-02-01", End: "2026-02-30"} },
		"payments[0].account": func(i *Invoice) { i.Payments = []Payment{{MeansCode: "58", Account: "DE89370400440532013001"}} },
		"payments[0].bic": func(i *Invoice) {
			i.Payments = []Payment{{MeansCode: "58", Account: "DE89370400440532013000", BIC: "NOTABIC"}}
		},
	} {
		invoice := generate(0)
		plant(invoice)
		findings := append(Check(invoice, CII, EN16931), CheckAccounts(invoice)...)
		if !slices.ContainsFunc(findings, func(f Finding) bool { return f.JSONPath == place && f.Severity == Error && f.Actual != "" }) {
			t.Errorf("%s: %+v", place, findings)
		}
	}
}
