package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

const (
	// AttemptLease is how long an attempt may be under way. One that has not
	// been reported by then was lost with its process, and is made again.
	AttemptLease = 45 * time.Second
	// receiverAttempts bounds the attempts under way to one receiver, in all
	// processes together.
	receiverAttempts = 2
	// accountAttempts bounds those of one account, which may send callbacks to
	// any number of hosts. Its endpoints alone can reach fifty.
	accountAttempts = 80
	// maxLastBody bounds what is kept of an answer, maxLastError of an error.
	maxLastBody  = 1 << 10
	maxLastError = 500
)

// DueDelivery is a delivery whose attempt this process is to make, and then to
// report with FinishAttempt, or to give back with ReturnAttempt.
type DueDelivery struct {
	Delivery
	// Body is the event as it is to be sent, byte for byte.
	Body []byte
	// Webhook is the endpoint; nil for a callback.
	Webhook *Webhook
	lease   string
}

// Attempt is what came of an attempt.
type Attempt struct {
	// Delivered is success. Gone means that the receiver wants nothing more.
	Delivered, Gone bool
	// StatusCode is that of the answer; 0 when there was none.
	StatusCode int
	// Error says to the owner why the attempt failed.
	Error string
	// Response is how the answer's body began; at most 1 KB is kept.
	Response []byte
	// Duration is nil when nothing was sent.
	Duration *time.Duration
	// RetryAfter is how long the receiver asks to be left alone; 0 when it does not.
	RetryAfter time.Duration
}

// readyDeliveries lists what may be attempted now: of each receiver with room
// the one that has waited the longest, and first those of the accounts with the
// fewest attempts under way. Only receivers with something ready are looked at,
// each through an index, so that neither a long queue for one nor many that wait
// for their next attempt cost time.
// ?0 now, ?1 attempts per receiver, ?2 attempts per account, ?3 how many.
const readyDeliveries = `
WITH RECURSIVE receivers (receiver) AS (
	SELECT MIN(receiver) FROM deliveries WHERE status = 'pending' AND ready
	UNION ALL
	SELECT (SELECT MIN(d.receiver) FROM deliveries AS d WHERE d.status = 'pending' AND d.ready AND d.receiver > receivers.receiver)
	FROM receivers WHERE receivers.receiver IS NOT NULL
), heads (id) AS (
	SELECT (SELECT d.id FROM deliveries AS d WHERE d.status = 'pending' AND d.ready AND d.receiver = receivers.receiver
		ORDER BY d.next_attempt_at LIMIT 1)
	FROM receivers WHERE receivers.receiver IS NOT NULL AND
		(SELECT COUNT(*) FROM deliveries AS f WHERE f.status = 'pending' AND f.receiver = receivers.receiver AND f.leased_until > ?0) < ?1
), turns (id, at, turn) AS (
	SELECT d.id, d.next_attempt_at, ROW_NUMBER() OVER (PARTITION BY d.account_id ORDER BY d.next_attempt_at, d.id) +
		(SELECT COUNT(*) FROM deliveries AS f WHERE f.status = 'pending' AND f.account_id = d.account_id AND f.leased_until > ?0)
	FROM heads JOIN deliveries AS d ON d.id = heads.id
)
SELECT id FROM turns WHERE turn <= ?2 ORDER BY turn, at, id LIMIT ?3`

// claimDeliveries takes the listed ones if they are still ready and their
// receivers still have room. There is at most one of each receiver.
// ?0 now, ?1 attempts per receiver, ?2 lease, ?3 its end, ?4 ids.
const claimDeliveries = `
UPDATE deliveries SET lease = ?2, leased_until = ?3, next_attempt_at = ?3, ready = FALSE
WHERE id IN (?4) AND status = 'pending' AND ready AND
	(SELECT COUNT(*) FROM deliveries AS f WHERE f.status = 'pending' AND f.receiver = deliveries.receiver AND f.leased_until > ?0) < ?1
RETURNING *`

// waitIsOver is the condition of deliveries whose time has come: that of their
// next attempt, or that at which the one under way counts as lost. ?0 now.
const waitIsOver = "status = 'pending' AND NOT ready AND next_attempt_at <= ?0"

// wakeBatch bounds the deliveries whose wait is ended at once.
const wakeBatch = 500

// claimLock is the PostgreSQL advisory lock under which deliveries are claimed,
// so that two processes do not see the same room ("delivery" in ASCII).
const claimLock = 0x64656c6976657279

// ClaimDeliveries takes on attempts that are due, at most limit and at most one
// for each receiver, so that calling it until it returns none serves all in
// turns. It returns none when nothing is due or nothing has room.
func (s *Store) ClaimDeliveries(ctx context.Context, limit int) ([]DueDelivery, error) {
	if err := s.endWaits(ctx); err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	var ids []string
	err := s.read.NewRaw(readyDeliveries, toMicros(s.now()), receiverAttempts, accountAttempts, limit).Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	var claimed []DueDelivery
	err = s.inTx(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		claimed, err = s.claim(ctx, tx, ids)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	return claimed, nil
}

// endWaits makes the deliveries ready whose time has come.
func (s *Store) endWaits(ctx context.Context) error {
	now := toMicros(s.now())
	var ids []string
	err := s.read.NewRaw("SELECT id FROM deliveries WHERE "+waitIsOver+" ORDER BY next_attempt_at LIMIT ?1", now, wakeBatch).Scan(ctx, &ids)
	if err != nil || len(ids) == 0 {
		return err
	}
	return s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw("UPDATE deliveries SET ready = TRUE, lease = '', leased_until = NULL WHERE id IN (?1) AND "+waitIsOver, now, bun.List(ids)).Exec(ctx)
		return err
	})
}

func (s *Store) claim(ctx context.Context, tx bun.Tx, ids []string) ([]DueDelivery, error) {
	if s.dialect == Postgres {
		if _, err := tx.NewRaw("SELECT pg_advisory_xact_lock(?)", int64(claimLock)).Exec(ctx); err != nil {
			return nil, err
		}
	}
	now := s.now()
	var rows []deliveryRow
	err := tx.NewRaw(claimDeliveries, toMicros(now), receiverAttempts, NewID("attempt"), toMicros(now.Add(AttemptLease)), bun.List(ids)).Scan(ctx, &rows)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var claimed []DueDelivery
	for i := range rows {
		due, err := s.prepare(ctx, tx, &rows[i])
		if err != nil {
			return nil, err
		}
		if due != nil {
			claimed = append(claimed, *due)
		}
	}
	return claimed, nil
}

// prepare reads what an attempt needs. An endpoint that was disabled or deleted
// while the event was being written has its deliveries canceled here; the
// attempt is nil.
func (s *Store) prepare(ctx context.Context, tx bun.Tx, row *deliveryRow) (*DueDelivery, error) {
	var event eventRow
	if err := tx.NewSelect().Model(&event).Where("id = ?", row.EventID).Scan(ctx); err != nil {
		return nil, err
	}
	due := &DueDelivery{Body: event.Body, lease: row.Lease}
	if row.EndpointID != nil {
		var endpoint webhookRow
		if err := tx.NewSelect().Model(&endpoint).Where("id = ?", *row.EndpointID).Scan(ctx); err != nil {
			return nil, err
		}
		if endpoint.off() != "" {
			return nil, cancelDeliveries(ctx, tx, &endpoint)
		}
		webhook := endpoint.webhook(s.now())
		due.Webhook = &webhook
		if row.URL != endpoint.URL { // It was moved; the delivery goes after it.
			row.URL = endpoint.URL
			if _, err := tx.NewRaw("UPDATE deliveries SET url = ? WHERE id = ?", row.URL, row.ID).Exec(ctx); err != nil {
				return nil, err
			}
		}
	}
	due.Delivery = row.delivery(event.Type)
	return due, nil
}

// ReturnAttempt gives back an attempt that was not made to its end. It does not
// count, and is due at once.
func (s *Store) ReturnAttempt(ctx context.Context, d DueDelivery) error {
	err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw("UPDATE deliveries SET lease = '', leased_until = NULL, next_attempt_at = ?, ready = TRUE WHERE id = ? AND lease = ? AND status = 'pending'",
			toMicros(s.now()), d.ID, d.lease).Exec(ctx)
		announce(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("return attempt: %w", err)
	}
	return nil
}

// FinishAttempt records what came of an attempt, and returns the delivery. A
// success ends it; so does the last attempt, and a receiver that wants nothing
// more. Otherwise the next attempt follows by the schedule. An endpoint that
// wants nothing more, or that has only failed for five days, is disabled. It
// returns ErrNotFound, and changes nothing, when the attempt is not this
// process's any more: it took too long, or the delivery was canceled.
func (s *Store) FinishAttempt(ctx context.Context, d DueDelivery, a Attempt) (Delivery, error) {
	var row deliveryRow
	err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		// The endpoint first, as where it is changed, so that neither waits for
		// the other.
		now := s.now()
		reason, err := judgeWebhook(ctx, tx, d.Webhook, a, now)
		if err != nil {
			return err
		}
		row = deliveryRow{}
		query := tx.NewUpdate().Model(&row).Set("lease = ''").Set("leased_until = NULL").Set("attempts = attempts + 1").
			Set("last_error = ?", clean(a.Error, maxLastError)).Set("last_body = ?", a.Response[:min(len(a.Response), maxLastBody)]).
			Set("last_status_code = NULLIF(?, 0)", a.StatusCode).Set("last_duration = ?", durationMicros(a.Duration)).
			Where("id = ? AND lease = ? AND status = 'pending'", d.ID, d.lease).Returning("*")
		a.ends(query, d.Attempts+1, now)
		if err := notFound(query.Scan(ctx)); err != nil || reason == "" {
			return err
		}
		return disableWebhook(ctx, tx, d.Webhook.ID, reason)
	})
	if err != nil {
		return Delivery{}, fmt.Errorf("finish attempt: %w", err)
	}
	return row.delivery(d.EventType), nil
}

// ends sets what the delivery is after the attempt with the given number.
func (a Attempt) ends(query *bun.UpdateQuery, number int, now time.Time) {
	switch {
	case a.Delivered:
		query.Set("status = ?", DeliveryDelivered).Set("delivered_at = ?", toMicros(now)).Set("next_attempt_at = NULL")
	case a.Gone || number >= MaxAttempts:
		query.Set("status = ?", DeliveryFailed).Set("next_attempt_at = NULL")
	default:
		query.Set("next_attempt_at = ?", toMicros(now.Add(nextWait(number, a.RetryAfter))))
	}
}

func durationMicros(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	us := d.Microseconds()
	return &us
}

// judgeWebhook keeps the record of an endpoint's failures. It returns why the
// endpoint is to be disabled, or "".
func judgeWebhook(ctx context.Context, tx bun.Tx, endpoint *Webhook, a Attempt, now time.Time) (string, error) {
	if endpoint == nil {
		return "", nil
	}
	if a.Delivered {
		_, err := tx.NewRaw("UPDATE webhooks SET failing_since = NULL WHERE id = ? AND failing_since IS NOT NULL", endpoint.ID).Exec(ctx)
		return "", err
	}
	var since int64
	err := tx.NewRaw("UPDATE webhooks SET failing_since = COALESCE(failing_since, ?) WHERE id = ? RETURNING failing_since",
		toMicros(now), endpoint.ID).Scan(ctx, &since)
	switch {
	case err != nil:
		return "", notFound(err)
	case a.Gone:
		return "The endpoint answered with status 410.", nil
	case now.Sub(fromMicros(since)) >= failingPeriod:
		return "All attempts of five days have failed.", nil
	}
	return "", nil
}
