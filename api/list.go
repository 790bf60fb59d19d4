package api

import (
	"time"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"
)

// listQuery asks for a part of a list.
type listQuery struct {
	Limit  int    `json:"limit,omitempty" in:"query" jsonschema:"minimum=1,maximum=100,default=20" jsonschema_description:"Maximum number of entries per page."`
	Cursor string `json:"cursor,omitempty" in:"query" jsonschema:"maxLength=255" jsonschema_description:"nextCursor of the previous page."`
}

// list returns the filter of a list for the store.
func (q listQuery) list() store.List {
	return store.List{Limit: q.Limit, Cursor: q.Cursor}
}

// nextCursor is null at the end of a list.
func nextCursor(next string) *string { return wire.OrNull(next) }

// deliveryQuery asks for deliveries.
type deliveryQuery struct {
	Limit      int    `json:"limit,omitempty" in:"query" jsonschema:"minimum=1,maximum=100,default=100" jsonschema_description:"Maximum number of entries per page."`
	Cursor     string `json:"cursor,omitempty" in:"query" jsonschema:"maxLength=255" jsonschema_description:"nextCursor of the previous page."`
	EndpointID string `json:"endpointId,omitempty" in:"query" jsonschema:"maxLength=255" jsonschema_description:"Filter by endpoint ID."`
	Status     string `json:"status,omitempty" in:"query" jsonschema:"enum=pending,enum=delivered,enum=failed" jsonschema_description:"Filter by status."`
	Event      event  `json:"event,omitempty" in:"query" jsonschema_description:"Filter by event type."`
	Before     string `json:"before,omitempty" in:"query" jsonschema:"maxLength=64,example=2026-01-31" jsonschema_description:"Filter by creation time: earlier than this date, or time in RFC 3339."`
	After      string `json:"after,omitempty" in:"query" jsonschema:"maxLength=64,example=2026-01-31" jsonschema_description:"Filter by creation time: at or after this date, or time in RFC 3339."`
}

// event is the type of the event of a delivery.
type event string

// JSONSchema lists the types.
func (event) JSONSchema() *jsonschema.Schema {
	doc := &jsonschema.Schema{Type: "string"}
	for _, kind := range append(store.EventTypes(), store.EventTest, store.EventCallback) {
		doc.Enum = append(doc.Enum, kind)
	}
	return doc
}

// Validate checks that the parameters are times, and that there are times between them.
func (q deliveryQuery) Validate() error {
	var faults schema.FieldErrors
	checkTime(&faults, "before", q.Before)
	checkTime(&faults, "after", q.After)

	before, _ := parseTime(q.Before)
	after, _ := parseTime(q.After)
	if len(faults) == 0 && q.Before != "" && q.After != "" && !after.Before(before) {
		faults.Add("after", "must be earlier than before")
	}
	return faults.OrNil()
}

// filter returns the filter for the store.
func (q deliveryQuery) filter(accountID string) store.DeliveryFilter {
	before, _ := parseTime(q.Before)
	after, _ := parseTime(q.After)
	if q.Limit == 0 {
		q.Limit = store.MaxList
	}

	return store.DeliveryFilter{
		List:      store.List{Limit: q.Limit, Cursor: q.Cursor, Before: before, After: after},
		AccountID: accountID, EndpointID: q.EndpointID, Status: q.Status, EventType: string(q.Event),
	}
}

// checkTime adds an error for a parameter that is given and is not a time.
func checkTime(faults *schema.FieldErrors, name, text string) {
	if _, ok := parseTime(text); text != "" && !ok {
		faults.Add(name, "must be a date like 2026-01-31 or a time like 2026-01-31T12:00:00Z, from 1970 to 9999")
	}
}

// shownMillis rounds a time to its precision in JSON.
func shownMillis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
