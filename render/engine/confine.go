package engine

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// setup is what a parent tells a new child about its limits.
type setup struct {
	Identity identity `json:"identity"`
	// Memory and MaxMemory, Disk in bytes and CPU in seconds: see Config.
	Memory    int64 `json:"memory"`
	MaxMemory int64 `json:"max_memory"`
	Disk      int64 `json:"disk"`
	CPU       int64 `json:"cpu"`
	// Namespaces are the flags with which the child was started, and Lost is
	// why there are not more.
	Namespaces uintptr `json:"namespaces"`
	Lost       string  `json:"lost,omitempty"`
}

func (s setup) has(namespace uintptr) bool { return s.Namespaces&namespace != 0 }

// report is what a child tells its parent when it is ready.
type report struct {
	UID         int          `json:"uid"`
	Protections []Protection `json:"protections"`
	// Private means that the child's folder is a file system of its own, with
	// a bound that the kernel keeps.
	Private bool `json:"private"`
}

// confinement is a child on its way to being confined.
type confinement struct {
	setup
	// base is the child's folder, which becomes a file system of its own.
	base    string
	private bool
	// mapped is the memory that the fresh process has, in bytes.
	mapped int64
	// thread starts and ends all programs.
	thread *thread
}

// protections are applied in this order, before the first job is read. A
// required one that fails ends the child; without one of the others it works,
// and the operator is told.
var protections = []struct {
	name     string
	required bool
	apply    func(*confinement) error
}{
	{"closed descriptors", true, closeInherited},
	{"limits of memory and files", true, limitResources},
	{"limit of processes", false, limitProcesses},
	{"own processes", false, ownNamespace(unix.CLONE_NEWPID)},
	{"own network, which leads nowhere", false, ownNamespace(unix.CLONE_NEWNET)},
	{"own file system", false, changeRoot},
	{"limit of memory of all programs together", false, ownFileSystem},
	{"unprivileged user", true, becomeUser},
	{"no capabilities", true, dropCapabilities},
	{"no new privileges", true, checkNoNewPrivileges},
	{"Landlock", false, restrictFiles},
	{"filter of system calls", false, filterCalls},
	{"death with the server", true, dieWithParent},
}

// confine gives up everything that jobs do not need. It is the one place where
// a child is locked in. The working directory is the child's folder, before
// and after.
func confine(s setup) (*confinement, report, error) {
	base, err := os.Getwd()
	if err != nil {
		return nil, report{}, err
	}
	c := &confinement{setup: s, base: base, thread: newThread()}
	var r report
	for _, p := range protections {
		err := p.apply(c)
		if err != nil && p.required {
			return nil, report{}, fmt.Errorf("%s: %w", p.name, err)
		}
		state := Protection{Name: p.name, On: err == nil}
		if err != nil {
			state.Why = err.Error()
		}
		r.Protections = append(r.Protections, state)
	}
	r.UID, r.Private = os.Getuid(), c.private
	return c, r, nil
}

// ownNamespace reports on a namespace that the parent has made.
func ownNamespace(flag uintptr) func(*confinement) error {
	return func(c *confinement) error {
		if c.has(flag) {
			return nil
		}
		return c.lost()
	}
}

// ownFileSystem reports on what needs a view of the child's processes only.
func ownFileSystem(c *confinement) error {
	if c.private {
		return nil
	}
	return errors.New("needs a file system of its own")
}

// lost is why a child has no namespaces.
func (c *confinement) lost() error {
	return errors.New("namespaces cannot be made here: " + c.Lost)
}

// checkNoNewPrivileges looks for what the spawner has set.
func checkNoNewPrivileges(*confinement) error {
	on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && on != 1 {
		err = errors.New("not set")
	}
	return err
}
