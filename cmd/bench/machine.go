package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// machine is what the figures were measured on.
type machine struct {
	CPU         string `json:"cpu"`
	Cores       int    `json:"cores"`
	MemoryBytes int64  `json:"memoryBytes"`
	Kernel      string `json:"kernel"`
	Go          string `json:"go"`
	Browser     string `json:"browser"`
	DataOn      string `json:"dataOn"` // file system of the database
}

func describeMachine(browser, dataDir string) machine {
	m := machine{
		CPU: cpuModel(), Cores: runtime.NumCPU(), Go: runtime.Version(), Browser: browser,
		Kernel: "unknown", DataOn: fileSystem(dataDir),
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.MemoryBytes = int64(info.Totalram) * int64(info.Unit)
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	return m
}

func (m machine) String() string {
	return fmt.Sprintf("%s, %d cores, %.0f GB, Linux %s, %s, %s, data on %s",
		m.CPU, m.Cores, float64(m.MemoryBytes)/1e9, m.Kernel, m.Go, m.Browser, m.DataOn)
}

func cpuModel() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// fileSystem names the kind of file system of a folder: what a transaction
// costs depends on it.
func fileSystem(dir string) string {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return "unknown"
	}
	switch st.Type {
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.TMPFS_MAGIC:
		return "tmpfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlay"
	default:
		return fmt.Sprintf("file system %#x", st.Type)
	}
}
