package engine

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// setup is the message with which a parent sets the limits of a new child.
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
	Fonts      Fonts   `json:"fonts"`
}

func (s setup) has(namespace uintptr) bool { return s.Namespaces&namespace != 0 }

// report is the message of a child to its parent when it is ready.
type report struct {
	UID         int          `json:"uid"`
	Protections []Protection `json:"protections"`
	// Private means that the child's folder is a separate file system with a limit that the kernel enforces.
	Private bool `json:"private"`
}

// confinement is a child on its way to being confined.
type confinement struct {
	setup
	// base is the child's folder, which becomes a separate file system.
	base    string
	private bool
	// shared is the reason why the child sees the system's list of processes, and list is that list. Exposed is
	// true if it is visible.
	shared  error
	list    *os.File
	exposed bool
	listing sync.Mutex // one reads the list
	// others are the list's processes that are not of the family, as of sifted.
	others   map[int]bool
	lastScan time.Time
	// mapped is the memory that the fresh process has, in bytes.
	mapped int64
	// thread starts and ends all programs.
	thread *thread
}

// The names of the protections that decide on how well files are closed: either
// of them is enough.
const (
	OwnFileSystem = "own file system"
	Landlock      = "Landlock"
)

// protections are applied in this order, before the first job is read. If a required one
// fails, the child ends. It works without the others, and they are reported to the
// operator.
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
	{OwnFileSystem, false, changeRoot},
	{"own list of processes", false, ownProcessList},
	{"limit of memory of all programs together", false, openProcesses},
	{"no rights of root", true, becomeUser},
	{"unprivileged user", false, ownUser},
	{"no capabilities", true, dropCapabilities},
	{"no new privileges", true, checkNoNewPrivileges},
	{Landlock, false, restrictFiles},
	{"filter of system calls", false, filterCalls},
	{"death with the server", true, dieWithParent},
}

// confine drops everything that jobs do not need. All confinement of a child happens here. The working directory is
// the child's folder, before and after.
func confine(s setup) (*confinement, report, error) {
	base, err := os.Getwd()
	if err != nil {
		return nil, report{}, err
	}

	c := &confinement{setup: s, base: base, thread: newThread()}
	var r report
	for _, p := range protections {
		err := p.apply(c)
		if err != nil && (p.required || errors.Is(err, errExposed)) {
			return nil, report{}, fmt.Errorf("%s: %w", p.name, err)
		}

		state := Protection{Name: p.name, On: err == nil}
		if err != nil {
			state.Why = err.Error()
		}
		r.Protections = append(r.Protections, state)
	}

	r.UID = os.Getuid()
	r.Private = c.private
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

// lost returns the reason why a child has no namespaces.
func (c *confinement) lost() error {
	return errors.New("namespaces cannot be made here: " + c.Lost)
}

// checkNoNewPrivileges checks the flag that the parent has set.
func checkNoNewPrivileges(*confinement) error {
	on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && on != 1 {
		err = errors.New("not set")
	}
	return err
}
