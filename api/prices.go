package api

import (
	"fmt"
	"net/http"

	"relaypdf/api/op"
	"relaypdf/store/credit"
)

// priceBook returns the price of each operation: the table's, or the override.
func priceBook(table *op.Table[*Env], overrides map[string]credit.Amount) (map[string]credit.Amount, error) {
	prices := map[string]credit.Amount{}
	for _, operation := range table.All() {
		prices[operation.Name] = operation.Price
	}
	for name, price := range overrides {
		if _, ok := prices[name]; !ok {
			return nil, fmt.Errorf("a price is set for %q, which is no operation", name)
		}
		if price < 0 {
			return nil, fmt.Errorf("the price of %s is negative", name)
		}
		prices[name] = price
	}
	return prices, nil
}

// Price is one line of the price list.
type Price struct {
	Operation    string        `json:"operation" jsonschema:"required" jsonschema_description:"Name of the operation."`
	Summary      string        `json:"summary" jsonschema:"required" jsonschema_description:"What it does."`
	Microdollars credit.Amount `json:"microdollars" jsonschema:"required" jsonschema_description:"Price of one successful call in microdollars (1 USD = 1,000,000)."`
	Note         string        `json:"note" jsonschema:"required" jsonschema_description:"What the price covers, where that is not plain."`
}

// PriceList is the answer of GET /v1/billing/prices.
type PriceList struct {
	Currency string  `json:"currency" jsonschema:"required" jsonschema_description:"Always usd."`
	Prices   []Price `json:"prices" jsonschema:"required" jsonschema_description:"One line for each operation."`
}

func (a *API) priceList() PriceList {
	list := PriceList{Currency: "usd", Prices: []Price{}}
	for _, operation := range a.table.All() {
		list.Prices = append(list.Prices, Price{
			Operation: operation.Name, Summary: operation.Summary,
			Microdollars: a.prices[operation.Name], Note: operation.PriceNote,
		})
	}
	return list
}

func (a *API) getPrices(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", edgeCache)
	return writeJSON(w, http.StatusOK, a.priceList())
}
