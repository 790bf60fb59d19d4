package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// describeMachine describes the machine of the measurement. The file system is that of the data, because the cost
// of a transaction depends on it.
func describeMachine(ctx context.Context, browser, dataDir string) string {
	const script = `sed -n 's/^model name.*: //p;T;q' /proc/cpuinfo; . /etc/os-release; echo "$PRETTY_NAME"; uname -r; stat -f -c %T "$0"; awk '/^MemTotal/ { printf "%.0f GB\n", $2 / 1e6 }' /proc/meminfo`
	out, _ := exec.CommandContext(ctx, "sh", "-c", script, dataDir).Output() // failed parts are left out
	return fmt.Sprintf("%s, %d cores, %s, %s", strings.Join(strings.Split(strings.TrimSpace(string(out)), "\n"), ", "), runtime.NumCPU(), runtime.Version(), browser)
}

// cpuOf returns the processor time of a process and its descendants, including ended ones that a parent waited for.
// Processes that have just ended have none.
func cpuOf(pid int) time.Duration {
	const second = 100 // of the times in /proc/PID/stat, on every Linux that Go runs on
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0
	}
	stat, _ := process.Stat() // Its times are 0 if there is none.
	total := time.Duration(int(stat.UTime)+int(stat.STime)+stat.CUTime+stat.CSTime) * time.Second / second
	children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // Only a malformed pattern fails.
	for _, list := range children {
		text, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				total += cpuOf(child)
			}
		}
	}
	return total
}
