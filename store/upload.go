package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"relaypdf/store/blob"
)

// Limits of the live uploads of one account. Results do not count: they were paid for.
const (
	MaxUploads     = 1000
	MaxUploadBytes = 5 << 30
)

// QuotaError means that an account has reached its limit of live uploads.
type QuotaError struct {
	Files int64 // that are there
	Bytes int64 // of them
	Size  int64 // of the file that was refused
	// Ends is the time at which the first upload expires; zero if only jobs retain them.
	Ends time.Time
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("%d uploads of %d bytes leave no room for one of %d bytes", e.Files, e.Bytes, e.Size)
}

// uploadLock keeps other uploads of the account waiting until the transaction
// ends, so that each counts those before it. Suspended accounts have no row.
const uploadLock = "UPDATE accounts SET suspended = suspended WHERE id = ? AND NOT suspended"

// uploadsUsed counts the used quota: live uploads, and those that are retained only because a job needs them.
const uploadsUsed = `SELECT COUNT(*) AS files, CAST(COALESCE(SUM(size), 0) AS BIGINT) AS bytes,
	COALESCE(MIN(CASE WHEN deleted_at IS NULL AND expires_at > ?1 THEN expires_at END), 0) AS ends FROM files AS f
	WHERE account_id = ?0 AND call_id IS NULL
	AND (deleted_at IS NULL AND expires_at > ?1 OR EXISTS (SELECT 1 FROM pins WHERE pins.file_id = f.id))`

// AddUpload stores a file that an account sent, whose blob is written already. It is private to the account. It
// returns a *QuotaError if the account's quota is exceeded, ErrSuspended if the account may not send any and
// ErrNotFound for an unknown account; the file was not stored then.
func (s *Store) AddUpload(ctx context.Context, f File) error {
	now := s.now()
	if f.ID == "" || !blob.ValidKey(f.BlobKey) || f.Size <= 0 || !f.ExpiresAt.After(now) {
		return errors.New("add upload: an upload needs an id, a blob key, a size and a time of expiry in the future")
	}
	err := s.inTx(ctx, func(ctx context.Context, tx txn) error {
		locked, err := changed(tx.NewRaw(uploadLock, f.AccountID).Exec(ctx))
		if err != nil {
			return err
		}
		if !locked {
			return uploadRefusal(ctx, tx, f.AccountID)
		}
		used := QuotaError{Size: f.Size}
		var ends int64
		if err := tx.NewRaw(uploadsUsed, f.AccountID, toMicros(now)).Scan(ctx, &used.Files, &used.Bytes, &ends); err != nil {
			return err
		}
		if used.Files >= MaxUploads || used.Bytes+f.Size > MaxUploadBytes {
			if ends != 0 {
				used.Ends = fromMicros(ends)
			}
			return &used
		}
		added, err := changed(s.exec(ctx, tx, fileInsert, filesTable.values(newFileRow(f, f.AccountID, nil, now))...))
		if err == nil && !added {
			err = ErrExists
		}
		return err
	})
	return wrapped("add upload", err)
}

// uploadRefusal returns the reason why an account cannot upload.
func uploadRefusal(ctx context.Context, tx txn, accountID string) error {
	known, err := tx.NewSelect().Model((*accountRow)(nil)).Where("id = ?", accountID).Exists(ctx)
	if err == nil && known {
		return ErrSuspended
	}
	if err == nil {
		err = ErrNotFound
	}
	return err
}
