package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"relaypdf/store"
	"relaypdf/views"
)

const deliveriesPath = "/dashboard/deliveries"

// deliveryOf shows a delivery in a list.
func deliveryOf(d store.Delivery) views.Delivery {
	shown := views.Delivery{ID: d.ID, Event: d.EventType, To: d.URL, Attempts: d.Attempts, At: d.CreatedAt, Status: deliveryStatus(d)}
	if address, err := url.Parse(d.URL); err == nil {
		shown.To = address.Host
	}
	switch {
	case d.LastStatusCode != 0:
		shown.Answer = strconv.Itoa(d.LastStatusCode)
	case d.LastError != "":
		shown.Answer = "no answer"
	}
	return shown
}

func deliveryStatus(d store.Delivery) views.Status {
	switch d.Status {
	case store.DeliveryDelivered:
		return views.Status{Is: views.StateOK, Word: "Delivered"}
	case store.DeliveryFailed:
		return views.Status{Is: views.StateBad, Word: "Failed"}
	}
	return views.Status{Is: views.StateWarn, Word: "Waiting"}
}

func (w deliveries) showDeliveries(v *visit) error {
	m := views.Deliveries{Filter: views.DeliveryFilter{Endpoint: v.value("endpoint"), Status: v.value("status"), Event: v.value("event")}}
	page, err := w.store.Deliveries(v.ctx(), store.DeliveryFilter{
		AccountID: v.account.ID, EndpointID: m.Filter.Endpoint, Status: m.Filter.Status, EventType: m.Filter.Event, List: store.List{Cursor: v.value("cursor")},
	})
	if errors.Is(err, store.ErrBadList) {
		err = store.ErrNotFound
	}
	if err != nil {
		return err
	}
	for _, d := range page.Items {
		m.List = append(m.List, deliveryOf(d))
		if replayable(d) {
			m.Failed++
		}
	}
	m.Pager = pager(v, deliveriesPath, page.Next, views.Plural(len(m.List), "delivery", "deliveries"))
	if err := w.deliveryChoices(v, &m); err != nil {
		return err
	}
	if id := v.value("delivery"); id != "" {
		d, err := w.store.Delivery(v.ctx(), v.account.ID, id)
		if err != nil {
			return err
		}
		m.Open = w.deliveryDetail(d)
		body, err := w.store.EventBody(v.ctx(), v.account.ID, d.EventID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		m.Open.Body = string(body)
	}
	return v.show(http.StatusOK, views.DeliveriesPage(v.page("Deliveries", deliveriesPath), m))
}

func (w deliveries) deliveryChoices(v *visit, m *views.Deliveries) error {
	endpoints, err := w.store.Webhooks(v.ctx(), v.account.ID)
	for _, e := range endpoints {
		m.Endpoints = append(m.Endpoints, views.Choice{Value: e.ID, Text: endpointOf(e).Host})
	}
	for _, name := range store.EventTypes() {
		m.Events = append(m.Events, views.Choice{Value: name, Text: name})
	}
	return err
}

// replayable reports whether a delivery can be sent again.
func replayable(d store.Delivery) bool { return d.Status == store.DeliveryFailed && d.EndpointID != "" }

// ordinals name the attempts of a delivery.
var ordinals = []string{"No", "First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth"}

func ordinal(n int) string {
	if n < len(ordinals) {
		return ordinals[n]
	}
	return fmt.Sprintf("%dth", n)
}

// soon is how far ahead an attempt may be that its page waits for.
const soon = 15 * time.Second

func (w deliveries) deliveryDetail(d store.Delivery) *views.DeliveryDetail {
	m := &views.DeliveryDetail{Delivery: deliveryOf(d), URL: d.URL, EventID: d.EventID, Next: d.NextAttemptAt, Replayable: replayable(d), CreatedAt: d.CreatedAt}
	m.Soon = d.Status == store.DeliveryPending && (d.NextAttemptAt == nil || d.NextAttemptAt.Before(w.now().Add(soon)))
	if d.NextAttemptAt != nil {
		m.NextNote = ordinal(d.Attempts+1) + " attempt"
	}
	if d.Attempts > 0 && (d.LastStatusCode != 0 || d.LastError != "") {
		last := views.Attempt{Is: views.StateBad, At: d.CreatedAt, Answer: string(d.LastResponse)}
		title := d.LastError
		if d.LastStatusCode != 0 {
			title = strconv.Itoa(d.LastStatusCode)
		}
		last.Title = ordinal(d.Attempts) + ", " + title
		if d.LastDuration != nil {
			last.Took = *d.LastDuration
		}
		if d.DeliveredAt != nil {
			last.Is, last.At = views.StateOK, *d.DeliveredAt
		}
		m.Attempts = append(m.Attempts, last)
	}
	return m
}

func (w deliveries) replayDelivery(v *visit) error {
	id := chi.URLParam(v.r, "id")
	if _, err := w.store.ReplayDelivery(v.ctx(), v.account.ID, id); err != nil {
		return err
	}
	if err := v.record("delivery.replayed", id, ""); err != nil {
		return err
	}
	v.tell("It is sent again.")
	return v.redirect(deliveriesPath + "?delivery=" + url.QueryEscape(id))
}

// replayFailed sends the failed ones of the latest deliveries again.
func (w deliveries) replayFailed(v *visit) error {
	page, err := w.store.Deliveries(v.ctx(), store.DeliveryFilter{AccountID: v.account.ID, Status: store.DeliveryFailed, List: store.List{Limit: store.MaxList}})
	if err != nil {
		return err
	}
	sent := 0
	for _, d := range page.Items {
		if !replayable(d) {
			continue
		}
		// One whose endpoint is gone by now is left.
		if _, err := w.store.ReplayDelivery(v.ctx(), v.account.ID, d.ID); err == nil {
			sent++
		}
	}
	if err := v.record("delivery.replayed", views.Plural(sent, "delivery", "deliveries"), ""); err != nil {
		return err
	}
	v.tell(views.Plural(sent, "delivery is", "deliveries are") + " sent again.")
	return v.redirect(deliveriesPath)
}
