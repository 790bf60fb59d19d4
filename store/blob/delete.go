package blob

import (
	"context"
	"errors"
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

// DeleteAll deletes blobs, at once where the place can do so. It returns how many of
// the keys it has tried, in their order, before ctx ended, and the errors of those
// that failed. One that fails or hangs keeps no other from being deleted.
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

// deleteBatch is DeleteAll for who tries all.
func deleteBatch(ctx context.Context, s Store, keys []string) map[string]error {
	tried, failed := DeleteAll(ctx, s, keys)
	if failed == nil {
		failed = map[string]error{}
	}
	for _, key := range keys[tried:] {
		failed[key] = ctx.Err()
	}
	return failed
}

// DeleteBatch deletes blobs and their copies here, as Delete does.
func (c *Cache) DeleteBatch(ctx context.Context, keys []string) map[string]error {
	failed := deleteBatch(ctx, c.Store, keys)
	for _, key := range keys {
		if ValidKey(key) {
			c.drop(key)
		}
	}
	return failed
}

// DeleteBatch deletes blobs in both places, the former first, as Delete does.
func (p *pair) DeleteBatch(ctx context.Context, keys []string) map[string]error {
	failed := deleteBatch(ctx, p.former, keys)
	for key, err := range deleteBatch(ctx, p.Store, keys) {
		failed[key] = errors.Join(failed[key], err)
	}
	return failed
}
