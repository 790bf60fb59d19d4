package render

import (
	"context"
	"errors"
	"time"

	"github.com/relaypdf/relaypdf/render/einvoice"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/spool"
)

// MismatchError means that the pages of a PDF contradict the e-invoice that was to be attached.
type MismatchError struct{ Disagreements []einvoice.Mismatch }

func (e *MismatchError) Error() string { return "render: the pages contradict the e-invoice" }

// InvalidInvoiceError means that the e-invoice that was to be attached breaks rules.
type InvalidInvoiceError struct{ Findings []einvoice.Finding }

func (e *InvalidInvoiceError) Error() string { return "render: the e-invoice breaks rules" }

// AttachInvoice attaches the XML of an e-invoice to a PDF, which becomes PDF/A-3. It returns an *InvalidInvoiceError
// if the XML breaks rules, and a *MismatchError if the comparison is strict and the pages contradict the invoice.
func (a *Account) AttachInvoice(
	ctx context.Context, file PDFFile, xml string, how pdf.InvoiceArgs,
) (_ *spool.File, attached pdf.InvoiceAttached, err error) {
	how.Input = file.Input()
	how.XML = "invoice.xml"
	how.Modified = time.Now()
	files := []engine.File{file.File(), {Name: how.XML, Content: spool.FromBytes([]byte(xml))}}
	result, attached, err := run(ctx, a, pdf.InvoiceJob, how, files)
	if err != nil {
		return nil, attached, err
	}

	switch d := attached.Disagreements; {
	case len(attached.Findings) > 0:
		return nil, attached, errors.Join(&InvalidInvoiceError{Findings: attached.Findings}, result.Close())
	case how.Strict && len(d) > 0 && d[0].Contradiction:
		return nil, attached, errors.Join(&MismatchError{Disagreements: d}, result.Close())
	}
	return result.Output(0), attached, nil
}
