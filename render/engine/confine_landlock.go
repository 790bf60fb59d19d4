package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// What Landlock permits. Files that a job writes cannot be executed.
const (
	mayRead  = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	mayWrite = ll.AccessFSReadFile | ll.AccessFSReadDir | ll.AccessFSWriteFile | ll.AccessFSTruncate |
		ll.AccessFSMakeReg | ll.AccessFSMakeDir | ll.AccessFSMakeSym | ll.AccessFSMakeFifo | ll.AccessFSMakeSock |
		ll.AccessFSRemoveFile | ll.AccessFSRemoveDir | ll.AccessFSResolveUnix
	mayUse = ll.AccessFSReadFile | ll.AccessFSWriteFile
)

// referVersion is the first version that can permit moving files between
// folders; before it, that is never permitted.
const referVersion = 2

// restrictFiles permits reading the readable part of the system, writing the
// child's own folder, and nothing else: no TCP either, no abstract sockets and
// no signals to processes outside, as far as this kernel knows how. In a child
// with a file system of its own it is the second line, else the first.
func restrictFiles(c *confinement) error {
	version, err := ll.LandlockGetABIVersion()
	if err != nil {
		return fmt.Errorf("the kernel has no Landlock, or it is off: %w", err)
	}
	if version < 1 {
		return errors.New("the kernel has no Landlock")
	}
	var write landlock.AccessFSSet = mayWrite
	if version >= referVersion {
		write |= ll.AccessFSRefer
	}
	rules := []landlock.Rule{
		landlock.PathAccess(mayUse, devices...).IgnoreIfMissing(),
		landlock.PathAccess(write, c.base),
	}
	paths := readable
	if c.private {
		paths = append([]string{"/etc", "/proc"}, paths...)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case info.IsDir():
			rules = append(rules, landlock.PathAccess(mayRead, path))
		default:
			rules = append(rules, landlock.PathAccess(mayRead&^ll.AccessFSReadDir, path))
		}
	}
	return landlock.V11.BestEffort().Restrict(rules...)
}
