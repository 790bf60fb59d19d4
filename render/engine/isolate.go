package engine

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// namespaces separate a child from the processes, networks, mounts and names
// of the system. They cost a few milliseconds at its start and nothing later.
const namespaces = unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// isolation is one way to start a child.
type isolation struct {
	// flags are the namespaces that it gets.
	flags uintptr
	// lost is the reason why a better isolation did not work.
	lost string
}

// isolations are the ways to start a child, the best one first. A user
// namespace makes the others possible for ordinary users, and gives every
// child its own count of processes.
func isolations(root bool) []isolation {
	if root {
		return []isolation{{flags: namespaces | unix.CLONE_NEWUSER}, {flags: namespaces}, {}}
	}
	return []isolation{{flags: namespaces | unix.CLONE_NEWUSER}, {}}
}

// startIsolated starts a child of command with the best isolation that works. The pool does not try again an
// isolation that failed once.
func (p *Pool) startIsolated(prepare func() *exec.Cmd) (*exec.Cmd, isolation, error) {
	ways := p.isolations.Load()
	var lost []string

	for i, way := range *ways {
		cmd := prepare()
		cmd.SysProcAttr = p.attributes(way.flags)
		err := p.spawner.do(cmd.Start)
		if err == nil {
			if i > 0 {
				way.lost = strings.Join(lost, "; ")
				p.isolations.CompareAndSwap(ways, &[]isolation{way})
			}
			return cmd, way, nil
		}

		if i == len(*ways)-1 || !refused(err) {
			return nil, isolation{}, err
		}
		lost = append(lost, err.Error())
	}
	return nil, isolation{}, errors.New("no way to start")
}

// refused reports whether the kernel, a limit or a security module may permit
// less than was asked for.
func refused(err error) bool {
	refusals := []syscall.Errno{unix.EPERM, unix.EACCES, unix.EINVAL, unix.ENOSYS, unix.ENOSPC, unix.EUSERS}
	return slices.ContainsFunc(refusals,
		func(e syscall.Errno) bool { return errors.Is(err, e) })
}

// deathSignal returns the signal that a child with the namespaces of flags gets when the server dies. The first
// process of a namespace takes all others with it; any other child must live to kill the programs that it started.
// The kernel stores the signal per thread, so the child cannot replace the one it was started with (see
// dieWithParent): both are the same.
func deathSignal(flags uintptr) syscall.Signal {
	if flags&unix.CLONE_NEWPID != 0 {
		return unix.SIGKILL
	}
	return unix.SIGUSR1
}

// attributes describe a child that has a session, and with it a process group
// and a share of the processors (see sched(7), autogroups), ends with this
// process and has the namespaces of flags.
func (p *Pool) attributes(flags uintptr) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true, Pdeathsig: deathSignal(flags), Cloneflags: flags}

	switch {
	case flags&unix.CLONE_NEWUSER == 0:
	case p.id.UID != 0:
		// Its root sets the child up; the other one is the user that it becomes.
		a.UidMappings = []syscall.SysProcIDMap{
			{ContainerID: 0, HostID: os.Geteuid(), Size: 1},
			{ContainerID: p.id.UID, HostID: p.id.UID, Size: 1},
		}
		a.GidMappings = []syscall.SysProcIDMap{
			{ContainerID: 0, HostID: os.Getegid(), Size: 1},
			{ContainerID: p.id.GID, HostID: p.id.GID, Size: 1},
		}
		a.GidMappingsEnableSetgroups = true
	default:
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		// To mount, in its own namespace only.
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
	return a
}
