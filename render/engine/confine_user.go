package engine

import (
	"errors"
	"io"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// becomeUser gives up root. The child does it itself, rather than the parent
// before it starts the program: the unprivileged user may not be able to read
// the program's file, or to reach it.
func becomeUser(c *confinement) error {
	if c.Identity.UID == 0 {
		return nil
	}

	if err := syscall.Setgroups([]int{c.Identity.GID}); err != nil {
		return err
	}
	if err := syscall.Setresgid(c.Identity.GID, c.Identity.GID, c.Identity.GID); err != nil {
		return err
	}
	return syscall.Setresuid(c.Identity.UID, c.Identity.UID, c.Identity.UID)
}

// ownUser reports whether the service is of another user, whose files and processes
// the kernel keeps from this one whatever else fails.
func ownUser(c *confinement) error {
	if c.Identity.UID != 0 {
		return nil
	}
	return errors.New("it is that of the service; start the service as root, and it gives engines and browsers another")
}

// dropCapabilities drops, in all threads, the capabilities of this user and those that it has in its namespace.
// They cannot come back, because of no_new_privs. Then it hides this process's memory and descriptors from the
// programs that it starts, which have the same user.
func dropCapabilities(*confinement) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET,
		uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0) //nolint:gosec // the kernel wants addresses
	if errno != 0 {
		return errno
	}
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// ownStdout moves the pipe to the parent to a descriptor that no library
// prints to and no program inherits, and leaves stderr in its place.
func ownStdout(w io.Writer) (io.Writer, error) {
	f, ok := w.(*os.File)
	if !ok || f.Fd() != uintptr(unix.Stdout) {
		return w, nil
	}

	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := unix.Dup3(unix.Stderr, unix.Stdout, 0); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "answers"), nil
}
