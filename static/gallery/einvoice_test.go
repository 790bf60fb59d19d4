package gallery

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render/einvoice"
)

// TestInvoiceLayoutsAreInvoices holds the samples of the layouts for e-invoices to the rules, and their pages to the data.
func TestInvoiceLayoutsAreInvoices(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	g := load(t)
	for id, profile := range map[string]einvoice.Profile{"invoice-concord": einvoice.EN16931, "invoice-kontor": einvoice.XRechnung, "invoice-quai": einvoice.EN16931} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			l, ok := g.Get(id)
			if !ok {
				t.Fatal("no layout")
			}
			var invoice einvoice.Invoice
			decoder := json.NewDecoder(bytes.NewReader(l.Sample))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&invoice); err != nil {
				t.Fatal(err)
			}
			invoice.Specification = profile.Specification()
			for _, f := range einvoice.Check(&invoice, einvoice.CII, profile) {
				t.Errorf("the sample breaks a rule: %+v", f)
			}
			p := printHTML(t, fill(t, l, asItIs), settings(t, l, ownFormat(t, l)))
			pages := strings.Split(run(t, "pdftotext", "-layout", p.path, "-"), "\f")
			for _, d := range einvoice.Compare(&invoice, pages) {
				t.Errorf("the page does not show the sample: %+v", d)
			}
		})
	}
}
