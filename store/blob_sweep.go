package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/relaypdf/relaypdf/store/blob"
)

// Blobs are written before the rows that refer to them, so a process that dies in between leaves an unreferenced
// blob. The key of a blob names its owner.
const (
	resultPrefix = "result-"
	leasedPrefix = "of-"
)

// ResultKey is the key of the blob that holds a call's result. Each try of a
// job has its own.
func ResultKey(callID string, try int) string {
	return fmt.Sprintf("%s%s-%d", resultPrefix, callID, try)
}

// LeasedKey returns a new key for a blob that this process, which holds the
// lease, will refer to in a moment.
func LeasedKey(lease string) string {
	return leasedPrefix + lease + "-" + NewID("blob")
}

// orphanAge is the minimum age of an orphan blob whose key has another form.
const orphanAge = 24 * time.Hour

// blobBatch is the number of blobs per statement.
const blobBatch = 500

const (
	// maxSwept is the maximum number of blobs per run, which takes 500 requests to a bucket and 1,000 statements.
	// With more blobs, a sweep takes several runs, and an orphan may stay for as many hours longer.
	maxSwept = 500_000
	// sweepNote is after how many batches it is noted how far that is: as much is done
	// again when the process dies.
	sweepNote = 20
)

// errEnough ends a listing.
var errEnough = errors.New("enough was looked at")

// DeleteOrphanBlobs removes blobs that no row refers to and that no living process is about to refer to, and returns
// how many it removed, at most limit. Partly written blobs of dead writers are removed too. It reads at most
// maxSwept blobs, and continues from there the next time, in any process; referenced blobs cost one statement for
// each batch. It is a task, which one process runs for all (Upkeep).
func (s *Store) DeleteOrphanBlobs(ctx context.Context, limit int) (int, error) {
	return s.sweepBlobs(ctx, maxSwept, limit)
}

// sweepBlobs reads that many blobs. At the end it starts again from the beginning, unless it began there.
func (s *Store) sweepBlobs(ctx context.Context, maxListed, limit int) (int, error) {
	sweepErr := s.blobs.Sweep(ctx)
	w := &sweep{Store: s, left: maxListed, limit: limit}

	start, err := w.sweptTo(ctx)
	if err != nil {
		return 0, fmt.Errorf("delete orphan blobs: %w", errors.Join(sweepErr, err))
	}

	w.cursor = start
	listErr := w.continueSweep(ctx)
	if listErr == nil && start != "" && w.cursor == "" {
		listErr = w.continueSweep(ctx)
	}

	noteErr := w.noteSwept(context.WithoutCancel(ctx), w.cursor)
	if err := errors.Join(sweepErr, listErr, noteErr); err != nil {
		return w.removed, fmt.Errorf("delete orphan blobs: %w", err)
	}
	return w.removed, nil
}

// sweptTo returns how far the blobs were looked at; "" is their beginning.
func (w *sweep) sweptTo(ctx context.Context) (cursor string, err error) {
	err = w.read.NewRaw("SELECT place FROM sweeps WHERE name = 'blobs'").Scan(ctx, &cursor)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return cursor, err
}

func (w *sweep) noteSwept(ctx context.Context, cursor string) error {
	return w.inTx(ctx, func(ctx context.Context, tx txn) error {
		_, err := tx.NewRaw(`INSERT INTO sweeps (name, place) VALUES ('blobs', ?)
			ON CONFLICT (name) DO UPDATE SET place = EXCLUDED.place`,
			cursor).Exec(ctx)
		return err
	})
}

// sweep is one look at many blobs.
type sweep struct {
	*Store

	left    int // that may be looked at yet
	limit   int // that may be removed
	removed int
	cursor  string // how far it has come; "" at the end
	batch   []blob.Entry
	batches int
}

// continueSweep checks the blobs after the current position, up to the maximum of a run.
func (w *sweep) continueSweep(ctx context.Context) error {
	err := w.blobs.List(ctx, w.cursor, func(b blob.Entry) error {
		w.left--
		w.batch = append(w.batch, b)
		if len(w.batch) < blobBatch && w.left > 0 {
			return nil
		}
		return w.removeOrphans(ctx)
	})
	if err == nil {
		err = w.removeOrphans(ctx)
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	if err != nil {
		return err
	}

	w.cursor = ""
	return nil
}

// removeOrphans removes the orphans of a batch.
func (w *sweep) removeOrphans(ctx context.Context) error {
	if len(w.batch) == 0 {
		return nil
	}

	known, err := w.knownBlobs(ctx, w.batch)
	if err != nil {
		return err
	}

	var orphans []string
	cursor := w.cursor
	limitReached := false
	for _, b := range w.batch {
		limitReached = w.removed+len(orphans) == w.limit
		if limitReached {
			break
		}

		orphan := false
		if !known[b.Key] {
			if orphan, err = w.isOrphan(ctx, b); err != nil {
				return err
			}
		}
		cursor = b.Cursor
		if orphan {
			orphans = append(orphans, b.Key)
		}
	}

	if err := w.remove(ctx, orphans); err != nil {
		return err
	}

	w.cursor = cursor
	w.batch = w.batch[:0]
	w.batches++
	if limitReached || w.left <= 0 {
		return errEnough
	}
	if w.batches%sweepNote == 0 {
		return w.noteSwept(ctx, w.cursor)
	}

	return nil
}

// remove removes orphans. A failed one is skipped until the next sweep.
func (w *sweep) remove(ctx context.Context, orphans []string) error {
	tried, failed := blob.DeleteAll(ctx, w.blobs, orphans)
	w.removed += tried - len(failed)
	w.failedDeletions.Add(int64(len(failed)))

	for key, err := range failed {
		w.log.LogAttrs(ctx, slog.LevelError, "delete orphaned blobs failed; the next sweep tries again",
			slog.Int("blobs", len(failed)), slog.String("example", key), slog.Any("error", err))
		break
	}

	if tried < len(orphans) {
		return ctx.Err()
	}
	return nil
}

// isOrphan looks at the writer before it looks at the rows: a writer that has
// gone writes no row any more.
func (s *Store) isOrphan(ctx context.Context, b blob.Entry) (bool, error) {
	gone, err := s.writerGone(ctx, b)
	if err != nil || !gone {
		return false, err
	}
	known, err := s.knownBlobs(ctx, []blob.Entry{b})
	return err == nil && !known[b.Key], err
}

// writerGone reports whether the writer of a blob cannot refer to it any more.
func (s *Store) writerGone(ctx context.Context, b blob.Entry) (bool, error) {
	if name, ok := strings.CutPrefix(b.Key, leasedPrefix); ok {
		lease, _, _ := strings.Cut(name, "-")
		return s.leaseGone(ctx, lease)
	}

	name, ok := strings.CutPrefix(b.Key, resultPrefix)
	if !ok {
		return time.Since(b.ModTime) >= orphanAge, nil
	}

	id, _, _ := strings.Cut(name, "-")
	call, err := s.Call(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return true, nil
	case err != nil || call.Status == CallRunning:
		return false, err
	case call.Mode == Async:
		// The result of a job that has ended has its row, or was another try's.
		return true, nil
	}

	// A file that did not reach its caller is retained by the same process.
	return s.leaseGone(ctx, call.Lease)
}

func (s *Store) leaseGone(ctx context.Context, id string) (bool, error) {
	alive, err := s.write.NewSelect().Model((*leaseRow)(nil)).Where("id = ? AND expires_at > ?", id, toMicros(s.now())).
		Exists(ctx)
	return err == nil && !alive, err
}

// InUse returns which of the blobs have the bytes of a file that has neither expired
// nor been deleted.
func (s *Store) InUse(ctx context.Context, keys []string) (map[string]bool, error) {
	return keySet(ctx, s.read.NewRaw(`SELECT blob_key FROM files
		WHERE blob_key IN (?) AND deleted_at IS NULL AND expires_at > ?`,
		bun.List(keys), toMicros(s.now())))
}

// keySet returns the keys that a query finds.
func keySet(ctx context.Context, query *bun.RawQuery) (map[string]bool, error) {
	var found []string
	err := query.Scan(ctx, &found)
	known := make(map[string]bool, len(found))
	for _, key := range found {
		known[key] = true
	}
	return known, err
}

// knownBlobs returns the keys of those blobs that a file or a job refers to.
func (s *Store) knownBlobs(ctx context.Context, blobs []blob.Entry) (map[string]bool, error) {
	keys := make([]string, len(blobs))
	for i, b := range blobs {
		keys[i] = b.Key
	}
	return keySet(ctx, s.read.NewRaw(`SELECT blob_key FROM files WHERE blob_key IN (?0)
		UNION ALL SELECT input_key FROM jobs WHERE input_key IN (?0) AND input_key <> ''`, bun.List(keys)))
}
