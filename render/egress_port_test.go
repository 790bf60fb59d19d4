package render_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render"
)

// The browser and the engines have no port that a page could talk to: no
// debugging port above all.
func TestChildrenListenNowhere(t *testing.T) {
	r := launch(t, render.Config{})
	d := canaryCase{source: render.Source{HTML: "<script>document.write('x')</script>"}}
	if err := d.render(t, r); err != nil {
		t.Fatal(err)
	}
	listening := listeningSockets(t)
	children := descendants(t, os.Getpid())
	if len(children) < 3 {
		t.Fatalf("found %d child processes, want the browser and its helpers", len(children))
	}
	if !listensOn(os.Getpid(), listening) {
		t.Error("control: our own proxy is not seen to listen")
	}
	for _, pid := range children {
		if listensOn(pid, listening) {
			name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // For the message only.
			t.Errorf("process %d listens: %s", pid, strings.ReplaceAll(string(name), "\x00", " "))
		}
	}
}

// listeningSockets returns the inodes of the TCP sockets that listen, and of
// all UDP sockets, in the network of this process, which the browser shares.
func listeningSockets(t *testing.T) map[string]bool {
	t.Helper()
	const listen = "0A"
	inodes := map[string]bool{}
	for _, protocol := range []string{"tcp", "tcp6", "udp", "udp6"} {
		table, err := os.ReadFile("/proc/net/" + protocol)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(table)) {
			// Number, addresses, state, and at the tenth place the inode.
			fields := strings.Fields(line)
			if len(fields) > 9 && (fields[3] == listen || strings.HasPrefix(protocol, "udp")) {
				inodes[fields[9]] = true
			}
		}
	}
	return inodes
}

// listensOn reports whether a process holds one of the sockets.
func listensOn(pid int, inodes map[string]bool) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, file := range files {
		target, err := os.Readlink(file)
		if err != nil {
			continue // Closed meanwhile.
		}
		inode, ok := strings.CutPrefix(target, "socket:[")
		if ok && inodes[strings.TrimSuffix(inode, "]")] {
			return true
		}
	}
	return false
}

// descendants returns the children of a process and theirs.
func descendants(t *testing.T, root int) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	children := map[int][]int{}
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // Ended meanwhile.
		}
		// The name in parentheses may hold anything; the parent is the second
		// field behind it.
		_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')'):]), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 2 {
			continue
		}
		parent, _ := strconv.Atoi(fields[1])
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		children[parent] = append(children[parent], pid)
	}
	var all []int
	next := children[root]
	for len(next) > 0 {
		pid := next[0]
		all = append(all, pid)
		next = append(next[1:], children[pid]...)
	}
	return all
}
