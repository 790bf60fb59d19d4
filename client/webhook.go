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

// Webhooks lists the account's endpoints, the oldest first.
func (c *Client) Webhooks(ctx context.Context) ([]Webhook, error) {
	list, err := get[wire.WebhookList](ctx, c, "/v1/webhooks")
	return list.Webhooks, err
}

// CreateWebhook makes an endpoint for some events; none are all.
func (c *Client) CreateWebhook(ctx context.Context, address string, events []string) (WebhookSecret, error) {
	input := map[string]any{"url": address}
	if len(events) > 0 {
		input["events"] = events
	}
	body, err := inputJSON(input)
	if err != nil {
		return WebhookSecret{}, err
	}
	return ask[WebhookSecret](ctx, c, jsonRequest(http.MethodPost, "/v1/webhooks", body))
}

// DeleteWebhook deletes an endpoint, with what is still to be sent to it.
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	_, err := ask[Acknowledged](ctx, c, message{method: http.MethodDelete, path: "/v1/webhooks/" + url.PathEscape(id)})
	return err
}
