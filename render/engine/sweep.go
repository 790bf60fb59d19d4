package engine

import (
	"errors"

	"golang.org/x/sys/unix"
)

// errStrays means that programs of a job cannot be distinguished from others.
var errStrays = errors.New("engine: a job left programs running")

// sweep ends all processes that a job has left running, including hidden ones, so that they change no result and
// see no later job. An error ends the child.
func (c *innerChild) sweep() error {
	switch {
	case c.has(unix.CLONE_NEWPID) && c.daemons == nil:
		// The first process of a namespace reaches all others, and not itself.
		_ = c.thread.kill(-1) // usually no process is left
		return reapAll(0)
	case c.has(unix.CLONE_NEWPID):
		return c.sweepSessions()
	case c.daemons != nil:
		return nil // reported as missing: own processes
	}
	return reapAll(unix.WNOHANG)
}

// reapAll takes ended processes off the table until there are none. With
// WNOHANG it does not wait for those that have not ended.
func reapAll(options int) error {
	for {
		pid, err := unix.Wait4(-1, nil, options, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil:
			return err
		case pid == 0:
			return errStrays
		}
	}
}

// sweepSessions spares the daemons and their descendants, which are in their sessions, where no other process can
// get to.
func (c *innerChild) sweepSessions() error {
	// Processes that fork faster than they are killed are not worth more attempts.
	const attempts = 20

	for range attempts {
		pids, err := c.strayProcesses()
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			c.killAndWait(pid)
		}
	}
	return errStrays
}

// killAndWait kills a process that may not be a child of this one.
func (c *innerChild) killAndWait(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // it has ended by now
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	if c.thread.kill(pid) == nil {
		const milliseconds = 100
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, milliseconds) // looked at again anyway
	}
}
