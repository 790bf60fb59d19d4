package cli

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// runProgram runs a command line in its own process, as another user where a credential is given.
func runProgram(t testing.TB, credential *syscall.Credential, args ...string) ran {
	t.Helper()
	// The test binary may lie where another user cannot go, so it is handed
	// over open, as descriptor 3.
	binary, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	cmd := exec.CommandContext(t.Context(), "/proc/self/fd/3", args...)
	cmd.ExtraFiles = []*os.File{binary}
	// Under the race detector a program would wait for a second before it ends.
	cmd.Env = []string{actAsProgram + "=1", "PATH=" + os.Getenv("PATH"), "HOME=/", "GORACE=atexit_sleep_ms=0"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// nobody is an unprivileged user of every system.
func nobody() *syscall.Credential { return &syscall.Credential{Uid: 65534, Gid: 65534} }

// TestRootLeavesNothingBehindThatLocksTheServerOut administers, as root, the data of a server that runs as the user
// nobody, and then as nobody.
func TestRootLeavesNothingBehindThatLocksTheServerOut(t *testing.T) {
	dir := sharedtest.ForeignFolder(t)
	data := "--data-dir=" + dir
	step := func(credential *syscall.Credential, args ...string) ran {
		t.Helper()
		r := runProgram(t, credential, append(args, data)...)
		if r.code != 0 {
			t.Fatalf("%q: %+v", args, r)
		}
		checkOwner(t, dir)
		return r
	}
	step(nil, "accounts", "create", "ada@example.com")
	step(nobody(), "accounts", "credit", "ada@example.com", "1")
	step(nil, "keys", "create", "--account", "ada@example.com")
	step(nobody(), "keys", "create", "--account", "ada@example.com")
	if got := step(nobody(), "accounts", "list"); !strings.Contains(got.out, "$6.00") {
		t.Errorf("got %q, want a balance of $6.00", got.out)
	}
	// While the server has the database open, its -wal and -shm files exist too.
	s := openData(t, dir)
	giveAway(t, dir)
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	step(nil, "accounts", "credit", "ada@example.com", "1")
}

// giveAway makes the user nobody the owner of everything in the folder.
func giveAway(t testing.TB, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, 65534, 65534))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkOwner(t testing.TB, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files++
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != 65534 || owner.Gid != 65534 {
			t.Errorf("%s belongs to %d:%d, want 65534:65534", path, owner.Uid, owner.Gid)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 2 {
		t.Errorf("%s holds %d files, want a database", dir, files)
	}
}

// TestBackupOfForeignDataIsWrittenAsRoot backs up and restores as root: the archive is in a folder that the data's
// owner cannot access.
func TestBackupOfForeignDataIsWrittenAsRoot(t *testing.T) {
	dir, private := sharedtest.ForeignFolder(t), t.TempDir()
	archive := filepath.Join(private, "backup.tgz")
	if r := runProgram(t, nil, "accounts", "create", "ada@example.com", "--data-dir", dir); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	if r := runProgram(t, nil, "backup", archive, "--data-dir", dir); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	checkOwner(t, dir)
	restored := sharedtest.ForeignFolder(t)
	if r := runProgram(t, nil, "restore", archive, "--data-dir", restored); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	checkOwner(t, restored)
}

// TestForeignDataIsRefusedClearly runs as the user nobody on root's data.
func TestForeignDataIsRefusedClearly(t *testing.T) {
	dir := sharedtest.ForeignFolder(t)
	if r := runProgram(t, nil, "accounts", "create", "ada@example.com", "--data-dir", dir); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, 0, 0))
	})
	if err != nil {
		t.Fatal(err)
	}
	r := runProgram(t, nobody(), "accounts", "list", "--data-dir", dir)
	if r.code != 1 || !strings.Contains(r.err, "belongs to user root") && !strings.Contains(r.err, "permission denied") {
		t.Errorf("got %+v, want exit code 1 and whom the folder belongs to", r)
	}
}
