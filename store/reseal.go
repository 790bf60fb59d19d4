package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// resealBatch bounds the endpoints that are read at once.
const resealBatch = 100

// Reseal passes each encrypted secret of an endpoint to reseal, one after the other, for encryption with a new key,
// and stores the result; nil keeps the secret. A secret that its owner changes meanwhile is left alone. It returns
// the number of stored secrets, and can be repeated.
func (s *Store) Reseal(ctx context.Context, reseal func(endpointID string, sealed []byte) ([]byte, error)) (written int, err error) {
	for after := ""; ; {
		var rows []webhookRow
		err := s.read.NewSelect().Model(&rows).Where("id > ? AND deleted_at IS NULL", after).Order("id").Limit(resealBatch).Scan(ctx)
		if err != nil || len(rows) == 0 {
			return written, wrap("reseal", err)
		}
		for i := range rows {
			for column, sealed := range map[string][]byte{"secret": rows[i].Secret, "previous_secret": rows[i].PreviousSecret} {
				if len(sealed) == 0 {
					continue
				}
				again, err := reseal(rows[i].ID, sealed)
				if err == nil && again != nil {
					err = s.replaceSealed(ctx, rows[i].ID, column, sealed, again)
					written++
				}
				if err != nil {
					return written, fmt.Errorf("reseal %s: %w", rows[i].ID, err)
				}
			}
		}
		after = rows[len(rows)-1].ID
	}
}

func (s *Store) replaceSealed(ctx context.Context, id, column string, before, after []byte) error {
	return s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw("UPDATE webhooks SET ?0 = ?1 WHERE id = ?2 AND ?0 = ?3", bun.Ident(column), after, id, before).Exec(ctx)
		return err
	})
}

// wrap adds the failed action to an error, if there is one.
func wrap(doing string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
