package wire

import "time"

// Price is one line of the price list.
type Price struct {
	Operation    string `json:"operation" jsonschema:"required" jsonschema_description:"Name of the operation."`
	Summary      string `json:"summary" jsonschema:"required" jsonschema_description:"Summary of the operation."`
	Microdollars int64  `json:"microdollars" jsonschema:"required" jsonschema_description:"Price of one successful call in microdollars (1 USD = 1,000,000)."`
	Note         string `json:"note" jsonschema:"required" jsonschema_description:"Details of the price."`
}

// PriceList is the response of GET /v1/billing/prices.
type PriceList struct {
	Currency string  `json:"currency" jsonschema:"required" jsonschema_description:"Always usd."`
	Prices   []Price `json:"prices" jsonschema:"required" jsonschema_description:"One entry per operation."`
}

// Usage is the response of GET /v1/billing/usage: successful calls in a span.
type Usage struct {
	Currency            string           `json:"currency" jsonschema:"required" jsonschema_description:"Always usd."`
	BalanceMicrodollars int64            `json:"balanceMicrodollars" jsonschema:"required" jsonschema_description:"Balance in microdollars, without the holds of running calls."`
	HeldMicrodollars    int64            `json:"heldMicrodollars" jsonschema:"required" jsonschema_description:"Holds of running calls, in microdollars."`
	From                time.Time        `json:"from" jsonschema:"required" jsonschema_description:"Start of the period, inclusive."`
	To                  time.Time        `json:"to" jsonschema:"required" jsonschema_description:"End of the period, exclusive."`
	TotalMicrodollars   int64            `json:"totalMicrodollars" jsonschema:"required" jsonschema_description:"Amount charged in the period, in microdollars."`
	Operations          []OperationUsage `json:"operations" jsonschema:"required" jsonschema_description:"One entry per used operation."`
	Keys                []KeyUsage       `json:"keys" jsonschema:"required" jsonschema_description:"One entry per used key or connected app."`
	Templates           []TemplateUsage  `json:"templates" jsonschema:"required" jsonschema_description:"One entry per used template."`
	Days                []DayUsage       `json:"days" jsonschema:"required" jsonschema_description:"One entry per UTC day with calls."`
}

// OperationUsage sums up one operation.
type OperationUsage struct {
	Operation    string `json:"operation" jsonschema:"required" jsonschema_description:"Name of the operation."`
	Count        int64  `json:"count" jsonschema:"required" jsonschema_description:"Number of successful calls."`
	Microdollars int64  `json:"microdollars" jsonschema:"required" jsonschema_description:"Amount charged, in microdollars."`
}

// KeyUsage sums up one key.
type KeyUsage struct {
	KeyID        string `json:"keyId" jsonschema:"required" jsonschema_description:"ID of the key; empty for calls from the dashboard."`
	Count        int64  `json:"count" jsonschema:"required" jsonschema_description:"Number of successful calls."`
	Failed       int64  `json:"failed" jsonschema:"required" jsonschema_description:"Number of failed calls, which are not charged."`
	Microdollars int64  `json:"microdollars" jsonschema:"required" jsonschema_description:"Amount charged, in microdollars."`
}

// TemplateUsage sums up one template.
type TemplateUsage struct {
	TemplateID   string `json:"templateId" jsonschema:"required" jsonschema_description:"ID of the template."`
	Count        int64  `json:"count" jsonschema:"required" jsonschema_description:"Number of successful calls."`
	Failed       int64  `json:"failed" jsonschema:"required" jsonschema_description:"Number of failed calls, which are not charged."`
	Microdollars int64  `json:"microdollars" jsonschema:"required" jsonschema_description:"Amount charged, in microdollars."`
}

// DayUsage sums up one UTC day.
type DayUsage struct {
	Date         string `json:"date" jsonschema:"required,format=date" jsonschema_description:"The UTC day."`
	Count        int64  `json:"count" jsonschema:"required" jsonschema_description:"Number of successful calls."`
	Microdollars int64  `json:"microdollars" jsonschema:"required" jsonschema_description:"Amount charged, in microdollars."`
}

// Limits are an account's own spending limits; null is none.
type Limits struct {
	MaxJobMicrodollars *int64 `json:"maxJobMicrodollars" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"Maximum cost of one call, in microdollars."`
	MaxDayMicrodollars *int64 `json:"maxDayMicrodollars" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"Maximum cost of all calls of one UTC day, in microdollars."`
}
