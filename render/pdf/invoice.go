package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/relaypdf/relaypdf/render/einvoice"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/archive"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// InvoiceReport is an e-invoice and the rules that it breaks.
type InvoiceReport struct {
	// Filename is the name of the XML in the PDF; empty if the input is XML.
	Filename string
	XML      string
	Syntax   einvoice.Syntax
	Profile  einvoice.Profile
	Invoice  *einvoice.Invoice
	Findings []einvoice.Finding
}

// InvoiceReadJob reads and checks an e-invoice: a PDF that contains one, or its XML.
var InvoiceReadJob = job.Define("pdf.facturx.read", engine.ReadTime, readInvoice)

// readInvoice reads the e-invoice of a file.
func readInvoice(ctx context.Context, w *engine.Work, args job.Input) (InvoiceReport, error) {
	report := InvoiceReport{}
	xml, err := os.ReadFile(w.Path(args.Name))
	if err != nil {
		return report, fmt.Errorf("input: %w", err)
	}

	start := bytes.TrimLeft(xml, "\uFEFF \t\r\n")
	isXML := einvoice.Encoding(xml) != "" || bytes.HasPrefix(start, []byte("<"))
	if !isXML {
		if xml, report.Filename, err = attachedInvoice(ctx, w, args); err != nil {
			return report, err
		}
	}

	document, err := readXML(xml)
	if err != nil {
		return report, err
	}

	document.Embedded = report.Filename != ""
	report.XML = string(xml)
	report.Syntax = document.Syntax
	report.Profile = document.Profile
	report.Invoice = document.Invoice
	report.Findings = findings(document)
	return report, nil
}

// readXML reads the XML of an e-invoice. The error is an *Error if that is the cause.
func readXML(xml []byte) (*einvoice.ParsedInvoice, error) {
	document, err := einvoice.Read(xml)
	if errors.Is(err, einvoice.ErrXML) || errors.Is(err, einvoice.ErrNotInvoice) {
		return nil, &job.Error{Kind: job.NotInvoice, Text: "is " + err.Error(), Cause: err}
	}
	return document, err
}

// findings are all deviations of an e-invoice.
func findings(document *einvoice.ParsedInvoice) []einvoice.Finding {
	return append(document.Findings, document.Check()...)
}

// attachedInvoice returns the XML in a PDF, and its file name.
func attachedInvoice(ctx context.Context, w *engine.Work, args job.Input) (xml []byte, name string, err error) {
	doc, err := job.OpenOne(ctx, w, args)
	if err != nil {
		return nil, "", err
	}

	if _, err := job.Decrypt(ctx, doc); err != nil {
		return nil, "", err
	}
	file, err := doc.ReadFile(ctx)
	if err != nil {
		return nil, "", err
	}

	xml, name, err = findInvoice(file)
	if errors.Is(err, errNoInvoice) {
		return nil, "", &job.Error{
			Kind:  job.NoMatch,
			Text:  "has no e-invoice: it has no file factur-x.xml, xrechnung.xml or zugferd-invoice.xml",
			Cause: err,
		}
	}
	if errors.Is(err, pdffile.ErrUnread) {
		return nil, "", &job.Error{Kind: job.Damaged, Cause: err}
	}

	return xml, name, err
}

// InvoiceArgs are the arguments of an InvoiceJob.
type InvoiceArgs struct {
	Input job.Input
	// XML is the name of the file with the e-invoice, which must follow the rules of its profile.
	XML string
	// Compare looks for the values of the e-invoice on the pages. Strict means that there is no result if the pages
	// contradict it.
	Compare, Strict bool
	// Archived is true if the PDF is a PDF/A-2 or PDF/A-3 that relaypdf wrote. Other PDFs are converted.
	Archived bool
	Modified time.Time
}

// InvoiceAttached is the result of an InvoiceJob. There is no output if Findings has an error, or if the job is strict
// and Disagreements has a contradiction.
type InvoiceAttached struct {
	Findings      []einvoice.Finding
	Disagreements []einvoice.Mismatch
	// Changes describe what the conversion to PDF/A has changed.
	Changes []string
}

// InvoiceJob attaches an e-invoice to a PDF, which becomes PDF/A-3.
var InvoiceJob = job.Define("pdf.facturx", engine.MakeTime, attachInvoice)

// attachInvoice attaches an e-invoice to a PDF, which becomes PDF/A-3.
func attachInvoice(ctx context.Context, w *engine.Work, args InvoiceArgs) (InvoiceAttached, error) {
	result := InvoiceAttached{}
	xml, err := os.ReadFile(w.Path(args.XML))
	if err != nil {
		return result, fmt.Errorf("e-invoice: %w", err)
	}

	document, err := readXML(xml)
	if err != nil {
		return result, err
	}

	document.Embedded = true
	for _, f := range findings(document) {
		if f.Severity == einvoice.Error {
			result.Findings = append(result.Findings, f)
		}
	}
	if len(result.Findings) > 0 {
		return result, nil
	}

	if args.Compare {
		if result.Disagreements, err = compareInvoice(ctx, w, args.Input, document.Invoice); err != nil {
			return result, err
		}
		if args.Strict && len(result.Disagreements) > 0 && result.Disagreements[0].Contradiction {
			return result, nil
		}
	}

	name := args.Input.Name
	if !args.Archived {
		changed, err := archive.Convert(ctx, w, archive.Args{Input: args.Input, Level: archive.Level3B})
		if err != nil {
			return result, err
		}
		result.Changes = changed.Changes
		name = job.Output
	}

	archived, err := os.ReadFile(w.Path(name))
	if err != nil {
		return result, fmt.Errorf("archive: %w", err)
	}

	embedded, err := embedInvoice(archived, embeddedInvoice{
		XML:      xml,
		Profile:  document.Profile,
		Modified: args.Modified,
	})
	if errors.Is(err, errHasInvoice) {
		return result, &job.Error{
			Kind:  job.NoArchive,
			Text:  "has an e-invoice already. Remove it first with pdf.attachments",
			Cause: err,
		}
	}
	if err != nil {
		return result, err
	}

	if err := os.WriteFile(w.Path(job.Output), embedded, 0o600); err != nil {
		return result, fmt.Errorf("result: %w", err)
	}
	if args.Archived {
		w.Output(job.Output)
	}
	return result, nil
}

// compareInvoice looks for the values of an invoice in the text of a PDF.
func compareInvoice(
	ctx context.Context, w *engine.Work, in job.Input, invoice *einvoice.Invoice,
) ([]einvoice.Mismatch, error) {
	texts, err := inputTexts(ctx, w, in)
	if err != nil {
		return nil, err
	}
	return einvoice.Compare(invoice, texts), nil
}
