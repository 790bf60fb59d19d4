package einvoice

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotInvoice means that an XML document is neither a Cross Industry Invoice nor an Invoice or CreditNote of UBL.
var ErrNotInvoice = errors.New("not an e-invoice")

// foreignRoots are documents that are sent as e-invoices but are none of EN 16931: the local name of their root, a part
// of its namespace, and what they are.
var foreignRoots = []struct{ name, space, kind string }{
	{"CrossIndustryDocument", "urn:ferd:", "an invoice of ZUGFeRD 1, which EN 16931 has replaced. " +
		"Send ZUGFeRD 2 or Factur-X"},
	{"CrossIndustryDocument", "", "a document of ZUGFeRD 1, which EN 16931 has replaced. Send ZUGFeRD 2 or Factur-X"},
	{"CrossIndustryInvoice", "", "a Cross Industry Invoice of another version than D16B, whose " +
		"namespace ends with CrossIndustryInvoice:100"},
	{"SCRDMCCBDACIOMessageStructure", "", "an order of Order-X, not an invoice"},
	{"CrossIndustryOrder", "", "a Cross Industry Order, not an invoice"},
	{"CrossIndustryDespatchAdvice", "", "a Cross Industry Despatch Advice, not an invoice"},
	{"FatturaElettronica", "", "an invoice of FatturaPA. Send CII or UBL"},
	{"Invoice", "ebinterface", "an invoice of ebInterface. Send CII or UBL"},
	{"Facturae", "", "an invoice of Facturae. Send CII or UBL"},
	{"Faktura", "", "an invoice of KSeF. Send CII or UBL"},
	{"Invoice", "isdoc", "an invoice of ISDOC. Send CII or UBL"},
	{"Finvoice", "", "an invoice of Finvoice. Send CII or UBL"},
	{"INVOIC", "", "an EDIFACT message. Send CII or UBL"},
	{"StandardBusinessDocument", "", "an envelope (SBDH). Send the invoice that it contains"},
}

// foreign returns ErrNotInvoice for a root, with the name of the document that it begins.
func foreign(root *node) error {
	const ubl = "urn:oasis:names:specification:ubl:schema:xsd:"
	name := root.local()

	for _, f := range foreignRoots {
		if name == f.name && strings.Contains(strings.ToLower(root.space), strings.ToLower(f.space)) {
			return fmt.Errorf("%w: it is %s", ErrNotInvoice, f.kind)
		}
	}

	switch {
	case name == "Invoice" || name == "CreditNote":
		return fmt.Errorf("%w: its root %s has the namespace %.80q instead of that of UBL 2, %s%s-2", ErrNotInvoice,
			name, root.space, ubl, name)
	case strings.HasPrefix(root.space, ubl):
		return fmt.Errorf("%w: it is the UBL document %.60s, not an Invoice or CreditNote", ErrNotInvoice, name)
	}
	return fmt.Errorf("%w: its root is %.60s instead of CrossIndustryInvoice, or Invoice or CreditNote of UBL 2",
		ErrNotInvoice, name)
}
