package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// MaxWebhooks is the maximum number of endpoints of an account.
const MaxWebhooks = 25

// RollPeriod is the time for which an old secret stays in use after a rotation, unless the new one is activated
// sooner.
const RollPeriod = 24 * time.Hour

// Webhook is a URL that an account registered for events. The caller seals its secrets; the store cannot read them.
type Webhook struct {
	ID        string // we_…
	AccountID string
	URL       string
	// Events are the subscribed types; none means all.
	Events []string
	// Secret is the encrypted signing secret, SecretPrefix the beginning of its text.
	Secret       []byte
	SecretPrefix string
	// PreviousSecret is the encrypted secret before a rotation, until PreviousUntil; both are nil outside of that
	// time.
	PreviousSecret []byte
	PreviousUntil  *time.Time
	Enabled        bool
	// DisabledReason is the reason why an endpoint was disabled automatically.
	DisabledReason string
	// FailingSince is the time of the first failed attempt since the latest success; nil if the latest attempt
	// succeeded.
	FailingSince *time.Time
	CreatedAt    time.Time
}

// NewWebhook is an endpoint to create. Its ID is made beforehand, because the secret is encrypted for it.
type NewWebhook struct {
	ID, AccountID, URL string
	Events             []string // none means all
	Secret             []byte   // sealed
	SecretPrefix       string
}

// WebhookChange changes the fields that are not nil. An empty list of events means all.
type WebhookChange struct {
	URL     *string
	Events  *[]string
	Enabled *bool
}

type webhookRow struct {
	bun.BaseModel `bun:"table:webhooks,alias:w"`

	ID             string `bun:",pk"`
	AccountID      string
	URL            string
	Events         string // joined with commas; empty means all
	Secret         []byte
	SecretPrefix   string
	PreviousSecret []byte
	PreviousUntil  *int64
	Enabled        bool
	DisabledReason string
	FailingSince   *int64
	FailedDays     int   // on which it failed since then
	FailedDay      int64 // the last of them
	CreatedAt      int64
	DeletedAt      *int64
}

// webhook converts the row to the endpoint at the time. An expired previous secret is left out.
func (r *webhookRow) webhook(now time.Time) Webhook {
	w := Webhook{
		ID:             r.ID,
		AccountID:      r.AccountID,
		URL:            r.URL,
		Secret:         r.Secret,
		SecretPrefix:   r.SecretPrefix,
		Enabled:        r.Enabled,
		DisabledReason: r.DisabledReason,
		FailingSince:   fromMicrosPtr(r.FailingSince),
		CreatedAt:      fromMicros(r.CreatedAt),
	}

	if r.Events != "" {
		w.Events = strings.Split(r.Events, ",")
	}
	if r.PreviousUntil != nil && *r.PreviousUntil > toMicros(now) {
		w.PreviousSecret = r.PreviousSecret
		w.PreviousUntil = fromMicrosPtr(r.PreviousUntil)
	}
	return w
}

// CreateWebhook adds an endpoint. It returns ErrTooManyWebhooks when the account
// has MaxWebhooks already, and ErrNotFound for an unknown account.
func (s *Store) CreateWebhook(ctx context.Context, n NewWebhook) (Webhook, error) {
	row := webhookRow{
		ID:           n.ID,
		AccountID:    n.AccountID,
		URL:          n.URL,
		Events:       strings.Join(n.Events, ","),
		Secret:       n.Secret,
		SecretPrefix: n.SecretPrefix,
		Enabled:      true,
		CreatedAt:    toMicros(s.now()),
	}

	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		if err := s.lockAccount(ctx, tx, n.AccountID); err != nil {
			return err
		}

		count, err := tx.NewSelect().Model((*webhookRow)(nil)).
			Where("account_id = ? AND deleted_at IS NULL", n.AccountID).Count(ctx)
		if err != nil {
			return err
		}
		if count >= MaxWebhooks {
			return ErrTooManyWebhooks
		}

		_, err = tx.NewInsert().Model(&row).Exec(ctx)
		return err
	})
	if err != nil {
		return Webhook{}, fmt.Errorf("create webhook: %w", err)
	}

	return row.webhook(s.now()), nil
}

// lockAccount makes the transaction the only one that counts the account's objects. On SQLite every writing
// transaction is alone anyway.
func (s *Store) lockAccount(ctx context.Context, tx txn, id string) error {
	query := tx.NewSelect().Model((*accountRow)(nil)).Column("id").Where("id = ?", id)
	if s.dialect == Postgres {
		query = query.For("NO KEY UPDATE")
	}
	var found string
	return notFound(query.Scan(ctx, &found))
}

// Webhooks returns the account's endpoints, the oldest first.
func (s *Store) Webhooks(ctx context.Context, accountID string) ([]Webhook, error) {
	var rows []webhookRow
	err := s.read.NewSelect().Model(&rows).Where("account_id = ? AND deleted_at IS NULL", accountID).
		Order("created_at", "id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read webhooks: %w", err)
	}

	now := s.now()
	list := make([]Webhook, len(rows))
	for i := range rows {
		list[i] = rows[i].webhook(now)
	}
	return list, nil
}

// Traffic is the number of deliveries to an endpoint.
type Traffic struct {
	Count int64      // deliveries since a time, at most MaxTraffic
	Last  *time.Time // when the last one was made; nil is never
}

// MaxTraffic bounds the deliveries of an endpoint that are counted.
const MaxTraffic = 1000

// WebhookTraffic returns the traffic of the account's endpoints since a time, by their IDs.
func (s *Store) WebhookTraffic(ctx context.Context, accountID string, since time.Time) (map[string]Traffic, error) {
	var rows []struct {
		ID    string
		Count int64
		Last  *int64
	}

	err := s.inReport(ctx, func(ctx context.Context, tx txn) error {
		return tx.NewSelect().TableExpr("webhooks AS w").ColumnExpr("w.id").
			ColumnExpr(`(SELECT COUNT(*) FROM (SELECT 1 FROM deliveries AS d
				WHERE d.endpoint_id = w.id AND d.id >= ? LIMIT ?) AS sent) AS count`,
				"dlv_"+idTime(since), MaxTraffic).
			ColumnExpr(`(SELECT d.created_at FROM deliveries AS d WHERE d.endpoint_id = w.id
				ORDER BY d.id DESC LIMIT 1) AS last`).
			Where("w.account_id = ? AND w.deleted_at IS NULL", accountID).Scan(ctx, &rows)
	})

	traffic := make(map[string]Traffic, len(rows))
	for _, r := range rows {
		traffic[r.ID] = Traffic{r.Count, fromMicrosPtr(r.Last)}
	}
	return traffic, wrapped("read what endpoints were sent", err)
}

// Webhook returns the account's endpoint with the id. It returns ErrNotFound
// for an unknown id, a deleted endpoint's and another account's.
func (s *Store) Webhook(ctx context.Context, accountID, id string) (Webhook, error) {
	row, err := liveWebhook(ctx, s.read, accountID, id)
	if err != nil {
		return Webhook{}, fmt.Errorf("read webhook: %w", err)
	}
	return row.webhook(s.now()), nil
}

// HadWebhook reports whether the account has an endpoint with that ID, or had one that was deleted.
func (s *Store) HadWebhook(ctx context.Context, accountID, id string) (bool, error) {
	if !storable(id) {
		return false, nil
	}
	return s.read.NewSelect().Model((*webhookRow)(nil)).Where("id = ? AND account_id = ?", id, accountID).Exists(ctx)
}

// liveWebhook reads an endpoint of the account that is not deleted, or returns
// ErrNotFound.
func liveWebhook(ctx context.Context, db bun.IDB, accountID, id string) (webhookRow, error) {
	var row webhookRow
	if !storable(id) {
		return row, ErrNotFound
	}
	err := db.NewSelect().Model(&row).Where("id = ? AND account_id = ? AND deleted_at IS NULL", id, accountID).Scan(ctx)
	return row, notFound(err)
}

// UpdateWebhook changes an endpoint. Disabling it cancels pending deliveries. Enabling it, or changing its URL,
// resets its failures. It returns ErrNotFound as Webhook does.
func (s *Store) UpdateWebhook(ctx context.Context, accountID, id string, change WebhookChange) (Webhook, error) {
	return s.changeWebhook(ctx, accountID, id, func(q *bun.UpdateQuery) {
		if change.URL != nil {
			q.Set("url = ?", *change.URL).Set("failing_since = NULL")
		}
		if change.Events != nil {
			q.Set("events = ?", strings.Join(*change.Events, ","))
		}
		if change.Enabled != nil {
			q.Set("enabled = ?", *change.Enabled).Set("disabled_reason = ''")
		}

		if change.Enabled != nil && *change.Enabled && change.URL == nil {
			q.Set("failing_since = NULL")
		}
	})
}

// RollWebhook gives an endpoint a new encrypted secret. The current one stays in use for RollPeriod, or until
// ActivateWebhook; a new one that was never activated is dropped. It returns ErrNotFound as Webhook does.
func (s *Store) RollWebhook(ctx context.Context, accountID, id string, secret []byte, prefix string) (Webhook, error) {
	now := s.now()
	return s.changeWebhook(ctx, accountID, id, func(q *bun.UpdateQuery) {
		q.Set("previous_secret = CASE WHEN previous_until > ? THEN previous_secret ELSE secret END", toMicros(now)).
			Set("previous_until = ?", toMicros(now.Add(RollPeriod))).
			Set("secret = ?", secret).Set("secret_prefix = ?", prefix)
	})
}

// ActivateWebhook puts an endpoint's new secret into use at once and forgets
// the one before. It returns ErrNotFound as Webhook does.
func (s *Store) ActivateWebhook(ctx context.Context, accountID, id string) (Webhook, error) {
	return s.changeWebhook(ctx, accountID, id, func(q *bun.UpdateQuery) {
		q.Set("previous_secret = NULL").Set("previous_until = NULL")
	})
}

// DeleteWebhook deletes an endpoint and its secrets, and cancels pending deliveries. It returns ErrNotFound as
// Webhook does.
func (s *Store) DeleteWebhook(ctx context.Context, accountID, id string) error {
	now := toMicros(s.now())
	_, err := s.changeWebhook(ctx, accountID, id, func(q *bun.UpdateQuery) {
		q.Set("deleted_at = ?", now).Set("secret = ?", []byte{}).Set("previous_secret = NULL").
			Set("previous_until = NULL")
	})
	return err
}

// changeWebhook carries out an update of one live endpoint. If the endpoint is disabled afterwards, it cancels
// pending deliveries.
func (s *Store) changeWebhook(ctx context.Context, accountID, id string, set func(*bun.UpdateQuery)) (Webhook, error) {
	if !storable(id) {
		return Webhook{}, fmt.Errorf("change webhook: %w", ErrNotFound)
	}

	var row webhookRow
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		row = webhookRow{}
		// The first assignment changes nothing: an update needs one.
		query := tx.NewUpdate().Model(&row).Set("account_id = account_id").
			Where("id = ? AND account_id = ? AND deleted_at IS NULL", id, accountID).Returning("*")
		set(query)
		if err := notFound(query.Scan(ctx)); err != nil {
			return err
		}

		return cancelDeliveries(ctx, tx, &row)
	})
	if err != nil {
		return Webhook{}, fmt.Errorf("change webhook: %w", err)
	}
	return row.webhook(s.now()), nil
}

// off returns the reason why an endpoint accepts no deliveries; empty if it does.
func (r *webhookRow) off() string {
	switch {
	case r.DeletedAt != nil:
		return "Canceled: the endpoint was deleted."
	case !r.Enabled:
		return "Canceled: the endpoint is disabled."
	}
	return ""
}

// cancelDeliveries fails the pending deliveries of a disabled endpoint. The outcome of a running attempt is not
// recorded.
func cancelDeliveries(ctx context.Context, tx txn, endpoint *webhookRow) error {
	why := endpoint.off()
	if why == "" {
		return nil
	}
	_, err := tx.NewRaw(`UPDATE deliveries SET status = ?, last_error = ?, next_attempt_at = NULL, lease = '',
		leased_until = NULL
		WHERE endpoint_id = ? AND status = 'pending'`, DeliveryFailed, why, endpoint.ID).Exec(ctx)
	return err
}

// TestWebhook sends an EventTest with the data to one endpoint, which must be
// enabled (else ErrWebhookOff). It returns ErrNotFound as Webhook does.
func (s *Store) TestWebhook(ctx context.Context, accountID, id string, data any) (Delivery, error) {
	var delivery Delivery
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		endpoint, err := liveWebhook(ctx, tx, accountID, id)
		if err != nil {
			return err
		}
		if endpoint.off() != "" {
			return ErrWebhookOff
		}

		event, err := s.event(newEvent{accountID: accountID, kind: EventTest, data: data, at: s.now()})
		if err != nil {
			return err
		}

		rows, err := s.deliver(ctx, tx, &event, []recipient{{ID: &endpoint.ID, URL: endpoint.URL}})
		if err != nil {
			return err
		}

		delivery = rows[0].delivery()
		return nil
	})
	return delivery, wrapped("test webhook", err)
}

// disableWebhook disables an enabled endpoint for a reason other than its owner's request, and cancels pending
// deliveries.
func disableWebhook(ctx context.Context, tx txn, id, reason string) error {
	row := webhookRow{}
	err := tx.NewUpdate().Model(&row).Set("enabled = ?", false).Set("disabled_reason = ?", reason).
		Where("id = ? AND enabled", id).Returning("*").Scan(ctx)
	if errors.Is(notFound(err), ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}

	return cancelDeliveries(ctx, tx, &row)
}
