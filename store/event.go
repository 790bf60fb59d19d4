package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// Types of events that endpoints can ask for.
const (
	EventJobCompleted     = "job.completed"
	EventJobFailed        = "job.failed"
	EventWalletTopUp      = "wallet.topup"
	EventAutoReload       = "wallet.auto_reload"
	EventAutoReloadFailed = "wallet.auto_reload_failed"
	EventPaymentRequired  = "wallet.payment_required"
	// EventAccountAlert reports a usage alert. Its data is an AlertEvent.
	EventAccountAlert = "account.alert"
)

// EventCallback is the type of a callback to a call's URL. It is in the outbox like an event, and no endpoint can
// subscribe to it.
const EventCallback = "callback"

// EventTest is the type of a test event for one endpoint. No endpoint can subscribe to it.
const EventTest = "webhook.test"

// EventKind is a type of event, and in a sentence when it happens.
type EventKind struct{ Type, Summary string }

// EventKinds are the events that endpoints can subscribe to. Each event is sent as the JSON of an Envelope.
func EventKinds() []EventKind {
	return []EventKind{
		{EventJobCompleted, "A job has a result"},
		{EventJobFailed, "A job failed"},
		{EventWalletTopUp, "A payment was added to the wallet"},
		{EventAutoReload, "Auto-reload added funds to the wallet"},
		{EventAutoReloadFailed, "Auto-reload failed"},
		{EventPaymentRequired, "A call was rejected because the wallet does not cover it; sent at most once an hour"},
		{EventAccountAlert, "A usage alert of the account: spending limit, low balance or failed calls"},
	}
}

// EventTypes lists the types that endpoints can ask for.
func EventTypes() []string {
	var types []string
	for _, kind := range EventKinds() {
		types = append(types, kind.Type)
	}
	return types
}

// Outbox holds the notifications of a call's end. It is written to the outbox in the transaction that ends the call.
type Outbox struct {
	// Event is EventJobCompleted or EventJobFailed, for the account's endpoints; empty notifies none of them.
	Event string
	// Data marshals to the event's data, and is all that the call's callback
	// gets, if it has one.
	Data any
}

// Envelope is the body of an event, as endpoints receive it.
type Envelope struct {
	ID        string    `json:"id" jsonschema:"required" jsonschema_description:"ID of the event, the same in every attempt."`
	Type      string    `json:"type" jsonschema:"required" jsonschema_description:"Event type."`
	CreatedAt time.Time `json:"createdAt" jsonschema:"required" jsonschema_description:"Time of the event."`
	Data      any       `json:"data" jsonschema:"required" jsonschema_description:"Data of the event."`
}

type eventRow struct {
	bun.BaseModel `bun:"table:events,alias:e"`

	ID        string `bun:",pk"`
	AccountID string
	Type      string
	CallID    *string
	Body      []byte
	CreatedAt int64
}

// callbackSelect reads the URL to which a call's end is reported. $1 call.
const callbackSelect = `SELECT url FROM callbacks WHERE call_id = $1`

// writeOutbox writes the notifications of a call's end: the event for the account's endpoints and the data for the
// call's callback.
func (s *Store) writeOutbox(ctx context.Context, tx txn, call *callRow, n *Outbox, now time.Time) error {
	if n == nil {
		return nil
	}

	if n.Event != "" {
		err := s.writeEvent(ctx, tx, newEvent{
			accountID: call.AccountID,
			callID:    &call.ID,
			kind:      n.Event,
			data:      n.Data,
			at:        now,
		})
		if err != nil {
			return err
		}
	}

	var callback string
	err := notFound(s.queryRow(ctx, tx, callbackSelect, call.ID).Scan(&callback))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}

	body, err := json.Marshal(n.Data)
	if err != nil {
		return err
	}

	event := eventRow{
		ID:        s.NewID("evt"),
		AccountID: call.AccountID,
		Type:      EventCallback,
		CallID:    &call.ID,
		Body:      body,
		CreatedAt: toMicros(now),
	}
	_, err = s.deliver(ctx, tx, &event, []recipient{{URL: callback}})
	return err
}

// newEvent is an event before it has a body.
type newEvent struct {
	accountID string
	callID    *string // nil when it concerns no call
	kind      string
	data      any
	at        time.Time
}

// recipient is the target of an event.
type recipient struct {
	ID  *string // of the endpoint; nil is a callback
	URL string
}

// receiver returns the name under which the recipient's deliveries are counted: the endpoint, or all callbacks of
// the account to the same host.
func (r recipient) receiver(accountID string) string {
	if r.ID != nil {
		return *r.ID
	}
	return callbackReceiver(accountID, r.URL)
}

func callbackReceiver(accountID, callback string) string {
	host := ""
	if address, err := url.Parse(callback); err == nil {
		host = strings.ToLower(address.Hostname())
	}
	return accountID + " " + host
}

// writeEvent writes an event and its deliveries to the endpoints that want it.
// Without any there is nothing to write.
func (s *Store) writeEvent(ctx context.Context, tx txn, n newEvent) error {
	to, err := s.recipients(ctx, tx, n)
	if err != nil || len(to) == 0 {
		return err
	}

	event, err := s.event(n)
	if err != nil {
		return err
	}

	_, err = s.deliver(ctx, tx, &event, to)
	return err
}

// recipientSelect reads the endpoints that subscribe to an event. $1 account, $2 the pattern of its type in their
// lists.
const recipientSelect = `SELECT id, url FROM webhooks WHERE account_id = $1 AND deleted_at IS NULL AND enabled
	AND (events = '' OR ',' || events || ',' LIKE $2)`

func (s *Store) recipients(ctx context.Context, tx txn, n newEvent) (to []recipient, err error) {
	rows, err := s.queryAll(ctx, tx, recipientSelect, n.accountID, "%,"+n.kind+",%")
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	for rows.Next() {
		var r recipient
		if err := rows.Scan(&r.ID, &r.URL); err != nil {
			return nil, err
		}
		to = append(to, r)
	}

	return to, rows.Err()
}

func (s *Store) event(n newEvent) (eventRow, error) {
	id := s.NewID("evt")
	body, err := json.Marshal(Envelope{
		ID:        id,
		Type:      n.kind,
		CreatedAt: n.at.UTC().Truncate(time.Millisecond),
		Data:      n.data,
	})
	if err != nil {
		return eventRow{}, fmt.Errorf("event %s: %w", n.kind, err)
	}

	return eventRow{
		ID:        id,
		AccountID: n.accountID,
		Type:      n.kind,
		CallID:    n.callID,
		Body:      body,
		CreatedAt: toMicros(n.at),
	}, nil
}

// deliver writes an event with one delivery, due at once, to each recipient.
func (s *Store) deliver(ctx context.Context, tx txn, event *eventRow, to []recipient) ([]deliveryRow, error) {
	if _, err := tx.NewInsert().Model(event).Exec(ctx); err != nil {
		return nil, err
	}

	rows := make([]deliveryRow, len(to))
	for i, r := range to {
		rows[i] = deliveryRow{
			ID:            s.NewID("dlv"),
			AccountID:     event.AccountID,
			EndpointID:    r.ID,
			EventID:       event.ID,
			EventType:     event.Type,
			Receiver:      r.receiver(event.AccountID),
			URL:           r.URL,
			Status:        DeliveryPending,
			Ready:         true,
			NextAttemptAt: &event.CreatedAt,
			CreatedAt:     event.CreatedAt,
		}
	}

	_, err := tx.NewInsert().Model(&rows).Exec(ctx)
	announce(ctx)
	return rows, err
}
