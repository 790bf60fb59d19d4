package s3

import (
	"context"
	"fmt"
	"strings"

	"github.com/minio/minio-go/v7"
)

// DeleteBatch removes blobs, up to 1,000 by each request, and returns the errors of
// those that it could not remove.
func (s *Store) DeleteBatch(ctx context.Context, keys []string) map[string]error {
	failed := map[string]error{}
	objects := make(chan minio.ObjectInfo, len(keys))
	for _, key := range keys {
		object, err := s.object(key)
		if err != nil {
			failed[key] = err
			continue
		}
		objects <- minio.ObjectInfo{Key: object}
	}
	close(objects)

	var whole error // of an answer that names no object
	for refused := range s.core.RemoveObjects(ctx, s.bucket, objects, minio.RemoveObjectsOptions{}) {
		switch key := strings.TrimPrefix(refused.ObjectName, s.prefix); {
		case refused.ObjectName == "":
			whole = refused.Err
		case code(refused.Err) != minio.NoSuchKey:
			failed[key] = fmt.Errorf("delete blob: %w", refused.Err)
		}
	}

	if whole == nil {
		whole = ctx.Err()
	}

	for _, key := range keys {
		if err := failed[key]; err == nil && whole != nil {
			failed[key] = fmt.Errorf("delete blob: %w", whole)
		} else if isUnknown(err) { // Some servers delete one by one only.
			if err = s.Delete(ctx, key); err == nil {
				delete(failed, key)
			} else {
				failed[key] = err
			}
		}
	}

	return failed
}

// isUnknown reports whether a server does not know how to delete many objects.
func isUnknown(err error) bool {
	return err != nil && (code(err) == minio.NotImplemented || code(err) == minio.MethodNotAllowed)
}
