package blob

import (
	"context"
	"time"
)

const (
	// deleteTimeout bounds the deletion of one blob, and batchTimeout one request
	// for many, so that a place that hangs does not take the time of all others.
	deleteTimeout = 10 * time.Second
	batchTimeout  = 30 * time.Second
)

// batchDeleter is a place that deletes many blobs at once. It returns the errors of
// those that it could not delete.
type batchDeleter interface {
	DeleteBatch(ctx context.Context, keys []string) map[string]error
}

// DeleteAll deletes blobs, at once if the storage supports it. It returns the number of keys that it tried, in
// order, before ctx ended, and the errors of those that failed. A failed or slow deletion does not prevent the
// others.
func DeleteAll(ctx context.Context, s Store, keys []string) (tried int, failed map[string]error) {
	if len(keys) == 0 || ctx.Err() != nil {
		return 0, nil
	}

	if many, ok := s.(batchDeleter); ok {
		ctx, cancel := context.WithTimeout(ctx, batchTimeout)
		defer cancel()
		return len(keys), many.DeleteBatch(ctx, keys)
	}

	failed = map[string]error{}
	for _, key := range keys {
		if ctx.Err() != nil {
			break
		}
		tried++
		if err := deleteOne(ctx, s, key); err != nil {
			failed[key] = err
		}
	}

	return tried, failed
}

func deleteOne(ctx context.Context, s Store, key string) error {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	return s.Delete(ctx, key)
}
