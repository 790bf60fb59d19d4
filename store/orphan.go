package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"relaypdf/store/blob"
)

// Blobs are written before the rows that refer to them, so a process that dies
// in between leaves one that nobody knows of. Their keys tell whose they are.
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

// orphanAge is how old a blob with a key of another form must be.
const orphanAge = 24 * time.Hour

// blobBatch is how many blobs one statement looks for.
const blobBatch = 500

// DeleteOrphanBlobs removes blobs that no row refers to and that no living
// process is about to refer to, and returns how many it removed, at most limit.
// What has been written in part goes too, when its writer has gone. All blobs that
// there are are listed for it, and those that rows refer to cost a statement for each
// batch: it is a task, which one process does for all (Upkeep).
func (s UpkeepStore) DeleteOrphanBlobs(ctx context.Context, limit int) (int, error) {
	removed := 0
	var batch []blob.Entry
	look := func() error {
		n, err := s.deleteOrphans(ctx, batch, limit-removed)
		removed, batch = removed+n, batch[:0]
		return err
	}
	err := s.blobs.Sweep(ctx)
	listed := s.blobs.List(ctx, func(b blob.Entry) error {
		if removed >= limit {
			return nil
		}
		if batch = append(batch, b); len(batch) < blobBatch {
			return nil
		}
		return look()
	})
	if listed == nil {
		listed = look()
	}
	if err := errors.Join(err, listed); err != nil {
		return removed, fmt.Errorf("delete orphan blobs: %w", err)
	}
	return removed, nil
}

// deleteOrphans removes at most limit of a batch, and returns how many.
func (s UpkeepStore) deleteOrphans(ctx context.Context, batch []blob.Entry, limit int) (removed int, err error) {
	if len(batch) == 0 {
		return 0, nil
	}
	known, err := s.knownBlobs(ctx, batch)
	if err != nil {
		return 0, err
	}
	for _, b := range batch {
		if known[b.Key] || removed == limit {
			continue
		}
		orphan, err := s.isOrphan(ctx, b)
		if err == nil && orphan {
			err = s.blobs.Delete(ctx, b.Key)
		}
		if err != nil {
			return removed, err
		}
		if orphan {
			removed++
		}
	}
	return removed, nil
}

// isOrphan looks at the writer before it looks at the rows: a writer that has
// gone writes no row any more.
func (s UpkeepStore) isOrphan(ctx context.Context, b blob.Entry) (bool, error) {
	gone, err := s.writerGone(ctx, b)
	if err != nil || !gone {
		return false, err
	}
	known, err := s.knownBlobs(ctx, []blob.Entry{b})
	return err == nil && !known[b.Key], err
}

// writerGone reports whether whoever wrote a blob cannot refer to it any more.
func (s UpkeepStore) writerGone(ctx context.Context, b blob.Entry) (bool, error) {
	if strings.HasPrefix(b.Key, archivePrefix) {
		return false, nil // What was archived stays for as long as its owner wants.
	}
	if rest, ok := strings.CutPrefix(b.Key, leasedPrefix); ok {
		lease, _, _ := strings.Cut(rest, "-")
		return s.leaseGone(ctx, lease)
	}
	rest, ok := strings.CutPrefix(b.Key, resultPrefix)
	if !ok {
		return time.Since(b.ModTime) >= orphanAge, nil
	}
	id, _, _ := strings.Cut(rest, "-")
	call, err := s.calls.Call(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return true, nil
	case err != nil || call.Status == CallRunning:
		return false, err
	case call.Mode == Async:
		// The result of a job that has ended has its row, or was another try's.
		return true, nil
	}
	// One that did not reach its caller is kept by the same process.
	return s.leaseGone(ctx, call.Lease)
}

func (s UpkeepStore) leaseGone(ctx context.Context, id string) (bool, error) {
	alive, err := s.write.NewSelect().Model((*leaseRow)(nil)).Where("id = ? AND expires_at > ?", id, toMicros(s.now())).Exists(ctx)
	return err == nil && !alive, err
}

// InUse reports whether a file that has neither expired nor been deleted has
// its bytes in the blob.
func (s UpkeepStore) InUse(ctx context.Context, key string) (bool, error) {
	return s.read.NewSelect().Model((*fileRow)(nil)).Where("blob_key = ? AND deleted_at IS NULL", key).
		Where("expires_at > ?", toMicros(s.now())).Exists(ctx)
}

// knownBlobs returns the keys of those blobs that a file or a job refers to.
func (s UpkeepStore) knownBlobs(ctx context.Context, blobs []blob.Entry) (map[string]bool, error) {
	keys := make([]string, len(blobs))
	for i, b := range blobs {
		keys[i] = b.Key
	}
	var found []string
	err := s.read.NewRaw(`SELECT blob_key FROM files WHERE blob_key IN (?0)
		UNION ALL SELECT input_key FROM jobs WHERE input_key IN (?0) AND input_key <> ''`, bun.List(keys)).Scan(ctx, &found)
	known := make(map[string]bool, len(found))
	for _, key := range found {
		known[key] = true
	}
	return known, err
}
