package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/store/blob"
)

// A blob that cannot be deleted, as under a legal hold, is tried again after retryPause
// for each time that it failed, retryPauses of them at most. Meanwhile it keeps no other
// from being deleted.
const (
	retryPause  = time.Minute
	retryPauses = 60
)

// deleteRecordTimeout limits the write of a batch's result.
const deleteRecordTimeout = writeTimeout

// notPostponed is the condition of blobs, by a column with their keys, whose deletion is
// not postponed; ?0 is now.
func notPostponed(column string) string {
	return "NOT EXISTS (SELECT 1 FROM undeleted_blobs AS u WHERE u.blob_key = " + column + " AND u.retry_at > ?0)"
}

// deleteBlobs deletes blobs. forget removes the rows of the deleted blobs, in one transaction with the notes about them;
// failures are postponed and logged. The error means that the database failed, that ctx ended, or that none of the
// blobs could be deleted.
func (s *Store) deleteBlobs(
	ctx context.Context, keys []string, record func(ctx context.Context, tx txn, deleted []string) error,
) (deleted []string, err error) {
	if len(keys) == 0 {
		return nil, nil
	}

	tried, failed := blob.DeleteAll(ctx, s.blobs, keys)
	for _, key := range keys[:tried] {
		if failed[key] == nil {
			deleted = append(deleted, key)
		}
	}

	ctxErr := ctx.Err()
	// Deletions are recorded even if ctx ends.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteRecordTimeout)
	defer cancel()

	err = s.inTx(ctx, func(ctx context.Context, tx txn) error {
		if len(deleted) > 0 {
			if err := record(ctx, tx, deleted); err != nil {
				return err
			}
			_, err := tx.NewRaw("DELETE FROM undeleted_blobs WHERE blob_key IN (?)", bun.List(deleted)).Exec(ctx)
			if err != nil {
				return err
			}
		}
		return s.postpone(ctx, tx, failed)
	})

	s.failedDeletions.Add(int64(len(failed)))
	var example string
	var cause error
	for example, cause = range failed {
		break
	}
	if cause != nil {
		s.log.LogAttrs(ctx, slog.LevelError, "delete blobs failed; they are tried again later",
			slog.Int("blobs", len(failed)), slog.Int("deleted", len(deleted)),
			slog.String("example", example), slog.Any("error", cause))
	}

	if len(deleted) > 0 {
		cause = nil // It is those blobs, and not their place.
	}
	return deleted, errors.Join(err, cause, ctxErr)
}

// postpone notes blobs that could not be deleted.
func (s *Store) postpone(ctx context.Context, tx txn, failed map[string]error) error {
	now := s.now()
	for key, err := range failed {
		_, err = tx.NewRaw(`INSERT INTO undeleted_blobs AS u (blob_key, failures, retry_at, error)
			VALUES (?0, 1, ?1 + ?2, ?4)
			ON CONFLICT (blob_key) DO UPDATE SET failures = u.failures + 1, error = EXCLUDED.error,
			retry_at = ?1 + ?2 * CASE WHEN u.failures < ?3 THEN u.failures + 1 ELSE ?3 END`,
			key, toMicros(now), retryPause.Microseconds(), retryPauses, clean(err.Error(), 500)).Exec(ctx)
		if err != nil {
			return err
		}
	}

	return nil
}

// FailedDeletions returns the number of failed deletions of blobs in this process.
func (s *Store) FailedDeletions() int64 { return s.failedDeletions.Load() }

// dropPause is the time for which results of dead processes are left to DeleteOrphanBlobs after a failed deletion,
// so that slow storage does not delay the reaper.
const dropPause = time.Minute

// dropResult deletes the result that a dead process had written for a call. DeleteOrphanBlobs handles any failure.
func (s *Store) dropResult(ctx context.Context, callID string, try int) {
	if last := s.dropFailed.Load(); last != 0 && time.Since(fromMicros(last)) < dropPause {
		return
	}
	if _, failed := blob.DeleteAll(ctx, s.blobs, []string{ResultKey(callID, try)}); len(failed) > 0 {
		s.dropFailed.Store(toMicros(time.Now()))
		s.log.Warn("delete result of dead process failed", "call", callID, "error", fmt.Sprint(failed))
	}
}
