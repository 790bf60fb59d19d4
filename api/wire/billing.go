package wire

import "time"

// Price is one line of the price list.
type Price struct {
	Operation    string `json:"operation" jsonschema:"required" jsonschema_description:"Name of the operation."`
	Summary      string `json:"summary" jsonschema:"required" jsonschema_description:"What it does."`
	Microdollars int64  `json:"microdollars" jsonschema:"required" jsonschema_description:"Price of one successful call in microdollars (1 USD = 1,000,000)."`
	Note         string `json:"note" jsonschema:"required" jsonschema_description:"What the price covers, where that is not plain."`
}

// PriceList is the answer of GET /v1/billing/prices.
type PriceList struct {
	Currency string  `json:"currency" jsonschema:"required" jsonschema_description:"Always usd."`
	Prices   []Price `json:"prices" jsonschema:"required" jsonschema_description:"One line for each operation."`
}

// Usage is the answer of GET /v1/billing/usage: successful calls in a span.
type Usage struct {
	Currency            string           `json:"currency" jsonschema:"required" jsonschema_description:"Always usd."`
	BalanceMicrodollars int64            `json:"balanceMicrodollars" jsonschema:"required" jsonschema_description:"Balance in microdollars, without what running calls hold."`
	HeldMicrodollars    int64            `json:"heldMicrodollars" jsonschema:"required" jsonschema_description:"What running calls hold, in microdollars."`
	From                time.Time        `json:"from" jsonschema:"required" jsonschema_description:"Start of the span, included."`
	To                  time.Time        `json:"to" jsonschema:"required" jsonschema_description:"End of the span, excluded."`
	TotalMicrodollars   int64            `json:"totalMicrodollars" jsonschema:"required" jsonschema_description:"Charged in the span, in microdollars."`
	Operations          []OperationUsage `json:"operations" jsonschema:"required" jsonschema_description:"One entry for each operation used."`
	Days                []DayUsage       `json:"days" jsonschema:"required" jsonschema_description:"One entry for each UTC day with calls."`
}

// OperationUsage sums up one operation.
type OperationUsage struct {
	Operation    string `json:"operation" jsonschema:"required" jsonschema_description:"Name of the operation."`
	Count        int64  `json:"count" jsonschema:"required" jsonschema_description:"Successful calls."`
	Microdollars int64  `json:"microdollars" jsonschema:"required" jsonschema_description:"Charged, in microdollars."`
}

// DayUsage sums up one UTC day.
type DayUsage struct {
	Date         string `json:"date" jsonschema:"required,format=date" jsonschema_description:"The UTC day."`
	Count        int64  `json:"count" jsonschema:"required" jsonschema_description:"Successful calls."`
	Microdollars int64  `json:"microdollars" jsonschema:"required" jsonschema_description:"Charged, in microdollars."`
}

// Limits are an account's own spending limits; null is none.
type Limits struct {
	MaxJobMicrodollars *int64 `json:"maxJobMicrodollars" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"The most that one call may cost, in microdollars."`
	MaxDayMicrodollars *int64 `json:"maxDayMicrodollars" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"The most that all calls of one UTC day may cost, in microdollars."`
}
