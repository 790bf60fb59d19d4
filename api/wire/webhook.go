package wire

import "time"

// WebhookEndpoint is an endpoint as its owner sees it. Its secret is shown by
// WebhookSecret only.
type WebhookEndpoint struct {
	ID                  string     `json:"id" jsonschema:"required" jsonschema_description:"ID of the endpoint."`
	URL                 string     `json:"url" jsonschema:"required,format=uri" jsonschema_description:"URL that receives the events."`
	Events              []string   `json:"events" jsonschema:"required" jsonschema_description:"Subscribed event types."`
	SecretPrefix        string     `json:"secretPrefix" jsonschema:"required" jsonschema_description:"First characters of the signing secret."`
	Enabled             bool       `json:"enabled" jsonschema:"required" jsonschema_description:"If true, relaypdf sends events."`
	DisabledReason      string     `json:"disabledReason,omitempty" jsonschema_description:"Reason why relaypdf disabled the endpoint: it returned status 410, or all attempts of 5 days failed."`
	PreviousSecretUntil *time.Time `json:"previousSecretUntil,omitempty" jsonschema_description:"Time until which relaypdf signs with the previous secret in Service-Signature, after a rotation and unless the new secret is activated earlier."`
	CreatedAt           time.Time  `json:"createdAt" jsonschema:"required" jsonschema_description:"Creation time."`
}

// WebhookSecret is an endpoint with its signing secret. Only the response that creates the secret contains it.
type WebhookSecret struct {
	WebhookEndpoint

	Secret string `json:"secret" jsonschema:"required" jsonschema_description:"Signing secret. It is shown only once."`
}

// WebhookList is the response of GET /v1/webhooks.
type WebhookList struct {
	Webhooks []WebhookEndpoint `json:"webhooks" jsonschema:"required" jsonschema_description:"Endpoints of the account, oldest first."`
}

// DeliveryList is the response of GET /v1/webhooks/deliveries.
type DeliveryList struct {
	Deliveries []Delivery `json:"deliveries" jsonschema:"required" jsonschema_description:"Deliveries of the account, newest first."`
	NextCursor *string    `json:"nextCursor" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Cursor of the next page; null on the last page."`
}

// Delivery is the sending of one event to one endpoint, or to the callback of a
// call.
type Delivery struct {
	ID             string        `json:"id" jsonschema:"required" jsonschema_description:"ID of the delivery."`
	EndpointID     *string       `json:"endpointId" jsonschema:"required,oneof_type=string;null" jsonschema_description:"ID of the endpoint; null for a callback."`
	URL            string        `json:"url" jsonschema:"required,format=uri" jsonschema_description:"URL that receives the event."`
	Event          DeliveryEvent `json:"event" jsonschema:"required" jsonschema_description:"The event."`
	Status         string        `json:"status" jsonschema:"required,enum=pending,enum=delivered,enum=failed" jsonschema_description:"Delivery status."`
	Attempts       int           `json:"attempts" jsonschema:"required" jsonschema_description:"Number of attempts so far, at most 8."`
	LastStatusCode *int          `json:"lastStatusCode" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"HTTP status of the last response; null if there was none."`
	LastError      *string       `json:"lastError" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Reason why the last attempt failed."`
	LastDurationMS *int64        `json:"lastDurationMs" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"Duration of the last attempt in milliseconds."`
	LastResponse   *string       `json:"lastResponse" jsonschema:"required,oneof_type=string;null" jsonschema_description:"First 1,024 bytes of the last response body."`
	NextAttemptAt  *time.Time    `json:"nextAttemptAt" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Time of the next attempt; null if none follows, or while an attempt is running."`
	CreatedAt      time.Time     `json:"createdAt" jsonschema:"required" jsonschema_description:"Time of the event."`
	DeliveredAt    *time.Time    `json:"deliveredAt" jsonschema:"required,oneof_type=string;null" jsonschema_description:"Time at which the endpoint accepted the event."`
}

// DeliveryContent is a delivery with its body.
type DeliveryContent struct {
	Delivery

	Body string `json:"body" jsonschema:"required" jsonschema_description:"Request body, byte for byte: JSON as text."`
}

// DeliveryEvent names an event.
type DeliveryEvent struct {
	ID   string `json:"id" jsonschema:"required" jsonschema_description:"ID of the event, the same in every delivery and attempt."`
	Type string `json:"type" jsonschema:"required" jsonschema_description:"Event type; callback for a callback."`
}
