package api

import (
	"context"
	"slices"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/delivery"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store"

	"github.com/invopop/jsonschema"
)

func showWebhook(w store.Webhook) wire.WebhookEndpoint {
	shown := wire.WebhookEndpoint{
		ID: w.ID, URL: w.URL, Events: w.Events, SecretPrefix: w.SecretPrefix, Enabled: w.Enabled,
		DisabledReason:      w.DisabledReason,
		PreviousSecretUntil: shownTime(w.PreviousUntil), CreatedAt: w.CreatedAt.Truncate(time.Millisecond),
	}

	if len(w.Events) == 0 {
		shown.Events = store.EventTypes()
	}
	return shown
}

// shownTime rounds a time down to its precision in JSON.
func shownTime(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	rounded := t.UTC().Truncate(time.Millisecond)
	return &rounded
}

// eventTypes is the list of events that an endpoint is sent; null is all of them.
type eventTypes []string

// JSONSchema names the events. Their types are in the store, which writes them.
func (eventTypes) JSONSchema() *jsonschema.Schema {
	events := &jsonschema.Schema{Type: "string"}
	for _, name := range store.EventTypes() {
		events.Enum = append(events.Enum, name)
	}
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
		{Type: "array", Items: events, MinItems: new(uint64(1)), MaxItems: new(uint64(100))}, {Type: "null"},
	}}
}

// SetJSON keeps each event once.
func (e *eventTypes) SetJSON(v any) error {
	*e = eventTypes{}
	list, _ := v.([]any)
	for _, entry := range list {
		if name, ok := entry.(string); ok && !slices.Contains(*e, name) {
			*e = append(*e, name)
		}
	}
	return nil
}

// newWebhook asks for an endpoint.
type newWebhook struct {
	URL    string     `json:"url" jsonschema:"required,format=uri,minLength=1,maxLength=2048" jsonschema_description:"Public https URL for events."`
	Events eventTypes `json:"events,omitempty" jsonschema_description:"All if absent or null."`
}

// webhookPatch changes an endpoint. Absent members stay unchanged.
type webhookPatch struct {
	schema.Patch
	byID

	URL     *string    `json:"url,omitempty" jsonschema:"format=uri,minLength=1,maxLength=2048" jsonschema_description:"Public https URL for events."`
	Events  eventTypes `json:"events,omitempty" jsonschema_description:"Event types to send; null for all."`
	Enabled *bool      `json:"enabled,omitempty" jsonschema_description:"If true, send events. If false, stop, and cancel pending deliveries."`
}

// endpoints returns the service that creates and changes webhook endpoints.
func (a *API) endpoints() delivery.Endpoints {
	return delivery.Endpoints{Store: a.Store, Box: a.Box, Check: operation.EndpointCheck(a.Outbound.CheckURL)}
}

func (a *API) listWebhooks(ctx context.Context, caller call.Caller, _ noInput) (wire.WebhookList, error) {
	endpoints, err := a.Store.Webhooks(ctx, caller.Account.ID)
	answer := wire.WebhookList{Webhooks: make([]wire.WebhookEndpoint, len(endpoints))}
	for i, endpoint := range endpoints {
		answer.Webhooks[i] = showWebhook(endpoint)
	}
	return answer, err
}

func (a *API) createWebhook(ctx context.Context, caller call.Caller, in newWebhook) (wire.WebhookSecret, error) {
	endpoint, secret, err := a.endpoints().Create(ctx, caller.Author, in.URL, in.Events)
	return wire.WebhookSecret{WebhookEndpoint: showWebhook(endpoint), Secret: secret}, err
}

func (a *API) updateWebhook(ctx context.Context, caller call.Caller, in webhookPatch) (wire.WebhookEndpoint, error) {
	change := store.WebhookChange{URL: in.URL, Enabled: in.Enabled}
	if in.Events != nil {
		change.Events = new([]string(in.Events))
	}
	endpoint, err := a.endpoints().Change(ctx, caller.Author, in.ID, change)
	return showWebhook(endpoint), err
}

func (a *API) deleteWebhook(ctx context.Context, caller call.Caller, in byID) (wire.Acknowledged, error) {
	_, err := a.endpoints().Delete(ctx, caller.Author, in.ID)
	return wire.Acknowledged{OK: true}, err
}

func (a *API) test(ctx context.Context, caller call.Caller, in byID) (wire.Delivery, error) {
	sent, err := a.endpoints().Test(ctx, caller.Account.ID, in.ID)
	return showDelivery(sent), err
}

func (a *API) roll(ctx context.Context, caller call.Caller, in byID) (wire.WebhookSecret, error) {
	endpoint, secret, err := a.endpoints().Roll(ctx, caller.Author, in.ID)
	return wire.WebhookSecret{WebhookEndpoint: showWebhook(endpoint), Secret: secret}, err
}

func (a *API) activate(ctx context.Context, caller call.Caller, in byID) (wire.WebhookEndpoint, error) {
	endpoint, err := a.endpoints().Activate(ctx, caller.Author, in.ID)
	return showWebhook(endpoint), err
}
