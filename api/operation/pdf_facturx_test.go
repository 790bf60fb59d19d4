package operation

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"relaypdf/render/einvoice"
)

// TestExampleInvoiceIsWritten holds the example's XML to its JSON, which breaks no rule.
func TestExampleInvoiceIsWritten(t *testing.T) {
	t.Parallel()
	var invoice einvoice.Invoice
	if err := json.Unmarshal(invoiceJSON, &invoice); err != nil {
		t.Fatal(err)
	}
	invoice.Specification = einvoice.EN16931.Specification()
	if findings := einvoice.Check(&invoice, einvoice.CII, einvoice.EN16931); len(findings) > 0 {
		t.Errorf("the example has findings: %+v", findings)
	}
	xml, err := einvoice.Write(&invoice, einvoice.CII, einvoice.EN16931)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile("example/invoice.xml", xml, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(xml, invoiceXML) {
		t.Error("example/invoice.xml is not example/invoice.json. Run with UPDATE_GOLDEN=1.")
	}
}
