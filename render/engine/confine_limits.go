package engine

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxOpen bounds open files of a process. LibreOffice processes need some hundreds.
	maxOpen = 1024
	// maxProcesses bounds processes and threads of a child. A Java program on
	// many cores takes about a hundred.
	maxProcesses = 512
)

// closeInherited closes descriptors that the server inherited, such as a lock or a socket: everything above stderr
// that programs started here would inherit. Descriptors that Go opened are not inherited.
func closeInherited(*confinement) error {
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

// limitResources limits memory, files and core dumps. Memory is RLIMIT_DATA, because a Go program cannot start
// under a useful RLIMIT_AS. The limit counts from the memory that the fresh process has mapped already.
func limitResources(c *confinement) error {
	mapped, err := mappedData()
	if err != nil {
		return err
	}
	c.mapped = mapped

	for _, l := range []struct {
		resource int
		max      uint64
	}{
		{unix.RLIMIT_DATA, uint64(c.mapped + c.MaxMemory)},
		{unix.RLIMIT_FSIZE, uint64(c.Disk)},
		{unix.RLIMIT_NOFILE, maxOpen},
		{unix.RLIMIT_CORE, 0},
	} {
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: l.max, Max: l.max}); err != nil {
			return err
		}
	}
	return c.limitMemory(c.Memory)
}

// limitMemory sets the limit of one job. The runtime tries to stay below seven
// eighths, and dies at the limit.
func (c *confinement) limitMemory(bytes int64) error {
	limit := c.mapped + bytes
	debug.SetMemoryLimit(limit / 8 * 7)
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: uint64(limit), Max: uint64(c.mapped + c.MaxMemory)})
}

// swollen reports whether jobs have made this process map more than half of its limit. The limit counts mapped
// memory, and Go does not unmap it: the next job could fail because of this one's memory.
func (c *confinement) swollen() bool {
	mapped := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(mapped)
	return mapped[0].Value.Uint64() > uint64(c.Memory/2)
}

// jobMemory returns the memory limit of each process of a job; asked is the job's own limit, or 0 for the default.
func (s setup) jobMemory(asked int64) int64 {
	if asked > 0 {
		return min(asked, s.MaxMemory)
	}
	return s.Memory
}

// watchMemory ends the child when its processes together take more than limit:
// many small programs are as bad as a large one.
func (c *confinement) watchMemory(stop <-chan struct{}, limit int64) {
	if c.list == nil {
		return
	}
	watch(stop, watchPeriod, func() error { return c.checkMemory(limit) }, func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	})
}

// limitCPU gives this process, and each program that it starts, the CPU time
// of one job. At the limit the kernel sends a signal: see dieWithParent.
func (c *confinement) limitCPU() error {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	used := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	limit := unix.Rlimit{Cur: uint64(int64(used/time.Second) + 1 + c.CPU), Max: unix.RLIM_INFINITY}
	return unix.Setrlimit(unix.RLIMIT_CPU, &limit)
}

// mappedData returns the size of this process's private writable memory in bytes, which RLIMIT_DATA counts.
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

// limitProcesses limits processes and threads. The kernel counts them by user and user namespace: without its own
// namespace, a child would count those of the browser and of all other children.
func limitProcesses(c *confinement) error {
	if !c.has(unix.CLONE_NEWUSER) {
		return errors.New("the processes of a child cannot be counted without a user namespace: " + c.Lost)
	}
	return unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: maxProcesses, Max: maxProcesses})
}

// dieWithParent asks for a signal when the server dies, which the kernel has forgotten since this process changed
// its user. A server that died in between has closed the pipe.
//
// The signals with which users and service managers stop a server are ignored: they often go to all its processes,
// while the server still wants to finish its work. So is the signal of a pipe that the dead server no longer reads:
// it would end this process before its programs. Unlike ignored signals, these keep their meaning for the programs
// started here.
func dieWithParent(c *confinement) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGPIPE)
	end := make(chan os.Signal, 1)
	signal.Notify(end, unix.SIGUSR1, unix.SIGXCPU)

	go func() {
		fmt.Fprintln(os.Stderr, "ended by the signal", <-end)
		c.killGroup()
		os.Exit(1)
	}()

	if !c.has(unix.CLONE_NEWPID) {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil { // see sweep
			return err
		}
	}
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(deathSignal(c.Namespaces)), 0, 0, 0)
}

// killGroup ends this process with everything it started, if the group is its
// own: a job's programs must not outlive a server that is gone.
func (c *confinement) killGroup() {
	if pid := os.Getpid(); unix.Getpgrp() == pid {
		_ = c.thread.kill(-pid)
	}
}
