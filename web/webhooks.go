package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
)

const webhooksPath = "/dashboard/webhooks"

// eventKinds returns the events that an endpoint can take.
func eventKinds() []views.EventKind {
	var kinds []views.EventKind
	for _, kind := range store.EventKinds() {
		kinds = append(kinds, views.EventKind{Name: kind.Type, Text: kind.Summary})
	}
	return kinds
}

// wrongAddress returns the message for a URL that events cannot be sent to, or nothing for another error.
func wrongAddress(err error) string {
	var refused *operation.URLError
	if !errors.As(err, &refused) {
		return ""
	}
	return "URL " + refused.Refused[0].Message + "."
}

// endpointOf shows an endpoint.
func endpointOf(e store.Webhook) views.Endpoint {
	shown := views.Endpoint{
		ID: e.ID, URL: e.URL, Host: e.URL, Path: "/", Enabled: e.Enabled,
		SecretPrefix: e.SecretPrefix, Rolling: e.PreviousUntil,
		State:  views.Status{Is: views.StateOK, Word: "On"},
		Events: "all " + strconv.Itoa(len(store.EventTypes())), Chosen: map[string]bool{},
	}

	if address, err := url.Parse(e.URL); err == nil {
		shown.Host = address.Host
		shown.Path = address.EscapedPath()
	}
	if len(e.Events) > 0 {
		shown.Events = strings.Join(e.Events, ", ")
	}
	for _, name := range e.Events {
		shown.Chosen[name] = true
	}

	switch {
	case !e.Enabled && e.DisabledReason != "":
		shown.State = views.Status{Is: views.StateBad, Word: "Disabled"}
		shown.Why = e.DisabledReason
	case !e.Enabled:
		shown.State = views.Status{Is: views.StateOff, Word: "Paused"}
	case e.FailingSince != nil:
		shown.State = views.Status{Is: views.StateBad, Word: "Failing"}
	}
	return shown
}

// showWebhooks shows the endpoints, with the secret of a new one.
func (w *Web) showWebhooks(v *pageRequest) error {
	list, err := w.store.Webhooks(v.ctx(), v.account.ID)
	if err != nil {
		return err
	}
	traffic, err := w.store.WebhookTraffic(v.ctx(), v.account.ID, w.now().Add(-24*time.Hour))
	if err != nil {
		return err
	}

	m := views.Webhooks{
		Max:    store.MaxWebhooks,
		Secret: takeOnce[views.EndpointSecret](v),
		Events: eventKinds(),
		New:    w.endpointForm(v),
	}
	for _, e := range list {
		shown := endpointOf(e)
		shown.Day = views.Digits(traffic[e.ID].Count)
		shown.Last = traffic[e.ID].Last
		if traffic[e.ID].Count == store.MaxTraffic {
			shown.Day += "+"
		}
		m.List = append(m.List, shown)
	}

	return v.show(http.StatusOK, views.WebhooksPage(v.page("Webhook endpoints", webhooksPath), m))
}

// endpointForm is the form of an endpoint as it was sent, or empty.
func (w *Web) endpointForm(v *pageRequest) views.NewEndpoint {
	m := views.NewEndpoint{
		Form:   views.Form{Values: map[string]string{"url": v.value("url")}, Errors: map[string]string{}},
		Events: eventKinds(),
		Chosen: map[string]bool{},
	}
	for _, name := range v.r.Form["events"] {
		m.Chosen[name] = true
	}
	return m
}

// events reads which events a form asks for; none is all.
func (v *pageRequest) events() ([]string, error) {
	var events []string
	for _, name := range v.r.Form["events"] {
		if !slices.Contains(store.EventTypes(), name) {
			return nil, errForm
		}
		events = append(events, name)
	}
	return events, nil
}

func (w *Web) showNewWebhook(v *pageRequest) error {
	return v.show(http.StatusOK, views.NewEndpointPage(v.page("Add endpoint", webhooksPath), w.endpointForm(v)))
}

func (w *Web) makeWebhook(v *pageRequest) error {
	events, err := v.events()
	if err != nil {
		return err
	}

	made, secret, err := w.webhookEndpoints.Create(v.ctx(), v.author(), v.value("url"), events)
	switch wrong := wrongAddress(err); {
	case wrong != "":
		return w.wrongEndpoint(v, "url", wrong)
	case errors.Is(err, store.ErrTooManyWebhooks):
		limit := strconv.Itoa(store.MaxWebhooks)
		return w.wrongEndpoint(v, "", "Endpoint limit reached: "+limit+" of "+limit+". Delete an endpoint first.")
	case err != nil:
		return err
	}

	return v.redirectOnce(webhooksPath, views.EndpointSecret{
		URL:    made.URL,
		Secret: secret,
		Note:   "Use this secret to verify the signature of each delivery.",
	})
}

func (w *Web) wrongEndpoint(v *pageRequest, field, text string) error {
	m := w.endpointForm(v)
	m.Errors[field] = text
	return v.show(http.StatusUnprocessableEntity, views.NewEndpointPage(v.page("Add endpoint", webhooksPath), m))
}

func (w *Web) showWebhook(v *pageRequest) error { return w.webhookPage(v, http.StatusOK, nil) }

// webhookPage shows one endpoint, with a new secret, or with the errors of its form.
func (w *Web) webhookPage(v *pageRequest, status int, wrong map[string]string) error {
	e, err := w.store.Webhook(v.ctx(), v.account.ID, chi.URLParam(v.r, "id"))
	if err != nil {
		return err
	}

	sent, err := w.store.Deliveries(v.ctx(), store.DeliveryFilter{
		AccountID:  v.account.ID,
		EndpointID: e.ID,
		List:       store.List{Limit: 10},
	})
	if err != nil {
		return err
	}

	m := views.EndpointDetail{
		Endpoint: endpointOf(e),
		Secret:   takeOnce[views.EndpointSecret](v),
		Change:   w.endpointForm(v),
	}
	if wrong == nil {
		m.Change.Values["url"] = e.URL
		m.Change.Chosen = m.Chosen
	} else {
		m.Change.Errors = wrong
	}

	for _, d := range sent.Items {
		m.Deliveries = append(m.Deliveries, deliveryOf(d))
	}
	return v.show(status, views.EndpointPage(v.page(m.Host, webhooksPath), m))
}

func (w *Web) changeWebhook(v *pageRequest) error {
	events, err := v.events()
	if err != nil {
		return err
	}

	address := v.value("url")
	_, err = w.webhookEndpoints.Change(v.ctx(), v.author(), chi.URLParam(v.r, "id"), store.WebhookChange{
		URL:    &address,
		Events: &events,
	})

	if wrong := wrongAddress(err); wrong != "" {
		return w.webhookPage(v, http.StatusUnprocessableEntity, map[string]string{"url": wrong})
	}
	return w.webhookChanged(v, err, "Endpoint saved.")
}

// webhookChanged continues after a change of an endpoint.
func (w *Web) webhookChanged(v *pageRequest, err error, done string) error {
	if err != nil {
		return err
	}
	return v.redirectWith(webhooksPath+"/"+url.PathEscape(chi.URLParam(v.r, "id")), done)
}

func (w *Web) testWebhook(v *pageRequest) error {
	if _, err := w.webhookEndpoints.Test(v.ctx(), v.account.ID, chi.URLParam(v.r, "id")); err != nil {
		return err
	}
	return v.redirectWith(
		webhooksPath+"/"+url.PathEscape(chi.URLParam(v.r, "id")), "Test event sent. See Deliveries for the result.",
	)
}

func (w *Web) switchWebhook(on bool) func(*pageRequest) error {
	done := "Endpoint paused. Pending deliveries were cancelled."
	if on {
		done = "Endpoint resumed."
	}
	return func(v *pageRequest) error {
		_, err := w.webhookEndpoints.Change(v.ctx(), v.author(), chi.URLParam(v.r, "id"), store.WebhookChange{Enabled: &on})
		return w.webhookChanged(v, err, done)
	}
}

func (w *Web) rollWebhook(v *pageRequest) error {
	rolled, secret, err := w.webhookEndpoints.Roll(v.ctx(), v.author(), chi.URLParam(v.r, "id"))
	if err != nil {
		return err
	}
	return v.redirectOnce(webhooksPath+"/"+rolled.ID, views.EndpointSecret{
		URL:    rolled.URL,
		Secret: secret,
		Note:   "The previous secret still signs Service-Signature for 24 hours, or until you activate this one.",
	})
}

func (w *Web) activateWebhook(v *pageRequest) error {
	_, err := w.webhookEndpoints.Activate(v.ctx(), v.author(), chi.URLParam(v.r, "id"))
	return w.webhookChanged(v, err, "New secret activated.")
}

func (w *Web) deleteWebhook(v *pageRequest) error {
	e, err := w.store.Webhook(v.ctx(), v.account.ID, chi.URLParam(v.r, "id"))
	if err == nil && v.value("confirm") != "yes" {
		return v.redirectWith(webhooksPath+"/"+e.ID, "Endpoint not deleted. Select the confirmation box first.")
	}

	if err == nil {
		_, err = w.webhookEndpoints.Delete(v.ctx(), v.author(), e.ID)
	}
	if err != nil {
		return err
	}
	return v.redirectWith(webhooksPath, "Endpoint "+e.URL+" deleted.")
}
