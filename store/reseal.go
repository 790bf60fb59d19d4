package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// resealBatch bounds the secrets that are read at once.
const resealBatch = 100

// sealedColumns are the columns with the encrypted secrets of endpoints, connections and signing identities.
var sealedColumns = []struct{ table, column string }{
	{"webhooks", "secret"},
	{"webhooks", "previous_secret"},
	{"connections", "secret"},
	{"signing_identities", "secret"},
}

// Reseal passes each encrypted secret of sealedColumns to reseal, one after the other, for encryption with
// a new key, and stores the result; nil keeps the secret. A secret that its owner changes meanwhile is left alone. It
// returns the number of stored secrets, and can be repeated.
func (s *Store) Reseal(
	ctx context.Context, reseal func(id string, sealed []byte) ([]byte, error),
) (written int, err error) {
	for _, of := range sealedColumns {
		n, err := s.resealColumn(ctx, of.table, of.column, reseal)
		if written += n; err != nil {
			return written, wrap("reseal", err)
		}
	}
	return written, nil
}

func (s *Store) resealColumn(
	ctx context.Context, table, column string, reseal func(id string, sealed []byte) ([]byte, error),
) (written int, err error) {
	for after := ""; ; {
		var rows []struct {
			ID     string
			Sealed []byte
		}
		err := s.read.NewRaw("SELECT id, ?0 AS sealed FROM ?1 WHERE id > ?2 AND length(?0) > 0 ORDER BY id LIMIT ?3",
			bun.Ident(column), bun.Ident(table), after, resealBatch).Scan(ctx, &rows)
		if err != nil || len(rows) == 0 {
			return written, err
		}

		for _, row := range rows {
			resealed, err := reseal(row.ID, row.Sealed)
			if err == nil && resealed != nil {
				err = s.replaceSealed(ctx, table, column, row.ID, row.Sealed, resealed)
				written++
			}
			if err != nil {
				return written, fmt.Errorf("%s: %w", row.ID, err)
			}
		}

		after = rows[len(rows)-1].ID
	}
}

func (s *Store) replaceSealed(ctx context.Context, table, column, id string, before, after []byte) error {
	return s.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw("UPDATE ?4 SET ?0 = ?1 WHERE id = ?2 AND ?0 = ?3",
			bun.Ident(column), after, id, before, bun.Ident(table)).Exec(ctx)
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
