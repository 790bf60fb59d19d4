package api_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/einvoice"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/service/operation"
)

// exampleInvoice is the invoice of the examples as JSON.
func exampleInvoice(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../service/operation/example/invoice.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// asXML writes an invoice in a syntax.
func asXML(t *testing.T, text string, syntax einvoice.Syntax) string {
	t.Helper()
	var invoice einvoice.Invoice
	if err := json.Unmarshal([]byte(text), &invoice); err != nil {
		t.Fatal(err)
	}
	xml, err := einvoice.Write(&invoice, syntax, einvoice.EN16931)
	if err != nil {
		t.Fatal(err)
	}
	return string(xml)
}

// invoicePage is a page with the total and the values of exampleInvoice.
func invoicePage(total string) string {
	return `<html lang=\"en\"><title>Invoice</title><h1>Invoice 2026-17</h1><p>Ink & Co., VAT id DE123456789, Quay 3, 20457 Hamburg<p>Ada Lovelace, Ring 2, 1010 Wien` +
		`<p>Invoice date: 2026-11-17<p>Due date: 2026-12-01<p>Net total 42.50 EUR<p>Amount due ` + total + ` EUR`
}

// pdfWithInvoice is a PDF in ASCII to which an e-invoice is attached.
func pdfWithInvoice(xml string) string {
	u, root := pdffile.NewDocument()
	page, file, spec := u.Reserve(), u.Reserve(), u.Reserve()
	u.Set(page, pdffile.Dict{"/Type": "/Page", "/MediaBox": []any{0, 0, 100, 100}})
	u.Set(file, pdffile.Stream{Entries: pdffile.Dict{"/Type": "/EmbeddedFile"}, Content: []byte(xml)})
	u.Set(spec, pdffile.Dict{"/Type": "/Filespec", "/UF": "u:factur-x.xml", "/EF": pdffile.Dict{"/F": file}})
	u.Set(root, pdffile.Dict{"/Type": "/Catalog", "/AF": []any{spec}, "/Pages": pdffile.Dict{"/Type": "/Pages", "/Kids": []any{page}, "/Count": 1}})
	return string(u.Document(root))
}

// TestLargeInvoicesAreIssued attaches the XML of a large supporting document, as JSON and as XML.
func TestLargeInvoicesAreIssued(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := toolServer(t)
	content := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("%PDF"), 500_000))
	invoice := strings.Replace(exampleInvoice(t), "{", `{"attachments":[{"reference":"1","filename":"a.pdf","mimeType":"application/pdf","content":"`+content+`"}],`, 1)
	for _, facturx := range []string{`{"compare":"off","invoice":` + invoice + `}`, `{"compare":"off","xml":` + asText(t, asXML(t, invoice, einvoice.CII)) + `}`} {
		made := s.Send(t, apitest.Request{Path: "/v1/pdf", Body: `{"html":"<html lang=en><title>x</title><p>x","options":{"facturx":` + facturx + `}}`}).OK(t).Body
		read := s.Send(t, apitest.Request{Path: "/v1/pdf/facturx/read", Body: `{"file":` + inline([]byte(made)) + `}`}).OK(t).Body
		if !strings.Contains(read, content) {
			t.Errorf("%.30s: the invoice has no attachment of %d bytes: %.300s", facturx, len(content), read)
		}
	}
}

// asText is a text as JSON.
func asText(t *testing.T, text string) string {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(quoted)
}

// TestInvoicesAreIssued makes an e-invoice of a page and of a PDF, reads and checks both, and refuses pages that
// contradict it.
func TestInvoicesAreIssued(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := toolServer(t)
	invoice := exampleInvoice(t)
	options := func(more string) string {
		return `{"standards":["ua-1"],"facturx":{"invoice":` + invoice + more + `}}`
	}
	create := func(total, more string) apitest.Request {
		return apitest.Request{Path: "/v1/pdf", Body: `{"html":"` + invoicePage(total) + `","options":` + options(more) + `}`}
	}
	issued := []string{s.Send(t, create("42.50", "")).OK(t).Body}
	plain := s.Send(t, apitest.Request{Path: "/v1/pdf", Body: `{"html":"` + invoicePage("42.50") + `"}`}).OK(t).Body
	issued = append(issued, s.Send(t, apitest.Request{Path: "/v1/pdf/facturx", Body: `{"file":` + inline([]byte(plain)) + `,"invoice":` + invoice + `}`}).OK(t).Body)
	xml := asText(t, asXML(t, invoice, einvoice.CII))
	issued = append(issued, s.Send(t, apitest.Request{Path: "/v1/pdf/facturx", Body: `{"file":` + inline([]byte(plain)) + `,"xml":` + xml + `}`}).OK(t).Body, asXML(t, invoice, einvoice.UBL))
	for i, file := range issued {
		source := `{"file":` + inline([]byte(file)) + `}`
		var read operation.FacturxAnswer
		if err := json.Unmarshal([]byte(s.Send(t, apitest.Request{Path: "/v1/pdf/facturx/read", Body: source}).OK(t).Body), &read); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(read.Invoice.RawMessage), `"withTax":42.50`) || read.Profile != einvoice.EN16931 || read.XML == "" || (read.Filename == nil) != (i == 3) {
			t.Errorf("%d: read %+v", i, read)
		}
		var report operation.FacturxReport
		if err := json.Unmarshal([]byte(s.Send(t, apitest.Request{Path: "/v1/pdf/facturx/check", Body: source}).OK(t).Body), &report); err != nil {
			t.Fatal(err)
		}
		if !report.Valid || len(report.Findings) > 0 {
			t.Errorf("%d: report %+v", i, report)
		}
		if i == 3 {
			continue
		}
		checked := s.Send(t, apitest.Request{Path: "/v1/pdf/check", Body: `{"file":` + inline([]byte(file)) + `,"standards":["a-3b"]}`}).OK(t).Body
		if strings.Contains(checked, `"violations":[{`) {
			t.Errorf("%d: %s", i, checked)
		}
	}
	before, _ := s.Balance(t)
	failure := s.Send(t, create("42.05", "")).Refused(t, wire.InvalidRequest)
	if len(failure.Details) != 1 || failure.Details[0].Field != "document_mismatch" || !strings.Contains(failure.Details[0].Message, "42.05") {
		t.Errorf("a wrong total: %+v", failure)
	}
	broken := strings.Replace(invoice, `"due": 42.50`, `"due": 42.05`, 1)
	brokenXML := asText(t, asXML(t, broken, einvoice.CII))
	ubl := asText(t, asXML(t, invoice, einvoice.UBL))
	for _, test := range []struct{ facturx, field, message string }{
		{`{"invoice":` + broken + `}`, "options.facturx.invoice.totals.due", "BR-CO-16"},
		{`{"xml":` + brokenXML + `}`, "options.facturx.xml", "BR-CO-16"},
		{`{"xml":` + ubl + `}`, "options.facturx.xml", "must be a Cross Industry Invoice"},
		{`{"xml":"<html/>"}`, "options.facturx.xml", "is not an e-invoice"},
		{`{"xml":"invoice"}`, "options.facturx.xml", "is not XML"},
		{`{"profile":"xrechnung","xml":` + xml + `}`, "options.facturx.profile", "must be en16931, the profile of xml; got xrechnung"},
	} {
		failure := s.Send(t, apitest.Request{Path: "/v1/pdf", Body: `{"html":"x","options":{"facturx":` + test.facturx + `}}`}).Refused(t, wire.InvalidRequest)
		if failure.Details[0].Field != test.field || !strings.Contains(failure.Details[0].Message, test.message) {
			t.Errorf("%.60s: %+v", test.facturx, failure)
		}
	}
	failure = s.Send(t, apitest.Request{Path: "/v1/pdf/facturx", Body: `{"file":` + inline([]byte(plain)) + `,"xml":` + asText(t, pdfWithInvoice(asXML(t, invoice, einvoice.CII))) + `}`}).Refused(t, wire.InvalidRequest)
	if failure.Details[0].Field != "xml" || failure.Details[0].Message != "must be XML; got a PDF" {
		t.Errorf("a PDF as XML: %+v", failure)
	}
	if after, held := s.Balance(t); after != before || held != 0 {
		t.Errorf("failed calls cost %d and hold %d, want nothing", before-after, held)
	}
	for more, want := range map[string]string{`,"compare":"warn"`: "page 1 shows 42.05", `,"compare":"off"`: ""} {
		request := create("42.05", more)
		request.Body = strings.TrimSuffix(request.Body, "}") + `,"response":"url"}`
		got := s.Send(t, request).OK(t).Body
		if strings.Contains(got, "document_mismatch") != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%s: %s", more, got)
		}
	}
}

// TestDocumentTypesAreRefusedEverywhere sends an invoice whose XML has a document type, open or hidden in another encoding,
// wherever an e-invoice is attached, read or checked. Nothing is charged.
func TestDocumentTypesAreRefusedEverywhere(t *testing.T) {
	t.Parallel()
	s := toolServer(t)
	invoice := exampleInvoice(t)
	plain := inline(letters("alpha"))
	for _, syntax := range []einvoice.Syntax{einvoice.CII, einvoice.UBL} {
		_, body, _ := strings.Cut(asXML(t, invoice, syntax), "\n")
		for name, xml := range map[string]string{
			"open":   `<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE a SYSTEM "http://127.0.0.1/a.dtd">` + body,
			"hidden": `<?xml version="1.0" encoding = "UTF-7"?>+ADwAIQ-DOCTYPE a SYSTEM +ACI-http://127.0.0.1/a.dtd+ACIAPg-` + body,
		} {
			file := inline([]byte(xml))
			embedded := inline([]byte(pdfWithInvoice(xml)))
			text := asText(t, xml)
			before, _ := s.Balance(t)
			for path, input := range map[string]string{
				"/v1/pdf/facturx":                   `{"file":` + plain + `,"xml":` + text + `}`,
				"/v1/pdf":                           `{"html":"<p>x","options":{"facturx":{"xml":` + text + `}}}`,
				"/v1/pdf/facturx/read":              `{"file":` + file + `}`,
				"/v1/pdf/facturx/read?of=embedded":  `{"file":` + embedded + `}`,
				"/v1/pdf/facturx/check":             `{"file":` + file + `}`,
				"/v1/pdf/facturx/check?of=embedded": `{"file":` + embedded + `}`,
				"/v1/pipelines":                     `{"steps":[{"id":"a","op":"pdf.create","input":{"html":"<p>x"}},{"id":"b","op":"pdf.facturx","input":{"step":"a","xml":` + text + `}}]}`,
				"/v1/pipelines?of=read":             `{"steps":[{"id":"a","op":"pdf.facturx.read","input":{"file":` + embedded + `}}]}`,
			} {
				path, _, _ = strings.Cut(path, "?")
				response := s.Send(t, apitest.Request{Path: path, Body: input})
				failure := response.Failure(t)
				if response.Status != 400 || !strings.Contains(response.Body, "DOCTYPE") && !strings.Contains(response.Body, "encoding") {
					t.Errorf("%s %s, %s: %d %+v", syntax, name, path, response.Status, failure)
				}
			}
			if after, _ := s.Balance(t); after != before {
				t.Errorf("%s %s: charged %v", syntax, name, before-after)
			}
		}
	}
}
