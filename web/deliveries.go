package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/views"
	"github.com/relaypdf/relaypdf/web/docs"
)

const deliveriesPath = "/dashboard/deliveries"

// deliveryOf shows a delivery in a list.
func deliveryOf(d store.Delivery) views.Delivery {
	shown := views.Delivery{
		ID:       d.ID,
		Event:    d.EventType,
		To:       d.URL,
		Attempts: d.Attempts,
		At:       d.CreatedAt,
		Status:   deliveryStatus(d),
	}

	if address, err := url.Parse(d.URL); err == nil {
		shown.To = address.Host
	}
	switch {
	case d.LastStatusCode != 0:
		shown.Answer = strconv.Itoa(d.LastStatusCode)
	case d.LastError != "":
		shown.Answer = "no response"
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

func (w *Web) showDeliveries(v *pageRequest) error {
	m := views.Deliveries{Filter: views.DeliveryFilter{
		Endpoint: v.value("endpoint"),
		Status:   v.value("status"),
		Event:    v.value("event"),
	}}
	page, err := w.store.Deliveries(v.ctx(), store.DeliveryFilter{
		AccountID: v.account.ID, EndpointID: m.Filter.Endpoint, Status: m.Filter.Status,
		EventType: m.Filter.Event, List: store.List{Cursor: v.value("cursor")},
	})
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
		if m.Open, err = w.deliveryDetail(v, d); err != nil {
			return err
		}

		body, err := w.store.EventBody(v.ctx(), v.account.ID, d.EventID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if len(body) > 0 {
			m.Open.Body = docs.Own("Payload, "+views.Bytes(int64(len(body))), "json", jsonText(body))
		}
	}

	return v.show(http.StatusOK, views.DeliveriesPage(v.page("Deliveries", deliveriesPath), m))
}

func (w *Web) deliveryChoices(v *pageRequest, m *views.Deliveries) error {
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
	ending := "th"
	if n%100 < 11 || n%100 > 13 {
		ending = []string{"th", "st", "nd", "rd", "th", "th", "th", "th", "th", "th"}[n%10]
	}
	return fmt.Sprintf("%d%s", n, ending)
}

// soon is the maximum time until an attempt for which its page waits.
const soon = 15 * time.Second

func (w *Web) deliveryDetail(v *pageRequest, d store.Delivery) (*views.DeliveryDetail, error) {
	earlier, err := w.store.EarlierAttempts(v.ctx(), d)
	if err != nil {
		return nil, err
	}
	headers, err := w.store.AttemptHeaders(v.ctx(), d)
	if err != nil {
		return nil, err
	}

	m := &views.DeliveryDetail{
		Delivery:   deliveryOf(d),
		URL:        d.URL,
		EventID:    d.EventID,
		Next:       d.NextAttemptAt,
		Replayable: replayable(d),
		CreatedAt:  d.CreatedAt,
	}
	m.Waits = d.Status == store.DeliveryPending && d.NextAttemptAt != nil && d.NextAttemptAt.After(w.now())
	m.Soon = d.Status == store.DeliveryPending && (d.NextAttemptAt == nil || d.NextAttemptAt.Before(w.now().Add(soon)))

	if d.LastAttemptAt != nil {
		last := store.PastAttempt{
			At:         *d.LastAttemptAt,
			StatusCode: d.LastStatusCode,
			Error:      d.LastError,
			Response:   d.LastResponse,
			Duration:   d.LastDuration,
		}
		m.Attempts = append(m.Attempts, attemptOf(last, headers[last.At], len(earlier)+1))
		if d.DeliveredAt != nil {
			m.Attempts[0].Is = views.StateOK
		}
	}
	for i, a := range earlier {
		m.Attempts = append(m.Attempts, attemptOf(a, headers[a.At], len(earlier)-i))
	}

	if d.NextAttemptAt != nil {
		m.NextNote = ordinal(len(m.Attempts)+1) + " attempt"
	}
	if d.LastError != "" && d.LastAttemptAt == nil {
		m.Note = d.LastError // It was called off before anything was sent.
	}

	return m, nil
}

// attemptOf shows an attempt, the number-th of its delivery.
func attemptOf(a store.PastAttempt, h store.AttemptHeaders, number int) views.Attempt {
	shown := views.Attempt{
		Number:   number,
		Is:       views.StateBad,
		At:       a.At,
		Answer:   strings.ToValidUTF8(string(a.Response), "\uFFFD"),
		Request:  h.Request,
		Response: h.Response,
	}

	title := a.Error
	if a.StatusCode != 0 {
		title = strconv.Itoa(a.StatusCode)
	}
	shown.Title = ordinal(number) + ": " + title

	if a.Duration != nil {
		shown.Took = *a.Duration
	}
	return shown
}

func (w *Web) replayDelivery(v *pageRequest) error {
	id := chi.URLParam(v.r, "id")
	if _, err := w.webhookEndpoints.Replay(v.ctx(), v.author(), id); err != nil {
		return err
	}
	return v.redirectWith(deliveriesPath+"?delivery="+url.QueryEscape(id), "Delivery queued for replay.")
}

// tryDelivery makes the next attempt of a waiting delivery now.
func (w *Web) tryDelivery(v *pageRequest) error {
	id := chi.URLParam(v.r, "id")
	if err := w.store.RetryDelivery(v.ctx(), v.account.ID, id); err != nil {
		return err
	}
	if err := v.record("delivery.tried", id, ""); err != nil {
		return err
	}
	return v.redirectWith(deliveriesPath+"?delivery="+url.QueryEscape(id), "Attempt started.")
}

// failedDeliveries returns the latest failed deliveries that can be sent again.
func (w *Web) failedDeliveries(v *pageRequest) ([]store.Delivery, error) {
	page, err := w.store.Deliveries(v.ctx(), store.DeliveryFilter{
		AccountID: v.account.ID,
		Status:    store.DeliveryFailed,
		List:      store.List{Limit: store.MaxList},
	})
	return slices.DeleteFunc(page.Items, func(d store.Delivery) bool { return !replayable(d) }), err
}

func (w *Web) showReplayFailed(v *pageRequest) error {
	failed, err := w.failedDeliveries(v)
	if err != nil {
		return err
	}
	if len(failed) == 0 {
		return v.redirect(deliveriesPath)
	}

	return v.show(http.StatusOK, views.ReplayFailedPage(
		v.page("Replay failed deliveries", deliveriesPath), int64(len(failed)),
	))
}

// replayFailed sends the failed ones of the latest deliveries again.
func (w *Web) replayFailed(v *pageRequest) error {
	failed, err := w.failedDeliveries(v)
	if err != nil {
		return err
	}

	sent := 0
	for _, d := range failed {
		// One whose endpoint is gone by now is left.
		if _, err := w.store.ReplayDelivery(v.ctx(), v.account.ID, d.ID); err == nil {
			sent++
		}
	}

	if err := v.record("delivery.replayed", views.Plural(sent, "delivery", "deliveries"), ""); err != nil {
		return err
	}
	return v.redirectWith(deliveriesPath, views.Plural(sent, "delivery", "deliveries")+" queued for replay.")
}
