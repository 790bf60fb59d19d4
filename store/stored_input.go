package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"
)

const (
	// StoredInputLife is the retention of a call's input, for an account that asks for it.
	StoredInputLife = 7 * 24 * time.Hour
	// MaxStoredInput is the maximum size of a stored input, encrypted, in bytes.
	MaxStoredInput = 256 << 10
)

// storedInputRow is the encrypted input of a call, for an account that wants to view or repeat it.
type storedInputRow struct {
	bun.BaseModel `bun:"table:kept_inputs,alias:ki"`

	CallID    string `bun:",pk"`
	AccountID string
	Sealed    []byte
	ExpiresAt int64
}

// AddStoredInput stores the input of a call. It has no effect if the account has disabled this, or if the input is too
// long.
func (s *Store) AddStoredInput(ctx context.Context, accountID, callID string, sealed []byte) error {
	if len(sealed) > MaxStoredInput {
		return nil
	}

	row := storedInputRow{
		CallID:    callID,
		AccountID: accountID,
		Sealed:    sealed,
		ExpiresAt: toMicros(s.now().Add(StoredInputLife)),
	}
	return s.update(ctx, "keep input", func(ctx context.Context, tx txn) error {
		// The account's row is locked, so that a concurrent change of the setting takes effect.
		enabled, err := changed(tx.NewUpdate().Table("accounts").Set("keep_inputs = keep_inputs").
			Where("id = ? AND keep_inputs", accountID).Exec(ctx))
		if err != nil || !enabled {
			return err
		}

		_, err = tx.NewInsert().Model(&row).On("CONFLICT DO NOTHING").Exec(ctx)
		return err
	})
}

// StoredInput returns the input of an account's call, as it was passed to AddStoredInput, or ErrNotFound.
func (s *Store) StoredInput(ctx context.Context, accountID, callID string) ([]byte, error) {
	var row storedInputRow
	if !storable(callID) {
		return nil, ErrNotFound
	}
	err := s.read.NewSelect().Model(&row).
		Where("call_id = ? AND account_id = ? AND expires_at > ?", callID, accountID, toMicros(s.now())).Scan(ctx)
	return row.Sealed, wrapped("read kept input", notFound(err))
}

// SetKeepInputs sets whether an account's inputs are stored from now on. Stored inputs are deleted when storing is
// switched off.
func (s *Store) SetKeepInputs(ctx context.Context, accountID string, keep bool) error {
	return s.update(ctx, "set what is kept", func(ctx context.Context, tx txn) error {
		known, err := changed(tx.NewUpdate().Table("accounts").Set("keep_inputs = ?", keep).Where("id = ?", accountID).
			Exec(ctx))
		switch {
		case err != nil:
			return err
		case !known:
			return ErrNotFound
		case keep:
			return nil
		}

		_, err = tx.NewDelete().Model((*storedInputRow)(nil)).Where("account_id = ?", accountID).Exec(ctx)
		return err
	})
}

// deleteStoredInputs removes inputs whose time has passed.
func (s *Store) deleteStoredInputs(ctx context.Context, limit int) (deleted int, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx txn) error {
		res, err := tx.NewRaw(`DELETE FROM kept_inputs WHERE call_id IN (SELECT call_id FROM kept_inputs
			WHERE expires_at <= ? LIMIT ?)`,
			toMicros(s.now()), limit).Exec(ctx)
		if err != nil {
			return err
		}

		n, err := res.RowsAffected()
		deleted = int(n)
		return err
	})
	return deleted, wrapped("delete kept inputs", err)
}
