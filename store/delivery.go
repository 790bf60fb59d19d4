package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// Statuses of a Delivery.
const (
	DeliveryPending   = "pending"
	DeliveryDelivered = "delivered"
	DeliveryFailed    = "failed"
)

// Delivery is the sending of one event to one endpoint, or of the end of a call
// to its callback.
type Delivery struct {
	ID         string // dlv_…
	AccountID  string
	EndpointID string // empty for a callback
	EventID    string
	EventType  string
	URL        string
	Status     string
	Attempts   int // of the current set; a replay begins a new one
	// LastStatusCode is the status of the response to the last attempt; 0 without a response or an attempt.
	LastStatusCode int
	// LastError is the reason why the last attempt failed.
	LastError string
	// LastResponse is the beginning of the latest response's body.
	LastResponse []byte
	// LastDuration is the duration of the latest attempt; nil if there was none, or none that was sent.
	LastDuration *time.Duration
	// LastAttemptAt is the end of the latest attempt, or its start if the end is unknown; nil without attempts.
	LastAttemptAt *time.Time
	// NextAttemptAt is nil if no attempt follows, and while one is running.
	NextAttemptAt *time.Time
	CreatedAt     time.Time
	DeliveredAt   *time.Time
}

type deliveryRow struct {
	bun.BaseModel `bun:"table:deliveries,alias:d"`

	ID             string `bun:",pk"`
	AccountID      string
	EndpointID     *string // nil for a callback
	EventID        string
	EventType      string
	Receiver       string // see recipient.receiver
	URL            string
	Status         string
	Attempts       int
	LastStatusCode *int
	LastError      string
	LastBody       []byte // the first KB of the answer, for the owner
	LastDuration   *int64 // microseconds
	LastAttemptAt  *int64
	NextAttemptAt  *int64 // while an attempt is under way: when it counts as lost
	Ready          bool   // for an attempt; else it waits for NextAttemptAt
	Lease          string // of the attempt under way
	LeasedUntil    *int64
	CreatedAt      int64
	DeliveredAt    *int64
}

func (r *deliveryRow) delivery() Delivery {
	d := Delivery{
		ID:            r.ID,
		AccountID:     r.AccountID,
		EventID:       r.EventID,
		EventType:     r.EventType,
		URL:           r.URL,
		Status:        r.Status,
		Attempts:      r.Attempts,
		LastError:     r.LastError,
		LastResponse:  r.LastBody,
		NextAttemptAt: fromMicrosPtr(r.NextAttemptAt),
		CreatedAt:     fromMicros(r.CreatedAt),
		DeliveredAt:   fromMicrosPtr(r.DeliveredAt),
		LastAttemptAt: fromMicrosPtr(r.LastAttemptAt),
	}

	if r.EndpointID != nil {
		d.EndpointID = *r.EndpointID
	}
	if r.LastStatusCode != nil {
		d.LastStatusCode = *r.LastStatusCode
	}
	d.LastDuration = fromDurationMicros(r.LastDuration)
	if r.LeasedUntil != nil {
		d.NextAttemptAt = nil
	}

	return d
}

// Delivery returns the account's delivery with the id. It returns ErrNotFound
// for an unknown id and for another account's.
func (s *Store) Delivery(ctx context.Context, accountID, id string) (Delivery, error) {
	d, err := readDelivery(ctx, s.read, accountID, id)
	return d, wrapped("read delivery", err)
}

// DeliveryBody returns a delivery, and its body, byte for byte. It returns ErrNotFound as Delivery does.
func (s *Store) DeliveryBody(ctx context.Context, accountID, id string) (Delivery, []byte, error) {
	d, err := s.Delivery(ctx, accountID, id)
	if err != nil {
		return d, nil, err
	}

	var event eventRow
	err = notFound(s.read.NewSelect().Model(&event).Where("id = ? AND account_id = ?", d.EventID, accountID).Scan(ctx))
	if err != nil {
		return d, nil, fmt.Errorf("read event: %w", err)
	}

	return d, event.Body, nil
}

func readDelivery(ctx context.Context, db bun.IDB, accountID, id string) (Delivery, error) {
	var row deliveryRow
	if !storable(id) {
		return Delivery{}, ErrNotFound
	}
	err := notFound(db.NewSelect().Model(&row).Where("id = ? AND account_id = ?", id, accountID).Scan(ctx))
	if err != nil {
		return Delivery{}, err
	}
	return row.delivery(), nil
}

// ReplayDelivery makes a failed delivery pending again, with a fresh set of attempts for the same event, the first
// of them due now. It returns ErrNotFound as Delivery does, ErrCallback, ErrNotFailed, and ErrWebhookOff if its
// endpoint is disabled.
func (s *Store) ReplayDelivery(ctx context.Context, accountID, id string) (Delivery, error) {
	var delivery Delivery
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		d, err := readDelivery(ctx, tx, accountID, id)
		if err != nil {
			return err
		}
		if d.EndpointID == "" {
			return ErrCallback
		}

		var endpoint webhookRow
		if err := tx.NewSelect().Model(&endpoint).Where("id = ?", d.EndpointID).Scan(ctx); err != nil {
			return err
		}
		switch {
		case d.Status != DeliveryFailed:
			return ErrNotFailed
		case endpoint.off() != "":
			return ErrWebhookOff
		}

		updated, err := changed(tx.NewRaw(`UPDATE deliveries
			SET status = ?, attempts = 0, url = ?, next_attempt_at = ?, ready = TRUE WHERE id = ? AND status = ?`,
			DeliveryPending, endpoint.URL, toMicros(s.now()), id, DeliveryFailed).Exec(ctx))
		if err != nil {
			return err
		}
		if !updated {
			return ErrNotFailed
		}

		announce(ctx)
		delivery, err = readDelivery(ctx, tx, accountID, id)
		return err
	})

	return delivery, wrapped("replay delivery", err)
}

// RetryDelivery makes the next attempt of a delivery due now, if it waits for one. The attempt counts, and later ones
// follow by the schedule. It returns ErrNotFound as Delivery does.
func (s *Store) RetryDelivery(ctx context.Context, accountID, id string) error {
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		if _, err := readDelivery(ctx, tx, accountID, id); err != nil {
			return err
		}

		_, err := tx.NewRaw(`UPDATE deliveries SET next_attempt_at = ?, ready = TRUE
			WHERE id = ? AND status = ? AND NOT ready AND leased_until IS NULL`,
			toMicros(s.now()), id, DeliveryPending).Exec(ctx)
		announce(ctx)
		return err
	})
	return wrapped("retry delivery", err)
}

// EventBody returns the body of an account's event, byte for byte. It returns ErrNotFound as Delivery does.
func (s *Store) EventBody(ctx context.Context, accountID, id string) (body []byte, err error) {
	err = s.read.NewSelect().TableExpr("events").Column("body").Where("id = ? AND account_id = ?", id, accountID).
		Scan(ctx, &body)
	return body, wrapped("read event", notFound(err))
}

// FailedDeliveries counts the account's deliveries that were made from since on
// and have failed, up to most.
func (s *Store) FailedDeliveries(ctx context.Context, accountID string, since time.Time, limit int) (n int, err error) {
	err = s.inReport(ctx, func(ctx context.Context, tx txn) error {
		some := tx.NewSelect().TableExpr("deliveries").ColumnExpr("1").
			Where("account_id = ? AND status = ? AND id >= ?", accountID, DeliveryFailed, "dlv_"+idTime(since)).
			Limit(int64(limit))
		return tx.NewSelect().TableExpr("(?) AS failed", some).ColumnExpr("COUNT(*)").Scan(ctx, &n)
	})
	return n, wrapped("count failed deliveries", err)
}

// DeliveryCounts are the numbers of deliveries by status.
type DeliveryCounts struct{ Delivered, Failed, Pending int64 }

// deliverySample is the number of latest deliveries that the statistics are computed from.
const deliverySample = 2000

// CountDeliveries counts the account's deliveries that were made from since on, the
// latest deliverySample of them.
func (s *Store) CountDeliveries(ctx context.Context, accountID string, since time.Time) (DeliveryCounts, error) {
	var rows []struct {
		Status string
		Count  int64
	}

	err := s.inReport(ctx, func(ctx context.Context, tx txn) error {
		latest := tx.NewSelect().TableExpr("deliveries").Column("status").
			Where("account_id = ? AND id >= ?", accountID, "dlv_"+idTime(since)).OrderExpr("id DESC").
			Limit(deliverySample)
		return tx.NewSelect().TableExpr("(?) AS latest", latest).ColumnExpr("status, COUNT(*) AS count").
			Group("status").Scan(ctx, &rows)
	})

	var counts DeliveryCounts
	for _, row := range rows {
		switch row.Status {
		case DeliveryDelivered:
			counts.Delivered = row.Count
		case DeliveryFailed:
			counts.Failed = row.Count
		default:
			counts.Pending = row.Count
		}
	}

	return counts, wrapped("count deliveries", err)
}
