package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// idempotencyWindow is the period for which an idempotency key belongs to its call.
const idempotencyWindow = 24 * time.Hour

// States of a Claim.
const (
	ClaimRunning = "running"
	ClaimDone    = "done"
)

// Claim is the hold of a call on an idempotency key of its account.
type Claim struct {
	CallID    string // Call returns its outcome
	BodyHash  []byte // distinguishes a repeated request from another one
	State     string // ClaimRunning or ClaimDone; a failed call's claim is gone
	CreatedAt time.Time
	ExpiresAt time.Time
}

type claimRow struct {
	bun.BaseModel `bun:"table:idempotency,alias:i"`

	AccountID string `bun:",pk"`
	IdemKey   string `bun:",pk"`
	CallID    string
	BodyHash  []byte
	State     string
	CreatedAt int64
	ExpiresAt int64
}

func (r *claimRow) claim() Claim {
	return Claim{
		CallID: r.CallID, BodyHash: r.BodyHash, State: r.State,
		CreatedAt: fromMicros(r.CreatedAt), ExpiresAt: fromMicros(r.ExpiresAt),
	}
}

// Claim returns the holder of the account's idempotency key, or ErrNotFound if there is none: the call failed, or the
// claim has expired.
func (s *Store) Claim(ctx context.Context, accountID, key string) (Claim, error) {
	var row claimRow
	err := s.read.NewSelect().Model(&row).Where("account_id = ? AND idem_key = ?", accountID, key).
		Where("expires_at > ?", toMicros(s.now())).Scan(ctx)
	if err != nil {
		return Claim{}, fmt.Errorf("read claim: %w", notFound(err))
	}
	return row.claim(), nil
}

// claimInsert claims an idempotency key that is free or whose claim has expired. $1 account, $2 key, $3 call, $4
// hash of the body, $5 state, $6 now, $7 expiry.
var claimInsert = claimsTable.insert() + `
	ON CONFLICT (account_id, idem_key) DO UPDATE SET call_id = EXCLUDED.call_id, body_hash = EXCLUDED.body_hash,
		state = EXCLUDED.state, created_at = EXCLUDED.created_at, expires_at = EXCLUDED.expires_at
	WHERE added.expires_at <= EXCLUDED.created_at`

// claimKey claims the idempotency key for the call, or returns a *ClaimedError. The insert decides: of two
// concurrent calls, the second waits for the first one's transaction and then meets its row. An expired row is
// replaced.
func (s *Store) claimKey(ctx context.Context, tx txn, c NewCall, now time.Time) error {
	if c.IdempotencyKey == "" {
		return nil
	}

	took, err := changed(s.exec(ctx, tx, claimInsert, claimsTable.values(&claimRow{
		AccountID: c.AccountID, IdemKey: c.IdempotencyKey, CallID: c.ID, BodyHash: c.BodyHash, State: ClaimRunning,
		CreatedAt: toMicros(now), ExpiresAt: toMicros(now.Add(idempotencyWindow)),
	})...))
	if err != nil || took {
		return err
	}

	return s.claimedBy(ctx, tx, c)
}

// claimUpdate marks a claim as done. $1 state, $2 account, $3 key, $4 call.
const claimUpdate = `UPDATE idempotency SET state = $1 WHERE account_id = $2 AND idem_key = $3 AND call_id = $4`

// finishClaim marks the key's call as done.
func (s *Store) finishClaim(ctx context.Context, tx txn, c *callRow) error {
	if c.IdempotencyKey == "" {
		return nil
	}
	_, err := s.exec(ctx, tx, claimUpdate, ClaimDone, c.AccountID, c.IdempotencyKey, c.ID)
	return err
}

// freeClaim gives the key of a failed call back.
func freeClaim(ctx context.Context, tx txn, c *callRow) error {
	if c.IdempotencyKey == "" {
		return nil
	}
	_, err := tx.NewRaw("DELETE FROM idempotency WHERE account_id = ? AND idem_key = ? AND call_id = ?",
		c.AccountID, c.IdempotencyKey, c.ID).Exec(ctx)
	return err
}
