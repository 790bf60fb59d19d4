package einvoice

import "slices"

// vatCategory is a VAT category with the rules that all categories have in common: their numbers are 01 to 10.
type vatCategory struct {
	code, prefix, name string
	rate               rateRule
	// exempt means that the breakdown must have a reason why no VAT is charged; otherwise it must have none.
	exempt bool
	// several means that there is a breakdown for each rate, instead of one.
	several bool
	// parties reports whether the parties have the identifiers that the category needs.
	parties func(i *Invoice) bool
	// needs states these.
	needs string
}

type rateRule int

const (
	positive rateRule = iota
	zeroRate
	anyRate
	noRate
)

var rateTexts = map[rateRule]string{positive: "above 0", zeroRate: "0", anyRate: "0 or above", noRate: "absent"}

func (r rateRule) holds(rate *Decimal) bool {
	switch r {
	case positive:
		return given(rate) && rate.sign() > 0
	case zeroRate:
		return given(rate) && rate.sign() == 0
	case anyRate:
		return given(rate) && rate.sign() >= 0
	}
	return rate == nil
}

func (i *Invoice) sellerVAT() bool {
	return !blank(i.seller().VATID) || given(i.TaxRepresentative) && !blank(i.TaxRepresentative.VATID)
}
func (i *Invoice) sellerTax() bool { return i.sellerVAT() || !blank(i.seller().TaxNumber) }

const sellerNeeds = "the VAT identifier (BT-31) or the tax number (BT-32) of the seller, or the VAT identifier of its tax representative (BT-63)"

var vatCategories = []vatCategory{
	{code: "S", prefix: "BR-S", name: "standard rate", rate: positive, several: true, parties: (*Invoice).sellerTax, needs: sellerNeeds},
	{code: "Z", prefix: "BR-Z", name: "zero rate", rate: zeroRate, parties: (*Invoice).sellerTax, needs: sellerNeeds},
	{code: "E", prefix: "BR-E", name: "exempt", rate: zeroRate, exempt: true, parties: (*Invoice).sellerTax, needs: sellerNeeds},
	{code: "AE", prefix: "BR-AE", name: "reverse charge", rate: zeroRate, exempt: true,
		parties: func(i *Invoice) bool {
			return i.sellerTax() && (!blank(i.buyer().VATID) || given(i.buyer().LegalRegistration))
		},
		needs: sellerNeeds + ", and the VAT identifier (BT-48) or legal registration (BT-47) of the buyer"},
	{code: "K", prefix: "BR-IC", name: "intra-community supply", rate: zeroRate, exempt: true,
		parties: func(i *Invoice) bool { return i.sellerVAT() && !blank(i.buyer().VATID) },
		needs:   "the VAT identifiers of the seller (BT-31) or its tax representative (BT-63), and of the buyer (BT-48)"},
	{code: "G", prefix: "BR-G", name: "export", rate: zeroRate, exempt: true, parties: (*Invoice).sellerVAT,
		needs: "the VAT identifier of the seller (BT-31) or of its tax representative (BT-63)"},
	{code: "O", prefix: "BR-O", name: "outside VAT", rate: noRate, exempt: true,
		parties: func(i *Invoice) bool { return !i.sellerVAT() && blank(i.buyer().VATID) },
		needs:   "no VAT identifier of the seller (BT-31), its tax representative (BT-63) or the buyer (BT-48)"},
	{code: "L", prefix: "BR-AF", name: "IGIC", rate: anyRate, several: true, parties: (*Invoice).sellerTax, needs: sellerNeeds},
	{code: "M", prefix: "BR-AG", name: "IPSI", rate: anyRate, several: true, parties: (*Invoice).sellerTax, needs: sellerNeeds},
}

// uses reports whether a line, an allowance, a charge or a breakdown has a category.
func (i *Invoice) uses(category string) bool {
	return i.charges(category) || i.breaksDown(category)
}

// charges reports whether a line, an allowance or a charge has a category.
func (i *Invoice) charges(category string) bool {
	is := func(a Allowance) bool { return a.Category == category }
	return slices.ContainsFunc(i.Lines, func(l Line) bool { return l.Category == category }) || slices.ContainsFunc(i.Allowances, is) || slices.ContainsFunc(i.Charges, is)
}

// onlyIn reports whether all addresses are in one country.
func (i *Invoice) onlyIn(country string) bool {
	for _, a := range []*Address{i.seller().Address, i.buyer().Address, orNew(i.Delivery).Address, orNew(i.TaxRepresentative).Address} {
		if a != nil && a.Country != country {
			return false
		}
	}
	return true
}

// baseKey is a category, and a rate if each rate has its own breakdown.
type baseKey struct{ category, rate string }

func keyOf(category string, rate *Decimal) baseKey {
	for _, v := range vatCategories {
		if v.code == category && v.several && rate != nil {
			return baseKey{category, rate.plain()}
		}
	}
	return baseKey{category: category}
}

// base is the amount of a category, and of one rate if each has its own breakdown.
func (c *checker) base(category string, rate *Decimal) Decimal {
	if c.bases == nil {
		c.bases = map[baseKey]Decimal{}
		i := c.invoice
		add := func(category string, rate, amount *Decimal, sign Decimal) {
			key := keyOf(category, rate)
			c.bases[key] = c.bases[key].plus(or0(amount).times(sign))
		}
		for _, l := range i.Lines {
			add(l.Category, l.Rate, l.NetAmount, one)
		}
		for _, a := range i.Charges {
			add(a.Category, a.Rate, a.Amount, one)
		}
		for _, a := range i.Allowances {
			add(a.Category, a.Rate, a.Amount, zero.minus(one))
		}
	}
	return c.bases[keyOf(category, rate)].cents()
}

func vatInvoiceRules() (rules []rule[Invoice]) {
	for _, v := range vatCategories {
		message := "An invoice with the category " + v.code + " (" + v.name + ") must have exactly one VAT breakdown (BG-23) of that category. Other invoices must have none."
		if v.several {
			message = "An invoice with the category " + v.code + " (" + v.name + ") must have a VAT breakdown (BG-23) of it."
		}
		rules = append(rules, rule[Invoice]{id: v.prefix + "-01", field: "taxes", message: message, scope: withLines,
			holds: func(c *checker, i *Invoice) bool {
				count := 0
				for _, t := range i.Taxes {
					if t.Category == v.code {
						count++
					}
				}
				if v.several {
					return count > 0 && (c.dialect == crossIndustry || i.charges(v.code)) || count == 0 && !i.charges(v.code)
				}
				return count == 1 && i.charges(v.code) || count == 0 && !i.charges(v.code)
			}})
	}
	return append(rules, vatOtherRules...)
}

// vatOtherRules are the rules that only one category has.
var vatOtherRules = []rule[Invoice]{
	{id: "BR-IC-11", field: "delivery.date", message: "An intra-community supply (K) must have a date of delivery (BT-72) or a period (BG-14).",
		holds: func(_ *checker, i *Invoice) bool {
			return !i.breaksDown("K") || !blank(orNew(i.Delivery).Date) || given(i.Period) && periodGiven(nil, i.Period)
		}},
	{id: "BR-IC-12", field: "delivery.address.country", message: "An intra-community supply (K) must have the country of delivery (BT-80).",
		holds: func(_ *checker, i *Invoice) bool {
			return !i.breaksDown("K") || !blank(orNew(orNew(i.Delivery).Address).Country)
		}},
	{id: "BR-O-11", field: "taxes", message: "An invoice with a breakdown outside VAT (O) must not have other breakdowns.",
		holds: func(_ *checker, i *Invoice) bool { return !i.breaksDown("O") || len(i.Taxes) == 1 }},
	{id: "BR-O-12", field: "lines", message: "An invoice with a breakdown outside VAT (O) must not have lines of other categories.", scope: withLines,
		holds: func(_ *checker, i *Invoice) bool {
			return !i.breaksDown("O") || !slices.ContainsFunc(i.Lines, func(l Line) bool { return l.Category != "O" })
		}},
	{id: "BR-O-13", field: "allowances", message: "An invoice with a breakdown outside VAT (O) must not have allowances of other categories.",
		holds: func(_ *checker, i *Invoice) bool {
			return !i.breaksDown("O") || !slices.ContainsFunc(i.Allowances, isNotO)
		}},
	{id: "BR-O-14", field: "charges", message: "An invoice with a breakdown outside VAT (O) must not have charges of other categories.",
		holds: func(_ *checker, i *Invoice) bool {
			return !i.breaksDown("O") || !slices.ContainsFunc(i.Charges, isNotO)
		}},
}

func isNotO(a Allowance) bool { return a.Category != "O" }

func (i *Invoice) breaksDown(category string) bool {
	return slices.ContainsFunc(i.Taxes, func(t Tax) bool { return t.Category == category })
}

func vatLineRules() (rules []rule[Line]) {
	for _, v := range vatCategories {
		rules = append(rules,
			rule[Line]{id: v.prefix + "-02", field: "taxCategory", message: "Lines of the category " + v.code + " (" + v.name + ") require " + v.needs + ".", scope: withLines,
				holds: func(c *checker, l *Line) bool { return l.Category != v.code || v.parties(c.invoice) }},
			rule[Line]{id: v.prefix + "-05", field: "taxRate", message: "The VAT rate of lines of the category " + v.code + " (" + v.name + ") must be " + rateTexts[v.rate] + ".", scope: withLines,
				holds:    func(_ *checker, l *Line) bool { return l.Category != v.code || v.rate.holds(l.Rate) },
				expected: func(*checker, *Line) string { return rateTexts[v.rate] }})
	}
	return rules
}

// vatAllowanceRules are those about allowances, from number 3, or about charges, from number 4.
func vatAllowanceRules(first int) (rules []rule[Allowance]) {
	what := map[int]string{3: "Allowances", 4: "Charges"}[first]
	number := func(n int) string { return "-0" + string(rune('0'+n)) }
	for _, v := range vatCategories {
		rules = append(rules,
			rule[Allowance]{id: v.prefix + number(first), field: "taxCategory", message: what + " of the category " + v.code + " (" + v.name + ") require " + v.needs + ".",
				holds: func(c *checker, a *Allowance) bool { return a.Category != v.code || v.parties(c.invoice) }},
			rule[Allowance]{id: v.prefix + number(first+3), field: "taxRate", message: what + " of the category " + v.code + " (" + v.name + ") must have a VAT rate that is " + rateTexts[v.rate] + ".",
				holds:    func(_ *checker, a *Allowance) bool { return a.Category != v.code || v.rate.holds(a.Rate) },
				expected: func(*checker, *Allowance) string { return rateTexts[v.rate] }})
	}
	return rules
}

func vatTaxRules() (rules []rule[Tax]) {
	for _, v := range vatCategories {
		rules = append(rules,
			rule[Tax]{id: v.prefix + "-08", field: "base", scope: withLines,
				message: "The taxed amount (BT-116) of the category " + v.code + " (" + v.name + ") must be the sum of its lines and charges less its allowances.",
				holds: func(c *checker, t *Tax) bool {
					if t.Category != v.code || t.Base == nil || v.several && t.Rate == nil {
						return true
					}
					want := c.base(v.code, t.Rate)
					return t.Base.equals(want) || v.tolerant(c.dialect) && near(*t.Base, want)
				},
				expected: func(c *checker, t *Tax) string { return c.base(v.code, t.Rate).String() }},
			rule[Tax]{id: v.prefix + "-09", field: "amount", message: "The VAT (BT-117) of the category " + v.code + " (" + v.name + ") must be " + v.amountText() + ".",
				holds: func(_ *checker, t *Tax) bool {
					switch {
					case t.Category != v.code || t.Amount == nil:
						return true
					case v.several:
						return t.Base == nil || near(t.Amount.abs(), t.Base.abs().times(or0(t.Rate)).times(percent).cents())
					}
					return t.Amount.sign() == 0
				},
				expected: func(_ *checker, t *Tax) string { return or0(t.Base).times(or0(t.Rate)).times(percent).cents().String() }},
			rule[Tax]{id: v.prefix + "-10", field: "exemptionReason", message: "A VAT breakdown of the category " + v.code + " (" + v.name + ") " + v.exemptionText() + ".",
				holds: func(_ *checker, t *Tax) bool {
					return t.Category != v.code || v.exempt == (!blank(t.ExemptionReason) || !blank(t.ExemptionReasonCode))
				}})
	}
	return rules
}

// tolerant reports whether the official rules of a syntax allow a deviation below 1 of the category's taxed amount.
func (v *vatCategory) tolerant(d dialect) bool {
	if d == crossIndustry {
		return slices.Contains([]string{"Z", "E", "AE", "K", "G"}, v.code)
	}
	return v.several
}

func (v *vatCategory) amountText() string {
	if v.several {
		return "the taxed amount times the rate"
	}
	return "0"
}

func (v *vatCategory) exemptionText() string {
	if v.exempt {
		return "must have a reason (BT-120) or its code (BT-121)"
	}
	return "must have no reason for an exemption (BT-120, BT-121)"
}
