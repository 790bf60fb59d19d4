package delivery

import (
	"context"

	"relaypdf/client/webhook"
	"relaypdf/store"
	"relaypdf/store/seal"
)

// shownPrefix is the readable length of a secret: enough for its owner to distinguish secrets.
const shownPrefix = 10

// Endpoints manages the endpoints of accounts for all APIs.
type Endpoints struct {
	Store *store.Store
	Box   *seal.Box
	// Check refuses addresses that events cannot be sent to.
	Check func(address string) error
}

// Create adds an endpoint and returns its signing secret, which is not shown
// again. No events means all. The error is Check's, or store.ErrTooManyWebhooks.
func (e Endpoints) Create(ctx context.Context, accountID, address string, events []string) (store.Webhook, string, error) {
	if err := e.Check(address); err != nil {
		return store.Webhook{}, "", err
	}
	secret := webhook.NewSecret()
	n := store.NewWebhook{ID: e.Store.NewID("we"), AccountID: accountID, URL: address, Events: events, SecretPrefix: secret[:shownPrefix]}
	var err error
	if n.Secret, err = e.Box.Seal(SecretPurpose(n.ID), []byte(secret)); err != nil {
		return store.Webhook{}, "", err
	}
	endpoint, err := e.Store.CreateWebhook(ctx, n)
	return endpoint, secret, err
}

// Change changes an endpoint.
func (e Endpoints) Change(ctx context.Context, accountID, id string, change store.WebhookChange) (store.Webhook, error) {
	if change.URL != nil {
		if err := e.Check(*change.URL); err != nil {
			return store.Webhook{}, err
		}
	}
	return e.Store.UpdateWebhook(ctx, accountID, id, change)
}

// Roll gives an endpoint a new secret, and returns it. The one before signs as
// well for a time.
func (e Endpoints) Roll(ctx context.Context, accountID, id string) (store.Webhook, string, error) {
	secret := webhook.NewSecret()
	sealed, err := e.Box.Seal(SecretPurpose(id), []byte(secret))
	if err != nil {
		return store.Webhook{}, "", err
	}
	endpoint, err := e.Store.RollWebhook(ctx, accountID, id, sealed, secret[:shownPrefix])
	return endpoint, secret, err
}

// Test sends a test event to an endpoint.
func (e Endpoints) Test(ctx context.Context, accountID, id string) (store.Delivery, error) {
	return e.Store.TestWebhook(ctx, accountID, id, testData{id})
}

// testData is the data of a test event.
type testData struct {
	EndpointID string `json:"endpointId"`
}
