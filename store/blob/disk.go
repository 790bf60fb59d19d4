package blob

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

	"github.com/relaypdf/relaypdf/store/durable"
)

// disk stores each blob in its own file, dir/xx/key, where xx are two hexadecimal digits of the key's hash that
// spread the files over 256 folders.
type disk struct {
	dir string
}

const (
	// partPrefix marks files that are being written; no key starts with a dot.
	partPrefix = ".part-"
	// partAge is the minimum age of such a file before its lock is checked: its writer locks it shortly after
	// creating it.
	partAge = 2 * time.Second
)

// NewDisk returns blobs in files below dir, which is created with mode
// 0700. Any number of processes may share it.
func NewDisk(dir string) (Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the blobs folder: %w; choose a folder that this user may write to", err)
	}
	return &disk{dir: dir}, nil
}

func (b *disk) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
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
		err = durable.SyncFolder(folder)
	}
	if err != nil {
		return 0, fmt.Errorf("put blob: %w", err)
	}
	return size, nil
}

// putPart writes a file next to its final place and moves it there. An open file is locked, which shows other
// processes that its writer is alive.
func putPart(ctx context.Context, folder, path string, r io.Reader) (size int64, err error) {
	part, err := os.CreateTemp(folder, partPrefix) // mode 0600
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, part.Close()) }()

	err = syscall.Flock(int(part.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		size, err = durable.Copy(ctx, part, r)
	}
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(part.Name()))
	}
	return size, nil
}

func (b *disk) Open(_ context.Context, key string) (Content, int64, error) {
	path, err := b.path(key)
	if err != nil {
		return nil, 0, err
	}

	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, ErrMissing
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

func (b *disk) Delete(_ context.Context, key string) error {
	path, err := b.path(key)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete blob: %w", err)
	}
	return nil
}

// List goes through the folders by name, and through the files of each by name. An unknown place comes from blobs
// that have been moved since, or from a pair: List starts again then.
func (b *disk) List(ctx context.Context, after string, yield func(Entry) error) error {
	folder := "" // of the last one
	if last, err := b.path(after); err == nil {
		folder = filepath.Dir(last)
	}

	return b.walk(folder, func(path string, d fs.DirEntry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !ValidKey(d.Name()) || filepath.Dir(path) == folder && d.Name() <= after {
			return nil
		}

		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}

		return yield(Entry{Key: d.Name(), Size: info.Size(), ModTime: info.ModTime(), Cursor: d.Name()})
	})
}

// Check returns an error if the disk is full or gone.
func (b *disk) Check(context.Context) error {
	return durable.CheckFreeSpace(b.dir)
}

// Sweep removes the remains of interrupted Puts.
func (b *disk) Sweep(ctx context.Context) error {
	return b.walk("", func(path string, d fs.DirEntry) error {
		if err := ctx.Err(); err != nil || !strings.HasPrefix(d.Name(), partPrefix) {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && time.Since(info.ModTime()) < partAge {
			return nil
		}
		if err != nil {
			return err
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

// walk calls do for every regular file, folder by folder from one on; "" is before
// all of them.
func (b *disk) walk(from string, do func(path string, d fs.DirEntry) error) error {
	return filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir() && path != b.dir && path < from:
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		return do(path, d)
	})
}

// path returns the file of the blob, or ErrMissing for a key that cannot be one.
func (b *disk) path(key string) (string, error) {
	if !ValidKey(key) {
		return "", fmt.Errorf("%w: %q is not a valid key", ErrMissing, key)
	}
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(b.dir, hex.EncodeToString(sum[:1]), key), nil
}

// makeFolder creates one of the 256 folders, durably.
func (b *disk) makeFolder(folder string) error {
	err := os.Mkdir(folder, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return durable.SyncFolder(b.dir)
}

// Folder is a Store in a folder of this machine, which may be another one than that of the next machine. Its mark tells
// them apart.
type Folder interface {
	Store
	// Mark returns the mark; empty means none.
	Mark() (string, error)
	// SetMark marks the folder.
	SetMark(mark string) error
	// MarkPath is the file that holds the mark.
	MarkPath() string
}

// markName is the file of a folder's mark; no key starts with a dot.
const markName = ".relaypdf-files"

func (b *disk) MarkPath() string { return filepath.Join(b.dir, markName) }

func (b *disk) Mark() (string, error) {
	text, err := os.ReadFile(b.MarkPath())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the mark of the files: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

func (b *disk) SetMark(mark string) error {
	current, err := b.Mark()
	if err != nil || current == mark {
		return err
	}
	if err := os.WriteFile(b.MarkPath(), []byte(mark+"\n"), 0o600); err != nil {
		return fmt.Errorf("mark the folder of the files: %w", err)
	}
	return durable.SyncFolder(b.dir)
}
