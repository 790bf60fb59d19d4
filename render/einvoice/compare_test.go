package einvoice

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// locale is a way to print invoices.
type locale struct {
	thousands, decimal string
	date               string
	before             string // the currency before amounts; otherwise it is after them
	number, issue, due, net, tax, gross, pay, vatID,
	quantity, to, note string
}

var locales = []locale{
	{thousands: ".", decimal: ",", date: "02.01.2006", number: "Rechnungsnummer:", issue: "Rechnungsdatum:", due: "Zahlbar bis", net: "Nettobetrag", tax: "MwSt.", gross: "Gesamtbetrag", pay: "Zu zahlen", vatID: "USt-IdNr.", quantity: "Menge", to: "An", note: "Bei Zahlung bis 01.02.2027 gewähren wir 2,00 % Skonto, also 1.234,56 EUR."},
	{thousands: " ", decimal: ",", date: "02/01/2006", number: "Facture n°", issue: "Date de facture :", due: "Échéance :", net: "Total HT", tax: "TVA", gross: "Total TTC", pay: "Net à payer", vatID: "N° TVA", quantity: "Quantité", to: "À", note: "Aucun escompte en cas de paiement anticipé. Indemnité de 40,00 € en cas de retard."},
	{thousands: ",", decimal: ".", date: "January 2, 2006", before: "€", number: "Invoice no.", issue: "Invoice date:", due: "Due date:", net: "Subtotal", tax: "VAT", gross: "Total incl. VAT", pay: "Amount due", vatID: "VAT ID", quantity: "Quantity", to: "Bill to", note: "Late fee of 5.00 per week."},
	{thousands: ",", decimal: ".", date: "01/02/2006", before: "EUR", number: "INVOICE #", issue: "Issued", due: "Due by", net: "Net amount", tax: "VAT", gross: "Grand total", pay: "Balance due", vatID: "VAT no.", quantity: "Qty", to: "To", note: "Thank you! Order of 03/04/2026."},
	{thousands: "’", decimal: ".", date: "2. Jan. 2006", number: "Rechnung Nr.", issue: "Ausstellungsdatum", due: "Fällig am", net: "Zwischensumme", tax: "USt", gross: "Rechnungsbetrag", pay: "Zahlbetrag", vatID: "USt-ID", quantity: "Anzahl", to: "An", note: "Es gelten unsere AGB vom 01.01.2020."},
	{thousands: "", decimal: ",", date: "2 January 2006", number: "Factuurnummer", issue: "Factuurdatum", due: "Vervaldatum", net: "Subtotaal", tax: "BTW", gross: "Totaalbedrag", pay: "Te betalen", vatID: "BTW-nummer", quantity: "Aantal", to: "Aan", note: ""},
}

var monthsIn = map[string]*strings.Replacer{
	"2. Jan. 2006": strings.NewReplacer("Mar", "März", "May", "Mai", "Oct", "Okt", "Dec", "Dez"),
}

func (l *locale) day(d Date) string {
	day, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return string(d)
	}
	text := day.Format(l.date)
	if names := monthsIn[l.date]; names != nil {
		text = names.Replace(text)
	}
	return text
}

func (l *locale) amount(d Decimal) string {
	text := d.abs().cents().String()
	whole, cents, _ := strings.Cut(text, ".")
	for at := len(whole) - 3; at > 0 && l.thousands != ""; at -= 3 {
		whole = whole[:at] + l.thousands + whole[at:]
	}
	text = whole + l.decimal + cents
	if d.sign() < 0 {
		text = "-" + text
	}
	if l.before != "" {
		return l.before + " " + text
	}
	return text + " €"
}

// spaced writes an IBAN in groups of four.
func spaced(iban AccountID) string {
	var out []string
	for text := string(iban); text != ""; {
		n := min(4, len(text))
		out, text = append(out, text[:n]), text[n:]
	}
	return strings.Join(out, " ")
}

// printInvoice returns the text of the pages of an invoice. The labels of totals are on their line, or above.
func printInvoice(i *Invoice, l *locale, stacked bool) []string {
	var p strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&p, format+"\n", args...) }
	address := func(a *Party) {
		line("%s", a.Name)
		if a.Address != nil {
			line("%s\n%s %s", a.Address.Line1, a.Address.PostCode, a.Address.City)
		}
	}
	address(i.Seller)
	line("%s", l.to)
	address(i.Buyer)
	if i.Buyer.VATID != "" {
		line("%s %s", l.vatID, i.Buyer.VATID)
	}
	line("%s %s", l.number, i.Number)
	line("%s %s", l.issue, l.day(i.IssueDate))
	line("Nr. %s Preis Summe", l.quantity)
	for k, item := range i.Lines {
		line("%d %s %s %s %s", k+1, item.Name, item.Quantity, l.amount(*item.Price), l.amount(*item.NetAmount))
	}
	total := func(label string, d Decimal) {
		if stacked {
			line("%s\n%s", label, l.amount(d))
		} else {
			line("%s %s", label, l.amount(d))
		}
	}
	total(l.net, *i.Totals.WithoutTax)
	for _, x := range i.Taxes {
		rate := strings.ReplaceAll(or0(x.Rate).cents().String(), ".", l.decimal)
		line("%s %s %% (%s) %s", l.tax, rate, l.amount(*x.Base), l.amount(*x.Amount))
	}
	if len(i.Taxes) > 1 {
		total(l.tax, *i.Totals.Tax)
	}
	total(l.gross, *i.Totals.WithTax)
	if !i.Totals.Due.equals(*i.Totals.WithTax) {
		total(l.pay, *i.Totals.Due)
	}
	second := p.String()
	p.Reset()
	line("%s %s", l.due, l.day(i.DueDate))
	line("%s", l.note)
	for _, pay := range i.Payments {
		if pay.Account != "" {
			line("IBAN %s BIC %s", spaced(pay.Account), pay.BIC)
		}
	}
	if i.Seller.VATID != "" {
		line("%s %s", l.vatID, i.Seller.VATID)
	}
	return []string{second, p.String()}
}

// TestGoodPagesAgree prints 200 invoices and finds no contradiction and nothing absent.
func TestGoodPagesAgree(t *testing.T) {
	for seed := range uint64(generated) {
		invoice := generate(seed)
		pages := printInvoice(invoice, &locales[seed%uint64(len(locales))], seed%4 == 3)
		if found := Compare(invoice, pages); len(found) > 0 {
			t.Errorf("%d: %v\n%s", seed, found, strings.Join(pages, "\n"))
		}
	}
}

// pageFaults change what is printed, so that it contradicts the invoice.
var pageFaults = []struct {
	field string
	plant func(i *Invoice) bool
}{
	{"number", func(i *Invoice) bool { i.Number = "R-2025/" + i.Number[7:]; return true }},
	{"number", func(i *Invoice) bool { i.Number = "4711"; return true }},
	{"issueDate", func(i *Invoice) bool { i.IssueDate = "2025" + i.IssueDate[4:]; return true }},
	{"dueDate", func(i *Invoice) bool { i.DueDate = "2026-12-30"; return true }},
	{"totals.", func(i *Invoice) bool {
		i.Totals.WithTax, i.Totals.Due = off(i.Totals.WithTax, "10"), off(i.Totals.Due, "10")
		return true
	}},
	{"totals.", func(i *Invoice) bool {
		i.Totals.WithTax = off(i.Totals.WithTax, "0.07")
		return !i.Totals.WithTax.equals(*i.Totals.Due)
	}},
	{"totals.due", func(i *Invoice) bool {
		differs := !i.Totals.Due.equals(*i.Totals.WithTax)
		i.Totals.Due = off(i.Totals.Due, "3.33")
		return differs && !i.Totals.Due.equals(*i.Totals.WithTax)
	}},
	{"totals.withoutTax", func(i *Invoice) bool { i.Totals.WithoutTax = off(i.Totals.WithoutTax, "1000"); return true }},
	{"", func(i *Invoice) bool {
		i.Taxes[0].Amount = off(i.Taxes[0].Amount, "1.11")
		return i.Taxes[0].Amount.sign() > 0
	}},
	{"payments[0].account", func(i *Invoice) bool {
		had := i.Payments[0].Account != ""
		i.Payments = []Payment{{Account: "DE75512108001245126199"}}
		return had
	}},
	{"seller.name", func(i *Invoice) bool { i.Seller.Name = "Maier GmbH"; return i.Seller.TradingName == "" }},
	{"buyer.name", func(i *Invoice) bool { i.Buyer.Name = "Käufer SE"; return true }},
	{"seller.vatId", func(i *Invoice) bool { had := i.Seller.VATID != ""; i.Seller.VATID = "DE987654321"; return had }},
}

// TestContradictionsOfPagesAreFound plants a disagreement in each of 200 printed invoices.
func TestContradictionsOfPagesAreFound(t *testing.T) {
	planted := 0
	for seed := uint64(0); planted < generated; seed++ {
		fault := pageFaults[seed%uint64(len(pageFaults))]
		invoice, changed := generate(seed), generate(seed)
		if !fault.plant(changed) {
			continue
		}
		planted++
		pages := printInvoice(changed, &locales[seed/3%uint64(len(locales))], seed%4 == 3)
		refused := false
		for _, d := range Compare(invoice, pages) {
			refused = refused || d.Contradiction && strings.HasPrefix(d.Field, fault.field) && d.Printed != "" && d.Page > 0
		}
		if !refused {
			t.Errorf("%d %s: %v\n%s", seed, fault.field, Compare(invoice, pages), strings.Join(pages, "\n"))
		}
	}
}

// TestAbsentValuesOnlyWarn removes lines from pages.
func TestAbsentValuesOnlyWarn(t *testing.T) {
	invoice := generate(1)
	for _, d := range Compare(invoice, []string{"Lieferschein 4\nVielen Dank"}) {
		if d.Contradiction {
			t.Error(d)
		}
	}
	if found := Compare(invoice, nil); len(found) < 6 {
		t.Error(found)
	}
}

// TestAddressesWithoutNameOnlyWarn prints what stands at the address of a seller whose name is in a logo, and other names.
func TestAddressesWithoutNameOnlyWarn(t *testing.T) {
	for above, contradicts := range map[string]bool{
		"Rechnung": false, "Wir bauen Häuser": false, "": false, "Seite 1 von 2": false, "Maier GmbH": true, "Fremd & Partner AG": true,
	} {
		invoice := generate(1)
		invoice.Seller.TradingName = ""
		a := invoice.Seller.Address
		for _, page := range []string{above + "\n" + a.Line1 + "\n" + a.PostCode + " " + a.City, above + ", " + a.Line1 + ", " + a.PostCode + " " + a.City} {
			found := false
			for _, d := range Compare(invoice, []string{page}) {
				found = found || d.Contradiction && d.Field == "seller.name" && d.Printed == above
			}
			if found != contradicts {
				t.Errorf("%q: a contradiction: %v", page, found)
			}
		}
	}
}
