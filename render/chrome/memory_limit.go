package chrome

import (
	"fmt"
	"os/exec"
	"runtime"
)

const (
	// reservedBytes is the address space that a browser process may map in addition to its
	// memory limit: a new renderer maps about 600 MiB that it never fills.
	reservedBytes = 1 << 30
	// reservedCore is the additional reserve for each core: a process has up to two threads for it, each with a
	// stack of 8 MiB.
	reservedCore = 16 << 20
	// boundUnit is the unit of the limit. With a limit such as 1607294976 bytes, a multiple of a page, every
	// renderer of Chromium 156 crashes at its start.
	boundUnit = 1 << 20
)

// maxMemory returns the maximum number of bytes that the kernel lets a browser process map.
func (c Config) maxMemory() int64 {
	bytes := c.RendererBytes + reservedBytes + int64(runtime.NumCPU())*reservedCore
	return (bytes + boundUnit - 1) / boundUnit * boundUnit
}

// limitCommand returns the command that sets the kernel's memory limit for a process, and then
// becomes the command that follows. Its child processes inherit the limit. It is the
// guard's second line: the guard looks every 250 ms and counts the memory in use; this
// limit counts the mapped memory, and holds in between. A process at its limit ends itself,
// alone. The limit is set from inside because a server without CAP_SYS_RESOURCE may not set
// limits of another user's processes; where Confine locks the browser in, Confine sets it.
func (c Config) limitCommand() ([]string, error) {
	if c.Confine != nil {
		return nil, nil
	}
	path, err := exec.LookPath("prlimit")
	if err != nil {
		return nil, fmt.Errorf(
			"bound the memory of a browser's processes: %w: install the Debian package util-linux", err)
	}
	return []string{path, fmt.Sprintf("--data=%[1]d:%[1]d", c.maxMemory())}, nil
}

// Bounded returns the reason why the kernel does not limit the memory of the browsers' processes, or nil if it
// does. Without the kernel's limit, only the guard limits memory.
func (p *Pool) Bounded() error {
	_, err := p.cfg.limitCommand()
	return err
}
