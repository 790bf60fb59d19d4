package store

import (
	"context"
	"errors"
	"time"

	"github.com/uptrace/bun"
)

// A refused call finds its reason with a second statement. On PostgreSQL another transaction may come in between.

// holdAttempts is the maximum number of starts of a call whose reason for a refusal is gone when it is queried.
const holdAttempts = 3

var errUnsteady = errors.New("the account keeps changing; try again")

// holdRefusal returns the reason why the account refuses a hold, or errUnsteady if the reason no longer applies.
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
		return &LimitError{
			Limit:        LimitMaxDay,
			Microdollars: *a.MaxDay,
			Spent:        spent,
			Quote:        c.Quote,
			Renews:       dayStart(max(a.Day, today) + 1),
		}
	case a.Balance < c.held(), a.Owed > 0 && c.held() > 0:
		return &FundsError{Quote: c.Quote, Balance: a.Balance - a.Owed}
	}

	return errUnsteady
}

// spendRefusal returns why the key refuses a call; errUnsteady when it does not any more.
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

	return errUnsteady
}

// claimedBy returns the owner of the idempotency key: a *ClaimedError; nil if it is the call itself; errUnsteady if
// the key is free by now.
func (s *Store) claimedBy(ctx context.Context, db bun.IDB, c NewCall) error {
	var other claimRow
	err := db.NewSelect().Model(&other).Where("account_id = ? AND idem_key = ?", c.AccountID, c.IdempotencyKey).
		Scan(ctx)
	switch {
	case errors.Is(notFound(err), ErrNotFound):
		return errUnsteady
	case err != nil:
		return err
	case other.CallID == c.ID:
		return nil // An attempt whose response was lost has begun the call.
	}

	return &ClaimedError{Claim: other.claim()}
}
