package durable

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// leastRoom is how much room a disk has, in bytes, that is not called full: a
// document of some pages.
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
