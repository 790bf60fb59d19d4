package chrome

import (
	"fmt"
	"os/exec"
	"runtime"
)

const (
	// reservedBytes is what a process of a browser may map beside what it may hold:
	// a new renderer has some 600 MiB of address space that it never fills.
	reservedBytes = 1 << 30
	// reservedCore is so much more for each core: a process has up to two threads
	// for it, each with a stack of 8 MiB.
	reservedCore = 16 << 20
	// boundUnit is what the bound is a multiple of. With one such as 1607294976 bytes, a
	// multiple of a page, every renderer of Chromium 156 crashes at its start.
	boundUnit = 1 << 20
)

// mostMemory is what the kernel lets a process of a browser map.
func (c Config) mostMemory() int64 {
	bytes := c.RendererBytes + reservedBytes + int64(runtime.NumCPU())*reservedCore
	return (bytes + boundUnit - 1) / boundUnit * boundUnit
}

// bound returns the program that has the kernel refuse a process more memory than
// it may ever hold, before it becomes the command that follows. What that starts
// inherits the bound. It is the guard's second line: the guard looks every 250 ms
// and counts what is held, this counts what could be, and is there in between. A
// process at its bound ends itself, alone. It is set from inside because a server
// without CAP_SYS_RESOURCE may not set limits of another user's processes; where
// Confine locks the browser in, that does it.
func (c Config) bound() ([]string, error) {
	if c.Confine != nil {
		return nil, nil
	}
	path, err := exec.LookPath("prlimit")
	if err != nil {
		return nil, fmt.Errorf("bound the memory of a browser's processes: %w: install the Debian package util-linux", err)
	}
	return []string{path, fmt.Sprintf("--data=%[1]d:%[1]d", c.mostMemory())}, nil
}

// Bounded says why the kernel keeps no bound on the memory of the browsers'
// processes, if it keeps none: the guard alone does then.
func (p *Pool) Bounded() error {
	_, err := p.cfg.bound()
	return err
}
