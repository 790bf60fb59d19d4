package store

import (
	"context"
	"errors"
	"time"

	"github.com/relaypdf/relaypdf/store/credit"
)

// SQLite is in the process, and runs the statements of the money path from Go. The
// functions of the initial migration are the same rules for PostgreSQL, and
// TestMoneyRulesAgree compares both.

// beginSQLite is Begin in one transaction.
func (s *Store) beginSQLite(ctx context.Context, c NewCall) error {
	if c.Job == nil && c.QuoteID == "" {
		// The call is not announced before it ends: a power failure loses both.
		ctx = context.WithValue(ctx, deferSync{}, true)
	}

	return s.inCertainTx(ctx, func(ctx context.Context, tx txn) error {
		// The response to an earlier attempt may have been lost.
		known, err := tx.NewSelect().Model((*callRow)(nil)).Where("id = ?", c.ID).Exists(ctx)
		if err != nil || known {
			return err
		}
		return s.beginCall(ctx, tx, c)
	})
}

// beginCall begins a call that has not begun before.
func (s *Store) beginCall(ctx context.Context, tx txn, c NewCall) error {
	now := s.now()
	if err := s.claimKey(ctx, tx, c, now); err != nil {
		return err
	}
	if err := useQuote(ctx, tx, c, now); err != nil {
		return err
	}

	row := c.row(now)
	balance, err := s.holdFunds(ctx, tx, &row, dayOf(now))
	if err != nil {
		return err
	}
	if err := s.spendKey(ctx, tx, &row, now); err != nil {
		return err
	}

	if _, err := s.exec(ctx, tx, callInsert, callsTable.values(&row)...); err != nil {
		return err
	}

	held := row.held()
	hold := journalPosting{
		accountID: c.AccountID,
		kind:      KindHold,
		cause:     c.ID,
		at:        now,
		books:     books{wallet: -held, held: held},
		balance:   balance,
	}
	if err := s.post(ctx, tx, &hold); err != nil {
		return err
	}

	if c.CallbackURL != "" {
		receiver := callbackReceiver(c.AccountID, c.CallbackURL)
		_, err := s.exec(ctx, tx, callbackInsert, c.ID, c.CallbackURL, receiver, c.Trace, row.CreatedAt)
		if err != nil {
			return err
		}
	}

	if c.Job == nil {
		return nil
	}
	return s.enqueue(ctx, tx, &row, c)
}

// Statements of a call that begins.
var callInsert = callsTable.insert()

const callbackInsert = `INSERT INTO callbacks (call_id, url, receiver, trace, created_at) VALUES ($1, $2, $3, $4, $5)`

// holdUpdate moves a hold out of the balance and adds the quote to the day's counter, if the account and its owner's
// limits allow it. The counter restarts with the first hold of a UTC day, and never goes back to an earlier day. $1
// held, $2 quote, $3 day, $4 account.
const holdUpdate = `UPDATE accounts SET
	balance = balance - $1, held = held + $1,
	day_spent = CASE WHEN day < $3 THEN 0 ELSE day_spent END + $2,
	day = MAX(day, $3)
	WHERE id = $4 AND NOT suspended AND balance >= $1 AND (owed = 0 OR $1 = 0)
	AND (max_job IS NULL OR $2 <= max_job)
	AND (max_day IS NULL OR CASE WHEN day < $3 THEN 0 ELSE day_spent END + $2 <= max_day)
	RETURNING day, balance`

// holdFunds takes the call's hold from its account, within the account's limits. It records the day on which the
// call counts, and returns the wallet's remaining balance.
func (s *Store) holdFunds(ctx context.Context, tx txn, c *callRow, today int64) (balance credit.Amount, err error) {
	err = notFound(s.queryRow(ctx, tx, holdUpdate, int64(c.held()), int64(c.Quote), today, c.AccountID).
		Scan(&c.Day, &balance))
	if errors.Is(err, ErrNotFound) {
		err = holdRefusal(ctx, tx, c, today)
	}
	return balance, err
}

// spendUpdate counts a quote towards the key's spending limit.
// $1 quote, $2 key, $3 account, $4 now.
const spendUpdate = `UPDATE keys SET spent = spent + $1
	WHERE id = $2 AND account_id = $3 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $4)
	AND (spend_limit IS NULL OR spent + $1 <= spend_limit)`

// spendKey counts the call towards the spending limit of its key, if it has one.
func (s *Store) spendKey(ctx context.Context, tx txn, c *callRow, now time.Time) error {
	if c.KeyID == nil {
		return nil
	}
	ok, err := changed(s.exec(ctx, tx, spendUpdate, int64(c.Quote), *c.KeyID, c.AccountID, toMicros(now)))
	if err == nil && !ok {
		err = spendRefusal(ctx, tx, c, now)
	}
	return err
}

// endUpdate ends a running call with success, and returns it. $1 charge, $2 now, $3
// duration, $4 steps, $5 call, $6 and $7 lease and try of a job.
var endUpdate = `UPDATE calls SET status = 'done', charge = $1, ended_at = $2, duration = $3, steps = $4
	WHERE id = $5 AND status = 'running' AND quote >= $1 AND charge <= $1
	AND ($6 = '' OR EXISTS (SELECT 1 FROM jobs WHERE call_id = $5 AND state = 'running' AND lease = $6 AND tries = $7))
	RETURNING ` + callsTable.columns("calls")

// settleSQLite is Settle in one transaction.
func (s *Store) settleSQLite(ctx context.Context, end Settlement) error {
	return s.inCertainTx(ctx, func(ctx context.Context, tx txn) error {
		now := s.now()
		var row callRow
		lease, try := end.by()
		err := notFound(s.queryRow(ctx, tx, endUpdate, int64(end.Charge), toMicros(now), end.Duration.Microseconds(),
			string(end.Steps), end.CallID, lease, try).Scan(callsTable.pointers(&row)...))
		if errors.Is(err, ErrNotFound) {
			return settleRefusal(ctx, tx, end)
		}
		if err != nil {
			return err
		}

		if err := s.finishClaim(ctx, tx, &row); err != nil {
			return err
		}

		for _, file := range end.files() {
			if err := s.addFile(ctx, tx, &row, file, now); err != nil {
				return err
			}
		}

		if err := s.finishCall(ctx, tx, &row, end.Outbox, now); err != nil {
			return err
		}
		return s.countUsage(ctx, tx, &row)
	})
}

// releaseSQLite is releaseCall in one transaction.
func (s *Store) releaseSQLite(ctx context.Context, end ending) (released bool, err error) {
	err = s.inCertainTx(ctx, func(ctx context.Context, tx txn) error {
		now := s.now()
		var row callRow
		condition, args := end.holder.condition(toMicros(now))

		err := tx.NewUpdate().Model(&row).
			Set("status = ?, charge = 0, error_code = ?, error_message = ?",
				CallFailed, clean(end.failure.Code, 100), clean(end.failure.Message, 2000)).
			Set("ended_at = ?, steps = ?", toMicros(now), end.failure.Steps).
			Where("id = ? AND status = ?", end.callID, CallRunning).Where(condition, args...).
			Returning("*").Scan(ctx)
		err = notFound(err)
		released = err == nil
		if errors.Is(err, ErrNotFound) {
			known, err := tx.NewSelect().Model((*callRow)(nil)).Where("id = ?", end.callID).Exists(ctx)
			if err == nil && !known {
				err = ErrNotFound
			}
			return err
		}
		if err != nil {
			return err
		}

		if err := freeClaim(ctx, tx, &row); err != nil {
			return err
		}
		if err := freeQuote(ctx, tx, &row); err != nil {
			return err
		}

		return s.finishCall(ctx, tx, &row, end.outbox, now)
	})

	return released && err == nil, err
}

// finishCall applies the consequences of a call's end, whatever the result was.
func (s *Store) finishCall(ctx context.Context, tx txn, row *callRow, n *Outbox, now time.Time) error {
	if row.Mode == Async {
		for _, text := range jobEnd {
			if _, err := s.exec(ctx, tx, text, row.ID); err != nil {
				return err
			}
		}
	}

	if err := s.writeOutbox(ctx, tx, row, n, now); err != nil {
		return err
	}
	return s.endHold(ctx, tx, row, now)
}

// fundsUpdate ends a hold in its account.
// $1 returned, $2 held, $3 the call's day, $4 unspent, $5 account.
const fundsUpdate = `UPDATE accounts SET balance = balance + $1, held = held - $2,
	day_spent = day_spent - CASE WHEN day = $3 THEN $4 ELSE 0 END WHERE id = $5 RETURNING balance`

// unspentUpdate subtracts the unspent part of a call from the counter of its key. $1 unspent, $2 key.
const unspentUpdate = `UPDATE keys SET spent = spent - $1 WHERE id = $2`

// endHold ends the hold of a call that has ended: its charge is earned, and the rest
// returns to the wallet and leaves the counters of the limits. What the chunks of a bulk
// job have earned before is a part of its charge, and is returned by a failed one, whose
// charge is 0. The day's counter is left
// alone when a newer day has begun.
func (s *Store) endHold(ctx context.Context, tx txn, row *callRow, now time.Time) error {
	held := row.held()
	paid := row.Charge
	unspent := row.Quote - row.Charge

	if row.Metered {
		paid = 0
	} else {
		before, err := s.chargedBefore(ctx, tx, row)
		if err != nil {
			return err
		}
		held -= before
		paid -= before
	}

	end := journalPosting{
		accountID: row.AccountID, kind: KindSettle, cause: row.ID, reason: row.ErrorCode, at: now,
		books: books{held: -held, revenue: paid, wallet: held - paid},
	}
	if row.Status == CallFailed {
		end.kind = KindRelease
	}

	err := s.queryRow(ctx, tx, fundsUpdate, int64(held-paid), int64(held), row.Day, int64(unspent), row.AccountID).
		Scan(&end.balance)
	if err != nil {
		return err
	}
	if err := s.post(ctx, tx, &end); err != nil {
		return err
	}

	if row.KeyID == nil || unspent == 0 {
		return nil
	}
	_, err = s.exec(ctx, tx, unspentUpdate, int64(unspent), *row.KeyID)
	return err
}
