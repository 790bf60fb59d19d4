package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"

	"github.com/relaypdf/relaypdf/store/storetest"
)

// smallMachine is the memory that TestAttacksOnASmallMachine leaves the service.
const smallMachine = 2 << 30

// TestAttacksOnASmallMachine has one account send the documents that fill memory
// to a server that has 2 GiB for itself and everything that it starts, by a
// control group where the test may make one. The server survives, and makes all
// of another account's documents.
func TestAttacksOnASmallMachine(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	c := newChaos(t, storetest.SQLite(t), 1)
	server := c.servers[0]
	group := memoryGroup(t, smallMachine)
	server.env = slices.DeleteFunc(slices.Clone(c.env), func(v string) bool { return strings.HasPrefix(v, "RELAYPDF_MEMORY=") })
	if group == "" {
		server.env = append(server.env, "RELAYPDF_MEMORY="+strconv.Itoa(smallMachine))
	} else {
		script := fmt.Sprintf("#!/bin/sh\necho $$ >%s/cgroup.procs && exec %s \"$@\"\n", group, c.program)
		server.program = filepath.Join(c.dir, "inside")
		if err := os.WriteFile(server.program, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.start(); err != nil {
		t.Fatal(err)
	}
	defer server.end(syscall.SIGTERM)
	neighbour := c.customers[0]
	for _, a := range sharedtest.Attacks() {
		if !fillsMemory(a) {
			continue
		}
		done := make(chan int, 1)
		go func() {
			status, _ := c.document(server.address(), c.attacker, a.HTML, 5*time.Second)
			done <- status
		}()
		for attacking := true; attacking; {
			select {
			case status := <-done:
				t.Logf("%s: status %d", a.Name, status)
				attacking = false
			default:
			}
			if status, err := c.document(server.address(), neighbour, "<p>small</p>", time.Minute); status != http.StatusOK {
				t.Fatalf("beside %q another account's document: status %d, %v", a.Name, status, err)
			}
		}
	}
	select {
	case <-server.gone:
		t.Error("the server did not survive")
	default:
	}
}

// fillsMemory picks the attacks that a small machine has to fear.
func fillsMemory(a sharedtest.Attack) bool {
	return strings.Contains(a.Name, "memory") || a.Screenshot || slices.Contains([]string{
		"fetch of a long data URL", "long thrown error", "pages of noise", "frame flood", "long title",
	}, a.Name)
}

// document makes one document, and returns the status of the response.
func (c *chaos) document(address string, customer *chaosCustomer, html string, timeout time.Duration) (int, error) {
	response, err := c.post(c.t.Context(), address+"/v1/pdf", "", customer, map[string]any{
		"html": html, "options": map[string]any{"timeout": timeout.Milliseconds()},
	})
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, errors.Join(err, response.Body.Close())
}

// memoryGroup makes a control group below this process's with a limit of memory, and returns its folder; empty if
// that is not permitted.
func memoryGroup(t *testing.T, limit int64) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		mount, file := "/sys/fs/cgroup", "memory.max"
		if slices.Contains(strings.Split(parts[1], ","), "memory") {
			mount, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if parts[1] != "" {
			continue
		}
		dir := filepath.Join(mount, parts[2], fmt.Sprintf("relaypdf-test-%d", os.Getpid()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { removeGroup(t, dir) })
		if os.WriteFile(filepath.Join(dir, file), []byte(strconv.FormatInt(limit, 10)), 0o644) == nil {
			t.Logf("in the control group %s", dir)
			return dir
		}
	}
	t.Log("no control group can be made here: the service is told how much memory it has")
	return ""
}

// removeGroup removes a control group when its last process has ended.
func removeGroup(t *testing.T, dir string) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(crashPatience); time.Now().Before(deadline); <-time.After(100 * time.Millisecond) {
		if err = os.Remove(dir); err == nil || os.IsNotExist(err) {
			return
		}
	}
	t.Errorf("processes are left in the control group: %v", err)
}
