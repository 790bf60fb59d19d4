package durable

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// minFreeSpace is the free space in bytes below which a disk counts as full: a document of a few pages.
const minFreeSpace = 1 << 20

// ErrFull means that the disk of a folder is full or gone.
var ErrFull = errors.New("no room on the disk")

// CheckFreeSpace returns an error if the disk of one of the folders is full or gone. It matches ErrFull.
func CheckFreeSpace(dirs ...string) error {
	for _, dir := range dirs {
		var disk unix.Statfs_t
		if err := unix.Statfs(dir, &disk); err != nil {
			return fmt.Errorf("%w: look at the folder %s: %w", ErrFull, dir, err)
		}

		if free := int64(disk.Bavail) * disk.Bsize; free < minFreeSpace {
			return fmt.Errorf("%w: the disk of %s has %d bytes left: make room", ErrFull, dir, free)
		}
	}
	return nil
}
