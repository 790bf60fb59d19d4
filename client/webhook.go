package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
)

type (
	// Webhook is an endpoint of the account.
	Webhook = wire.WebhookEndpoint
	// WebhookSecret is an endpoint with its secret, which is shown once.
	WebhookSecret = wire.WebhookSecret
	// Delivery is the sending of one event.
	Delivery = wire.Delivery
	// DeliveryList is a page of deliveries.
	DeliveryList = wire.DeliveryList
	// DeliveryContent is a delivery with its body.
	DeliveryContent = wire.DeliveryContent
)

// Webhooks are the account's endpoints.
type Webhooks struct{ client *Client }

// Webhooks returns the account's endpoints.
func (c *Client) Webhooks() Webhooks { return Webhooks{c} }

// List lists the endpoints, the oldest first.
func (w Webhooks) List(ctx context.Context) ([]Webhook, error) {
	list, err := get[wire.WebhookList](ctx, w.client, "/v1/webhooks")
	return list.Webhooks, err
}

// Create makes an endpoint for some events; none are all.
func (w Webhooks) Create(ctx context.Context, address string, events []string) (WebhookSecret, error) {
	input := map[string]any{"url": address}
	if len(events) > 0 {
		input["events"] = events
	}
	body, err := inputJSON(input)
	if err != nil {
		return WebhookSecret{}, err
	}
	return ask[WebhookSecret](ctx, w.client, jsonRequest(http.MethodPost, "/v1/webhooks", body))
}

// Delete deletes an endpoint and its pending deliveries.
func (w Webhooks) Delete(ctx context.Context, id string) error {
	_, err := ask[Acknowledged](ctx, w.client,
		message{method: http.MethodDelete, path: "/v1/webhooks/" + url.PathEscape(id)})
	return err
}

// Deliveries lists the deliveries since a time, the newest first. The zero time means all.
func (w Webhooks) Deliveries(ctx context.Context, after time.Time, page Page) (DeliveryList, error) {
	values := url.Values{}
	if !after.IsZero() {
		values.Set("after", after.UTC().Format(time.RFC3339Nano))
	}
	if page.Limit > 0 {
		values.Set("limit", strconv.Itoa(page.Limit))
	}
	if page.Cursor != "" {
		values.Set("cursor", page.Cursor)
	}
	return get[DeliveryList](ctx, w.client, "/v1/webhooks/deliveries?"+values.Encode())
}

// Delivery returns a delivery with its body.
func (w Webhooks) Delivery(ctx context.Context, id string) (DeliveryContent, error) {
	return get[DeliveryContent](ctx, w.client, "/v1/webhooks/deliveries/"+url.PathEscape(id))
}
