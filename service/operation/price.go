package operation

import (
	"fmt"

	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
)

// Prices returns the price of each operation: the table's, or the override.
func Prices(table *schema.Table[*Deps], overrides map[string]credit.Amount) (map[string]credit.Amount, error) {
	prices := map[string]credit.Amount{}
	for _, operation := range table.All() {
		prices[operation.Name] = operation.Price
	}

	for name, price := range overrides {
		if _, ok := prices[name]; !ok {
			return nil, fmt.Errorf("a price is set for %q, which is not an operation", name)
		}
		if price < 0 {
			return nil, fmt.Errorf("the price of %s is negative", name)
		}
		prices[name] = price
	}
	return prices, nil
}
