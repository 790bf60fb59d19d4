package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// readable is all of the system that children see: programs and libraries,
// fonts, and the settings of those programs. Nothing here is a secret, or
// differs from machine to machine in a way that matters to a customer.
var readable = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt",
	"/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
	"/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/papersize", "/etc/paperspecs",
	"/etc/ghostscript", "/etc/ImageMagick-6", "/etc/libreoffice", "/etc/libpaper.d", "/etc/python3", "/etc/python3.11",
	"/etc/java-11-openjdk", "/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/java-25-openjdk",
	"/var/cache/fontconfig", "/var/lib/ghostscript", "/var/lib/libreoffice",
}

// devices are all that children have.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// workDir is the child's folder in its own file system.
const workDir = "/work"

// maxEntries bounds files and folders of a child, which cost kernel memory.
const maxEntries = 65536

// readOnly are the attributes of a mount with files that are only read.
const readOnly = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// changeRoot gives the child its own file system: the readable paths, a few devices, its own processes, and a
// folder in memory of limited size. Nothing else of the system has a name in there, so files and sockets of others
// cannot be opened.
func changeRoot(c *confinement) (err error) {
	if !c.has(unix.CLONE_NEWNS) {
		return c.lost()
	}

	// The child's user must be able to pass, whatever the server's umask.
	unix.Umask(0o022)
	defer unix.Umask(0o077)
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}

	const size = "mode=0755,size=1m,nr_inodes=1024"
	if err := unix.Mount("root", c.base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, size); err != nil {
		return fmt.Errorf("mount a root: %w", err)
	}
	if err := c.buildRoot(); err != nil {
		// The system's root stays in place, and the folder that was there.
		return errors.Join(err, unix.Unmount(c.base, unix.MNT_DETACH), os.Chdir(c.base))
	}

	if err := enterRoot(c.base); err != nil {
		return err
	}

	c.base = workDir
	c.private = true
	if c.Fonts.File != "" {
		c.Fonts.File = privateFonts
		c.Fonts.Folder = OwnFonts
	}
	return os.Chdir(workDir)
}

// buildRoot fills the new root, which is mounted at base.
func (c *confinement) buildRoot() error {
	for _, path := range readable {
		if err := expose(c.base, path, path, readOnly); err != nil {
			return err
		}
	}
	for _, path := range devices {
		if err := expose(c.base, path, path, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC); err != nil {
			return err
		}
	}

	if err := c.exposeFonts(); err != nil {
		return err
	}
	if err := c.writeNames(); err != nil {
		return err
	}

	for link, target := range map[string]string{
		"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0",
		"/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2",
		"/dev/shm": workDir + "/tmp", "/tmp": workDir + "/tmp", "/var/tmp": workDir + "/tmp",
	} {
		if err := errors.Join(makeDir(filepath.Dir(c.base+link)), os.Symlink(target, c.base+link)); err != nil {
			return err
		}
	}

	if err := c.mountProc(); err != nil {
		return err
	}

	const closed = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	uid, gid := os.Getuid(), os.Getgid()
	if c.Identity.UID != 0 {
		uid, gid = c.Identity.UID, c.Identity.GID
	}
	return mountAt(c.base+workDir, "tmpfs", closed,
		fmt.Sprintf("mode=0700,uid=%d,gid=%d,size=%d,nr_inodes=%d", uid, gid, c.Disk, maxEntries))
}

// exposeFonts writes the font configuration, and mounts the folder of additional fonts.
func (c *confinement) exposeFonts() error {
	if c.Fonts.File == "" {
		return nil
	}
	if err := makeFile(c.base+privateFonts, c.Fonts.Config); err != nil || c.Fonts.Folder == "" {
		return err
	}
	return expose(c.base, c.Fonts.Folder, OwnFonts, readOnly|unix.MOUNT_ATTR_NOEXEC)
}

// writeNames makes the lists of users, in which there is only the child's.
func (c *confinement) writeNames() error {
	uid, gid := os.Getuid(), os.Getgid()
	if c.Identity.UID != 0 {
		uid, gid = c.Identity.UID, c.Identity.GID
	}

	users := fmt.Sprintf("engine:x:%d:%d::%s/job:/usr/sbin/nologin\n", uid, gid, workDir)
	return errors.Join(
		makeDir(c.base+"/etc"),
		makeFile(c.base+"/etc/passwd", users),
		makeFile(c.base+"/etc/group", fmt.Sprintf("engine:x:%d:\n", gid)))
}

// makeDir makes a folder, and makeFile a file, of the new root: its owner may
// be another user than the child's, who reads them.
func makeDir(path string) error {
	return os.MkdirAll(path, 0o755) //nolint:gosec // see above
}

func makeFile(path, content string) error {
	return os.WriteFile(path, []byte(content), 0o644) //nolint:gosec // see above
}

// mountAt mounts a new file system of a kind.
func mountAt(path, kind string, flags uintptr, options string) error {
	if err := makeDir(path); err != nil {
		return err
	}
	if err := unix.Mount(kind, path, kind, flags, options); err != nil {
		return fmt.Errorf("mount %s: %w", kind, err)
	}
	return nil
}

// expose makes a path of the system visible in a new root, possibly under another name. Missing paths are left out.
// A link stays a link, so that /lib leads to /usr/lib.
func expose(root, path, name string, attributes uint64) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}

	target := root + name
	if err := makeDir(filepath.Dir(target)); err != nil {
		return err
	}

	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		if err != nil {
			return err
		}
		return os.Symlink(to, target)
	case info.IsDir():
		err = makeDir(target)
	default:
		err = makeFile(target, "")
	}
	if err != nil {
		return err
	}

	if err := unix.Mount(path, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("show %s: %w", path, err)
	}
	attr := unix.MountAttr{Attr_set: attributes}
	if err := unix.MountSetattr(unix.AT_FDCWD, target, unix.AT_RECURSIVE, &attr); err != nil {
		return fmt.Errorf("protect %s: %w", path, err)
	}
	return nil
}

// enterRoot makes path the root, and drops the old one.
func enterRoot(path string) error {
	if err := os.Chdir(path); err != nil {
		return err
	}

	// The old root covers the new one until it is unmounted.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}

	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOEXEC}
	return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &attr)
}
