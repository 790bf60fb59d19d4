package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// Moved is the result of a move.
type Moved struct {
	Blobs int64 // moved
	Bytes int64 // of them
	There int64 // were in the other place already, and are there only now
	Gone  int64 // deleted by others meanwhile
}

// maxFailures is the number of failed moves after which the others are left alone, because the cause is then not a
// single blob.
const maxFailures = 10

// Move moves every blob from one store to another. A blob is deleted from the source after its copy was read back,
// byte for byte. Move can be interrupted and repeated, also by several processes at once, while both stores are in
// use. Blobs that fail stay in the source.
func Move(ctx context.Context, from, to Store) (Moved, error) {
	var done Moved
	var failed []error

	err := from.List(ctx, "", func(e Entry) error {
		if err := moveOne(ctx, from, to, e.Key, &done); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", e.Key, err))
			if ctx.Err() != nil || len(failed) >= maxFailures {
				return errors.Join(failed...)
			}
		}
		return nil
	})
	if err == nil {
		err = errors.Join(failed...)
	}
	if err != nil {
		err = fmt.Errorf("move blobs: %w", err)
	}
	return done, err
}

func moveOne(ctx context.Context, from, to Store, key string, done *Moved) (err error) {
	source, size, err := from.Open(ctx, key)
	if errors.Is(err, ErrMissing) {
		done.Gone++
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()

	count := func() { done.There++ }
	// A copy that differs was put there later.
	if err := same(ctx, source, size, to, key); err != nil && !errors.Is(err, errOther) {
		count = func() {
			done.Blobs++
			done.Bytes += size
		}
		if _, err := to.Put(ctx, key, io.NewSectionReader(source, 0, size)); err != nil {
			return err
		}
		if err := same(ctx, source, size, to, key); err != nil {
			return err
		}
	}

	if err := from.Delete(ctx, key); err != nil {
		return err
	}
	count()
	return nil
}

// errOther means that the target has another blob under the key.
var errOther = errors.New("the copy differs")

// same compares a blob with the one in another place.
func same(ctx context.Context, want io.ReaderAt, size int64, there Store, key string) (err error) {
	got, has, err := there.Open(ctx, key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, got.Close()) }()

	if has != size {
		return errOther
	}

	left := make([]byte, sumChunk)
	right := make([]byte, sumChunk)
	for at := int64(0); at < size; at += sumChunk {
		length := min(sumChunk, size-at)
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := want.ReadAt(left[:length], at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if _, err := io.ReadFull(got, right[:length]); err != nil {
			return err
		}
		if !bytes.Equal(left[:length], right[:length]) {
			return errOther
		}
	}

	return nil
}
