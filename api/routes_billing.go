package api

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// usageSpan is the span when a request names none, and the longest allowed.
const (
	usageSpan    = 30 * 24 * time.Hour
	maxUsageSpan = 366 * 24 * time.Hour
)

// usageQuery asks for a span.
type usageQuery struct {
	From string `json:"from,omitempty" in:"query" jsonschema:"maxLength=64" jsonschema_description:"Start: a date or RFC 3339 time, at most 366 days before the end. Default: 30 days before."`
	To   string `json:"to,omitempty" in:"query" jsonschema:"maxLength=64" jsonschema_description:"End: a date or RFC 3339 time. Default: now."`
}

// Validate checks that the parameters are times.
func (q usageQuery) Validate() error {
	var faults schema.FieldErrors
	checkTime(&faults, "from", q.From)
	checkTime(&faults, "to", q.To)
	return faults.OrNil()
}

// parseTime reads a date, or a time in RFC 3339, of the years 1970 to 9999 in UTC. JSON has no later times, and IDs no
// earlier ones.
func parseTime(text string) (at time.Time, ok bool) {
	for _, layout := range []string{time.DateOnly, time.RFC3339Nano} {
		at, err := time.Parse(layout, text)
		if at = at.UTC(); err == nil && at.Year() >= 1970 && at.Year() <= 9999 {
			return at, true
		}
	}
	return at, false
}

// span returns the period of the query.
func (q usageQuery) span(now time.Time) (from, to time.Time, err error) {
	to = now.UTC()
	if at, ok := parseTime(q.To); ok {
		to = at
	}

	from = to.Add(-usageSpan)
	if at, ok := parseTime(q.From); ok {
		from = at
	}

	switch {
	case to.Sub(now) > maxUsageSpan:
		return from, to, wire.Invalid("to", "must be at most 366 days from now")
	case !from.Before(to):
		return from, to, wire.Invalid("from", "must be before to")
	case to.Sub(from) > maxUsageSpan:
		return from, to, wire.Invalid("from", "must be at most 366 days before to")
	}

	return from, to, nil
}

func (a *API) usage(ctx context.Context, caller call.Caller, in usageQuery) (wire.Usage, error) {
	from, to, err := in.span(a.Now())
	if err != nil {
		return wire.Usage{}, err
	}
	usage, err := a.Store.Usage(ctx, caller.Account.ID, from, to)
	if err != nil {
		return wire.Usage{}, err
	}

	answer := wire.Usage{
		Currency: "usd", BalanceMicrodollars: int64(caller.Account.Balance),
		HeldMicrodollars: int64(caller.Account.Held),
		From:             usage.From, To: usage.To, TotalMicrodollars: int64(usage.Total),
		Operations: []wire.OperationUsage{}, Keys: []wire.KeyUsage{}, Templates: []wire.TemplateUsage{},
		Days: []wire.DayUsage{},
	}

	keys, templates, err := a.usageOf(ctx, caller.Account.ID, from, to)
	if err != nil {
		return wire.Usage{}, err
	}

	for _, k := range keys {
		answer.Keys = append(answer.Keys, wire.KeyUsage{
			KeyID: k.Name, Count: k.Calls, Failed: k.Failures, Microdollars: int64(k.Amount),
		})
	}
	for _, t := range templates {
		answer.Templates = append(answer.Templates, wire.TemplateUsage{
			TemplateID: t.Name, Count: t.Calls, Failed: t.Failures, Microdollars: int64(t.Amount),
		})
	}
	for _, o := range usage.Operations {
		answer.Operations = append(answer.Operations, wire.OperationUsage{
			Operation: o.Operation, Count: o.Count, Microdollars: int64(o.Total),
		})
	}
	for _, d := range usage.Days {
		answer.Days = append(answer.Days, wire.DayUsage{
			Date: d.Day.Format(time.DateOnly), Count: d.Count, Microdollars: int64(d.Total),
		})
	}

	return answer, nil
}

// usageOf returns the usage of an account by key and by template.
func (a *API) usageOf(
	ctx context.Context, accountID string, from, to time.Time,
) (keys, templates []store.UsageSum, err error) {
	keys, _, err = a.Store.UsageBy(ctx, store.UsageFilter{AccountID: accountID, From: from, To: to, Group: store.ByKey})
	if err != nil {
		return nil, nil, err
	}

	templates, _, err = a.Store.UsageBy(ctx, store.UsageFilter{
		AccountID: accountID, From: from, To: to, Group: store.ByTemplate,
	})
	return keys, templates, err
}

// maxLimit bounds a spending limit: the most that a wallet can hold.
const maxLimit = 1_000_000_000 * credit.Dollar

// limitChange is a new spending limit. Null removes the limit; if it is absent, the limit does not change.
type limitChange struct {
	set    bool
	amount *credit.Amount
}

// JSONSchema returns the schema of a change: an amount or null.
func (limitChange) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		{Type: "integer", Minimum: "0", Maximum: jsonNumber(int64(maxLimit))}, {Type: "null"},
	}}
}

// SetJSON stores the value unchanged.
func (l *limitChange) SetJSON(v any) error {
	l.set = true
	if n, ok := v.(int64); ok {
		l.amount = new(credit.Amount(n))
	}
	return nil
}

// change returns the change for the store.
func (l limitChange) change() **credit.Amount {
	if !l.set {
		return nil
	}
	return &l.amount
}

// limitsPatch changes the spending limits.
type limitsPatch struct {
	schema.Patch

	MaxJob limitChange `json:"maxJobMicrodollars,omitzero" jsonschema_description:"Maximum cost of one call, in microdollars; null for no limit."`
	MaxDay limitChange `json:"maxDayMicrodollars,omitzero" jsonschema_description:"Maximum cost of all calls of one UTC day, in microdollars; null for no limit."`
}

func (*API) limits(_ context.Context, caller call.Caller, _ noInput) (wire.Limits, error) {
	return wire.Limits{
		MaxJobMicrodollars: (*int64)(caller.Account.MaxJob), MaxDayMicrodollars: (*int64)(caller.Account.MaxDay),
	}, nil
}

func (a *API) setLimits(ctx context.Context, caller call.Caller, in limitsPatch) (wire.Limits, error) {
	limits, err := a.Store.ChangeLimits(ctx, caller.Author, store.LimitsChange{
		MaxJob: in.MaxJob.change(), MaxDay: in.MaxDay.change(),
	})
	return wire.Limits{MaxJobMicrodollars: (*int64)(limits.MaxJob), MaxDayMicrodollars: (*int64)(limits.MaxDay)}, err
}

func (a *API) pricesOf(context.Context, call.Caller, noInput) (wire.PriceList, error) {
	list := wire.PriceList{Currency: "usd", Prices: []wire.Price{}}
	for _, operation := range a.Table.All() {
		if operation.Off {
			continue
		}

		list.Prices = append(list.Prices, wire.Price{
			Operation: operation.Name, Summary: operation.Summary,
			Microdollars: int64(a.Prices[operation.Name]), Note: operation.PriceNote,
		})
	}
	return list, nil
}

func jsonNumber(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }
