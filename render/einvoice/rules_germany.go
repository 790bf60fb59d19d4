package einvoice

import (
	"regexp"
	"slices"
	"strings"
)

// germanRules are the rules of XRechnung about the invoice as a whole.
var germanRules = []rule[Invoice]{
	{id: "BR-DE-1", field: "payments", message: "The invoice must state how to pay (BG-16).", scope: germany,
		holds: func(_ *checker, i *Invoice) bool { return len(i.Payments) > 0 }},
	{id: "BR-DE-2", field: "seller.contact", message: "The seller must have a contact (BG-6).", scope: germany,
		holds: func(_ *checker, i *Invoice) bool { return given(i.seller().Contact) }},
	required("BR-DE-3", "seller.address.city", "The address of the seller must have a city (BT-37).", germany, func(i *Invoice) string { return orNew(i.seller().Address).City }),
	required("BR-DE-4", "seller.address.postCode", "The address of the seller must have a post code (BT-38).", germany, func(i *Invoice) string { return orNew(i.seller().Address).PostCode }),
	contactRule("BR-DE-5", "name", "The contact of the seller must have a name (BT-41).", func(c *Contact) bool { return !blank(c.Name) }),
	contactRule("BR-DE-6", "phone", "The contact of the seller must have a telephone number (BT-42).", func(c *Contact) bool { return !blank(c.Phone) }),
	contactRule("BR-DE-7", "email", "The contact of the seller must have an email address (BT-43).", func(c *Contact) bool { return !blank(c.Email) }),
	required("BR-DE-8", "buyer.address.city", "The address of the buyer must have a city (BT-52).", germany, func(i *Invoice) string { return orNew(i.buyer().Address).City }),
	required("BR-DE-9", "buyer.address.postCode", "The address of the buyer must have a post code (BT-53).", germany, func(i *Invoice) string { return orNew(i.buyer().Address).PostCode }),
	{id: "BR-DE-10", field: "delivery.address.city", message: "The address of delivery must have a city (BT-77).", scope: germany,
		holds: func(_ *checker, i *Invoice) bool { a := orNew(i.Delivery).Address; return a == nil || !blank(a.City) }},
	{id: "BR-DE-11", field: "delivery.address.postCode", message: "The address of delivery must have a post code (BT-78).", scope: germany,
		holds: func(_ *checker, i *Invoice) bool {
			a := orNew(i.Delivery).Address
			return a == nil || !blank(a.PostCode)
		}},
	required("BR-DE-15", "buyerReference", "The invoice must have a buyer reference (BT-10), in Germany the Leitweg-ID.", germany, func(i *Invoice) string { return i.BuyerReference }),
	{id: "BR-DE-16", field: "seller", message: "An invoice with VAT categories other than O must have the seller's VAT identifier (BT-31), tax number (BT-32) or tax representative (BG-11).", scope: germany,
		holds: func(_ *checker, i *Invoice) bool {
			taxed := slices.ContainsFunc(vatCategories, func(v vatCategory) bool { return v.code != "O" && i.charges(v.code) })
			return !taxed || !blank(i.seller().VATID) || !blank(i.seller().TaxNumber) || given(i.TaxRepresentative)
		}},
	{id: "BR-DE-17", field: "typeCode", message: "The type should be 326, 380, 381, 384, 389, 875, 876 or 877.", scope: germany, warning: true,
		holds: func(_ *checker, i *Invoice) bool {
			return slices.Contains([]string{"326", "380", "381", "384", "389", "875", "876", "877"}, i.TypeCode)
		}},
	{id: "BR-DE-18", field: "paymentTerms", message: "Each line of the payment terms that begins with # must be like #SKONTO#TAGE=14#PROZENT=2.25#, and end with a line break.", scope: germany,
		holds: func(_ *checker, i *Invoice) bool { return discountTerms(string(i.PaymentTerms)) }},
	{id: "BR-DE-21", field: "specification", message: "The specification should be that of XRechnung 3.0.", scope: germany, warning: true,
		holds: func(_ *checker, i *Invoice) bool {
			return strings.HasPrefix(i.Specification, XRechnung.Specification())
		},
		expected: func(*checker, *Invoice) string { return XRechnung.Specification() }},
	{id: "BR-DE-26", field: "precedingInvoices", message: "A corrected invoice (384) should name the invoice that it corrects (BG-3).", scope: germany, warning: true,
		holds: func(_ *checker, i *Invoice) bool { return i.TypeCode != "384" || len(i.PrecedingInvoices) > 0 }},
	{id: "BR-DE-27", field: "seller.contact.phone", message: "The telephone number (BT-42) should have at least three digits.", scope: germany, warning: true,
		holds: func(_ *checker, i *Invoice) bool {
			c := i.seller().Contact
			return c == nil || len(digits.FindAllString(c.Phone, -1)) >= 3
		}},
	{id: "BR-DE-28", field: "seller.contact.email", message: "The email address (BT-43) should have one @ between two parts.", scope: germany, warning: true,
		holds: func(_ *checker, i *Invoice) bool {
			c := i.seller().Contact
			return c == nil || emailPattern.MatchString(strings.TrimSpace(c.Email))
		}},
	{id: "BR-DE-30", field: "directDebit.creditorId", message: "A direct debit (BG-19) must have a creditor identifier (BT-90).", scope: germany,
		holds: func(_ *checker, i *Invoice) bool { return i.DirectDebit == nil || !blank(i.DirectDebit.CreditorID) }},
	{id: "BR-DE-31", field: "directDebit.debitedAccount", message: "A direct debit (BG-19) must have the account that is debited (BT-91).", scope: germany,
		holds: func(_ *checker, i *Invoice) bool { return i.DirectDebit == nil || !blank(i.DirectDebit.DebitedAccount) }},
	{id: "BR-DE-TMP-32", field: "delivery.date", message: "The invoice should have a date of delivery (BT-72), a period (BG-14), or a period of each line (BG-26).", scope: germany, warning: true,
		holds: func(_ *checker, i *Invoice) bool {
			return !blank(orNew(i.Delivery).Date) || given(i.Period) || !slices.ContainsFunc(i.Lines, func(l Line) bool { return l.Period == nil })
		}},
}

func contactRule(id, field, message string, holds func(*Contact) bool) rule[Invoice] {
	return rule[Invoice]{id: id, field: "seller.contact." + field, message: message, scope: germany,
		holds: func(_ *checker, i *Invoice) bool { return i.seller().Contact == nil || holds(i.seller().Contact) }}
}

var (
	digits          = regexp.MustCompile(`\d`)
	emailPattern    = regexp.MustCompile(`^[^@\s]+@([^@.\s]+\.)+[^@.\s]+$`)
	discountPattern = regexp.MustCompile(`^#SKONTO#TAGE=\d+#PROZENT=\d+\.\d{2}(#BASISBETRAG=-?\d+\.\d{2})?#$`)
	cardMeans       = []string{"48", "54", "55"}
)

// discountTerms checks the lines of payment terms that state a cash discount for programs.
func discountTerms(terms string) bool {
	lines := strings.Split(strings.ReplaceAll(terms, "\r\n", "\n"), "\n")
	for i, line := range lines {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") && (!discountPattern.MatchString(line) || i == len(lines)-1) {
			return false
		}
	}
	return true
}

// germanPaymentRules are the rules of XRechnung about each way to pay.
var germanPaymentRules = []rule[Payment]{
	{id: "BR-DE-19", field: "account", message: "A SEPA credit transfer (58) should have a valid IBAN (BT-84).", scope: germany, warning: true,
		holds: func(_ *checker, p *Payment) bool { return p.MeansCode != "58" || validIBAN(string(p.Account)) }},
	{id: "BR-DE-20", field: "account", message: "A SEPA direct debit (59) should have a valid IBAN (BT-91).", scope: germany, warning: true,
		holds: func(c *checker, p *Payment) bool {
			return p.MeansCode != "59" || validIBAN(orNew(c.invoice.DirectDebit).DebitedAccount)
		}},
	{id: "BR-DE-23-a", field: "account", message: "A credit transfer (30, 58) must have an account (BG-17).", scope: germany,
		holds: func(_ *checker, p *Payment) bool {
			return !slices.Contains(creditTransfers, p.MeansCode) || p.hasAccount()
		}},
	{id: "BR-DE-23-b", field: "meansCode", message: "A credit transfer (30, 58) must have neither a card (BG-18) nor a direct debit (BG-19).", scope: germany,
		holds: func(c *checker, p *Payment) bool {
			return !slices.Contains(creditTransfers, p.MeansCode) || p.Card == nil && c.invoice.DirectDebit == nil
		}},
	{id: "BR-DE-24-a", field: "card", message: "A payment by card (48, 54, 55) must have the card (BG-18).", scope: germany,
		holds: func(_ *checker, p *Payment) bool { return !slices.Contains(cardMeans, p.MeansCode) || given(p.Card) }},
	{id: "BR-DE-24-b", field: "meansCode", message: "A payment by card (48, 54, 55) must have neither an account (BG-17) nor a direct debit (BG-19).", scope: germany,
		holds: func(c *checker, p *Payment) bool {
			return !slices.Contains(cardMeans, p.MeansCode) || !p.hasAccount() && c.invoice.DirectDebit == nil
		}},
	{id: "BR-DE-25-a", field: "meansCode", message: "A direct debit (59) must have its data (BG-19).", scope: germany,
		holds: func(c *checker, p *Payment) bool { return p.MeansCode != "59" || given(c.invoice.DirectDebit) }},
	{id: "BR-DE-25-b", field: "meansCode", message: "A direct debit (59) must have neither an account (BG-17) nor a card (BG-18).", scope: germany,
		holds: func(_ *checker, p *Payment) bool { return p.MeansCode != "59" || !p.hasAccount() && p.Card == nil }},
}

// hasAccount reports whether the account to pay to is given (BG-17).
func (p *Payment) hasAccount() bool {
	return !blank(p.Account) || !blank(p.AccountName) || !blank(p.BIC)
}
