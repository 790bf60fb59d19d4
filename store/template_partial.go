package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// Partial is a piece of source that the templates of an account may name.
type Partial struct {
	Name      string
	HTML      string // empty in lists
	UpdatedAt time.Time
}

type partialRow struct {
	bun.BaseModel `bun:"table:template_partials"`

	AccountID string `bun:",pk"`
	Name      string `bun:",pk"`
	HTML      string
	UpdatedAt int64
}

// MaxPartialBytes is the maximum total size of an account's partials.
const MaxPartialBytes = 5 << 20

// PutPartial makes or replaces a partial. It returns ErrTooMany when the account has
// MaxPartials or MaxPartialBytes of them, and ErrNotFound for an unknown account.
func (s *Store) PutPartial(ctx context.Context, accountID, name, html string) (Partial, error) {
	row := partialRow{AccountID: accountID, Name: name, HTML: html, UpdatedAt: toMicros(s.now())}
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		if err := s.lockAccount(ctx, tx, accountID); err != nil {
			return err
		}

		var count, size int
		err := tx.NewSelect().Model((*partialRow)(nil)).ColumnExpr("count(*), coalesce(sum(octet_length(html)), 0)").
			Where("account_id = ? AND name <> ?", accountID, name).Scan(ctx, &count, &size)
		if err != nil {
			return err
		}
		if count >= MaxPartials || size+len(html) > MaxPartialBytes {
			return ErrTooMany
		}

		_, err = tx.NewInsert().Model(&row).On("CONFLICT (account_id, name) DO UPDATE").
			Set("html = EXCLUDED.html").Set("updated_at = EXCLUDED.updated_at").Exec(ctx)
		return err
	})
	if err != nil {
		return Partial{}, fmt.Errorf("put partial: %w", err)
	}

	return row.partial(), nil
}

func (r *partialRow) partial() Partial {
	return Partial{Name: r.Name, HTML: r.HTML, UpdatedAt: fromMicros(r.UpdatedAt)}
}

// Partials returns all partials of an account by name, with their sources.
func (s *Store) Partials(ctx context.Context, accountID string) ([]Partial, error) {
	var rows []partialRow
	err := s.read.NewSelect().Model(&rows).Where("account_id = ?", accountID).Order("name").Scan(ctx)
	return converted(rows, (*partialRow).partial), wrapped("read partials", err)
}

// Partial returns one partial. It returns ErrNotFound if there is none.
func (s *Store) Partial(ctx context.Context, accountID, name string) (Partial, error) {
	var row partialRow
	err := ErrNotFound
	if storable(name) {
		err = notFound(s.read.NewSelect().Model(&row).Where("account_id = ? AND name = ?", accountID, name).Scan(ctx))
	}
	if err != nil {
		return Partial{}, fmt.Errorf("read partial: %w", err)
	}
	return row.partial(), nil
}

// DeletePartial deletes a partial. Published versions keep it. It returns ErrNotFound if there is none.
func (s *Store) DeletePartial(ctx context.Context, accountID, name string) error {
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		if !storable(name) {
			return ErrNotFound
		}

		done, err := changed(tx.NewDelete().Model((*partialRow)(nil)).
			Where("account_id = ? AND name = ?", accountID, name).Exec(ctx))
		if err == nil && !done {
			return ErrNotFound
		}
		return err
	})
	return wrapped("delete partial", err)
}
