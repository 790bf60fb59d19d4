package pdf

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/einvoice"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/pdftest"
)

// invoiceData is an invoice as customers send it.
const invoiceData = `{
	"number": "R-1001", "issueDate": "2026-11-28", "typeCode": "380", "currency": "EUR", "dueDate": "2026-12-28",
	"seller": {"name": "Muster GmbH", "vatId": "DE123456789", "address": {"line1": "Hauptstr. 1", "city": "Bonn", "postCode": "53111", "country": "DE"}},
	"buyer": {"name": "Kunde AG", "address": {"line1": "Ring 2", "city": "Wien", "postCode": "1010", "country": "AT"}},
	"lines": [{"id": "1", "name": "Beratung", "quantity": 10, "unit": "HUR", "price": "100.00", "netAmount": 1000.00, "taxCategory": "S", "taxRate": 19}],
	"taxes": [{"category": "S", "rate": 19, "base": 1000.00, "amount": 190.00}],
	"totals": {"lines": 1000.00, "withoutTax": 1000.00, "tax": 190.00, "withTax": 1190.00, "due": 1190.00},
	"payments": [{"meansCode": "58", "account": "DE89370400440532013000"}]
}`

// smallInvoice is the same as XML.
var smallInvoice = invoiceXML(einvoice.EN16931)

func invoiceXML(profile einvoice.Profile) string {
	var invoice einvoice.Invoice
	if err := json.Unmarshal([]byte(invoiceData), &invoice); err != nil {
		panic(err)
	}
	xml, err := einvoice.Write(&invoice, einvoice.CII, profile)
	if err != nil {
		panic(err)
	}
	return string(xml)
}

// invoicePage is a page with the invoice.
func invoicePage(changes ...string) []byte {
	lines := []string{
		"Muster GmbH", "Hauptstr. 1, 53111 Bonn", "Kunde AG", "Ring 2, 1010 Wien", "Rechnungsnummer: R-1001", "Rechnungsdatum: 28.11.2026", "Zahlbar bis 28.12.2026",
		"Beratung 10 h 100,00 EUR 1.000,00 EUR", "Nettobetrag 1.000,00 EUR", "19 % MwSt. 190,00 EUR", "Gesamtbetrag 1.190,00 EUR",
		"IBAN DE89 3704 0044 0532 0130 00", "USt-IdNr. DE123456789",
	}
	text := strings.NewReplacer(changes...).Replace(strings.Join(lines, ") Tj 0 -14 Td ("))
	return pdftest.Source{Pages: []string{") Tj /F1 10 Tf (" + text}, Info: "/Title (Rechnung)"}.Write()
}

// TestInvoicesAreAttached attaches an e-invoice to a PDF, which becomes PDF/A-3, and reads it.
func TestInvoicesAreAttached(t *testing.T) {
	t.Parallel()
	for _, profile := range []einvoice.Profile{einvoice.Minimum, einvoice.EN16931} {
		xml := invoiceXML(profile)
		result, err := runJob(t, InvoiceJob.Name, InvoiceArgs{Input: input(""), XML: inputName(1), Compare: true, Strict: true}, invoicePage(), []byte(xml))
		if err != nil {
			t.Fatal(err)
		}
		attached := unmarshal[InvoiceAttached](t, result.Body)
		if len(attached.Findings) > 0 || len(attached.Disagreements) > 0 {
			t.Fatalf("%s: %+v", profile, attached)
		}
		made := read(t, result)
		mustDo(t, archive.ClaimJob.Name, archive.CheckArgs{Input: input(""), Level: archive.Level3B}, made)
		report := unmarshal[InvoiceReport](t, mustDo(t, InvoiceReadJob.Name, input(""), made))
		if report.XML != xml || report.Profile != profile || report.Syntax != einvoice.CII || report.Filename != "factur-x.xml" || report.Invoice.Number != "R-1001" || len(report.Findings) > 0 {
			t.Errorf("%s: %+v", profile, report)
		}
		runFailing(t, job.NoArchive, InvoiceJob.Name, InvoiceArgs{Input: input(""), XML: inputName(1)}, made, []byte(xml))
	}
}

func mustDo(t *testing.T, jobName string, args any, files ...[]byte) []byte {
	t.Helper()
	result, err := runJob(t, jobName, args, files...)
	if err != nil {
		t.Fatal(err)
	}
	return result.Body
}

// TestInvoicesThatContradictTheirPagesAreRefused prints other values than those of the e-invoice.
func TestInvoicesThatContradictTheirPagesAreRefused(t *testing.T) {
	t.Parallel()
	for field, changes := range map[string][]string{
		"number": {"R-1001", "R-1002"}, "issueDate": {"28.11.2026", "27.11.2026"}, "totals.due": {"1.190,00", "1.199,00"}, "seller.name": {"Muster", "Mustar"},
	} {
		for _, strict := range []bool{true, false} {
			result, err := runJob(t, InvoiceJob.Name, InvoiceArgs{Input: input(""), XML: inputName(1), Compare: true, Strict: strict}, invoicePage(changes...), []byte(smallInvoice))
			if err != nil {
				t.Fatal(err)
			}
			attached := unmarshal[InvoiceAttached](t, result.Body)
			if len(attached.Disagreements) == 0 || !attached.Disagreements[0].Contradiction || attached.Disagreements[0].Field != field {
				t.Errorf("%s: %v", field, attached.Disagreements)
			}
			if made := len(result.Files) > 0; made == strict {
				t.Errorf("%s: there is a result: %v", field, made)
			}
		}
	}
}

// TestBrokenInvoicesAreRefused gives e-invoices that break rules, and files that are none.
func TestBrokenInvoicesAreRefused(t *testing.T) {
	t.Parallel()
	xml := strings.Replace(smallInvoice, "<ram:GrandTotalAmount>1190.00", "<ram:GrandTotalAmount>1191.00", 1)
	result, err := runJob(t, InvoiceJob.Name, InvoiceArgs{Input: input(""), XML: inputName(1)}, invoicePage(), []byte(xml))
	if err != nil || len(result.Files) > 0 {
		t.Fatal(len(result.Files), err)
	}
	hasRule := func(list []einvoice.Finding) bool {
		return slices.ContainsFunc(list, func(f einvoice.Finding) bool {
			return f.Rule == "BR-CO-15" && f.Expected == "1190.00" && f.Actual == "1191.00"
		})
	}
	if attached := unmarshal[InvoiceAttached](t, result.Body); !hasRule(attached.Findings) {
		t.Errorf("%+v", attached)
	}
	if report := unmarshal[InvoiceReport](t, mustDo(t, InvoiceReadJob.Name, input(""), []byte(xml))); !hasRule(report.Findings) || report.Filename != "" {
		t.Errorf("%+v", report)
	}
	runFailing(t, job.NotInvoice, InvoiceJob.Name, InvoiceArgs{Input: input(""), XML: inputName(1)}, invoicePage(), []byte("<html/>"))
	runFailing(t, job.NotInvoice, InvoiceReadJob.Name, input(""), []byte("<html/>"))
	runFailing(t, job.NotPDF, InvoiceReadJob.Name, input(""), []byte("text"))
	runFailing(t, job.NoMatch, InvoiceReadJob.Name, input(""), invoicePage())
}
