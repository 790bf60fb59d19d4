package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// The rights that Landlock grants. Files that a job writes cannot be executed.
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

// restrictFiles permits reading the readable part of the system, writing the child's own folder, and nothing else:
// no TCP, no abstract sockets and no signals to processes outside, as far as this kernel supports it. In a child
// with its own file system it is the second protection, otherwise the first.
func restrictFiles(c *confinement) error {
	err := c.landlock()
	if err != nil && c.exposed {
		return fmt.Errorf("%w: %w", errExposed, err)
	}
	return err
}

// errExposed ends a child that would see more of other processes than their
// names.
var errExposed = errors.New("the system's list of processes is open")

func (c *confinement) landlock() error {
	rules, err := usable(c.base)
	if err != nil {
		return err
	}

	paths := readable
	if !c.private {
		// LibreOffice does not start if its user has no name.
		paths = append([]string{"/etc/passwd", "/etc/group", "/etc/nsswitch.conf"}, paths...)
		// It can have its pipes nowhere else. See removePipes.
		const sockets = ll.AccessFSMakeSock | ll.AccessFSResolveUnix
		rules = append(rules, landlock.PathAccess(sockets, sharedTemp).IgnoreIfMissing())
	}
	if c.private {
		paths = append([]string{"/etc"}, paths...)
	}

	if c.Fonts.File != "" {
		paths = append([]string{c.Fonts.File}, paths...)
		if c.Fonts.Folder != "" {
			paths = append(paths, c.Fonts.Folder)
		}
	}

	if c.private && c.shared == nil {
		paths = append([]string{proc}, paths...)
	} else {
		// Files opened by name: all of its own process, and the public ones of other processes.
		rules = append(rules, landlock.PathAccess(ll.AccessFSReadFile, proc).IgnoreIfMissing())
	}

	readRules, err := visible(paths)
	if err != nil {
		return err
	}
	return landlock.V11.BestEffort().Restrict(append(rules, readRules...)...)
}

// CheckLandlock returns an error that explains why Landlock is unavailable, or nil.
func CheckLandlock() error {
	version, err := ll.LandlockGetABIVersion()
	if err == nil && version < 1 {
		err = unix.EOPNOTSUPP
	}
	if err != nil {
		return fmt.Errorf("the kernel has no Landlock, or it is off: %w", err)
	}
	return nil
}

// usable are the rules for devices, and for folders that may be written.
func usable(folders ...string) ([]landlock.Rule, error) {
	if err := CheckLandlock(); err != nil {
		return nil, err
	}

	var write landlock.AccessFSSet = mayWrite
	if version, err := ll.LandlockGetABIVersion(); err == nil && version >= referVersion {
		write |= ll.AccessFSRefer
	}

	return []landlock.Rule{
		landlock.PathAccess(mayUse, devices...).IgnoreIfMissing(),
		landlock.PathAccess(write, folders...),
	}, nil
}

// visible are the rules for files and folders that may be read and executed.
func visible(paths []string) (rules []landlock.Rule, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case info.IsDir():
			rules = append(rules, landlock.PathAccess(mayRead, path))
		default:
			rules = append(rules, landlock.PathAccess(mayRead&^ll.AccessFSReadDir, path))
		}
	}
	return rules, nil
}
