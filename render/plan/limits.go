package plan

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// MinFiles is the number of files that the server needs to open at once: 64 at rest, one for each connection, and a
// few for each call.
const MinFiles = 1024

// Threads of each part while it works, measured with Chromium 156 and LibreOffice 25.2 on 2 cores. The kernel counts
// threads as processes.
const (
	serverThreads  = 30
	browserThreads = 75 // with two pages
	pageThreads    = 10 // of each further renderer
	engineThreads  = 14 // a child for files or texts
	programThreads = 25 // that it starts, such as Java
	officeThreads  = 20
	spareEngines   = 4 // children that wait, or serve previews
)

// MinProcesses returns the number of processes and threads that the plan needs when everything works at once.
func (p Plan) MinProcesses() int {
	engines := p.EngineSlots + p.MarkupSlots + spareEngines
	return serverThreads + p.Browsers*browserThreads + p.RenderSlots*pageThreads + engines*engineThreads +
		p.EngineSlots*programThreads + p.OfficeSlots*officeThreads
}

// Limits are the limits of the machine that the plan does not divide. Zero means no limit.
type Limits struct {
	Files uint64
	// Processes is the maximum number of processes and threads, and ProcessesBy what limits it.
	Processes   int64
	ProcessesBy string
	// Users is the number of user IDs of root's user namespace. For another user, who cannot change to them, it is 0.
	Users uint64
}

// FindLimits reads the limits of this process.
func FindLimits() Limits {
	limits := limitsBelow("/")
	var files, processes unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil && files.Max != unix.RLIM_INFINITY {
		limits.Files = files.Max // Go raises the soft limit to this one
	}

	if os.Getuid() == 0 {
		return limits // the limit of a user's processes is not root's
	}

	limits.Users = 0
	if unix.Getrlimit(unix.RLIMIT_NPROC, &processes) == nil && processes.Cur != unix.RLIM_INFINITY {
		if own := int64(processes.Cur); limits.Processes == 0 || own < limits.Processes {
			limits.Processes = own
			limits.ProcessesBy = "ulimit -u"
		}
	}
	return limits
}

// limitsBelow reads from a tree that has /proc and /sys in it.
func limitsBelow(root string) (limits Limits) {
	if limits.Processes = groupLimit(root, "pids", "pids.max", "pids.max"); limits.Processes > 0 {
		limits.ProcessesBy = "pids.max of the control group"
	}

	file, err := os.Open(filepath.Join(root, "proc", "self", "uid_map"))
	if err != nil {
		return limits
	}
	defer file.Close()

	for lines := bufio.NewScanner(file); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 {
			count, _ := strconv.ParseUint(fields[2], 10, 64)
			limits.Users += count
		}
	}
	return limits
}

// Shortage is a limit that is too low.
type Shortage struct{ Name, Message, Remedy string }

// Shortages compares the limits with the needs of the plan.
func (p Plan) Shortages(limits Limits) (found []Shortage) {
	if limits.Files > 0 && limits.Files < MinFiles {
		found = append(found, Shortage{
			"open files",
			fmt.Sprintf("%d files may be open; the server needs %d, and more for many connections",
				limits.Files, MinFiles),
			"raise it: ulimit -n 65536, LimitNOFILE=65536 in the systemd unit, " +
				"or --ulimit nofile=65536 for the container",
		})
	}
	if needed := int64(p.MinProcesses()); limits.Processes > 0 && limits.Processes < needed {
		found = append(found, Shortage{
			"processes",
			fmt.Sprintf("%d processes and threads (%s); this plan needs %d",
				limits.Processes, limits.ProcessesBy, needed),
			"raise it: TasksMax=4096 in the systemd unit, --pids-limit 4096 for the container, " +
				"podPidsLimit of the kubelet; or lower RELAYPDF_MEMORY, so that less runs at once",
		})
	}
	if limits.Users == 1 {
		found = append(found, Shortage{
			"users",
			"the user namespace has one user ID; the engines have no user of their own",
			"map more IDs: an entry with 65536 IDs in /etc/subuid and /etc/subgid, " +
				"or run the service as a user other than root",
		})
	}
	return found
}
