package einvoice

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
)

// generator makes valid invoices from a seed: lines, allowances and charges, several tax categories, rounding edges.
type generator struct {
	*rand.Rand

	invoice *Invoice
}

func generate(seed uint64) *Invoice {
	g := generator{Rand: rand.New(rand.NewPCG(seed, 41)), invoice: new(Invoice)}
	g.header(seed)
	g.parties()
	g.lines()
	g.documentAllowances()
	g.sums()
	g.payment()
	g.extras()
	return g.invoice
}

func number(text string) *Decimal {
	d, err := parseDecimal(text)
	if err != nil {
		panic(err)
	}
	return &d
}

func (g *generator) some(share float64) bool { return g.Float64() < share }

func (g *generator) one(choices ...string) string { return choices[g.IntN(len(choices))] }

// amount is a positive number below a limit, with some decimals.
func (g *generator) amount(limit, decimals int) *Decimal {
	text := strconv.Itoa(g.IntN(limit))
	if decimals > 0 {
		text += "."
		for range decimals {
			text += strconv.Itoa(g.IntN(10))
		}
	}
	return number(text)
}

func (g *generator) day(month int) Date {
	return Date(fmt.Sprintf("2026-%02d-%02d", month, 1+g.IntN(28)))
}

func (g *generator) header(seed uint64) {
	i := g.invoice
	i.Number = fmt.Sprintf("R-2026/%04d", seed)
	i.IssueDate, i.TypeCode, i.Currency = g.day(6), g.one("380", "380", "380", "384", "381", "389"), g.one("EUR", "EUR", "EUR", "CHF", "SEK")
	i.Specification = EN16931.Specification()
	if g.some(0.5) {
		i.BuyerReference = "04011000-12345-67"
	}
	if g.some(0.5) {
		i.OrderReference = "PO " + strconv.Itoa(g.IntN(9000))
	}
	if g.some(0.3) {
		if i.OrderReference == "" { // UBL has the sales order below the order
			i.OrderReference = "PO 0"
		}
		i.ContractReference, i.ProjectReference, i.SalesOrderReference = "V-7", "Turm & Dach <3>", "SO-1"
		i.ReceivingAdviceReference, i.DespatchAdviceReference, i.TenderReference, i.AccountingReference = "RA-1", "DA-2", "Los 3", "4711"
	}
	if g.some(0.3) {
		i.InvoicedObject = &ObjectReference{Value: "DE0001", Scheme: "AVE"}
	}
	if g.some(0.4) {
		i.Notes = []Note{{Text: "Vielen Dank für Ihren Auftrag.\nBis bald"}, {Text: "Registergericht: Bonn", SubjectCode: "REG"}}
	}
	if i.TypeCode == "384" || g.some(0.2) {
		i.PrecedingInvoices = []PrecedingInvoice{{Number: "R-1", IssueDate: g.day(3)}, {Number: "R-2"}}
	}
	if g.some(0.2) {
		i.BusinessProcess = "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0"
	}
}

func (g *generator) address(country string) *Address {
	a := &Address{Line1: "Hauptstraße 1", City: "Köln", PostCode: "50667", Country: country}
	if g.some(0.2) {
		a.Line2, a.Line3, a.Subdivision = "Hinterhaus", "3. Stock", "NRW"
	}
	return a
}

func (g *generator) parties() {
	i := g.invoice
	i.Seller = &Party{
		Name: "Müller & Söhne GmbH", VATID: "DE123456789", TaxNumber: "123/456/7890", Address: g.address("DE"),
		LegalRegistration: &Identifier{Value: "HRB 1"},
		Contact:           &Contact{Name: "Erika Müller", Phone: "+49 221 123456", Email: "erika@mueller.example"},
		ElectronicAddress: &Identifier{Value: "rechnung@mueller.example", Scheme: "EM"},
	}
	i.Buyer = &Party{
		Name: "Käufer AG", VATID: "FR12345678901", Address: g.address("FR"),
		ElectronicAddress: &Identifier{Value: "4000001123452", Scheme: "0088"},
	}
	if g.some(0.4) {
		i.Seller.Identifiers = []Identifier{{Value: "L-99"}, {Value: "4000001987658", Scheme: "0088"}}
		i.Seller.TradingName, i.Seller.LegalForm = "Müller", "Stammkapital 25.000 EUR"
		i.Buyer.Identifiers = []Identifier{{Value: "K-1"}}
		i.Buyer.LegalRegistration = &Identifier{Value: "552100554", Scheme: "0002"}
		i.Buyer.Contact = &Contact{Name: "Einkauf"}
	}
	if g.some(0.2) {
		i.Payee = &Payee{Name: "Factoring SA", Identifier: &Identifier{Value: "F-1"}, LegalRegistration: &Identifier{Value: "123", Scheme: "0002"}}
	}
	if g.some(0.2) {
		i.TaxRepresentative = &TaxRepresentative{Name: "Steuer KG", VATID: "DE999999999", Address: g.address("DE")}
	}
	if g.some(0.3) {
		i.Period = &Period{Start: "2026-05-01", End: "2026-05-31"}
	}
	i.Delivery = &Delivery{Date: g.day(5), Address: g.address("FR")}
	if g.some(0.3) {
		i.Delivery.Name, i.Delivery.Location = "Lager", &Identifier{Value: "L1"}
	}
}

// categories are tax categories that can be together in an invoice, with their rates.
var generatedCategories = [][][2]string{
	{{"S", "19"}, {"S", "7"}, {"S", "19.00"}},
	{{"S", "20"}, {"S", "5.5"}, {"Z", "0"}, {"E", "0"}},
	{{"AE", "0"}}, {{"K", "0"}}, {{"G", "0.00"}}, {{"E", "0"}, {"S", "19"}},
	{{"L", "7"}, {"S", "21"}}, {{"M", "10"}}, {{"O", ""}},
	{{"AE", "0"}, {"S", "19"}, {"K", "0"}},
}

func (g *generator) category() (category string, rate *Decimal) {
	i := g.invoice
	set := generatedCategories[int(i.Number[len(i.Number)-1]-'0')%len(generatedCategories)]
	pair := set[g.IntN(len(set))]
	if pair[1] == "" {
		return pair[0], nil
	}
	return pair[0], number(pair[1])
}

func (g *generator) lines() {
	i := g.invoice
	for k := range 1 + g.IntN(6) {
		l := Line{ID: strconv.Itoa(k + 1), Name: "Ware " + strconv.Itoa(k), Unit: g.one("C62", "HUR", "KGM", "XPP"), Quantity: g.amount(50, g.IntN(4)), Price: g.amount(900, g.IntN(5))}
		if g.some(0.1) { // A return.
			l.Quantity = &[]Decimal{zero.minus(*l.Quantity)}[0]
		}
		l.Category, l.Rate = g.category()
		net := l.Quantity.times(*l.Price)
		if g.some(0.2) {
			l.PriceQuantity, l.PriceUnit = number("10"), l.Unit
			net = net.times(*number("0.1"))
		}
		if g.some(0.2) {
			l.Discount = number("0.25")
			gross := l.Price.plus(*l.Discount)
			l.GrossPrice = &gross
		}
		if g.some(0.3) {
			l.Allowances = []LineAllowance{{Amount: g.amount(9, 2), Base: number("100.00"), Percent: number("5"), Reason: "Rabatt", ReasonCode: "95"}}
			net = net.minus(*l.Allowances[0].Amount)
		}
		if g.some(0.3) {
			l.Charges = []LineAllowance{{Amount: g.amount(9, 2), Reason: "Verpackung"}, {Amount: g.amount(9, 1), ReasonCode: "ABL"}}
			net = net.plus(*l.Charges[0].Amount).plus(*l.Charges[1].Amount)
		}
		rounded := net.cents()
		l.NetAmount = &rounded
		if g.some(0.3) {
			l.Note, l.Description, l.SellerItemID, l.BuyerItemID = "Hinweis", "Lang", "A-1", "B-1"
			l.StandardItemID = &Identifier{Value: "4012345001235", Scheme: "0160"}
			l.Classifications = []Classification{{Code: "48000000", List: "STI", Version: "1"}, {Code: "7", List: "ZZZ"}}
			l.OriginCountry, l.OrderLine, l.AccountingReference = "IT", "3", "K 9"
			l.Attributes = []Attribute{{"Farbe", "rot"}, {"Größe", "9"}}
			l.InvoicedObject = &ObjectReference{Value: "Z-1", Scheme: "AVE"}
			l.Period = &Period{Start: g.day(4)}
		}
		i.Lines = append(i.Lines, l)
	}
}

func (g *generator) documentAllowances() {
	i := g.invoice
	for _, charge := range []bool{false, true} {
		for g.some(0.4) {
			line := i.Lines[g.IntN(len(i.Lines))]
			a := Allowance{Amount: g.amount(30, 2), Category: line.Category, Rate: line.Rate, Reason: "Skonto & Rabatt"}
			if g.some(0.4) {
				a.Base, a.Percent = number("300.00"), number("3.333")
			}
			if charge {
				a.ReasonCode = g.one("", "FC")
				i.Charges = append(i.Charges, a)
			} else {
				a.ReasonCode = g.one("", "95")
				i.Allowances = append(i.Allowances, a)
			}
		}
	}
}

var generatedReasons = map[string][2]string{
	"E": {"Kleinunternehmer", ""}, "AE": {"Reverse charge", "VATEX-EU-AE"}, "K": {"", "VATEX-EU-IC"}, "G": {"Ausfuhr", "VATEX-EU-G"}, "O": {"", "VATEX-EU-O"},
}

// sums fills in the taxes and totals.
func (g *generator) sums() {
	i := g.invoice
	pair := func(category string, rate *Decimal) *Tax {
		at := slices.IndexFunc(i.Taxes, func(t Tax) bool { return t.Category == category && or0(t.Rate).equals(or0(rate)) })
		if at < 0 {
			i.Taxes = append(i.Taxes, Tax{Category: category, Rate: rate, Base: new(Decimal), Amount: new(Decimal),
				ExemptionReason: generatedReasons[category][0], ExemptionReasonCode: generatedReasons[category][1]})
			at = len(i.Taxes) - 1
		}
		return &i.Taxes[at]
	}
	t := Totals{Lines: new(Decimal), WithoutTax: new(Decimal), Tax: new(Decimal)}
	add := func(to *Decimal, d Decimal) { *to = to.plus(d).cents() }
	for _, l := range i.Lines {
		add(t.Lines, *l.NetAmount)
		add(pair(l.Category, l.Rate).Base, *l.NetAmount)
	}
	add(t.WithoutTax, *t.Lines)
	for _, a := range i.Allowances {
		if t.Allowances == nil {
			t.Allowances = new(Decimal)
		}
		add(t.Allowances, *a.Amount)
		add(t.WithoutTax, zero.minus(*a.Amount))
		add(pair(a.Category, a.Rate).Base, zero.minus(*a.Amount))
	}
	for _, c := range i.Charges {
		if t.Charges == nil {
			t.Charges = new(Decimal)
		}
		add(t.Charges, *c.Amount)
		add(t.WithoutTax, *c.Amount)
		add(pair(c.Category, c.Rate).Base, *c.Amount)
	}
	for k := range i.Taxes {
		tax := &i.Taxes[k]
		add(tax.Amount, tax.Base.times(or0(tax.Rate)).times(percent))
		add(t.Tax, *tax.Amount)
	}
	withTax := t.WithoutTax.plus(*t.Tax)
	due := withTax
	t.WithTax = &withTax
	if g.some(0.3) {
		t.Paid = g.amount(20, 2)
		due = due.minus(*t.Paid)
	}
	if g.some(0.3) {
		t.Rounding = number(g.one("0.01", "-0.02", "0.5"))
		due = due.plus(*t.Rounding)
	}
	t.Due = &due
	if i.Currency != "EUR" {
		i.TaxCurrency = "EUR"
		t.AccountedTax = number("12.34")
	}
	i.Totals = &t
	if slices.ContainsFunc(i.Taxes, func(t Tax) bool { return t.Category == "O" }) {
		i.Seller.VATID, i.Buyer.VATID, i.TaxRepresentative = "", "", nil
	}
	if slices.ContainsFunc(i.Taxes, func(t Tax) bool { return t.Category == "AE" }) && g.some(0.3) {
		i.Buyer.VATID, i.Buyer.LegalRegistration = "", &Identifier{Value: "552100554"}
	}
	if slices.ContainsFunc(i.Taxes, func(t Tax) bool { return t.Category == "K" }) {
		i.Buyer.VATID = "FR12345678901"
	}
}

func (g *generator) payment() {
	i := g.invoice
	i.DueDate = g.day(7)
	if g.some(0.4) {
		i.PaymentTerms = "#SKONTO#TAGE=14#PROZENT=2.25#\n"
	}
	switch g.IntN(3) {
	case 0:
		i.Payments = []Payment{{MeansCode: "58", Means: "SEPA", Account: "DE89370400440532013000", AccountName: "Müller", BIC: "COBADEFFXXX"}}
		if g.some(0.4) {
			i.Payments = append(i.Payments, Payment{MeansCode: "58", Account: "DE02120300000000202051"})
		}
		i.PaymentReference = i.Number
	case 1:
		i.Payments = []Payment{{MeansCode: "48", Card: &Card{Number: "1234", Holder: "E. M."}}}
	case 2:
		i.Payments = []Payment{{MeansCode: "59"}}
		i.DirectDebit = &DirectDebit{Mandate: "M-1", CreditorID: "DE98ZZZ09999999999", DebitedAccount: "DE02120300000000202051"}
	}
}

func (g *generator) extras() {
	i := g.invoice
	switch g.IntN(4) {
	case 0:
		i.TaxPointDate = g.day(5)
	case 1:
		i.TaxPointCode = TaxPointCode(g.one("3", "35", "432"))
	}
	if g.some(0.2) {
		i.Attachments = []Attachment{
			{Reference: "A1", Description: "Aufmaß", Content: []byte("a;b\n1;2\n"), MIMEType: "text/csv", Filename: "a.csv"},
			{Reference: "A2", URL: "https://example.com/a2.pdf"},
		}
	}
}
