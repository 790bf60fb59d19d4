package operation

import (
	"encoding/json"
	"time"

	"github.com/relaypdf/relaypdf/render/einvoice"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdf/compare"
	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdfcheck"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Examples of JSON results, for the reference.

var (
	answerTime = time.Date(2026, time.November, 27, 9, 30, 0, 0, time.UTC)

	infoAnswer = pdf.Info{
		PageCount: 1, PDFVersion: "1.7", Title: "Invoice 42", Author: "Ink & Co.", Keywords: []string{"invoice"}, Creator: "Chromium", Producer: "Skia/PDF",
		CreatedAt: &answerTime, ModifiedAt: &answerTime, Tagged: true, SizeBytes: 24318, Pages: []pdf.PageInfo{{Page: 1, Width: 595, Height: 842}},
		Permissions: pdf.Permissions{Print: true, HighRes: true, Copy: true, Modify: true, Annotate: true, Fill: true, Assemble: true},
	}
	metadataAnswer = pdf.Metadata{
		Title: "Invoice 42", Author: "Ink & Co.", Keywords: "invoice", Creator: "Chromium", Producer: "Skia/PDF", CreatedAt: &answerTime, ModifiedAt: &answerTime,
		Custom: map[string]string{"Project": "Blue"}, Standards: []string{"a-2b", "ua-1"}, Differences: []string{},
		XMP: new("<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">…</x:xmpmeta>"),
	}
	checkAnswer = pdfcheck.Report{
		Engine: "relaypdf", Conforms: new(false), Results: []pdfcheck.Result{{
			Standard: pdffile.UA1, Conforms: new(false), Unchecked: []string{"Glyphs and character maps of fonts"},
			Violations: []pdfcheck.Violation{{
				Clause: "7.3", Test: 1, Message: "An image has no alternative text.", Fix: "Set alt, which is empty for decoration; for an SVG, role=\"img\" and aria-label.",
				Count: 1, Page: new(1), Object: new("12 0 R"), Places: []pdfcheck.Place{{Page: new(1), Object: new("12 0 R")}},
			}},
		}},
	}
	verifyAnswer = pdf.Verification{
		Verdict: "valid", Signatures: []pdf.Signature{{
			Field: "Signature1", Type: "signature", Verdict: "valid", Reason: "The signature is valid.", Intact: true, Trusted: true, Revocation: "good",
			Level: new("B-LT"), Changes: []pdf.SignatureChange{{Type: "validation-data", Text: "validation data"}}, Signer: new("CN=Ada,O=Ink & Co."),
			Chain: []pdf.Certificate{{Subject: "CN=Ada,O=Ink & Co.", Issuer: "CN=Example CA", Serial: "1001", NotBefore: answerTime.AddDate(-1, 0, 0), NotAfter: answerTime.AddDate(1, 0, 0)}},
			Time:  &answerTime, TimeSource: new("timestamp"), SignReason: new("Agreed"),
		}},
	}
	compareAnswer = compare.Comparison{
		OldPageCount: 2, NewPageCount: 2, Pages: []compare.ComparedPage{
			{Status: "equal", OldPage: new(1), NewPage: new(1), Areas: []compare.PageArea{}, Text: []compare.TextChange{}},
			{
				Status: "changed", OldPage: new(2), NewPage: new(2), ChangedPixels: 0.000214, Areas: []compare.PageArea{{X: 71.5, Y: 96, Width: 34.5, Height: 11}},
				Text: []compare.TextChange{{
					Change: "changed", Old: "99.00", New: "149.00",
					OldAreas: []compare.PageArea{{X: 72, Y: 95.3, Width: 27.8, Height: 12.7}}, NewAreas: []compare.PageArea{{X: 72, Y: 95.3, Width: 33.4, Height: 12.7}},
				}},
			},
		},
	}
	invoiceAnswer = FacturxAnswer{
		Profile: einvoice.EN16931, Syntax: einvoice.CII, Filename: new("factur-x.xml"), Invoice: exampleInvoice(), XML: "<rsm:CrossIndustryInvoice>…</rsm:CrossIndustryInvoice>",
	}
	invoiceCheckAnswer = FacturxReport{
		Profile: einvoice.EN16931, Syntax: einvoice.CII, Findings: []FacturxFinding{{
			Rule: "BR-CO-10", Severity: einvoice.Error, Message: "The sum of the lines is the sum of their net amounts.", JSONPath: new("totals.lines"),
			XMLPath:  new("/rsm:CrossIndustryInvoice/rsm:SupplyChainTradeTransaction/ram:ApplicableHeaderTradeSettlement/ram:SpecifiedTradeSettlementHeaderMonetarySummation/ram:LineTotalAmount"),
			Expected: new("99"), Actual: new("98"),
		}},
	}
	textAnswer     = pdf.Text{PageCount: 1, Pages: []pdf.PageText{{Page: 1, Text: "Invoice 42\nTotal: 99.00 EUR"}}}
	readTextAnswer = pdf.ReadText{PageCount: 1, Pages: []job.ReadPage{{
		Page: 1, Source: "ocr", Width: 595, Height: 842, Confidence: 96.4, Text: "Invoice 42",
		Words: []job.ReadWord{
			{Text: "Invoice", X: 57, Y: 60.5, Width: 98, Height: 22, Confidence: 96.1}, {Text: "42", X: 162, Y: 60.5, Width: 30, Height: 22, Confidence: 96.7},
		},
	}}}
	formAnswer = form.Form{Fields: []form.Field{{
		Name: "customer.name", Type: "text", Value: "Ink & Co.", DefaultValue: "", Options: []string{}, Required: true, MaxLength: new(80), Page: new(1), Rect: []float64{72, 640, 320, 660},
	}}}
	attachmentsAnswer = pdf.Attachments{Attachments: []pdf.Attachment{{
		Name: "factur-x.xml", Filename: "factur-x.xml", Description: "Invoice data", ContentType: "text/xml", SizeBytes: new(int64(4120)), CreatedAt: &answerTime, ModifiedAt: &answerTime,
	}}}
	dataAnswer = DataAnswer{
		MarkdownText: pdf.MarkdownText{PageCount: 1, Pages: []pdf.MarkdownPage{{Page: 1, Source: "text"}}, Markdown: "<!-- page 1 -->\n\n# Invoice 42\n\nTotal: 99.00 EUR"},
	}
	templateAnswer = GeneratedTemplate{
		HTML: "<h1>Invoice {{number}}</h1>", SampleData: json.RawMessage(`{"number":42}`), Options: json.RawMessage(`{"format":"A4"}`),
	}
)
