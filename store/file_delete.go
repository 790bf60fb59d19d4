package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"
)

// DeleteFile deletes a file of the account. After the commit only a job that pinned it can open it; its bytes are
// deleted at once, or when that job has ended. It returns ErrNotFound if the account does not have the file, or no
// longer has it.
func (s *Store) DeleteFile(ctx context.Context, accountID, id string) error {
	return s.deleteFile(ctx, id, "f.account_id = ?", accountID)
}

// DeleteKeyFile is DeleteFile for a file of the key: its own upload, or the result of one of its calls.
func (s *Store) DeleteKeyFile(ctx context.Context, accountID, keyID, id string) error {
	return s.deleteFile(ctx, id, "f.account_id = ? AND "+madeBy, accountID, keyID, keyID)
}

func (s *Store) deleteFile(ctx context.Context, id, where string, args ...any) error {
	if !storable(id) {
		return fmt.Errorf("delete file: %w", ErrNotFound)
	}

	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		// A deleted file expires at once.
		now := toMicros(s.now())
		deleted, err := changed(tx.NewUpdate().Model((*fileRow)(nil)).Set("deleted_at = ?0, expires_at = ?0", now).
			Where("f.id = ? AND f.deleted_at IS NULL AND f.expires_at > ?", id, now).Where(where, args...).Exec(ctx))
		if err == nil && !deleted {
			err = ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete file: %w", err)
	}

	if _, _, err := s.removeFiles(ctx, 1, "f.id = ?", id); err != nil {
		// The file is deleted for all users, and DeleteExpiredFiles tries again.
		s.log.Warn("delete blob of deleted file failed", "error", err)
	}

	return nil
}

// TakeDownFile deletes any file at once, on behalf of the operator: a job that has yet to read it will fail. It
// returns the deleted file, or ErrNotFound.
func (s *Store) TakeDownFile(ctx context.Context, id string) (File, error) {
	if !storable(id) {
		return File{}, fmt.Errorf("take file down: %w", ErrNotFound)
	}

	var row fileRow
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		err := tx.NewUpdate().Model(&row).Set("deleted_at = ?0, expires_at = ?0", toMicros(s.now())).
			Where("id = ?", id).Returning("*").Scan(ctx)
		if err != nil {
			return notFound(err)
		}

		_, err = tx.NewDelete().Model((*pinRow)(nil)).Where("file_id = ?", id).Exec(ctx)
		return err
	})
	if err == nil {
		_, _, err = s.removeFiles(ctx, 1, "f.id = ?", id)
	}
	if err != nil {
		return File{}, fmt.Errorf("take file down: %w", err)
	}

	return row.file(), nil
}

// DeleteExpiredFiles removes the bytes and rows of at most limit files that
// have expired or been deleted and that no job needs, and returns the keys of
// the blobs it removed.
func (s *Store) DeleteExpiredFiles(ctx context.Context, limit int) ([]string, error) {
	_, keys, err := s.deleteExpired(ctx, limit)
	return keys, err
}

// deleteExpired is DeleteExpiredFiles, and returns how many files it found besides. A
// blob that cannot be deleted is passed over for a while.
func (s *Store) deleteExpired(ctx context.Context, limit int) (found int, keys []string, err error) {
	found, keys, err = s.removeFiles(ctx, limit, "f.expires_at <= ?0 AND "+notPostponed("f.blob_key"),
		toMicros(s.now()))
	return found, keys, wrapped("delete expired files", err)
}

// removeFiles removes blobs first and rows after, so a crash in between leaves a row to retry with and not an unknown
// blob. It returns how many files it found, and the keys of the deleted blobs.
func (s *Store) removeFiles(
	ctx context.Context, limit int, where string, args ...any,
) (found int, deleted []string, err error) {
	rows, err := s.markDeleted(ctx, limit, where, args...)
	if err != nil {
		return 0, nil, err
	}

	keys := make([]string, len(rows))
	ids := make(map[string]string, len(rows))
	for i, row := range rows {
		keys[i] = row.BlobKey
		ids[row.BlobKey] = row.ID
	}

	deleted, err = s.deleteBlobs(ctx, keys, func(ctx context.Context, tx txn, deleted []string) error {
		removed := make([]string, len(deleted))
		for i, key := range deleted {
			removed[i] = ids[key]
		}

		_, err := tx.NewDelete().Model((*fileRow)(nil)).Where("id IN (?)", bun.List(removed)).Exec(ctx)
		return err
	})

	return len(rows), deleted, err
}

// markDeleted marks expired files, and returns those whose bytes are not in use: once a file is marked, no job can pin it
// any more.
func (s *Store) markDeleted(ctx context.Context, limit int, where string, args ...any) (rows []fileRow, err error) {
	const unpinned = "NOT EXISTS (SELECT 1 FROM pins WHERE pins.file_id = f.id)"
	err = s.inTx(ctx, func(ctx context.Context, tx txn) error {
		rows = nil
		due := tx.NewSelect().Model((*fileRow)(nil)).Column("id").Where(where, args...).Where(unpinned).
			Order("expires_at").Limit(int64(limit))

		err := tx.NewUpdate().Model(&rows).Set("deleted_at = COALESCE(deleted_at, ?)", toMicros(s.now())).
			Where("id IN (?)", due).Returning("*").Scan(ctx)
		if err != nil || len(rows) == 0 {
			return err
		}

		ids := make([]string, len(rows))
		for i := range rows {
			ids[i] = rows[i].ID
		}

		// A job may have pinned one of them while the mark waited for its row.
		pinnedIDs, err := pinned(ctx, tx, ids)
		rows = slices.DeleteFunc(rows, func(r fileRow) bool { return slices.Contains(pinnedIDs, r.ID) })
		return err
	})

	return rows, err
}
