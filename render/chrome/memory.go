package chrome

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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

// processParents maps every process of the machine to its parent. Processes
// that end meanwhile are left out.
func processParents() map[int]int {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil // Only a malformed pattern fails.
	}
	parents := make(map[int]int, len(stats))
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// pid (name) state ppid …, where the name may contain anything.
		end := bytes.LastIndexByte(data, ')')
		var state string
		var ppid int
		if end < 0 {
			continue
		}
		if _, err := fmt.Sscan(string(data[end+1:]), &state, &ppid); err != nil {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			parents[pid] = ppid
		}
	}
	return parents
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
