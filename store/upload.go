package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/store/blob"
)

// Limits of the live uploads of one account, and of its results that are stored longer than ResultLife. Other results
// do not count: they were paid for.
const (
	MaxUploads     = 1000
	MaxUploadBytes = 5 << 30
)

// QuotaError means that an account has reached its limit of stored files.
type QuotaError struct {
	Files int64 // that are there
	Bytes int64 // of them
	Size  int64 // of the file that was refused
	// Ends is the time at which the first upload expires; zero if only jobs retain them.
	Ends time.Time
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("%d files of %d bytes leave no room for one of %d bytes", e.Files, e.Bytes, e.Size)
}

// uploadLock keeps other uploads of the account waiting until the transaction
// ends, so that each counts those before it. Suspended accounts have no row.
const uploadLock = "UPDATE accounts SET suspended = suspended WHERE id = ? AND NOT suspended"

// quotaUsed counts the used quota: live uploads, those that are retained only because a job needs them, and results
// that are stored longer than ?2, in microseconds. ?0 is the account, ?1 now.
const quotaUsed = `SELECT COUNT(*) AS files, CAST(COALESCE(SUM(size), 0) AS BIGINT) AS bytes,
	COALESCE(MIN(CASE WHEN deleted_at IS NULL AND expires_at > ?1 THEN expires_at END), 0) AS ends FROM (
		SELECT f.size, f.deleted_at, f.expires_at FROM files AS f WHERE f.account_id = ?0 AND f.call_id IS NULL
			AND (f.deleted_at IS NULL AND f.expires_at > ?1 OR EXISTS (SELECT 1 FROM pins WHERE pins.file_id = f.id))
		UNION ALL SELECT f.size, f.deleted_at, f.expires_at FROM links AS l JOIN files AS f ON f.id = l.file_id
			WHERE l.account_id = ?0 AND l.expires_at > ?1 AND l.expires_at - l.created_at > ?2
			AND f.deleted_at IS NULL AND f.expires_at > ?1
	) AS stored`

// CheckQuota returns a *QuotaError if the account has no quota left for a result that is stored longer than ResultLife.
func (s *Store) CheckQuota(ctx context.Context, accountID string) error {
	used, err := quotaOf(ctx, s.read, accountID, 1, s.now())
	if err == nil {
		err = used.exceeded()
	}
	return wrapped("check quota", err)
}

// quotaOf returns the used quota, as the error that a file of a size would get.
func quotaOf(ctx context.Context, db bun.IDB, accountID string, size int64, now time.Time) (*QuotaError, error) {
	used := QuotaError{Size: size}
	ends := int64(0)
	err := db.NewRaw(quotaUsed, accountID, toMicros(now), ResultLife.Microseconds()).
		Scan(ctx, &used.Files, &used.Bytes, &ends)
	if ends != 0 {
		used.Ends = fromMicros(ends)
	}
	return &used, err
}

// exceeded returns the error if the file is too much.
func (e *QuotaError) exceeded() error {
	if e.Files >= MaxUploads || e.Bytes+e.Size > MaxUploadBytes {
		return e
	}
	return nil
}

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

		used, err := quotaOf(ctx, tx, f.AccountID, f.Size, now)
		if err == nil {
			err = used.exceeded()
		}
		if err != nil {
			return err
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
