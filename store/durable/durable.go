// Package durable writes files that are still there after a power cut.
package durable

import (
	"context"
	"errors"
	"io"
	"os"
)

// Copy copies r into f, syncs it and returns the size. It stops when ctx ends.
func Copy(ctx context.Context, f *os.File, r io.Reader) (int64, error) {
	size, err := io.Copy(f, Reader(ctx, r))
	if err == nil {
		err = f.Sync()
	}
	return size, err
}

// Write is Copy, and closes f.
func Write(ctx context.Context, f *os.File, r io.Reader) (int64, error) {
	size, err := Copy(ctx, f, r)
	return size, errors.Join(err, f.Close())
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Reader returns a reader of r that stops when ctx ends.
func Reader(ctx context.Context, r io.Reader) io.Reader { return &contextReader{ctx, r} }

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
