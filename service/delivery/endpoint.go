package delivery

import (
	"context"

	"github.com/relaypdf/relaypdf/client/webhook"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/seal"
)

// shownPrefix is the readable length of a secret: enough for its owner to distinguish secrets.
const shownPrefix = 10

// Endpoints manages the endpoints of accounts for all APIs, and records changes in the audit log.
type Endpoints struct {
	Store *store.Store
	Box   *seal.Box
	// Check refuses addresses that events cannot be sent to.
	Check func(address string) error
}

// Create adds an endpoint and returns its signing secret, which is not shown
// again. No events means all. The error is Check's, or store.ErrTooManyWebhooks.
func (e Endpoints) Create(
	ctx context.Context, by store.Author, address string, events []string,
) (store.Webhook, string, error) {
	if err := e.Check(address); err != nil {
		return store.Webhook{}, "", err
	}

	secret := webhook.NewSecret()
	n := store.NewWebhook{
		ID: e.Store.NewID("we"), AccountID: by.AccountID, URL: address, Events: events,
		SecretPrefix: secret[:shownPrefix],
	}
	var err error
	if n.Secret, err = e.Box.Seal(SecretPurpose(n.ID), []byte(secret)); err != nil {
		return store.Webhook{}, "", err
	}

	endpoint, err := e.recorded(ctx, by, "webhook.made")(e.Store.CreateWebhook(ctx, n))
	return endpoint, secret, err
}

// recorded returns an endpoint after a change, which it records.
func (e Endpoints) recorded(
	ctx context.Context, by store.Author, actions ...string,
) func(store.Webhook, error) (store.Webhook, error) {
	return func(endpoint store.Webhook, err error) (store.Webhook, error) {
		for _, action := range actions {
			if err == nil {
				err = e.Store.AddAuditEntry(ctx, by.Entry(action, endpoint.URL, ""))
			}
		}
		return endpoint, err
	}
}

// Change changes an endpoint.
func (e Endpoints) Change(
	ctx context.Context, by store.Author, id string, change store.WebhookChange,
) (store.Webhook, error) {
	if change.URL != nil {
		if err := e.Check(*change.URL); err != nil {
			return store.Webhook{}, err
		}
	}

	var actions []string
	if change.URL != nil || change.Events != nil {
		actions = append(actions, "webhook.changed")
	}
	if change.Enabled != nil {
		actions = append(actions, map[bool]string{true: "webhook.resumed", false: "webhook.paused"}[*change.Enabled])
	}

	return e.recorded(ctx, by, actions...)(e.Store.UpdateWebhook(ctx, by.AccountID, id, change))
}

// Delete deletes an endpoint, and returns it as it was.
func (e Endpoints) Delete(ctx context.Context, by store.Author, id string) (store.Webhook, error) {
	endpoint, err := e.Store.Webhook(ctx, by.AccountID, id)
	if err == nil {
		err = e.Store.DeleteWebhook(ctx, by.AccountID, id)
	}
	return e.recorded(ctx, by, "webhook.deleted")(endpoint, err)
}

// Roll gives an endpoint a new secret, and returns it. The one before signs as
// well for a time.
func (e Endpoints) Roll(ctx context.Context, by store.Author, id string) (store.Webhook, string, error) {
	secret := webhook.NewSecret()
	sealed, err := e.Box.Seal(SecretPurpose(id), []byte(secret))
	if err != nil {
		return store.Webhook{}, "", err
	}

	record := e.recorded(ctx, by, "webhook.rolled")
	endpoint, err := record(e.Store.RollWebhook(ctx, by.AccountID, id, sealed, secret[:shownPrefix]))
	return endpoint, secret, err
}

// Activate puts the new secret of an endpoint into use at once.
func (e Endpoints) Activate(ctx context.Context, by store.Author, id string) (store.Webhook, error) {
	return e.recorded(ctx, by, "webhook.activated")(e.Store.ActivateWebhook(ctx, by.AccountID, id))
}

// Replay makes a failed delivery pending again.
func (e Endpoints) Replay(ctx context.Context, by store.Author, id string) (store.Delivery, error) {
	replayed, err := e.Store.ReplayDelivery(ctx, by.AccountID, id)
	if err == nil {
		err = e.Store.AddAuditEntry(ctx, by.Entry("delivery.replayed", id, ""))
	}
	return replayed, err
}

// Test sends a test event to an endpoint.
func (e Endpoints) Test(ctx context.Context, accountID, id string) (store.Delivery, error) {
	return e.Store.TestWebhook(ctx, accountID, id, testData{id})
}

// testData is the data of a test event.
type testData struct {
	EndpointID string `json:"endpointId"`
}
