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
// $1 held, $2 quote, $3 day, $4 account.
const holdUpdate = `UPDATE accounts SET
	balance = balance - $1, held = held + $1,
	day_spent = CASE WHEN day < $3 THEN 0 ELSE day_spent END + $2,
	day = CASE WHEN day < $3 THEN $3 ELSE day END
	WHERE id = $4 AND NOT suspended AND balance >= $1 AND (owed = 0 OR $1 = 0)
	AND (max_job IS NULL OR $2 <= max_job)
	AND (max_day IS NULL OR CASE WHEN day < $3 THEN 0 ELSE day_spent END + $2 <= max_day)
	RETURNING day, balance`

// holdFunds takes the call's hold from its account, within the account's
// limits, and returns the day on which the call counts and what the wallet has left.
func (s *Store) holdFunds(ctx context.Context, tx txn, c *callRow, today int64) (day int64, balance credit.Amount, err error) {
	held := c.held()
	for range holdAttempts {
		err := notFound(s.queryRow(ctx, tx, holdUpdate, int64(held), int64(c.Quote), today, c.AccountID).Scan(&day, &balance))
		if err == nil {
			return day, balance, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return 0, 0, err
		}
		if err := holdRefusal(ctx, tx, c, today); err != nil {
			return 0, 0, err
		}
	}
	return 0, 0, errUnsteady
}

// holdRefusal says why the account refuses a hold; nil when it does not.
func holdRefusal(ctx context.Context, tx bun.IDB, c *callRow, today int64) error {
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
		return &LimitError{Limit: LimitMaxDay, Microdollars: *a.MaxDay, Spent: spent, Quote: c.Quote, Renews: dayStart(max(a.Day, today) + 1)}
	case a.Balance < c.held(), a.Owed > 0 && c.held() > 0:
		return &FundsError{Quote: c.Quote, Balance: a.Balance - a.Owed}
	}
	return nil
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
	for range holdAttempts {
		ok, err := changed(s.exec(ctx, tx, spendUpdate, int64(c.Quote), *c.KeyID, c.AccountID, toMicros(now)))
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
func spendRefusal(ctx context.Context, tx bun.IDB, c *callRow, now time.Time) error {
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

// fundsUpdate ends a hold in its account.
// $1 refund, $2 held, $3 the call's day, $4 unspent, $5 account.
const fundsUpdate = `UPDATE accounts SET balance = balance + $1, held = held - $2,
	day_spent = day_spent - CASE WHEN day = $3 THEN $4 ELSE 0 END WHERE id = $5 RETURNING balance`

// returnFunds ends the call's hold and posts that, late in its transaction: the calls
// of an account wait for each other from here to the commit. What the posting gives
// back goes to the wallet, and unspent leaves the counters of the limits. The day's
// counter is left alone when a newer day has begun.
func (s *Store) returnFunds(ctx context.Context, tx txn, c *callRow, p *posting, unspent credit.Amount) error {
	err := s.queryRow(ctx, tx, fundsUpdate, int64(p.books.wallet), int64(c.held()), c.Day, int64(unspent), c.AccountID).Scan(&p.balance)
	if err == nil {
		err = s.post(ctx, tx, p)
	}
	if err != nil || c.KeyID == nil || unspent == 0 {
		return err
	}
	_, err = tx.NewRaw("UPDATE keys SET spent = spent - ? WHERE id = ?", unspent, *c.KeyID).Exec(ctx)
	return err
}
