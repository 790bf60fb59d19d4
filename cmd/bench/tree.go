package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// tick is the unit of the times in /proc/PID/stat, the same on every Linux
// that Go runs on.
const tick = 10 * time.Millisecond

// process is one line of the table of processes.
type process struct {
	parent int
	cpu    time.Duration // user and system, with that of ended children
}

// processes reads the table of processes. One that ends meanwhile is left out.
func processes() map[int]process {
	// Only a malformed pattern fails.
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	table := make(map[int]process, len(paths))
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		line, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if p, ok := parseStat(line); ok {
			table[pid] = p
		}
	}
	return table
}

// parseStat reads a line of /proc/PID/stat.
func parseStat(line []byte) (process, bool) {
	// The name in brackets may hold anything; the fields after it are numbered
	// from 3 in proc(5).
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	number := func(n int) int64 {
		if n-3 >= len(fields) {
			return 0
		}
		v, _ := strconv.ParseInt(string(fields[n-3]), 10, 64) // A kernel's line is well-formed.
		return v
	}
	const parent, user, system, endedUser, endedSystem = 4, 14, 15, 16, 17
	if len(fields) <= endedSystem-3 {
		return process{}, false
	}
	ticks := number(user) + number(system) + number(endedUser) + number(endedSystem)
	return process{parent: int(number(parent)), cpu: time.Duration(ticks) * tick}, true
}

// tree lists a process and its descendants.
func tree(table map[int]process, root int) []int {
	var members []int
	for pid := range table {
		at := pid
		for range len(table) {
			if at == root {
				members = append(members, pid)
				break
			}
			p, ok := table[at]
			if !ok {
				break
			}
			at = p.parent
		}
	}
	return members
}

// cpuOf is the processor time that a process and its descendants have used.
func cpuOf(root int) time.Duration {
	table := processes()
	var total time.Duration
	for _, pid := range tree(table, root) {
		total += table[pid].cpu
	}
	return total
}

// machineCPU is the processor time that everything on the machine has used since it
// started: its processes, its kernel, and what its host had the processors for meanwhile.
func machineCPU() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	return parseMachine(text)
}

// parseMachine reads the first line of /proc/stat (proc(5)).
func parseMachine(text []byte) time.Duration {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	var user, nice, system, idle, waits, irq, softirq, steal int64
	if _, err := fmt.Sscanf(string(line), "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &waits, &irq, &softirq, &steal); err != nil {
		return 0
	}
	return time.Duration(user+nice+system+irq+softirq+steal) * tick
}

// memoryOf is the memory in bytes of a process and its descendants: their
// proportional set sizes, in which a page that several share counts once. Of a
// process whose size is not shown to this user (the sandboxed ones, to all but
// root) it counts what is resident and not shared.
func memoryOf(root int) int64 {
	var total int64
	for _, pid := range tree(processes(), root) {
		// One that has just ended has no memory.
		rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err == nil {
			total += parseRollup(rollup)
			continue
		}
		statm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		var size, resident, shared int64
		if _, err := fmt.Sscan(string(statm), &size, &resident, &shared); err == nil {
			total += (resident - shared) * int64(os.Getpagesize())
		}
	}
	return total
}

// parseRollup returns the proportional set size in bytes.
func parseRollup(data []byte) int64 {
	for line := range bytes.Lines(data) {
		var kilobytes int64
		if _, err := fmt.Sscanf(string(line), "Pss: %d kB", &kilobytes); err == nil {
			return kilobytes << 10
		}
	}
	return 0
}
