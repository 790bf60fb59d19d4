package engine

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// folder is where a pool keeps its children's folders. A lock marks it as in
// use for as long as this process lives, however it ends, so that the next
// pool can tell what was left behind.
type folder struct {
	path string
	lock *os.File
}

const folderPattern = "relaypdf-engine-"

// openFolder removes abandoned folders in dir and makes a new one.
func openFolder(dir string) (*folder, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	left, err := filepath.Glob(filepath.Join(dir, folderPattern+"*"))
	if err != nil {
		return nil, err
	}
	for _, path := range left {
		if lock, err := lockFolder(path); err == nil {
			_ = errors.Join(os.RemoveAll(path), lock.Close()) // tried again at the next start
		}
	}
	// Another pool may take the new folder for abandoned before it is locked.
	const attempts = 10
	for range attempts {
		var f folder
		if f.path, err = os.MkdirTemp(dir, folderPattern); err != nil {
			return nil, err
		}
		if f.lock, err = lockFolder(f.path); err == nil {
			// Children pass through to their own folders, and see no others.
			if err = os.Chmod(f.path, 0o711); err == nil { //nolint:gosec // another user passes through it
				return &f, nil
			}
			_ = f.lock.Close()
		}
	}
	return nil, err
}

// lockFolder takes the lock of a folder that nobody uses.
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

// close removes the folder with everything in it.
func (f *folder) close() error {
	return errors.Join(os.RemoveAll(f.path), f.lock.Close())
}
