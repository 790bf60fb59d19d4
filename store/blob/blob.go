// Package blob keeps bytes by key: on this machine's disk, in a slow place with a
// cache on disk before it, or in two places while one is moved to the other.
// Package s3 below it keeps them in a bucket.
package blob

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"
)

// ErrMissing means that no blob has the key.
var ErrMissing = errors.New("no such blob")

// Store stores bytes by key. A key is 1 to 200 of [A-Za-z0-9._-] and starts with a letter or digit. A key has one
// content: every Put of a key puts the same bytes, because readers may still see the old ones.
type Store interface {
	// Put stores the bytes of r under the key, replacing an existing blob, and returns its size in bytes. The blob
	// is complete and durable when Put returns, and absent or unchanged when it fails.
	Put(ctx context.Context, key string, r io.Reader) (int64, error)
	// Open returns the blob's bytes and its size, or ErrMissing. The caller
	// closes it.
	Open(ctx context.Context, key string) (Content, int64, error)
	// Delete removes the blob, if there is one.
	Delete(ctx context.Context, key string) error
	// List calls yield for every blob after a place that an earlier List returned, in its own stable order, until
	// yield returns an error; "" is the start. Blobs put or deleted meanwhile may be missed.
	List(ctx context.Context, after string, yield func(Entry) error) error
	// Sweep removes the remains of Puts that did not end.
	Sweep(ctx context.Context) error
}

// Content is the bytes of a blob. ReadAt does not move the position of Read.
type Content interface {
	io.ReadSeekCloser
	io.ReaderAt
}

// Entry is a blob as List reports it.
type Entry struct {
	Key     string
	Size    int64 // bytes
	ModTime time.Time
	// Cursor is the position at which the next List continues.
	Cursor string
}

const maxKey = 200

// ValidKey reports whether the key is one, and so a plain file name.
func ValidKey(key string) bool {
	if key == "" || len(key) > maxKey || strings.IndexByte("._-", key[0]) >= 0 {
		return false
	}

	for _, c := range key {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("._-", c) {
			return false
		}
	}

	return true
}
