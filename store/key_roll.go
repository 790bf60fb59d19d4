package store

import (
	"context"
	"fmt"
	"time"
)

// KeyOverlap is the time for which an old key works after its rotation.
const KeyOverlap = 24 * time.Hour

// RollKey makes a key of the same name and limits as another of the account,
// and ends that one after KeyOverlap. It returns ErrNotFound when the account
// has no such key, or the key does not work any more.
func (s *Store) RollKey(ctx context.Context, accountID, keyID string) (Key, string, error) {
	var next keyRow
	var secret string
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		var old keyRow
		now := s.now()
		err := notFound(tx.NewSelect().Model(&old).
			Where("id = ? AND account_id = ? AND prefix <> ? AND revoked_at IS NULL", keyID, accountID, grantMark).
			Where("(expires_at IS NULL OR expires_at > ?)", toMicros(now)).Scan(ctx))
		if err != nil {
			return err
		}

		prefix := LivePrefix
		if old.Test {
			prefix = TestPrefix
		}
		secret = newSecret(prefix)

		next = keyRow{
			ID:         s.NewID("key"),
			AccountID:  accountID,
			Name:       old.Name,
			Prefix:     secret[:shownChars],
			Hash:       hashSecret(secret),
			Test:       old.Test,
			ExpiresAt:  old.ExpiresAt,
			SpendLimit: old.SpendLimit,
			Operations: old.Operations,
			CreatedAt:  toMicros(now),
		}

		end := toMicros(now.Add(KeyOverlap))
		_, err = tx.NewUpdate().Model((*keyRow)(nil)).Set("expires_at = ?", end).Where("id = ?", keyID).
			Where("(expires_at IS NULL OR expires_at > ?)", end).Exec(ctx)
		if err != nil {
			return err
		}

		if _, err := tx.NewInsert().Model(&next).Exec(ctx); err != nil {
			return err
		}
		_, err = tx.NewRaw(`INSERT INTO signing_keys (key_id, account_id)
			SELECT ?, account_id FROM signing_keys WHERE key_id = ?`, next.ID, keyID).Exec(ctx)
		return err
	})
	if err != nil {
		return Key{}, "", fmt.Errorf("roll key: %w", err)
	}

	return next.key(), secret, nil
}
