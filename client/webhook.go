package client

import (
	"context"
	"net/http"
	"net/url"

	"relaypdf/api/wire"
)

type (
	// Webhook is an endpoint of the account.
	Webhook = wire.WebhookEndpoint
	// WebhookSecret is an endpoint with its secret, which is shown once.
	WebhookSecret = wire.WebhookSecret
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

// Delete deletes an endpoint, with what is still to be sent to it.
func (w Webhooks) Delete(ctx context.Context, id string) error {
	_, err := ask[Acknowledged](ctx, w.client, message{method: http.MethodDelete, path: "/v1/webhooks/" + url.PathEscape(id)})
	return err
}
