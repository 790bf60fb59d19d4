package api

import (
	"net/http"
	"time"

	"relaypdf/api/op"
	"relaypdf/store"
	"relaypdf/store/credit"
)

// Usage is the answer of GET /v1/billing/usage: successful calls in a span.
type Usage struct {
	Currency            string           `json:"currency" jsonschema:"required" jsonschema_description:"Always usd."`
	BalanceMicrodollars credit.Amount    `json:"balanceMicrodollars" jsonschema:"required" jsonschema_description:"Balance in microdollars, without what running calls hold."`
	HeldMicrodollars    credit.Amount    `json:"heldMicrodollars" jsonschema:"required" jsonschema_description:"What running calls hold, in microdollars."`
	From                time.Time        `json:"from" jsonschema:"required" jsonschema_description:"Start of the span, included."`
	To                  time.Time        `json:"to" jsonschema:"required" jsonschema_description:"End of the span, excluded."`
	TotalMicrodollars   credit.Amount    `json:"totalMicrodollars" jsonschema:"required" jsonschema_description:"Charged in the span, in microdollars."`
	Operations          []OperationUsage `json:"operations" jsonschema:"required" jsonschema_description:"One entry for each operation used."`
	Days                []DayUsage       `json:"days" jsonschema:"required" jsonschema_description:"One entry for each UTC day with calls."`
}

// OperationUsage sums up one operation.
type OperationUsage struct {
	Operation    string        `json:"operation" jsonschema:"required" jsonschema_description:"Name of the operation."`
	Count        int64         `json:"count" jsonschema:"required" jsonschema_description:"Successful calls."`
	Microdollars credit.Amount `json:"microdollars" jsonschema:"required" jsonschema_description:"Charged, in microdollars."`
}

// DayUsage sums up one UTC day.
type DayUsage struct {
	Date         string        `json:"date" jsonschema:"required,format=date" jsonschema_description:"The UTC day."`
	Count        int64         `json:"count" jsonschema:"required" jsonschema_description:"Successful calls."`
	Microdollars credit.Amount `json:"microdollars" jsonschema:"required" jsonschema_description:"Charged, in microdollars."`
}

// usageSpan is the span when a request names none, and the longest allowed.
const (
	usageSpan    = 30 * 24 * time.Hour
	maxUsageSpan = 366 * 24 * time.Hour
)

func (a *API) getUsage(w http.ResponseWriter, r *http.Request) error {
	from, to, err := a.span(r)
	if err != nil {
		return err
	}
	account := callerFrom(r.Context()).Account
	usage, err := a.store.Usage(r.Context(), account.ID, from, to)
	if err != nil {
		return err
	}
	answer := Usage{
		Currency: "usd", BalanceMicrodollars: account.Balance, HeldMicrodollars: account.Held,
		From: usage.From, To: usage.To, TotalMicrodollars: usage.Total,
		Operations: []OperationUsage{}, Days: []DayUsage{},
	}
	for _, o := range usage.Operations {
		answer.Operations = append(answer.Operations, OperationUsage{Operation: o.Operation, Count: o.Count, Microdollars: o.Total})
	}
	for _, d := range usage.Days {
		answer.Days = append(answer.Days, DayUsage{Date: d.Day.Format(time.DateOnly), Count: d.Count, Microdollars: d.Total})
	}
	return writeJSON(w, http.StatusOK, answer)
}

// span reads from and to: dates, or times in RFC 3339.
func (a *API) span(r *http.Request) (from, to time.Time, err error) {
	faults := op.Faults{}
	read := func(name string, fallback time.Time) time.Time {
		text := r.URL.Query().Get(name)
		if text == "" {
			return fallback
		}
		for _, layout := range []string{time.DateOnly, time.RFC3339Nano} {
			if at, err := time.Parse(layout, text); err == nil {
				return at.UTC()
			}
		}
		faults.Add(name, "must be a date like 2026-01-31 or a time like 2026-01-31T12:00:00Z")
		return fallback
	}
	to = read("to", a.now().UTC())
	from = read("from", to.Add(-usageSpan))
	switch {
	case len(faults) > 0:
		return from, to, faults
	case !from.Before(to):
		return from, to, invalid("from", "must be before to")
	case to.Sub(from) > maxUsageSpan:
		return from, to, invalid("from", "must be at most 366 days before to")
	}
	return from, to, nil
}

// Limits are an account's own spending limits; null is none.
type Limits struct {
	MaxJobMicrodollars *credit.Amount `json:"maxJobMicrodollars" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"The most that one call may cost, in microdollars."`
	MaxDayMicrodollars *credit.Amount `json:"maxDayMicrodollars" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"The most that all calls of one UTC day may cost, in microdollars."`
}

func (a *API) getLimits(w http.ResponseWriter, r *http.Request) error {
	account := callerFrom(r.Context()).Account
	return writeJSON(w, http.StatusOK, Limits{account.MaxJob, account.MaxDay})
}

// readSettings reads the fields of a change to settings, whose body is short.
func readSettings(w http.ResponseWriter, r *http.Request) (map[string]any, error) {
	defer boundBody(w, maxPatch)()
	return op.DecodeObject(&httpBody{r: r, limit: http.MaxBytesReader(w, r.Body, maxPatch)})
}

func (a *API) patchLimits(w http.ResponseWriter, r *http.Request) error {
	fields, err := readSettings(w, r)
	if err != nil {
		return err
	}
	var change store.LimitsChange
	faults := op.Faults{}
	for name, value := range fields {
		switch name {
		case "maxJobMicrodollars":
			change.MaxJob = new(limitFrom(name, value, &faults))
		case "maxDayMicrodollars":
			change.MaxDay = new(limitFrom(name, value, &faults))
		default:
			faults.Add(name, "is not a known field; the fields are maxJobMicrodollars and maxDayMicrodollars")
		}
	}
	if len(faults) > 0 {
		return faults
	}
	limits, err := a.store.ChangeLimits(r.Context(), callerFrom(r.Context()).Account.ID, change)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, Limits{limits.MaxJob, limits.MaxDay})
}

const (
	// maxPatch bounds the body of a change to settings.
	maxPatch = 64 << 10
	// maxLimit bounds a spending limit: the most that a wallet can hold.
	maxLimit = 1_000_000_000 * credit.Dollar
)

func limitFrom(name string, value any, faults *op.Faults) *credit.Amount {
	if value == nil {
		return nil
	}
	n, ok := value.(int64)
	if !ok || n < 0 || n > int64(maxLimit) {
		faults.Add(name, "must be a whole number of microdollars between 0 and %d, or null for no limit", maxLimit)
		return nil
	}
	amount := credit.Amount(n)
	return &amount
}
