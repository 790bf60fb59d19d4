package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// describeMachine describes the machine of the measurement. The file system is that of the data, because the cost
// of a transaction depends on it.
func describeMachine(ctx context.Context, browser, dataDir string) string {
	const script = `sed -n 's/^model name.*: //p;T;q' /proc/cpuinfo; . /etc/os-release; echo "$PRETTY_NAME"; uname -r; stat -f -c %T "$0"; awk '/^MemTotal/ { printf "%.0f GB\n", $2 / 1e6 }' /proc/meminfo`
	out, _ := exec.CommandContext(ctx, "sh", "-c", script, dataDir).Output() // failed parts are left out
	return fmt.Sprintf("%s, %d cores, %s, %s", strings.Join(strings.Split(strings.TrimSpace(string(out)), "\n"), ", "), runtime.NumCPU(), runtime.Version(), browser)
}

// tick is the unit of the times in /proc/PID/stat on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// tree lists a process and its descendants, but for those that have just ended.
func tree(root int) []int {
	members := []int{root}
	children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", root)) // Only a malformed pattern fails.
	for _, path := range children {
		text, _ := os.ReadFile(path)
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				members = append(members, tree(child)...)
			}
		}
	}
	return members
}

// cpuOf returns the processor time of a process and its descendants, including ended ones.
func cpuOf(root int) (total time.Duration) {
	for _, pid := range tree(root) {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		total += parseStat(stat)
	}
	return total
}

// parseStat reads the times of /proc/PID/stat (proc(5)), the fields 14 to 17. The name
// in brackets may hold anything; the fields after it are numbered from 3.
func parseStat(line []byte) (total time.Duration) {
	fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	for _, field := range fields[min(14-3, len(fields)):min(18-3, len(fields))] {
		ticks, _ := strconv.Atoi(field) // A kernel's line is well-formed.
		total += time.Duration(ticks) * tick
	}
	return total
}

// memoryOf returns the memory in megabytes of a process and its descendants: their proportional set sizes, in which
// a shared page counts once. For a process whose size only root may read, it counts the resident memory that is not
// shared.
func memoryOf(root int) (total float64) {
	for _, pid := range tree(root) {
		var kilobytes float64
		rollup, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if _, size, found := strings.Cut(string(rollup), "\nPss:"); found {
			_, _ = fmt.Sscan(size, &kilobytes) // A kernel's line is well-formed.
			total += kilobytes * 1024 / 1e6
			continue
		}
		statm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		var size, resident, shared int
		if _, err := fmt.Sscan(string(statm), &size, &resident, &shared); err == nil {
			total += float64((resident-shared)*os.Getpagesize()) / 1e6
		}
	}
	return total
}
