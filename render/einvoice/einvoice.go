// Package einvoice reads, writes and checks e-invoices of EN 16931: the business terms of the standard as Invoice, and
// the documents Cross Industry Invoice (Factur-X, ZUGFeRD, XRechnung) and UBL. It does no I/O and renders nothing.
//
//	document, err := einvoice.Write(invoice, einvoice.CII, einvoice.EN16931)
//	read, err := einvoice.Read(document)
//	findings := einvoice.Check(read.Invoice, read.Profile, read.Syntax)
//
// One table binds each business term to its elements in both syntaxes: the tags of Invoice. Every amount is an exact
// decimal.
package einvoice

import "slices"

// Syntax is the kind of XML of an e-invoice.
type Syntax string

// The syntaxes. A UBL document is an Invoice or a CreditNote, by its type code.
const (
	CII Syntax = "cii"
	UBL Syntax = "ubl"
)

// Profile is the amount of data of an e-invoice, and the rules for it.
type Profile string

// The profiles of Factur-X and ZUGFeRD, and XRechnung, which has the data of EN16931 and more rules.
const (
	Minimum   Profile = "minimum"
	BasicWL   Profile = "basic-wl"
	Basic     Profile = "basic"
	EN16931   Profile = "en16931"
	Extended  Profile = "extended"
	XRechnung Profile = "xrechnung"
)

// Profiles lists all profiles, the smallest first.
func Profiles() []Profile {
	return []Profile{Minimum, BasicWL, Basic, EN16931, Extended, XRechnung}
}

// specifications are the specification identifiers (BT-24) that documents of each profile state.
var specifications = map[Profile]string{
	Minimum:   "urn:factur-x.eu:1p0:minimum",
	BasicWL:   "urn:factur-x.eu:1p0:basicwl",
	Basic:     "urn:cen.eu:en16931:2017#compliant#urn:factur-x.eu:1p0:basic",
	EN16931:   "urn:cen.eu:en16931:2017",
	Extended:  "urn:cen.eu:en16931:2017#conformant#urn:factur-x.eu:1p0:extended",
	XRechnung: "urn:cen.eu:en16931:2017#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0",
}

// Specification returns the specification identifier (BT-24) of a profile.
func (p Profile) Specification() string { return specifications[p] }

// level is the place of a profile's structure among those of Factur-X, from 0.
func (p Profile) level() int {
	if p == XRechnung {
		p = EN16931
	}
	return max(0, slices.Index(Profiles(), p))
}
