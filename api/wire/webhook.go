package wire

import "time"

// WebhookEndpoint is an endpoint as its owner sees it. Its secret is shown by
// WebhookSecret only.
type WebhookEndpoint struct {
	ID                  string     `json:"id" jsonschema:"required" jsonschema_description:"Id of the endpoint."`
	URL                 string     `json:"url" jsonschema:"required,format=uri" jsonschema_description:"Where events are sent."`
	Events              []string   `json:"events" jsonschema:"required" jsonschema_description:"Events that are sent there."`
	SecretPrefix        string     `json:"secretPrefix" jsonschema:"required" jsonschema_description:"How the signing secret begins."`
	Enabled             bool       `json:"enabled" jsonschema:"required" jsonschema_description:"Whether anything is sent."`
	DisabledReason      string     `json:"disabledReason,omitempty" jsonschema_description:"Why the service has disabled the endpoint: it answered with status 410, or failed for five days."`
	PreviousSecretUntil *time.Time `json:"previousSecretUntil,omitempty" jsonschema_description:"After a roll: until when Service-Signature is made with the secret before, unless the new one is activated."`
	CreatedAt           time.Time  `json:"createdAt" jsonschema:"required" jsonschema_description:"When the endpoint was made."`
}

// WebhookSecret is an endpoint with its signing secret, which is shown in the
// answer that makes it, and never again.
type WebhookSecret struct {
	WebhookEndpoint

	Secret string `json:"secret" jsonschema:"required" jsonschema_description:"The signing secret. It is not shown again."`
}

// WebhookList is the answer of GET /v1/webhooks.
type WebhookList struct {
	Webhooks []WebhookEndpoint `json:"webhooks" jsonschema:"required" jsonschema_description:"The account's endpoints, the oldest first."`
}

// DeliveryList is the answer of GET /v1/webhooks/deliveries.
type DeliveryList struct {
	Deliveries []Delivery `json:"deliveries" jsonschema:"required" jsonschema_description:"The account's deliveries, the newest first."`
	NextCursor *string    `json:"nextCursor" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Cursor of the next page; null at the end."`
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

// DeliveryContent is a delivery with what is sent.
type DeliveryContent struct {
	Delivery

	Body string `json:"body" jsonschema:"required" jsonschema_description:"What is sent, byte for byte: JSON as text."`
}

// DeliveryEvent names an event.
type DeliveryEvent struct {
	ID   string `json:"id" jsonschema:"required" jsonschema_description:"Id of the event, the same in every delivery and attempt."`
	Type string `json:"type" jsonschema:"required" jsonschema_description:"Type of the event; callback for a callback."`
}
