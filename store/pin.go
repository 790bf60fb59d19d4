package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"
)

// A pin keeps a file for a job that has yet to read it: the file may expire or be deleted meanwhile, and then only
// the job can open it.

// PinError means that a job asked for files that its account does not have, or no longer has. It does not reveal
// which.
type PinError struct {
	FileIDs []string // in the order of their ids
}

func (e *PinError) Error() string {
	return fmt.Sprintf("%d files of the job are missing", len(e.FileIDs))
}

type pinRow struct {
	bun.BaseModel `bun:"table:pins,alias:pin"`

	FileID string `bun:",pk"`
	CallID string `bun:",pk"`
}

// pinLock finds a file that can be pinned, and keeps it from being deleted
// until the transaction ends.
const pinLock = `UPDATE files SET deleted_at = NULL
	WHERE id = ? AND account_id = ? AND deleted_at IS NULL AND expires_at > ?`

// pin keeps files for a job. Either all of them can be read now, or it returns
// a *PinError that names those that cannot. Files are locked in the order of
// their ids, so that two jobs never wait for each other.
func (s *Store) pin(ctx context.Context, tx txn, call *callRow, ids []string) error {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	var missing PinError
	rows := make([]pinRow, 0, len(ids))

	for _, id := range ids {
		found := false
		if storable(id) {
			var err error
			if found, err = changed(tx.NewRaw(pinLock, id, call.AccountID, toMicros(s.now())).Exec(ctx)); err != nil {
				return err
			}
		}
		if !found {
			missing.FileIDs = append(missing.FileIDs, id)
		}
		rows = append(rows, pinRow{FileID: id, CallID: call.ID})
	}

	if len(missing.FileIDs) > 0 {
		return &missing
	}
	if len(rows) == 0 {
		return nil
	}

	_, err := tx.NewInsert().Model(&rows).Exec(ctx)
	return err
}

// PinnedFile returns a file that the call pinned, although it may have expired
// or been deleted since. It returns ErrNotFound when the call did not pin it,
// or the operator took it down.
func (s *Store) PinnedFile(ctx context.Context, callID, id string) (File, error) {
	if !storable(id) {
		return File{}, fmt.Errorf("read pinned file: %w", ErrNotFound)
	}

	var row fileRow
	err := s.read.NewSelect().Model(&row).Where("f.id = ?", id).
		Where("EXISTS (SELECT 1 FROM pins WHERE pins.file_id = f.id AND pins.call_id = ?)", callID).Scan(ctx)
	if err != nil {
		return File{}, fmt.Errorf("read pinned file: %w", notFound(err))
	}
	return row.file(), nil
}

// pinned returns the files that a job needs.
func pinned(ctx context.Context, tx txn, ids []string) ([]string, error) {
	var kept []string
	err := tx.NewSelect().Model((*pinRow)(nil)).Column("file_id").Distinct().Where("file_id IN (?)", bun.List(ids)).
		Scan(ctx, &kept)
	return kept, err
}
