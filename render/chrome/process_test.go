package chrome

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// tree returns the pids of the browser and its helpers.
func tree(root int) []int {
	parents := processParents()
	var pids []int
	for pid := range parents {
		if descends(parents, pid, root) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func procFile(t testing.TB, pid int, name string) string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		return "" // It ended meanwhile.
	}
	return string(data)
}

// processorTime returns the ticks that the Pool's browser used so far.
func processorTime(t testing.TB, p *Pool) (ticks int) {
	t.Helper()
	for _, pid := range tree(p.browserPID()) {
		stat := procFile(t, pid, "stat")
		fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
		if len(fields) < 13 {
			continue
		}
		for _, f := range fields[11:13] { // utime and stime
			n, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			ticks += n
		}
	}
	return ticks
}

// TestProcessesAreFoundInTheirSessions has a process lead a session, its child another,
// and ends the latter's leader, whose own child stays behind with a parent elsewhere.
func TestProcessesAreFoundInTheirSessions(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `setsid sh -c 'sleep 1000 & echo $! $$; wait' & wait`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	var child, leader int
	if _, err := fmt.Fscan(out, &child, &leader); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(child, syscall.SIGKILL)
	found := tree(cmd.Process.Pid)
	for _, pid := range []int{cmd.Process.Pid, leader, child} {
		if !slices.Contains(found, pid) {
			t.Errorf("%d is not among %v", pid, found)
		}
	}
	if slices.Contains(found, os.Getpid()) || slices.Contains(tree(leader), cmd.Process.Pid) {
		t.Errorf("who started %d is among %v, or among %v", leader, found, tree(leader))
	}
	if err := syscall.Kill(leader, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// Until somebody has waited for it, a process that ended is still in its session.
	eventually(t, "the leader is gone", func() bool { return errors.Is(syscall.Kill(leader, 0), syscall.ESRCH) })
	if parents := processParents(); parents[child] != parentOf(child) || slices.Contains(tree(cmd.Process.Pid), child) {
		t.Errorf("the child of a leader that ended is a child of %d, want %d", parents[child], parentOf(child))
	}
}

// TestBrowserHasASessionOfItsOwn holds because the kernel divides processors
// among sessions.
func TestBrowserHasASessionOfItsOwn(t *testing.T) {
	sharedtest.Slow(t)
	p := startPool(t, nil)
	main := p.browserPID()
	for _, pid := range tree(main) {
		session, err := unix.Getsid(pid)
		if err != nil {
			continue // It ended meanwhile.
		}
		if session != main && !descends(processParents(), session, main) {
			t.Errorf("process %d of browser %d is in session %d", pid, main, session)
		}
	}
	if session, err := unix.Getsid(main); err != nil || session != main {
		t.Errorf("the browser %d is in session %d (%v), want its own", main, session, err)
	}
}

func TestBrowserRunsUnprivilegedAndSandboxed(t *testing.T) {
	p := startPool(t, nil)
	textOf(t, p, Job{Account: "a", HTML: "x"})
	for _, pid := range tree(p.browserPID()) {
		cmdline := strings.ReplaceAll(procFile(t, pid, "cmdline"), "\x00", " ")
		for line := range strings.Lines(procFile(t, pid, "status")) {
			if ids, ok := strings.CutPrefix(line, "Uid:"); ok && slices.Contains(strings.Fields(ids), "0") {
				t.Errorf("a process runs as root: %s: %s", cmdline, line)
			}
		}
		if strings.Contains(cmdline, "no-sandbox") && !strings.Contains(cmdline, "--no-zygote-sandbox") {
			t.Errorf("a process runs without its sandbox: %s", cmdline)
		}
	}
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	found := renderers(t, p.browserPID())
	if len(found) == 0 {
		t.Fatal("no renderer was found")
	}
	for _, pid := range found {
		if !strings.Contains(procFile(t, pid, "status"), "Seccomp:\t2") {
			t.Errorf("renderer %d has no system call filter", pid)
		}
		ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
		if err == nil && ns == own {
			t.Errorf("renderer %d shares our process namespace", pid)
		}
	}
}

func TestBrowserSeesNoneOfOurEnvironment(t *testing.T) {
	t.Setenv("RELAYPDF_SECRET_KEY", "secret")
	p := startPool(t, nil)
	environ := strings.Split(strings.TrimRight(procFile(t, p.browserPID(), "environ"), "\x00"), "\x00")
	for _, v := range environ {
		if name, _, _ := strings.Cut(v, "="); !slices.Contains([]string{"HOME", "TMPDIR", "PATH", "LANG"}, name) {
			t.Errorf("the browser's environment has %s", name)
		}
	}
	if len(environ) != 4 {
		t.Errorf("%d variables, want 4", len(environ))
	}
}

func TestCloseLeavesNoProcess(t *testing.T) {
	sharedtest.Slow(t)
	p := startPool(t, nil)
	for _, mode := range modes {
		textOf(t, p, Job{Account: "a", RenderMode: mode, HTML: "x"})
	}
	pids := tree(p.browserPID())
	if len(pids) < 4 {
		t.Errorf("only %d processes were found", len(pids))
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	// Helpers that were killed end when they get the processor.
	for _, pid := range pids {
		eventually(t, fmt.Sprintf("process %d ends", pid), func() bool {
			// A zombie has ended; only its parent, which is another process, has not waited for it yet.
			return strings.Contains(procFile(t, pid, "status"), "State:\tZ") || !strings.Contains(procFile(t, pid, "cmdline"), "chromium")
		})
	}
}

func TestFailedStartLeavesNothing(t *testing.T) {
	for name, cfg := range map[string]Config{
		"no such program":      {Proxy: closedProxy, Binary: "/nonexistent"},
		"not a browser":        {Proxy: closedProxy, Binary: "/bin/false"},
		"speaks no protocol":   {Proxy: closedProxy, Binary: "/bin/true"},
		"no such CA":           {Proxy: closedProxy, CAFile: "/nonexistent"},
		"no certificate in CA": {Proxy: closedProxy, CAFile: "/etc/passwd"},
		"no such user":         {Proxy: closedProxy, User: "no-such-user"},
		"root as user":         {Proxy: closedProxy, User: "root"},
		"no proxy":             {},
	} {
		if os.Geteuid() != 0 && strings.Contains(name, "user") {
			continue // Only root can choose another user.
		}
		cfg.Dir = tempDir(t)
		p, err := Start(t.Context(), cfg)
		if err == nil {
			t.Errorf("%s: started", name)
			p.Close()
		}
		if left, _ := os.ReadDir(cfg.Dir); len(left) != 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

// TestFirstStartMayTakeLong: it reads the browser from the disk, and no job could have another one.
func TestFirstStartMayTakeLong(t *testing.T) {
	binary, err := FindBinary("")
	if err != nil {
		t.Fatal(err)
	}
	late := filepath.Join(tempDir(t), "chromium")
	if err := os.WriteFile(late, []byte("#!/bin/sh\nsleep 2\nexec "+binary+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := startPool(t, func(c *Config) { c.Binary, c.Times.Start = late, time.Second })
	contains(t, textOf(t, p, Job{Account: "a", HTML: "works"}), "works")
}

func TestUnreachableFolderIsNamed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the browser runs as the same user")
	}
	dir := tempDir(t)
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Config{Proxy: closedProxy, Dir: dir})
	if err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v, want an error that names %s", err, dir)
	}
}

// helperDir is the variable that passes the folder of TestBrowserDiesWithUs to its helper process.
const helperDir = "CHROME_TEST_HELPER_DIR"

// TestHelperProcess is not a test: it is the program that is killed below.
func TestHelperProcess(t *testing.T) {
	dir := os.Getenv(helperDir)
	if dir == "" {
		t.Skip("only runs inside TestBrowserDiesWithUs")
	}
	p, err := Start(context.Background(), Config{Proxy: closedProxy, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("browser %d", p.browserPID()) // Read by the other test.
	<-t.Context().Done()
}

func TestBrowserDiesWithUs(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHelperProcess$", "-test.v")
	cmd.Env = append(os.Environ(), helperDir+"="+tempDir(t))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		if _, number, ok := strings.Cut(lines.Text(), "browser "); ok {
			fmt.Sscan(number, &pid)
		}
	}
	if pid == 0 {
		t.Fatal("the other process started no browser")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	eventually(t, "the browser is gone", func() bool {
		return syscall.Kill(pid, 0) != nil || strings.Contains(procFile(t, pid, "status"), "State:\tZ")
	})
}

func TestMemoryOfTheProcessTree(t *testing.T) {
	p := startPool(t, nil)
	if got := treeMemory(p.browserPID()); got < 50<<20 || got > 4<<30 {
		t.Errorf("a fresh browser is said to hold %d MB", got>>20)
	}
	if got := treeMemory(-1); got != 0 {
		t.Errorf("a process that does not exist is said to hold %d bytes", got)
	}
}
