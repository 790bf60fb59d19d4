package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Browser holds the confinement of a browser that cannot create its own sandbox because namespaces are refused. All
// its processes have the same confinement: pages can do everything that the whole browser can do.
type Browser struct {
	// UID and GID are the user and group that it becomes; 0 means that it keeps its own.
	UID, GID int `json:",omitempty"`
	// Folders lists all folders that it may write, and the folders outside the system that it may read.
	Folders []string
	// Reads lists the additional files and folders that it may read.
	Reads []string `json:",omitempty"`
	// Port is the only TCP port to which it may connect, if the kernel supports this.
	Port uint16
	// Memory is the maximum number of bytes that each of its processes may map; 0 means no limit.
	Memory int64 `json:",omitempty"`
	// Open means to continue without Landlock if the kernel has none.
	Open bool `json:",omitempty"`
}

// Args are the arguments of the program that carries them out with
// ExecBrowser, before the browser's own command.
func (b Browser) Args() ([]string, error) {
	text, err := json.Marshal(b)
	return []string{"browser", string(text)}, err
}

// browserReads lists the paths that a browser reads besides those of all engines.
var browserReads = []string{
	"/etc/ssl", "/etc/ca-certificates", "/usr/share/ca-certificates",
	"/etc/chromium", "/etc/chromium.d", "/etc/passwd", "/etc/group",
	"/etc/nsswitch.conf", "/etc/host.conf", "/etc/hosts", "/etc/resolv.conf", "/etc/gai.conf", "/etc/machine-id",
	proc, "/sys/devices/system/cpu",
}

// internetStreams permits the sockets that the browser needs for the proxy, and none that could bypass it: no
// datagrams, no raw or kernel sockets.
var internetStreams = []bpf.Instruction{
	bpf.LoadAbsolute{Off: offsetArgument, Size: 4},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 5},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 1},
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_INET6, SkipTrue: 4},
	bpf.LoadAbsolute{Off: offsetArgument + 8, Size: 4},
	bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf}, // the rest are flags
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SOCK_STREAM, SkipTrue: 1},
	bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)},
}

// ExecBrowser confines this process and turns it into the browser. args are the arguments of Browser.Args after the
// first, and the browser's command. It returns only an error.
func ExecBrowser(args []string) error {
	if len(args) < 2 {
		return errors.New("engine: the browser's command is missing")
	}

	var b Browser
	if err := json.Unmarshal([]byte(args[0]), &b); err != nil {
		return fmt.Errorf("engine: how to confine the browser: %w", err)
	}

	command := args[1:]
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := b.confine(command[0]); err != nil {
		return fmt.Errorf("engine: confine the browser: %w", err)
	}
	return syscall.Exec(command[0], command, os.Environ()) //nolint:forbidigo // It is handed on, and not read.
}

func (b Browser) confine(program string) error {
	c := &confinement{setup: setup{Identity: identity{UID: b.UID, GID: b.GID}}}
	if err := becomeUser(c); err != nil {
		return fmt.Errorf("unprivileged user: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return err
	}

	if b.Memory > 0 {
		limit := unix.Rlimit{Cur: uint64(b.Memory), Max: uint64(b.Memory)}
		if err := unix.Setrlimit(unix.RLIMIT_DATA, &limit); err != nil {
			return err
		}
	}

	// This applies to the thread; Landlock and the filter apply it to the others.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := b.landlock(program); err != nil && !b.Open {
		return fmt.Errorf("Landlock: %w", err) //nolint:staticcheck // a name
	}

	return installFilter(forbidden, internetStreams)
}

// landlock is all that keeps the browser from the files of the service where
// both are the same user.
func (b Browser) landlock(program string) error {
	rules, err := usable(b.Folders...)
	if err != nil {
		return err
	}

	paths := slices.Concat(readable, browserReads, b.Reads)
	if target, err := filepath.EvalSymlinks(program); err == nil {
		paths = append(paths, filepath.Dir(target))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	readRules, err := visible(paths)
	if err != nil {
		return err
	}
	rules = append(append(rules, readRules...), landlock.ConnectTCP(b.Port))
	return landlock.V11.BestEffort().Restrict(rules...)
}
