package spool

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Folder is a temporary folder. A lock marks it as in use for as long as this process lives, however it ends, so
// that the next process recognises abandoned folders.
type Folder struct {
	// Path is absolute. Others may pass through the folder and see nothing in it.
	Path string
	lock *os.File
}

// OpenFolder removes abandoned folders with this prefix in dir, and makes a new one.
// An empty dir is the system's temporary folder.
func OpenFolder(dir, prefix string) (*Folder, error) {
	if dir == "" {
		dir = os.TempDir()
	}

	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}

	left, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	if err != nil {
		return nil, err
	}
	for _, path := range left {
		if lock, err := lockFolder(path); err == nil {
			_ = errors.Join(os.RemoveAll(path), lock.Close()) // tried again at the next start
		}
	}

	// Another process may take the new folder for abandoned before it is locked.
	const attempts = 10
	for range attempts {
		var f Folder
		if f.Path, err = os.MkdirTemp(dir, prefix); err != nil {
			return nil, err
		}
		if f.lock, err = lockFolder(f.Path); err == nil {
			if err = os.Chmod(f.Path, 0o711); err == nil { //nolint:gosec // another user passes through it
				return &f, nil
			}
			_ = f.lock.Close()
		}
	}
	return nil, err
}

// lockFolder takes the lock of an unused folder.
func lockFolder(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close removes the folder with everything in it. A second time it does nothing.
func (f *Folder) Close() error {
	err := f.lock.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return errors.Join(os.RemoveAll(f.Path), err)
}
