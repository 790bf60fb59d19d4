package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// setup is what a parent tells a new child about its limits.
type setup struct {
	Identity identity `json:"identity"`
	Memory   int64    `json:"memory"`
}

// report is what a child tells its parent when it is ready.
type report struct {
	UID int `json:"uid"`
}

const (
	// maxFile bounds one file that a job writes: the largest output, doubled.
	maxFile = 512 << 20
	// maxOpen bounds open files.
	maxOpen = 256
)

// protections are applied in this order, before the first job is read. A step
// that fails ends the child: none of them is optional.
var protections = []struct {
	name  string
	apply func(setup) error
}{
	{"descriptors", closeInherited},
	{"limits", limitResources},
	{"user", becomeUser},
	{"death signal", dieWithParent},
}

// confine gives up everything that jobs do not need. It is the one place where
// a child is locked in.
func confine(s setup) (report, error) {
	for _, p := range protections {
		if err := p.apply(s); err != nil {
			return report{}, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return report{UID: os.Getuid()}, nil
}

// closeInherited closes what the server itself was given by whoever started
// it, such as a lock or a socket: everything above stderr that would pass on
// to programs started here. What Go has opened would not.
func closeInherited(setup) error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= unix.Stderr {
			continue
		}
		// The listing names its own descriptor too, which is closed by now.
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			if err := unix.Close(fd); err != nil {
				return err
			}
		}
	}
	return nil
}

// limitResources bounds memory, files and core dumps. Memory is RLIMIT_DATA:
// a Go program cannot start under a useful RLIMIT_AS. The limit counts from
// what the fresh process has mapped already. The runtime tries to stay below
// seven eighths, and dies at the limit.
func limitResources(s setup) error {
	mapped, err := mappedData()
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(s.Memory / 8 * 7)
	for _, l := range []struct {
		resource int
		max      uint64
	}{
		{unix.RLIMIT_DATA, uint64(mapped + s.Memory)},
		{unix.RLIMIT_FSIZE, maxFile},
		{unix.RLIMIT_NOFILE, maxOpen},
		{unix.RLIMIT_CORE, 0},
	} {
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: l.max, Max: l.max}); err != nil {
			return err
		}
	}
	return nil
}

// mappedData returns how much private writable memory this process has mapped,
// in bytes: what RLIMIT_DATA counts.
func mappedData() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmData:"); ok {
			var kib int64
			if _, err := fmt.Sscanf(value, "%d kB", &kib); err != nil {
				return 0, err
			}
			return kib << 10, nil
		}
	}
	return 0, errors.New("no VmData in /proc/self/status")
}

// becomeUser gives up root. The child does it itself, rather than the parent
// before it starts the program: the unprivileged user may not be able to read
// the program's file, or to reach it.
func becomeUser(s setup) error {
	if s.Identity.UID == 0 {
		return nil
	}
	if err := syscall.Setgroups([]int{s.Identity.GID}); err != nil {
		return err
	}
	if err := syscall.Setresgid(s.Identity.GID, s.Identity.GID, s.Identity.GID); err != nil {
		return err
	}
	return syscall.Setresuid(s.Identity.UID, s.Identity.UID, s.Identity.UID)
}

// dieWithParent asks for a signal when the server dies, which the kernel has
// forgotten since this process changed its user. It is not SIGKILL, so that
// the programs which this process started can be killed too. A server that
// died in between has closed the pipe.
//
// The signals with which people and service managers stop a server are
// swallowed: they often go to all its processes, while the server still wants
// to finish its work. Unlike ignored ones, they keep their meaning for the
// programs started here.
func dieWithParent(setup) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	orphaned := make(chan os.Signal, 1)
	signal.Notify(orphaned, unix.SIGUSR1)
	go func() {
		<-orphaned
		killGroup()
		os.Exit(1)
	}()
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGUSR1), 0, 0, 0)
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

// killGroup ends this process with everything it started, if the group is its
// own: a job's programs must not outlive a server that is gone.
func killGroup() {
	if pid := os.Getpid(); unix.Getpgrp() == pid {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
}
