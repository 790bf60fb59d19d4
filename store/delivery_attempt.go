package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/internal/guard"
)

const (
	// AttemptLease is the maximum duration of an attempt. An attempt without a result after this time was lost with
	// its process, and is repeated.
	AttemptLease = 45 * time.Second
	// accountAttempts is the maximum number of an account's attempts in all processes together, which may send
	// callbacks to any number of hosts. Two may run for one receiver (the initial migration), and fifty for an
	// account's endpoints.
	accountAttempts = 80
	// maxLastBody is the maximum size that is stored of a response, maxLastError of an error, and maxHeaders of the
	// headers of a request or a response.
	maxLastBody  = 1 << 10
	maxLastError = 500
	maxHeaders   = 4 << 10
)

// DueDelivery is a delivery whose attempt this process is to make, and then to
// report with FinishAttempt, or to give back with ReturnAttempt.
type DueDelivery struct {
	Delivery
	// Body is the event's body, byte for byte.
	Body []byte
	// Webhook is the endpoint; nil for a callback.
	Webhook *Webhook
	lease   string
}

// Attempt is the result of an attempt.
type Attempt struct {
	// Delivered is success. Gone means that the receiver wants nothing more.
	Delivered, Gone bool
	// StatusCode is the status of the response; 0 if there was none.
	StatusCode int
	// Error is the reason of the failure, for the owner.
	Error string
	// Response is the beginning of the response's body, at most 1 KB.
	Response []byte
	// Headers are those that were sent and received; empty when nothing was sent.
	Headers AttemptHeaders
	// Duration is nil when nothing was sent.
	Duration *time.Duration
	// RetryAfter is the delay that the receiver asks for; 0 if it asks for none.
	RetryAfter time.Duration
}

// AttemptHeaders are the headers of an attempt's request and response, one per line.
type AttemptHeaders struct{ Request, Response string }

// takeDeliveries takes the deliveries that may be attempted now: of each receiver with capacity the oldest delivery,
// and first those of the accounts with the fewest attempts under way. It reads only the accounts that are next in the
// order of an index (the initial migration), and as many receivers of each. A long queue for one receiver, many
// receivers, and many deliveries that wait for their next attempt cost no time. An account that is among the first
// with one of its receivers is among the first with its best.
//
// On PostgreSQL it is its own transaction, which never waits: it skips locked rows. Its locks are taken in the common
// order (the initial migration): sender, receiver, delivery. ?0 lease, ?1 its end, ?2 attempts per account, ?3 how
// many.
const (
	sendersWithRoom = `
WITH who AS (
	SELECT account_id, under_way, began FROM senders WHERE open > 0 AND under_way < ?2
	ORDER BY under_way, began, account_id LIMIT ?3`
	takePlaces = `
), places AS (
	SELECT r.receiver, who.account_id, who.began,
		who.under_way + ROW_NUMBER() OVER (PARTITION BY who.account_id ORDER BY r.began, r.receiver) AS place
	FROM who `
	receiversOf = `SELECT receiver, began FROM receivers
		WHERE account_id = who.account_id AND ready > 0 AND under_way < 2 ORDER BY began, receiver LIMIT ?3`
	receiversPostgres = `CROSS JOIN LATERAL (` + receiversOf + passLocked + `) AS r`
	// SQLite has no LATERAL; PostgreSQL would scan every receiver here.
	receiversSQLite = `CROSS JOIN receivers AS r ON r.receiver IN (SELECT receiver FROM (` + receiversOf + `))`
	takeHeads       = `
), chosen AS (
	SELECT receiver FROM places WHERE place <= ?2 ORDER BY place, began, account_id LIMIT ?3
)
UPDATE deliveries SET lease = ?0, leased_until = ?1, next_attempt_at = ?1, ready = FALSE
WHERE status = 'pending' AND ready AND id `
	headOf = `SELECT d.id FROM deliveries AS d WHERE d.status = 'pending' AND d.ready AND d.receiver = chosen.receiver
		ORDER BY d.next_attempt_at LIMIT 1`
	passLocked   = ` FOR UPDATE SKIP LOCKED`
	takePostgres = sendersWithRoom + passLocked + takePlaces + receiversPostgres + takeHeads +
		`= ANY (ARRAY(SELECT (` + headOf + passLocked + `) FROM chosen)) RETURNING *`
	takeSQLite = sendersWithRoom + takePlaces + receiversSQLite + takeHeads + `IN (SELECT (` + headOf +
		`) FROM chosen) RETURNING *`
)

// waitIsOver is the condition of deliveries whose time has come: the time of their next attempt, or the time at
// which the running one counts as lost. ?0 now.
const waitIsOver = "status = 'pending' AND NOT ready AND next_attempt_at <= ?0"

// archiveAttempt moves the last attempt of deliveries, if any, to the table of earlier attempts: the next replaces it.
const archiveAttempt = `INSERT INTO delivery_attempts (delivery_id, at, status_code, error, body, duration)
	SELECT id, last_attempt_at, last_status_code, last_error, last_body, last_duration FROM deliveries
	WHERE last_attempt_at IS NOT NULL AND `

// archiveLost is keepAttempt for a lost attempt, before endWait. ?1 IDs.
const archiveLost = archiveAttempt + `id IN (?1) AND leased_until IS NOT NULL AND ` + waitIsOver +
	` ON CONFLICT (delivery_id, at) DO NOTHING`

// endWait makes deliveries ready. An attempt that was under way is lost with its process and counts: it may have
// ended the process. ?1 ids, ?2 the maximum attempts, ?3 the error of a lost attempt, ?4 its maximum duration.
const endWait = `UPDATE deliveries SET
	attempts = CASE WHEN leased_until IS NULL THEN attempts ELSE attempts + 1 END,
	last_error = CASE WHEN leased_until IS NULL THEN last_error ELSE ?3 END,
	last_status_code = CASE WHEN leased_until IS NULL THEN last_status_code END,
	last_body = CASE WHEN leased_until IS NULL THEN last_body END,
	last_duration = CASE WHEN leased_until IS NULL THEN last_duration END,
	last_attempt_at = CASE WHEN leased_until IS NULL THEN last_attempt_at ELSE leased_until - ?4 END,
	status = CASE WHEN leased_until IS NOT NULL AND attempts + 1 >= ?2 THEN 'failed' ELSE status END,
	ready = leased_until IS NULL OR attempts + 1 < ?2,
	next_attempt_at = CASE WHEN leased_until IS NOT NULL AND attempts + 1 >= ?2 THEN NULL ELSE next_attempt_at END,
	lease = '', leased_until = NULL
	WHERE id IN (?1) AND ` + waitIsOver

// endWaitsPostgres ends waits in one statement that never waits for locks, like takePostgres. An account without a
// row among the senders has nothing to lock. ?0 to ?4 as of endWait, but ?1 is how many.
var endWaitsPostgres = `
WITH over AS MATERIALIZED (
	SELECT id, account_id FROM deliveries WHERE ` + waitIsOver + ` ORDER BY next_attempt_at LIMIT ?1
), who AS MATERIALIZED (
	SELECT account_id FROM senders WHERE account_id IN (SELECT account_id FROM over)` + passLocked + `
), mine AS MATERIALIZED (
	SELECT id FROM deliveries WHERE id IN (SELECT over.id FROM over WHERE over.account_id IN
		(SELECT account_id FROM who)
		OR NOT EXISTS (SELECT 1 FROM senders WHERE senders.account_id = over.account_id)) AND ` +
	waitIsOver + passLocked + `
), kept AS (` + strings.Replace(archiveLost, "?1", "SELECT id FROM mine", 1) + `)` +
	strings.Replace(endWait, "?1", "SELECT id FROM mine", 1)

// lostAttempt is the error of an attempt whose outcome is unknown.
const lostAttempt = "The server stopped during the attempt; whether the event arrived is not known."

// wakeBatch bounds the deliveries whose wait is ended at once.
const wakeBatch = 500

// claimRetries bounds how often ClaimDeliveries looks again, after claimPause, because
// another was at all that has room.
const claimRetries = 5

// ClaimDeliveries claims due attempts, at most limit and at most one for each receiver, so that calling it until it
// returns none serves all in turns. It returns none if nothing is due or no receiver has capacity.
func (s *Store) ClaimDeliveries(ctx context.Context, limit int) ([]DueDelivery, error) {
	if s.clockIsWrong() {
		return nil, nil
	}

	if err := s.endWaits(ctx); err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}

	for range claimRetries {
		// If nothing can be claimed, nothing is written.
		due, err := s.read.NewSelect().Table("senders").Where("open > 0 AND under_way < ?", accountAttempts).
			Exists(ctx)
		if err != nil || !due {
			return nil, wrapped("claim deliveries", err)
		}

		found, claimed, err := s.claimOnce(ctx, limit)
		if err != nil {
			return nil, fmt.Errorf("claim deliveries: %w", err)
		}
		if found {
			return claimed, nil
		}
		guard.Pause(ctx, claimPause)
	}

	return nil, nil
}

// claimOnce claims deliveries, and reports whether there were any. On SQLite, one transaction also reads their
// data. On PostgreSQL, a separate statement claims the deliveries first, so that a frozen process does not hold
// their locks.
func (s *Store) claimOnce(ctx context.Context, limit int) (found bool, claimed []DueDelivery, err error) {
	take := func(ctx context.Context, db bun.IDB, text string) (rows []deliveryRow, err error) {
		until := toMicros(s.now().Add(AttemptLease))
		err = db.NewRaw(text, s.NewID("attempt"), until, accountAttempts, limit).Scan(ctx, &rows)
		return rows, err
	}

	if s.dialect == SQLite {
		err = s.inTx(ctx, func(ctx context.Context, tx txn) error {
			rows, err := take(ctx, tx, takeSQLite)
			if err == nil {
				claimed, err = s.prepareAll(ctx, tx, rows)
			}
			found = len(rows) > 0
			return err
		})
		return found, claimed, err
	}

	rows, err := take(ctx, s.write, takePostgres)
	if err != nil || len(rows) == 0 {
		return false, nil, err
	}

	err = s.inTx(ctx, func(ctx context.Context, tx txn) (err error) {
		claimed, err = s.prepareAll(ctx, tx, slices.Clone(rows))
		return err
	})
	if err != nil {
		for i := range rows {
			err = errors.Join(err, s.ReturnAttempt(ctx,
				DueDelivery{Delivery: rows[i].delivery(), lease: rows[i].Lease}))
		}
	}

	return true, claimed, err
}

// endWaits makes the deliveries ready whose time has come.
func (s *Store) endWaits(ctx context.Context) error {
	now := toMicros(s.now())

	if s.dialect == Postgres {
		due, err := s.read.NewSelect().TableExpr("deliveries").Where(waitIsOver, now).Exists(ctx)
		if err == nil && due {
			_, err = s.write.NewRaw(endWaitsPostgres, now, wakeBatch, MaxAttempts, lostAttempt,
				AttemptLease.Microseconds()).Exec(ctx)
		}
		return err
	}

	var ids []string
	err := s.read.NewRaw("SELECT id FROM deliveries WHERE "+waitIsOver+" ORDER BY next_attempt_at LIMIT ?1", now,
		wakeBatch).Scan(ctx, &ids)
	if err != nil || len(ids) == 0 {
		return err
	}

	return s.inTx(ctx, func(ctx context.Context, tx txn) error {
		if _, err := tx.NewRaw(archiveLost, now, bun.List(ids)).Exec(ctx); err != nil {
			return err
		}

		_, err := tx.NewRaw(endWait, now, bun.List(ids), MaxAttempts, lostAttempt, AttemptLease.Microseconds()).
			Exec(ctx)
		return err
	})
}

// prepareAll prepares the attempts.
func (s *Store) prepareAll(ctx context.Context, tx txn, rows []deliveryRow) ([]DueDelivery, error) {
	if len(rows) == 0 {
		return nil, nil
	}

	events, endpoints, err := readAddressed(ctx, tx, rows)
	if err != nil {
		return nil, err
	}

	var claimed []DueDelivery
	for i := range rows {
		due, err := s.prepare(ctx, tx, &rows[i], events, endpoints)
		if err != nil {
			return nil, err
		}
		if due != nil {
			claimed = append(claimed, *due)
		}
	}

	return claimed, nil
}

// readAddressed reads the events and the endpoints of deliveries, by their ids.
func readAddressed(
	ctx context.Context, tx txn, rows []deliveryRow,
) (map[string]*eventRow, map[string]*webhookRow, error) {
	var eventIDs, endpointIDs []string
	for i := range rows {
		eventIDs = append(eventIDs, rows[i].EventID)
		if rows[i].EndpointID != nil {
			endpointIDs = append(endpointIDs, *rows[i].EndpointID)
		}
	}

	var events []eventRow
	if err := tx.NewSelect().Model(&events).Where("id IN (?)", bun.List(eventIDs)).Scan(ctx); err != nil {
		return nil, nil, err
	}

	var endpoints []webhookRow
	if len(endpointIDs) > 0 {
		if err := tx.NewSelect().Model(&endpoints).Where("id IN (?)", bun.List(endpointIDs)).Scan(ctx); err != nil {
			return nil, nil, err
		}
	}

	byEvent := map[string]*eventRow{}
	byEndpoint := map[string]*webhookRow{}
	for i := range events {
		byEvent[events[i].ID] = &events[i]
	}
	for i := range endpoints {
		byEndpoint[endpoints[i].ID] = &endpoints[i]
	}

	return byEvent, byEndpoint, nil
}

// prepare prepares an attempt. If the endpoint was disabled or deleted while the event was being written, its
// deliveries are cancelled here; the attempt is nil.
func (s *Store) prepare(
	ctx context.Context, tx txn, row *deliveryRow, events map[string]*eventRow,
	endpoints map[string]*webhookRow,
) (*DueDelivery, error) {
	event := events[row.EventID]
	if event == nil {
		return nil, fmt.Errorf("the event of delivery %s: %w", row.ID, ErrNotFound)
	}

	due := &DueDelivery{Body: event.Body, lease: row.Lease}
	if row.EndpointID != nil {
		endpoint := endpoints[*row.EndpointID]
		if endpoint == nil {
			return nil, fmt.Errorf("the endpoint of delivery %s: %w", row.ID, ErrNotFound)
		}
		if endpoint.off() != "" {
			return nil, cancelDeliveries(ctx, tx, endpoint)
		}

		webhook := endpoint.webhook(s.now())
		due.Webhook = &webhook
		if row.URL != endpoint.URL { // It was moved; the delivery is sent to the new URL.
			row.URL = endpoint.URL
			_, err := tx.NewRaw("UPDATE deliveries SET url = ? WHERE id = ?", row.URL, row.ID).Exec(ctx)
			if err != nil {
				return nil, err
			}
		}
	}

	due.Delivery = row.delivery()
	return due, nil
}

// ReturnAttempt gives back an attempt that was not made to its end. It does not
// count, and is due at once.
func (s *Store) ReturnAttempt(ctx context.Context, d DueDelivery) error {
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw(`UPDATE deliveries SET lease = '', leased_until = NULL, next_attempt_at = ?, ready = TRUE
			WHERE id = ? AND lease = ? AND status = 'pending'`,
			toMicros(s.now()), d.ID, d.lease).Exec(ctx)
		announce(ctx)
		return err
	})
	return wrapped("return attempt", err)
}

// FinishAttempt records the result of an attempt, and returns the delivery. A success, the last attempt, and a
// receiver that wants no more end the delivery. Otherwise the next attempt follows by the schedule. An endpoint
// that wants no more, or that has only failed for five days and on three of them, is disabled. FinishAttempt
// returns ErrNotFound, and changes nothing, if the process no longer owns the attempt: it took too long, or the
// delivery was cancelled.
func (s *Store) FinishAttempt(ctx context.Context, d DueDelivery, a Attempt) (Delivery, error) {
	var row deliveryRow
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		// The endpoint is locked first, as in its other changes, so that neither waits for the other.
		now := s.now()
		reason, err := recordEndpointFailure(ctx, tx, d.Webhook, a, now)
		if err != nil {
			return err
		}

		if d.LastAttemptAt != nil {
			archive := archiveAttempt + "id = ? AND lease = ? AND status = 'pending' ON CONFLICT (delivery_id, at) DO NOTHING"
			if _, err := tx.NewRaw(archive, d.ID, d.lease).Exec(ctx); err != nil {
				return err
			}
		}

		row = deliveryRow{}
		query := tx.NewUpdate().Model(&row).Set("lease = ''").Set("leased_until = NULL").Set("attempts = attempts + 1").
			Set("last_error = ?", clean(a.Error, maxLastError)).
			Set("last_body = ?", a.Response[:min(len(a.Response), maxLastBody)]).
			Set("last_status_code = NULLIF(?, 0)", a.StatusCode).Set("last_duration = ?", durationMicros(a.Duration)).
			Set("last_attempt_at = ?", toMicros(now)).
			Where("id = ? AND lease = ? AND status = 'pending'", d.ID, d.lease).Returning("*")
		a.setOutcome(query, d.Attempts+1, now)
		if err := notFound(query.Scan(ctx)); err != nil {
			return err
		}

		if err := insertHeaders(ctx, tx, d.ID, a.Headers, now); err != nil || reason == "" {
			return err
		}
		return disableWebhook(ctx, tx, d.Webhook.ID, reason)
	})
	if err != nil {
		return Delivery{}, fmt.Errorf("finish attempt: %w", err)
	}

	return row.delivery(), nil
}

func insertHeaders(ctx context.Context, tx txn, deliveryID string, h AttemptHeaders, at time.Time) error {
	if h.Request == "" {
		return nil
	}
	_, err := tx.NewRaw(`INSERT INTO delivery_headers (delivery_id, at, request, response) VALUES (?, ?, ?, ?)
		ON CONFLICT (delivery_id, at) DO NOTHING`,
		deliveryID, toMicros(at), clean(h.Request, maxHeaders), clean(h.Response, maxHeaders)).Exec(ctx)
	return err
}

// AttemptHeaders returns the headers of a delivery's attempts by the times of the attempts. Attempts without a request
// have none.
func (s *Store) AttemptHeaders(ctx context.Context, d Delivery) (map[time.Time]AttemptHeaders, error) {
	var rows []struct {
		At                int64
		Request, Response string
	}
	err := s.read.NewRaw(`SELECT at, request, response FROM delivery_headers WHERE delivery_id = ?
		ORDER BY at DESC LIMIT ?`,
		d.ID, maxAttemptsShown+1).Scan(ctx, &rows)

	headers := make(map[time.Time]AttemptHeaders, len(rows))
	for _, row := range rows {
		headers[fromMicros(row.At)] = AttemptHeaders{row.Request, row.Response}
	}
	return headers, wrapped("read headers of attempts", err)
}

// setOutcome sets the state of the delivery after the attempt with the given number.
func (a Attempt) setOutcome(query *bun.UpdateQuery, number int, now time.Time) {
	switch {
	case a.Delivered:
		query.Set("status = ?", DeliveryDelivered).Set("delivered_at = ?", toMicros(now)).Set("next_attempt_at = NULL")
	case a.Gone || number >= MaxAttempts:
		query.Set("status = ?", DeliveryFailed).Set("next_attempt_at = NULL")
	default:
		query.Set("next_attempt_at = ?", toMicros(now.Add(nextWait(number, a.RetryAfter))))
	}
}

// PastAttempt is an attempt that was made.
type PastAttempt struct {
	At         time.Time
	StatusCode int // 0 when there was no answer
	Error      string
	Response   []byte // how the answer's body began
	Duration   *time.Duration
}

// maxAttemptsShown bounds the attempts of a delivery that are shown: every replay adds as
// many as the schedule has.
const maxAttemptsShown = 5 * MaxAttempts

// EarlierAttempts returns the attempts of a delivery before its last one, the
// latest first.
func (s *Store) EarlierAttempts(ctx context.Context, d Delivery) ([]PastAttempt, error) {
	var rows []struct {
		At         int64
		StatusCode *int
		Error      string
		Body       []byte
		Duration   *int64
	}

	err := s.read.NewRaw(`SELECT at, status_code, error, body, duration FROM delivery_attempts WHERE delivery_id = ?
		ORDER BY at DESC LIMIT ?`,
		d.ID, maxAttemptsShown).Scan(ctx, &rows)

	past := make([]PastAttempt, len(rows))
	for i, row := range rows {
		past[i] = PastAttempt{
			At:       fromMicros(row.At),
			Error:    row.Error,
			Response: row.Body,
			Duration: fromDurationMicros(row.Duration),
		}
		if row.StatusCode != nil {
			past[i].StatusCode = *row.StatusCode
		}
	}

	return past, wrapped("read attempts", err)
}

func fromDurationMicros(us *int64) *time.Duration {
	if us == nil {
		return nil
	}
	d := time.Duration(*us) * time.Microsecond
	return &d
}

func durationMicros(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	us := d.Microseconds()
	return &us
}

// recordEndpointFailure keeps the record of an endpoint's failures. It returns why the
// endpoint is to be disabled, or "".
func recordEndpointFailure(ctx context.Context, tx txn, endpoint *Webhook, a Attempt, now time.Time) (string, error) {
	if endpoint == nil {
		return "", nil
	}
	if a.Delivered {
		_, err := tx.NewRaw("UPDATE webhooks SET failing_since = NULL WHERE id = ? AND failing_since IS NOT NULL",
			endpoint.ID).Exec(ctx)
		return "", err
	}

	var since int64
	var days int
	err := tx.NewRaw(`UPDATE webhooks SET failing_since = COALESCE(failing_since, ?0), failed_day = ?1,
		failed_days = CASE WHEN failing_since IS NULL THEN 1 WHEN failed_day = ?1 THEN failed_days
		ELSE failed_days + 1 END
		WHERE id = ?2 RETURNING failing_since, failed_days`, toMicros(now), dayOf(now), endpoint.ID).
		Scan(ctx, &since, &days)
	switch {
	case err != nil:
		return "", notFound(err)
	case a.Gone:
		return "The endpoint answered with status 410.", nil
	case now.Sub(fromMicros(since)) >= failingPeriod && days >= failingDays:
		return "All attempts of five days have failed.", nil
	}

	return "", nil
}
