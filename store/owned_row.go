package store

import (
	"context"
	"fmt"
	"slices"
)

// otherNames returns the number of an account's rows besides the one with the ID, in a table whose names are unique
// in the account. It returns ErrExists when one of them has the name.
func otherNames(ctx context.Context, tx txn, model any, accountID, id, name string) (int, error) {
	var names []string
	err := tx.NewSelect().Model(model).Column("name").Where("account_id = ? AND id != ?", accountID, id).
		Scan(ctx, &names)
	if err == nil && slices.Contains(names, name) {
		err = ErrExists
	}
	return len(names), err
}

// deleteOwned deletes the row of an account with the ID. It returns ErrNotFound for an unknown ID and another
// account's. what continues "delete" in errors.
func (s *Store) deleteOwned(ctx context.Context, what string, model any, accountID, id string) error {
	if !storable(id) {
		return fmt.Errorf("delete %s: %w", what, ErrNotFound)
	}

	return s.update(ctx, "delete "+what, func(ctx context.Context, tx txn) error {
		known, err := changed(tx.NewDelete().Model(model).Where("id = ? AND account_id = ?", id, accountID).Exec(ctx))
		if err == nil && !known {
			err = ErrNotFound
		}
		return err
	})
}
