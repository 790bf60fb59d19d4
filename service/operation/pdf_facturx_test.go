package operation

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render/einvoice"
	"github.com/relaypdf/relaypdf/service/schema"
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

// TestInvoicesOfAllProfiles checks the example in each profile, also with the specification of another one, as the answer of
// pdf.facturx.read has it.
func TestInvoicesOfAllProfiles(t *testing.T) {
	t.Parallel()
	for _, profile := range []einvoice.Profile{einvoice.Minimum, einvoice.BasicWL, einvoice.Basic, einvoice.EN16931, einvoice.Extended} {
		for _, specification := range []string{"", einvoice.EN16931.Specification(), einvoice.Extended.Specification()} {
			invoice := bytes.Replace(invoiceJSON, []byte("{"), []byte(`{"specification":"`+specification+`",`), 1)
			options := FacturxOptions{Profile: string(profile), Invoice: Invoice{Object: schema.Object{RawMessage: invoice}}}
			var faults schema.FieldErrors
			options.check(&faults, "")
			if len(faults) > 0 {
				t.Errorf("%s: %v", profile, faults)
			}
			read, err := einvoice.Read([]byte(options.written))
			if err != nil || read.Profile != profile {
				t.Errorf("%s: %v, %+v", profile, err, read)
			}
			if larger := profile == einvoice.Minimum || profile == einvoice.BasicWL; larger != slices.Contains(options.dropped, "lines") {
				t.Errorf("%s leaves out %v", profile, options.dropped)
			}
		}
	}
}

// TestBrokenInvoicesNameTheField breaks the example in ways that only the structure of the XML shows.
func TestBrokenInvoicesNameTheField(t *testing.T) {
	t.Parallel()
	for change, field := range map[string]string{
		`"lines":[{"priceDiscount":1,`:                                  "invoice.lines[0].grossPrice",
		`"attachments":[{"reference":"1","content":"eA=="}],"lines":[{`: "invoice.attachments[0]",
	} {
		compact := new(bytes.Buffer)
		if err := json.Compact(compact, invoiceJSON); err != nil {
			t.Fatal(err)
		}
		options := FacturxOptions{Invoice: Invoice{Object: schema.Object{RawMessage: bytes.Replace(compact.Bytes(), []byte(`"lines":[{`), []byte(change), 1)}}}
		var faults schema.FieldErrors
		options.check(&faults, "")
		if !slices.ContainsFunc(faults, func(f schema.FieldError) bool { return strings.HasPrefix(f.Field, field) }) {
			t.Errorf("%s: got %v", change, faults)
		}
	}
}
