package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"relaypdf/api/op"
	"relaypdf/store"
	"relaypdf/webhook"
)

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

// WebhookInput is the body of POST and PATCH /v1/webhooks, for the description
// of the interface.
type WebhookInput struct {
	URL    string   `json:"url" jsonschema:"required,format=uri,maxLength=2048" jsonschema_description:"Where to send events: an https address of a public host."`
	Events []string `json:"events,omitempty" jsonschema:"minItems=1,enum=job.completed,enum=job.failed,enum=wallet.topup,enum=wallet.auto_reload,enum=wallet.auto_reload_failed,enum=wallet.payment_required" jsonschema_description:"Events to send; all when absent or null."`
}

// WebhookPatch is the body of PATCH /v1/webhooks/{id}.
type WebhookPatch struct {
	WebhookInput

	Enabled bool `json:"enabled,omitempty" jsonschema_description:"Whether to send anything. Disabling cancels what is pending."`
}

// Acknowledged is the answer to a deletion.
type Acknowledged struct {
	OK bool `json:"ok" jsonschema:"required" jsonschema_description:"Always true."`
}

const (
	// maxWebhookURL bounds the address of an endpoint: what HTTP servers take.
	maxWebhookURL = 2048
	// shownPrefix is how much of a secret is shown afterwards.
	shownPrefix = 10
)

// webhookPurpose names the key that an endpoint's secrets are encrypted with.
func webhookPurpose(id string) string { return "webhook " + id }

func showWebhook(w store.Webhook) WebhookEndpoint {
	shown := WebhookEndpoint{
		ID: w.ID, URL: w.URL, Events: w.Events, SecretPrefix: w.SecretPrefix, Enabled: w.Enabled, DisabledReason: w.DisabledReason,
		PreviousSecretUntil: shownTime(w.PreviousUntil), CreatedAt: w.CreatedAt.Truncate(time.Millisecond),
	}
	if len(w.Events) == 0 {
		shown.Events = store.EventTypes()
	}
	return shown
}

// shownTime rounds a time down to what JSON shows of it.
func shownTime(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	rounded := t.UTC().Truncate(time.Millisecond)
	return &rounded
}

func (a *API) getWebhooks(w http.ResponseWriter, r *http.Request) error {
	endpoints, err := a.store.Webhooks(r.Context(), callerFrom(r.Context()).Account.ID)
	if err != nil {
		return err
	}
	answer := WebhookList{Webhooks: make([]WebhookEndpoint, len(endpoints))}
	for i, endpoint := range endpoints {
		answer.Webhooks[i] = showWebhook(endpoint)
	}
	return writeJSON(w, http.StatusOK, answer)
}

func (a *API) postWebhook(w http.ResponseWriter, r *http.Request) error {
	change, err := a.readWebhook(w, r, "url", "events")
	if err != nil {
		return err
	}
	n := store.NewWebhook{ID: store.NewID("we"), AccountID: callerFrom(r.Context()).Account.ID, URL: *change.URL}
	if change.Events != nil {
		n.Events = *change.Events
	}
	secret := webhook.NewSecret()
	n.SecretPrefix = secret[:shownPrefix]
	if n.Secret, err = a.box.Seal(webhookPurpose(n.ID), []byte(secret)); err != nil {
		return err
	}
	endpoint, err := a.store.CreateWebhook(r.Context(), n)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusCreated, WebhookSecret{showWebhook(endpoint), secret})
}

func (a *API) patchWebhook(w http.ResponseWriter, r *http.Request) error {
	change, err := a.readWebhook(w, r, "url", "events", "enabled")
	if err != nil {
		return err
	}
	endpoint, err := a.store.UpdateWebhook(r.Context(), callerFrom(r.Context()).Account.ID, chi.URLParam(r, "id"), change)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, showWebhook(endpoint))
}

func (a *API) deleteWebhook(w http.ResponseWriter, r *http.Request) error {
	if err := a.store.DeleteWebhook(r.Context(), callerFrom(r.Context()).Account.ID, chi.URLParam(r, "id")); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, Acknowledged{true})
}

// webhookTest is the data of a test event.
type webhookTest struct {
	EndpointID string `json:"endpointId"`
}

func (a *API) testWebhook(w http.ResponseWriter, r *http.Request) error {
	id := chi.URLParam(r, "id")
	delivery, err := a.store.TestWebhook(r.Context(), callerFrom(r.Context()).Account.ID, id, webhookTest{id})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, showDelivery(delivery))
}

func (a *API) rollWebhook(w http.ResponseWriter, r *http.Request) error {
	id, secret := chi.URLParam(r, "id"), webhook.NewSecret()
	sealed, err := a.box.Seal(webhookPurpose(id), []byte(secret))
	if err != nil {
		return err
	}
	endpoint, err := a.store.RollWebhook(r.Context(), callerFrom(r.Context()).Account.ID, id, sealed, secret[:shownPrefix])
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, WebhookSecret{showWebhook(endpoint), secret})
}

func (a *API) activateWebhook(w http.ResponseWriter, r *http.Request) error {
	endpoint, err := a.store.ActivateWebhook(r.Context(), callerFrom(r.Context()).Account.ID, chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, showWebhook(endpoint))
}

// readWebhook reads the fields of an endpoint, of which a POST needs the url.
func (a *API) readWebhook(w http.ResponseWriter, r *http.Request, known ...string) (store.WebhookChange, error) {
	var change store.WebhookChange
	fields, err := readSettings(w, r)
	if err != nil {
		return change, err
	}
	faults := op.Faults{}
	if r.Method == http.MethodPost && fields["url"] == nil {
		faults.Add("url", "is required: an https address of a public host")
	}
	for name, value := range fields {
		switch {
		case !slices.Contains(known, name):
			faults.Add(name, "is not a known field; the fields are %s", strings.Join(known, ", "))
		case name == "events":
			change.Events = eventsFrom(value, &faults)
		case value == nil: // absent, as everywhere but where it clears
		case name == "url":
			change.URL = urlFrom(value, &faults)
		default:
			change.Enabled = enabledFrom(value, &faults)
		}
	}
	slices.SortFunc(faults, func(a, b op.Fault) int { return strings.Compare(a.Field, b.Field) })
	if len(faults) > 0 {
		return change, faults
	}
	if change.URL != nil {
		if err := a.outbound.CheckURL(*change.URL); err != nil {
			return change, &URLError{Field: "url", Cause: err}
		}
	}
	return change, nil
}

func urlFrom(value any, faults *op.Faults) *string {
	text, ok := value.(string)
	if !ok || text == "" || len(text) > maxWebhookURL {
		faults.Add("url", "must be an https address of at most %d characters", maxWebhookURL)
		return nil
	}
	return &text
}

func enabledFrom(value any, faults *op.Faults) *bool {
	enabled, ok := value.(bool)
	if !ok {
		faults.Add("enabled", "must be true or false")
		return nil
	}
	return &enabled
}

// eventsFrom reads a list of event types; null is all of them.
func eventsFrom(value any, faults *op.Faults) *[]string {
	all := store.EventTypes()
	if value == nil {
		return &[]string{}
	}
	valid := strings.Join(all, ", ")
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		faults.Add("events", "must be a list of at least one of %s; leave it out for all", valid)
		return nil
	}
	wanted := []string{}
	for i, entry := range list {
		name, ok := entry.(string)
		if !ok || !slices.Contains(all, name) {
			faults.Add(fmt.Sprintf("events[%d]", i), "must be one of %s", valid)
			continue
		}
		if !slices.Contains(wanted, name) {
			wanted = append(wanted, name)
		}
	}
	return &wanted
}

// webhookError words what the store refuses about endpoints and deliveries.
func webhookError(err error) *Error {
	switch {
	case errors.Is(err, store.ErrTooManyWebhooks):
		return invalidText(fmt.Sprintf("An account has at most %d webhook endpoints. Delete one that is not needed any more.", store.MaxWebhooks))
	case errors.Is(err, store.ErrWebhookOff):
		return invalidText("The endpoint is disabled or deleted, so that nothing can be sent to it. Enable it first.")
	case errors.Is(err, store.ErrNotFailed):
		return invalidText("Only a delivery that has failed for good can be replayed; this one is pending or delivered.")
	case errors.Is(err, store.ErrCallback):
		return invalidText("This is the delivery of a callback, which cannot be replayed. Ask for the job at its pollUrl.")
	}
	return nil
}

func invalidText(text string) *Error { return &Error{Code: InvalidRequest, Message: text} }
