package web

import (
	"net/http"
	"strconv"
	"strings"

	"relaypdf/store/credit"
	"relaypdf/views"
)

const (
	pricingPath = "/pricing"
	statusPath  = "/status"

	pricingDescription = "What each operation costs: the list that the service charges from, and a calculator."
	statusDescription  = "Whether the service takes work at this moment, and how busy it is."
	// calculatorMost is the most of one operation that is counted with.
	calculatorMost = 1_000_000_000
)

// Operation is what the pages say of an operation.
type Operation struct {
	Name, Summary, Note string
	Varies              bool // the price follows from what is asked for
}

// priceLines is the price list in the order of the table.
func (w publics) priceLines() []views.PriceLine {
	var lines []views.PriceLine
	for _, o := range w.cfg.Described {
		lines = append(lines, views.PriceLine{
			Does: o.Summary, Name: o.Name, Note: o.Note, Price: w.cfg.Prices[o.Name], URL: referencePath + "/" + strings.NewReplacer(".", "_", "-", "_").Replace(o.Name),
		})
	}
	return lines
}

// priceGroups are the parts of the price list, by the first word of the names.
var priceGroups = []struct{ title, first string }{
	{"Make documents", "pdf.create templates.preview templates.generate images.create"},
	{"Convert", "convert.create"},
	{"Barcodes and archives", "barcodes.create zip.create"},
}

// showPricing shows the price list, and reckons what a month would cost.
func (w publics) showPricing(v *visit) error {
	m := views.Pricing{Trial: w.cfg.Trial, SignUp: w.signUpOpen()}
	lines := w.priceLines()
	tools := views.PriceGroup{Title: "Work on PDFs"}
	groups := make([]views.PriceGroup, len(priceGroups))
	for _, line := range lines {
		placed := false
		for i, g := range priceGroups {
			groups[i].Title = g.title
			if strings.Contains(" "+g.first+" ", " "+line.Name+" ") {
				groups[i].Lines, placed = append(groups[i].Lines, line), true
			}
		}
		if !placed {
			tools.Lines = append(tools.Lines, line)
		}
		count := views.PriceCount{Line: line, Count: v.value(line.Name)}
		n, err := wholeNumber(count.Count)
		count.Wrong = err != nil
		count.Comes = line.Price * credit.Amount(n)
		m.Sum += count.Comes
		m.Lines = append(m.Lines, count)
	}
	m.Groups = append(append(m.Groups, groups[0], tools), groups[1:]...)
	p := w.publicPage("Prices", pricingDescription, pricingPath, pricingPath)
	return v.show(http.StatusOK, views.PricingPage(p, m))
}

// wholeNumber reads a count as people type it: 10,000.
func wholeNumber(text string) (int64, error) {
	text = strings.NewReplacer(",", "", ".", "", " ", "", " ", "").Replace(text)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && (n < 0 || n > calculatorMost) {
		err = strconv.ErrRange
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}
