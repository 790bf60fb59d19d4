package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/relaypdf/relaypdf/render/einvoice"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/spool"
)

// MismatchError means that the pages of a PDF contradict the e-invoice that was to be attached.
type MismatchError struct{ Disagreements []einvoice.Disagreement }

func (e *MismatchError) Error() string { return "render: the pages contradict the e-invoice" }

// InvalidInvoiceError means that the e-invoice that was to be attached breaks rules.
type InvalidInvoiceError struct{ Findings []einvoice.Finding }

func (e *InvalidInvoiceError) Error() string { return "render: the e-invoice breaks rules" }

// ReadInvoice reads the e-invoice of a PDF, or of a file that is its XML, and checks it.
func (t *Tools) ReadInvoice(ctx context.Context, file PDFFile) (pdf.InvoiceReport, error) {
	var report pdf.InvoiceReport
	files, input := file.input()
	result, err := t.runTool(ctx, engine.Job{Name: pdf.InvoiceReadJob, Args: input, Files: files})
	if err != nil {
		return report, err
	}
	err = errors.Join(json.Unmarshal(result.Body, &report), result.Close())
	return report, err
}

// ReadInvoiceXML is ReadInvoice for the text of an XML file.
func (t *Tools) ReadInvoiceXML(ctx context.Context, xml string) (pdf.InvoiceReport, error) {
	return t.ReadInvoice(ctx, PDFFile{Content: spool.FromBytes([]byte(xml))})
}

// AttachInvoice attaches the XML of an e-invoice to a PDF, which becomes PDF/A-3. It returns an *InvalidInvoiceError if the
// XML breaks rules, and a *MismatchError if the comparison is strict and the pages contradict the invoice.
func (a *Account) AttachInvoice(ctx context.Context, file PDFFile, xml string, how pdf.InvoiceArgs) (_ *spool.File, attached pdf.InvoiceAttached, err error) {
	files, input := file.input()
	how.Input, how.XML, how.Modified = input, "invoice.xml", time.Now()
	files = append(files, engine.File{Name: how.XML, Content: spool.FromBytes([]byte(xml))})
	result, err := a.runTool(ctx, engine.Job{Name: pdf.InvoiceJob, Args: how, Files: files})
	if err != nil {
		return nil, attached, err
	}
	if err := json.Unmarshal(result.Body, &attached); err != nil {
		return nil, attached, errors.Join(fmt.Errorf("%s: %w", pdf.InvoiceJob, err), result.Close())
	}
	switch d := attached.Disagreements; {
	case len(attached.Findings) > 0:
		return nil, attached, errors.Join(&InvalidInvoiceError{Findings: attached.Findings}, result.Close())
	case how.Strict && len(d) > 0 && d[0].Contradiction:
		return nil, attached, errors.Join(&MismatchError{Disagreements: d}, result.Close())
	}
	return result.Output(0), attached, nil
}
