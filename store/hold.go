package store

import (
	"context"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"relaypdf/store/credit"
)

// holdAttempts bounds how often a hold is tried again because the account
// changed between the UPDATE that refused and the SELECT that says why, which
// PostgreSQL allows.
const holdAttempts = 3

var errUnsteady = errors.New("the account keeps changing; try again")

// holdUpdate moves a hold out of the balance and adds the quote to the day's
// counter, if the account and its owner's limits allow it. The counter starts
// anew with the first hold of a UTC day, and never goes back to an earlier day.
// ?0 held, ?1 quote, ?2 day, ?3 account.
const holdUpdate = `UPDATE accounts SET
	balance = balance - ?0, held = held + ?0,
	day_spent = CASE WHEN day < ?2 THEN 0 ELSE day_spent END + ?1,
	day = CASE WHEN day < ?2 THEN ?2 ELSE day END
	WHERE id = ?3 AND NOT suspended AND balance >= ?0
	AND (max_job IS NULL OR ?1 <= max_job)
	AND (max_day IS NULL OR CASE WHEN day < ?2 THEN 0 ELSE day_spent END + ?1 <= max_day)
	RETURNING day`

// holdFunds takes the call's hold from its account, within the account's
// limits, and returns the day on which the call counts.
func holdFunds(ctx context.Context, tx bun.Tx, c *callRow, today int64) (int64, error) {
	held := c.held()
	for range holdAttempts {
		var day int64
		err := notFound(tx.NewRaw(holdUpdate, held, c.Quote, today, c.AccountID).Scan(ctx, &day))
		if err == nil {
			return day, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return 0, err
		}
		if err := holdRefusal(ctx, tx, c, today); err != nil {
			return 0, err
		}
	}
	return 0, errUnsteady
}

// holdRefusal says why the account refuses a hold; nil when it does not.
func holdRefusal(ctx context.Context, tx bun.Tx, c *callRow, today int64) error {
	var a accountRow
	if err := tx.NewSelect().Model(&a).Where("id = ?", c.AccountID).Scan(ctx); err != nil {
		return notFound(err)
	}
	spent := a.spentOn(today)
	switch {
	case a.Suspended:
		return ErrSuspended
	case a.MaxJob != nil && c.Quote > *a.MaxJob:
		return &LimitError{Limit: LimitMaxJob, Microdollars: *a.MaxJob, Quote: c.Quote}
	case a.MaxDay != nil && spent+c.Quote > *a.MaxDay:
		return &LimitError{Limit: LimitMaxDay, Microdollars: *a.MaxDay, Spent: spent, Quote: c.Quote}
	case a.Balance < c.held():
		return &FundsError{Quote: c.Quote, Balance: a.Balance}
	}
	return nil
}

// spendUpdate counts a quote towards the key's spending limit.
// ?0 quote, ?1 key, ?2 account, ?3 now.
const spendUpdate = `UPDATE keys SET spent = spent + ?0
	WHERE id = ?1 AND account_id = ?2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?3)
	AND (spend_limit IS NULL OR spent + ?0 <= spend_limit)`

// spendKey counts the call towards the spending limit of its key, if it has one.
func spendKey(ctx context.Context, tx bun.Tx, c *callRow, now time.Time) error {
	if c.KeyID == nil {
		return nil
	}
	for range holdAttempts {
		ok, err := changed(tx.NewRaw(spendUpdate, c.Quote, *c.KeyID, c.AccountID, toMicros(now)).Exec(ctx))
		if err != nil || ok {
			return err
		}
		if err := spendRefusal(ctx, tx, c, now); err != nil {
			return err
		}
	}
	return errUnsteady
}

// spendRefusal says why the key refuses a call; nil when it does not.
func spendRefusal(ctx context.Context, tx bun.Tx, c *callRow, now time.Time) error {
	var k keyRow
	err := tx.NewSelect().Model(&k).Where("id = ? AND account_id = ?", *c.KeyID, c.AccountID).Scan(ctx)
	if err != nil {
		return notFound(err)
	}
	switch {
	case k.RevokedAt != nil, k.ExpiresAt != nil && *k.ExpiresAt <= toMicros(now):
		return ErrNotFound
	case k.SpendLimit != nil && k.Spent+c.Quote > *k.SpendLimit:
		return &LimitError{Limit: LimitKeySpend, Microdollars: *k.SpendLimit, Spent: k.Spent, Quote: c.Quote}
	}
	return nil
}

// returnFunds ends the call's hold: refund goes back to the wallet, and unspent
// leaves the counters of the limits. The day's counter is left alone when a
// newer day has begun.
func returnFunds(ctx context.Context, tx bun.Tx, c *callRow, refund, unspent credit.Amount) error {
	_, err := tx.NewRaw(`UPDATE accounts SET balance = balance + ?0, held = held - ?1,
		day_spent = day_spent - CASE WHEN day = ?2 THEN ?3 ELSE 0 END WHERE id = ?4`,
		refund, c.held(), c.Day, unspent, c.AccountID).Exec(ctx)
	if err != nil || c.KeyID == nil || unspent == 0 {
		return err
	}
	_, err = tx.NewRaw("UPDATE keys SET spent = spent - ? WHERE id = ?", unspent, *c.KeyID).Exec(ctx)
	return err
}
