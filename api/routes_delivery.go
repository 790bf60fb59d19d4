package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"relaypdf/store"
)

// DeliveryList is the answer of GET /v1/webhooks/deliveries.
type DeliveryList struct {
	Deliveries []Delivery `json:"deliveries" jsonschema:"required" jsonschema_description:"The account's latest hundred deliveries, the newest first."`
}

// Delivery is the sending of one event to one endpoint, or to the callback of a
// call.
type Delivery struct {
	ID             string        `json:"id" jsonschema:"required" jsonschema_description:"Id of the delivery."`
	EndpointID     *string       `json:"endpointId" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Id of the endpoint; null for a callback."`
	URL            string        `json:"url" jsonschema:"required,format=uri" jsonschema_description:"Where the event is sent."`
	Event          DeliveryEvent `json:"event" jsonschema:"required" jsonschema_description:"What is sent."`
	Status         string        `json:"status" jsonschema:"required,enum=pending,enum=delivered,enum=failed" jsonschema_description:"What has become of it."`
	Attempts       int           `json:"attempts" jsonschema:"required" jsonschema_description:"Attempts so far, of at most eight."`
	LastStatusCode *int          `json:"lastStatusCode" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"HTTP status of the last answer; null when there was none."`
	LastError      *string       `json:"lastError" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Why the last attempt failed."`
	LastDurationMS *int64        `json:"lastDurationMs" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"How long the last attempt took, in milliseconds."`
	LastResponse   *string       `json:"lastResponse" jsonschema:"required,oneof_type=string;null" jsonschema_description:"How the body of the last answer began: its first 1,024 bytes."`
	NextAttemptAt  *time.Time    `json:"nextAttemptAt" jsonschema:"required,oneof_type=string;null" jsonschema_description:"When the next attempt is due; null when none follows, and while one is under way."`
	CreatedAt      time.Time     `json:"createdAt" jsonschema:"required" jsonschema_description:"When the event happened."`
	DeliveredAt    *time.Time    `json:"deliveredAt" jsonschema:"required,oneof_type=string;null" jsonschema_description:"When the endpoint accepted it."`
}

// DeliveryEvent names an event.
type DeliveryEvent struct {
	ID   string `json:"id" jsonschema:"required" jsonschema_description:"Id of the event, the same in every delivery and attempt."`
	Type string `json:"type" jsonschema:"required" jsonschema_description:"Type of the event; callback for a callback."`
}

func showDelivery(d store.Delivery) Delivery {
	shown := Delivery{
		ID: d.ID, EndpointID: orNull(d.EndpointID), URL: d.URL, Event: DeliveryEvent{d.EventID, d.EventType}, Status: d.Status,
		Attempts: d.Attempts, LastStatusCode: orNull(d.LastStatusCode), LastError: orNull(d.LastError),
		LastResponse: orNull(strings.ToValidUTF8(string(d.LastResponse), "\uFFFD")), NextAttemptAt: shownTime(d.NextAttemptAt),
		CreatedAt: d.CreatedAt.Truncate(time.Millisecond), DeliveredAt: shownTime(d.DeliveredAt),
	}
	if d.LastDuration != nil {
		shown.LastDurationMS = new(d.LastDuration.Milliseconds())
	}
	return shown
}

// orNull points to a value; the zero value is null.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func (a *API) getDeliveries(w http.ResponseWriter, r *http.Request) error {
	deliveries, err := a.store.Deliveries(r.Context(), callerFrom(r.Context()).Account.ID)
	if err != nil {
		return err
	}
	answer := DeliveryList{Deliveries: make([]Delivery, len(deliveries))}
	for i, delivery := range deliveries {
		answer.Deliveries[i] = showDelivery(delivery)
	}
	return writeJSON(w, http.StatusOK, answer)
}

func (a *API) replayDelivery(w http.ResponseWriter, r *http.Request) error {
	delivery, err := a.store.ReplayDelivery(r.Context(), callerFrom(r.Context()).Account.ID, chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, showDelivery(delivery))
}
