// Package spool stores one result while it is made and sent: small ones in memory, large ones in a temporary file,
// so that a hundred large documents in progress do not fill the server's heap. It also makes the temporary folders of
// long-lived parts of the program, and removes those that a killed program has left behind.
package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// MemoryLimit is the size in bytes above which a File moves to disk.
const MemoryLimit = 2 << 20

// ErrTooLarge means that more was written than the File's limit.
var ErrTooLarge = errors.New("output is over its size limit")

// File is a result of unknown size: written once from start to end, then read
// any number of times through Open. It is not safe for concurrent writes.
type File struct {
	dir   string
	limit int64
	size  int64
	mem   bytes.Buffer
	disk  *os.File
}

// New returns an empty File that spills into dir (empty means the system's
// temporary folder) and refuses more than limit bytes (0 means no limit).
func New(dir string, limit int64) *File { return &File{dir: dir, limit: limit} }

// FromBytes returns a File that holds b, which it keeps.
func FromBytes(b []byte) *File { return &File{mem: *bytes.NewBuffer(b), size: int64(len(b))} }

// Write appends p. It returns ErrTooLarge past the limit, or the disk's error.
func (f *File) Write(p []byte) (int, error) {
	if f.limit > 0 && f.size+int64(len(p)) > f.limit {
		return 0, ErrTooLarge
	}
	if f.disk == nil && f.size+int64(len(p)) > MemoryLimit {
		if err := f.spill(); err != nil {
			return 0, err
		}
	}

	var n int
	var err error
	if f.disk != nil {
		n, err = f.disk.Write(p)
	} else {
		n, err = f.mem.Write(p)
	}

	f.size += int64(n)
	return n, err
}

// spill moves the bytes written so far to a temporary file. The file is unlinked at once: it is reached through its
// descriptor only and leaves nothing behind when the process dies.
func (f *File) spill() error {
	tmp, err := os.CreateTemp(f.dir, "spool-")
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	if err := errors.Join(os.Remove(tmp.Name()), writeAll(tmp, f.mem.Bytes())); err != nil {
		return errors.Join(err, tmp.Close())
	}
	f.disk = tmp
	f.mem = bytes.Buffer{}
	return nil
}

func writeAll(w io.Writer, b []byte) error {
	_, err := w.Write(b)
	return err
}

// Size returns the number of bytes written.
func (f *File) Size() int64 { return f.size }

// Open returns a reader over the whole content. Readers are independent of
// each other and must not outlive Close.
func (f *File) Open() io.ReadSeeker {
	if f.disk != nil {
		return io.NewSectionReader(f.disk, 0, f.size)
	}
	return bytes.NewReader(f.mem.Bytes())
}

// ReadAt reads a part of the content, as io.ReaderAt describes it.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if f.disk != nil {
		return f.disk.ReadAt(p, off)
	}
	return bytes.NewReader(f.mem.Bytes()).ReadAt(p, off)
}

// Close frees the memory or the disk space. It may be called more than once.
func (f *File) Close() error {
	f.mem = bytes.Buffer{}
	if f.disk == nil {
		return nil
	}
	err := f.disk.Close()
	f.disk = nil
	return err
}
