package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
	"github.com/relaypdf/relaypdf/views"
)

const (
	pricingPath = "/pricing"
	statusPath  = "/status"

	pricingDescription = "The price of each operation, and a cost calculator."
	statusDescription  = "Current health checks and load of the service."
	// maxCount is the maximum number of calls of one operation that the calculator accepts.
	maxCount = 1_000_000_000
)

// apiOperation is an operation of the table.
type apiOperation = schema.Operation[*operation.Deps]

// priceLines is the price list in the order of the table.
func (w *Web) priceLines() []views.PriceLine {
	var lines []views.PriceLine
	for _, o := range w.offered {
		lines = append(lines, views.PriceLine{
			Does: o.Summary, Name: o.Name, Note: o.PriceNote, Price: w.cfg.Prices[o.Name],
			URL: operationPath(o.Tool()),
		})
	}
	return lines
}

// operationGroups are the parts of lists of operations, with the names of the operations. All others work on PDFs.
var operationGroups = []struct{ title, names string }{
	{"Create documents", "pdf.create templates.preview templates.generate images.create email.create pipelines.create"},
	{"Work on PDFs", ""},
	{"Convert", "convert.create images.convert"},
	{"Barcodes and archives", "barcodes.create zip.create"},
}

// operationGroup returns the index of an operation's group.
func operationGroup(name string) int {
	for i, g := range operationGroups {
		if slices.Contains(strings.Fields(g.names), name) {
			return i
		}
	}
	return 1
}

// showPricing shows the price list, and calculates the cost of a month.
func (w *Web) showPricing(v *pageRequest) error {
	m := views.Pricing{Trial: w.cfg.Trial, SignUp: w.signUpOpen()}
	for _, g := range operationGroups {
		m.Groups = append(m.Groups, views.PriceGroup{Title: g.title})
	}

	for _, line := range w.priceLines() {
		count := views.PriceCount{Line: line, Count: v.value(line.Name)}
		n, err := wholeNumber(count.Count)
		count.Wrong = err != nil
		count.Comes = line.Price * credit.Amount(n)
		m.Sum += count.Comes

		group := &m.Groups[operationGroup(line.Name)]
		group.Lines = append(group.Lines, count)
		group.Counted = group.Counted || count.Count != ""
	}

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
	if err == nil && (n < 0 || n > maxCount) {
		err = strconv.ErrRange
	}

	if err != nil {
		return 0, err
	}
	return n, nil
}
