package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Blobs keeps bytes by key. A key is 1 to 200 of [A-Za-z0-9._-] and starts with
// a letter or digit.
type Blobs interface {
	// Put stores what r yields under the key, replacing what was there, and
	// returns its size in bytes. The blob is whole and durable when Put
	// returns, and absent or unchanged when it fails.
	Put(ctx context.Context, key string, r io.Reader) (int64, error)
	// Open returns the blob's bytes and its size, or ErrNoBlob. The caller
	// closes it.
	Open(ctx context.Context, key string) (BlobContent, int64, error)
	// Delete removes the blob, or returns ErrNoBlob.
	Delete(ctx context.Context, key string) error
	// List calls yield for every blob, in no particular order, until it
	// returns an error. Blobs put or deleted meanwhile may be missed.
	List(ctx context.Context, yield func(Blob) error) error
}

// BlobContent is the bytes of a blob. ReadAt does not move what Read reads.
type BlobContent interface {
	io.ReadSeekCloser
	io.ReaderAt
}

// Blob is what List tells of a blob.
type Blob struct {
	Key     string
	Size    int64 // bytes
	ModTime time.Time
}

// diskBlobs keeps each blob in a file of its own, dir/xx/key, where xx are two
// hexadecimal digits of the key's hash that spread the files over 256 folders.
type diskBlobs struct {
	dir string
}

const (
	maxBlobKey = 200
	// partPrefix marks files that are being written; no key starts with a dot.
	partPrefix = ".part-"
	// partAge is how old such a file must be before its lock is looked at: its
	// writer takes it just after the file is there.
	partAge = 2 * time.Second
)

// NewDiskBlobs returns blobs in files below dir, which is created with mode
// 0700. Any number of processes may share it.
func NewDiskBlobs(dir string) (Blobs, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the blobs folder: %w; choose a folder that this user may write to", err)
	}
	b := &diskBlobs{dir: dir}
	if err := b.removeOldParts(); err != nil {
		return nil, fmt.Errorf("clean the blobs folder: %w", err)
	}
	return b, nil
}

func (b *diskBlobs) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
	path, err := b.path(key)
	if err != nil {
		return 0, err
	}
	folder := filepath.Dir(path)
	if err := b.makeFolder(folder); err != nil {
		return 0, fmt.Errorf("put blob: %w", err)
	}
	size, err := putPart(ctx, folder, path, r)
	if err == nil {
		err = syncFolder(folder)
	}
	if err != nil {
		return 0, fmt.Errorf("put blob: %w", err)
	}
	return size, nil
}

// putPart writes a file beside its final place and moves it there. While it is
// open it is locked, which tells others that its writer lives.
func putPart(ctx context.Context, folder, path string, r io.Reader) (size int64, err error) {
	part, err := os.CreateTemp(folder, partPrefix) // mode 0600
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, part.Close()) }()
	err = syscall.Flock(int(part.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		size, err = copyDurably(ctx, part, r)
	}
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(part.Name()))
	}
	return size, nil
}

func (b *diskBlobs) Open(_ context.Context, key string) (BlobContent, int64, error) {
	path, err := b.path(key)
	if err != nil {
		return nil, 0, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, ErrNoBlob
	}
	if err != nil {
		return nil, 0, fmt.Errorf("open blob: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, fmt.Errorf("open blob: %w", errors.Join(err, f.Close()))
	}
	return f, info.Size(), nil
}

func (b *diskBlobs) Delete(_ context.Context, key string) error {
	path, err := b.path(key)
	if err != nil {
		return err
	}
	err = os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoBlob
	}
	if err != nil {
		return fmt.Errorf("delete blob: %w", err)
	}
	return nil
}

func (b *diskBlobs) List(ctx context.Context, yield func(Blob) error) error {
	return b.walk(func(path string, info fs.FileInfo) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !validBlobKey(info.Name()) {
			return nil
		}
		return yield(Blob{Key: info.Name(), Size: info.Size(), ModTime: info.ModTime()})
	})
}

// removeOldParts removes what Puts that died in between have left.
func (b *diskBlobs) removeOldParts() error {
	return b.walk(func(path string, info fs.FileInfo) error {
		if !strings.HasPrefix(info.Name(), partPrefix) || time.Since(info.ModTime()) < partAge {
			return nil
		}
		return removeUnlocked(path)
	})
}

// removeUnlocked removes a file that no process has locked.
func removeUnlocked(path string) (err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil
	} else if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// walk calls do for every regular file; one that vanishes meanwhile is skipped.
func (b *diskBlobs) walk(do func(path string, info fs.FileInfo) error) error {
	return filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return do(path, info)
	})
}

// path returns the file of the blob, or ErrNoBlob for a key that cannot be one.
func (b *diskBlobs) path(key string) (string, error) {
	if !validBlobKey(key) {
		return "", fmt.Errorf("%w: %q is not a valid key", ErrNoBlob, key)
	}
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(b.dir, hex.EncodeToString(sum[:1]), key), nil
}

// validBlobKey reports whether the key is one, and so a plain file name.
func validBlobKey(key string) bool {
	if key == "" || len(key) > maxBlobKey || strings.IndexByte("._-", key[0]) >= 0 {
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

// makeFolder creates one of the 256 folders, durably.
func (b *diskBlobs) makeFolder(folder string) error {
	err := os.Mkdir(folder, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncFolder(b.dir)
}

// copyDurably copies r into f, syncs it and returns the size.
func copyDurably(ctx context.Context, f *os.File, r io.Reader) (int64, error) {
	size, err := io.Copy(f, &contextReader{ctx: ctx, r: r})
	if err == nil {
		err = f.Sync()
	}
	return size, err
}

// writeDurably is copyDurably, and closes f.
func writeDurably(ctx context.Context, f *os.File, r io.Reader) (int64, error) {
	size, err := copyDurably(ctx, f, r)
	return size, errors.Join(err, f.Close())
}

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// contextReader is a reader that stops when its context ends.
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
