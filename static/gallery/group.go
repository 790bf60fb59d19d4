package gallery

import "slices"

// Group is a filter of the gallery: the categories of one kind of work.
type Group struct {
	Slug, Name string
	Categories []string
}

// groups are in the order of the gallery. Each category is in one of them.
var groups = []Group{
	{"billing", "Invoices and receipts", []string{"invoice", "receipt", "credit-note", "statement", "reminder"}},
	{"sales", "Quotes and orders", []string{"quote", "order-confirmation", "purchase-order", "price-list", "catalogue"}},
	{"shipping", "Shipping and field work", []string{"delivery-note", "packing-slip", "shipping-label", "label", "work-order", "inspection"}},
	{"letters", "Letters and contracts", []string{"letter", "contract"}},
	{"reports", "Reports and minutes", []string{"report", "dashboard", "minutes", "agenda", "newsletter"}},
	{"people", "HR and payroll", []string{"resume", "payslip", "timesheet", "expense-report"}},
	{"events", "Certificates and tickets", []string{"certificate", "ticket", "badge", "voucher", "invitation", "itinerary"}},
	{"places", "Health, food and property", []string{"medical", "menu", "recipe", "real-estate"}},
}

// Groups returns the groups of categories, in order.
func Groups() []Group { return groups }

// groupOf returns the group of a category.
func groupOf(category string) Group {
	if i := slices.IndexFunc(groups, func(g Group) bool { return slices.Contains(g.Categories, category) }); i >= 0 {
		return groups[i]
	}
	return Group{}
}

// place is the position of a category in the gallery.
func place(category string) int {
	at := 0
	for _, g := range groups {
		for _, c := range g.Categories {
			if c == category {
				return at
			}
			at++
		}
	}
	return at
}

// synonyms are other words for a category, which the search finds.
var synonyms = map[string]string{
	"invoice": "bill billing proforma tax invoice faktura rechnung facture factura fattura", "receipt": "proof of payment sales slip paid quittung reçu recu recibo",
	"credit-note": "refund credit memo return storno gutschrift avoir", "statement": "account statement balance kontoauszug", "reminder": "dunning overdue late payment mahnung relance",
	"quote": "quotation estimate offer bid proposal angebot devis presupuesto", "order-confirmation": "order acknowledgement auftragsbestätigung", "purchase-order": "po procurement bestellung",
	"price-list": "rates tariff menu of services", "catalogue": "catalog brochure lookbook product sheet", "delivery-note": "dispatch note goods shipping shipment lieferschein", "packing-slip": "packing list pick list shipping shipment",
	"shipping-label": "address label parcel postage", "label": "sticker asset tag barcode", "work-order": "job card job sheet service order", "inspection": "checklist audit survey",
	"letter": "letterhead correspondence cover letter brief", "contract": "agreement terms vertrag contrat", "report": "white paper review summary", "dashboard": "kpi scorecard metrics",
	"minutes": "meeting notes protocol", "agenda": "schedule programme timetable", "newsletter": "bulletin magazine", "resume": "cv curriculum vitae hr lebenslauf application",
	"payslip": "pay stub salary slip wage payroll hr", "timesheet": "hours working time hr", "expense-report": "reimbursement travel expenses hr", "certificate": "diploma award accreditation",
	"ticket": "admission pass entry", "badge": "name tag lanyard conference", "voucher": "gift card coupon", "invitation": "invite wedding card", "itinerary": "trip travel plan",
	"medical": "prescription patient health doctor clinic", "menu": "restaurant card food drinks", "recipe": "cooking", "real-estate": "property listing exposé expose house flat",
}
