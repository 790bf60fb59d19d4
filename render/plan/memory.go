package plan

import (
	"bufio"
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// Memory returns the maximum memory of this process and its children in bytes, and the source of that limit: the
// lowest limit of its control groups, or else the machine's memory.
func Memory() (bytes int64, source string) { return memoryBelow("/") }

// unknownMemory is the memory of the plan if the kernel reports none.
const unknownMemory = 2 * gib

// memoryBelow reads from a tree that has /proc and /sys in it.
func memoryBelow(root string) (int64, string) {
	total := machineMemory(filepath.Join(root, "proc", "meminfo"))
	source := "the machine's memory"
	if total <= 0 {
		total = unknownMemory
		source = "a guess: the kernel does not say"
	}

	if limit := groupLimit(root, "memory", "memory.max", "memory.limit_in_bytes"); limit > 0 && limit < total {
		return limit, "the control group's limit"
	}
	return total, source
}

// machineMemory reads the line MemTotal of a meminfo file.
func machineMemory(file string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}

	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) >= 2 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64) // 0 is "unknown"
			return kib << 10
		}
	}
	return 0
}

// groupLimit returns the lowest limit of the control groups that the process is in, which are nested; 0 if there is
// none. The limit has one name in the unified hierarchy, and another one below a controller.
func groupLimit(root, controller, unified, other string) (lowest int64) {
	file, err := os.Open(filepath.Join(root, "proc", "self", "cgroup"))
	if err != nil {
		return 0
	}
	defer file.Close()

	for lines := bufio.NewScanner(file); lines.Scan(); {
		parts := strings.SplitN(lines.Text(), ":", 3)
		if len(parts) != 3 {
			continue
		}

		mount := "sys/fs/cgroup"
		name := unified
		switch {
		case parts[1] == "": // the unified hierarchy
		case strings.Contains(","+parts[1]+",", ","+controller+","):
			mount = "sys/fs/cgroup/" + controller
			name = other
		default:
			continue
		}

		// In a container the path may be the host's, and the limit is at the visible root.
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			if limit := readLimit(filepath.Join(root, mount, group, name)); limit > 0 && (lowest == 0 || limit < lowest) {
				lowest = limit
			}
			if group == "/" {
				break
			}
		}
	}
	return lowest
}

// readLimit reads a limit; 0 means none, which the kernel writes as "max", or a missing file.
func readLimit(file string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	limit, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return limit
}
