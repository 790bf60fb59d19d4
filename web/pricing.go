package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"relaypdf/store/credit"
	"relaypdf/views"
)

const (
	pricingPath = "/pricing"
	statusPath  = "/status"

	pricingDescription = "The price of each operation, and a cost calculator."
	statusDescription  = "Current health checks and load of the service."
	// calculatorMost is the most of one operation that is counted with.
	calculatorMost = 1_000_000_000
)

// Operation is an operation as the pages show it.
type Operation struct {
	Name, Summary, Note string
	Varies              bool // the price depends on the request
}

// priceLines is the price list in the order of the table.
func (w *Web) priceLines() []views.PriceLine {
	var lines []views.PriceLine
	for _, o := range w.cfg.Described {
		lines = append(lines, views.PriceLine{
			Does: o.Summary, Name: o.Name, Note: o.Note, Price: w.cfg.Prices[o.Name], URL: referencePath + "/" + strings.NewReplacer(".", "_", "-", "_").Replace(o.Name),
		})
	}
	return lines
}

// priceGroups are the parts of the price list, with the names of their operations;
// all others work on PDFs.
var priceGroups = []struct{ title, names string }{
	{"Create documents", "pdf.create templates.preview templates.generate images.create email.create"},
	{"Convert", "convert.create images.convert"},
	{"Barcodes and archives", "barcodes.create zip.create"},
}

// showPricing shows the price list, and calculates the cost of a month.
func (w *Web) showPricing(v *pageRequest) error {
	m := views.Pricing{Trial: w.cfg.Trial, SignUp: w.signUpOpen()}
	tools := views.PriceGroup{Title: "Work on PDFs"}
	groups := make([]views.PriceGroup, len(priceGroups))
	for i, g := range priceGroups {
		groups[i].Title = g.title
	}
	for _, line := range w.priceLines() {
		count := views.PriceCount{Line: line, Count: v.value(line.Name)}
		n, err := wholeNumber(count.Count)
		count.Wrong = err != nil
		count.Comes = line.Price * credit.Amount(n)
		m.Sum += count.Comes
		group := &tools
		for i, g := range priceGroups {
			if slices.Contains(strings.Fields(g.names), line.Name) {
				group = &groups[i]
			}
		}
		group.Lines = append(group.Lines, count)
		group.Counted = group.Counted || count.Count != ""
	}
	m.Groups = append([]views.PriceGroup{groups[0], tools}, groups[1:]...)
	p := w.publicPage("Pricing", pricingDescription, pricingPath, pricingPath)
	return v.show(http.StatusOK, views.PricingPage(p, m))
}

// wholeNumber reads a count as users type it: 10,000.
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
