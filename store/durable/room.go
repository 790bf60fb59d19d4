package durable

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// leastRoom is the free space in bytes below which a disk counts as full: a document of a few pages.
const leastRoom = 1 << 20

// CheckRoom returns an error if the disk of a folder is full or gone.
func CheckRoom(dir string) error {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return fmt.Errorf("look at the folder %s: %w", dir, err)
	}
	if free := int64(disk.Bavail) * disk.Bsize; free < leastRoom {
		return fmt.Errorf("the disk of %s has %d bytes left: make room", dir, free)
	}
	return nil
}
