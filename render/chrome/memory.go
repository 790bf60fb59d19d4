package chrome

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// treeMemory returns the memory in bytes of a process and all its descendants.
// Pages that processes share are counted once, for the process that has most of
// them: they are the program's code, which all of them map.
func treeMemory(pid int) int64 {
	parents := processParents()
	var private, shared int64
	for child := range parents {
		if !descends(parents, child, pid) {
			continue
		}
		p, s := residentBytes(child)
		private += p
		shared = max(shared, s)
	}
	return private + shared
}

// processParents maps the machine's processes to the leader of their session, and leaders
// to their parent, so every descendant of a leader leads to it: a process is in the session
// of its parent, or leads its own. Reading a session takes a fraction of a microsecond,
// reading a parent ten. The map is read several times a second while documents take long,
// on machines with hundreds of processes. Processes that end meanwhile are left out, and so
// are processes without a session here.
func processParents() map[int]int {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, err := proc.Readdirnames(-1)
	if err = errors.Join(err, proc.Close()); err != nil {
		return nil
	}

	parents := make(map[int]int, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if leader, err := unix.Getsid(pid); err == nil && leader != 0 {
			parents[pid] = leader
		}
	}

	for pid, leader := range parents {
		if _, lives := parents[leader]; pid == leader || !lives {
			parents[pid] = parentOf(pid)
		}
	}
	return parents
}

// parentOf returns the parent of a process; 0 if it has ended.
func parentOf(pid int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}

	// pid (name) state ppid …, where the name may contain any character.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return 0
	}
	return parent
}

func descends(parents map[int]int, pid, ancestor int) bool {
	for range len(parents) {
		if pid == ancestor {
			return true
		}
		next, ok := parents[pid]
		if !ok {
			return false
		}
		pid = next
	}
	return false
}

// isRenderer reports whether a process of a browser renders pages. It may have ended.
func isRenderer(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.Contains(line, []byte("--type=renderer"))
}

// residentBytes returns a process's resident memory, private and shared.
func residentBytes(pid int) (private, shared int64) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, 0
	}
	var size, resident, share int64
	if _, err := fmt.Sscan(string(data), &size, &resident, &share); err != nil {
		return 0, 0
	}
	page := int64(os.Getpagesize())
	return (resident - share) * page, share * page
}
