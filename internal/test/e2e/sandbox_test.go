package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// withoutCalls makes this program refuse system calls when it acts as the server: those that Docker's default
// profile refuses for namespaces ("namespaces"), those that AppArmor refuses where it restricts namespaces (a user
// namespace can be created, but is useless: "rights"), the same with namespaces that can be created and not used
// ("mounts"), and Landlock ("landlock").
const withoutCalls = "TEST_RELAYPDF_WITHOUT"

// refuseCalls makes the calls fail for this process and its children.
func refuseCalls(what string) error {
	if what == "" {
		return nil
	}
	refuse := func(call uint32, errno uint32) []bpf.Instruction {
		return []bpf.Instruction{
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: 1}, bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | errno},
		}
	}
	filter := []bpf.Instruction{bpf.LoadAbsolute{Off: 0, Size: 4}}
	if strings.Contains(what, "namespaces") {
		for _, call := range []uint32{unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOUNT_SETATTR} {
			filter = append(filter, refuse(call, uint32(unix.EPERM))...)
		}
		filter = append(filter, refuse(unix.SYS_CLONE3, uint32(unix.ENOSYS))...)
		filter = append(filter,
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE, SkipTrue: 3},
			bpf.LoadAbsolute{Off: 16, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: 0x7E020000, SkipTrue: 1},
			bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
			bpf.LoadAbsolute{Off: 0, Size: 4})
	}
	if strings.Contains(what, "rights") {
		const others = 0x6E020000 // all kinds of namespaces but those of users
		filter = append(filter, refuse(unix.SYS_CLONE3, uint32(unix.ENOSYS))...)
		filter = append(filter,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_CLONE, SkipTrue: 1},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_UNSHARE, SkipTrue: 3},
			bpf.LoadAbsolute{Off: 16, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: others, SkipTrue: 1},
			bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
			bpf.LoadAbsolute{Off: 0, Size: 4})
	}
	if strings.Contains(what, "rights") || strings.Contains(what, "mounts") {
		for _, call := range []uint32{unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_CHROOT, unix.SYS_SETHOSTNAME} {
			filter = append(filter, refuse(call, uint32(unix.EACCES))...)
		}
	}
	if strings.Contains(what, "landlock") {
		for _, call := range []uint32{unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF} {
			filter = append(filter, refuse(call, uint32(unix.ENOSYS))...)
		}
	}
	code, err := bpf.Assemble(append(filter, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}))
	if err != nil {
		return err
	}
	raw := make([]unix.SockFilter, len(code))
	for i, in := range code {
		raw[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	program := unix.SockFprog{Len: uint16(len(raw)), Filter: &raw[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

// TestSandboxLevels examines the machine with doctor, which renders documents with every engine, with fewer and
// fewer permissions. The browser is hostile: before it starts, it reads the service's files.
func TestSandboxLevels(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	program := plainProgram(t)
	for _, tt := range []struct {
		name, without, minimum string
		masked, nobody         bool
		readOnly               bool // but for the data and /tmp
		level, refusal         string
		why                    string // a part of the output of doctor
	}{
		{name: "container runtime's default profile", without: "namespaces", minimum: "reduced", level: "reduced"},
		{name: "the same as an ordinary user", without: "namespaces", minimum: "reduced", nobody: true, level: "reduced"},
		{name: "AppArmor restricts namespaces", without: "rights", minimum: "reduced", level: "reduced", why: "user namespaces are refused"},
		{name: "AppArmor restricts them, as an ordinary user", without: "rights", minimum: "reduced", nobody: true, level: "reduced", why: "user namespaces are refused"},
		{name: "AppArmor restricts them, outside of a container", without: "rights", minimum: "full", refusal: `the sandbox would be "reduced", and "full" is wanted`, why: "user namespaces are refused"},
		{name: "namespaces that give no rights", without: "mounts", minimum: "reduced", level: "reduced", why: "user namespaces give no rights"},
		{name: "AppArmor restricts namespaces, and no Landlock", without: "rights,landlock", minimum: "reduced", refusal: `the sandbox would be "none", and "reduced" is wanted`, why: "Landlock"},
		{name: "outside of a container", without: "namespaces", minimum: "full", refusal: `the sandbox would be "reduced", and "full" is wanted`},
		{name: "neither", without: "namespaces,landlock", minimum: "reduced", refusal: `the sandbox would be "none", and "reduced" is wanted`},
		{name: "neither, and none asked for", without: "rights,landlock", minimum: "none", level: "none"},
		{name: "no Landlock", without: "landlock", minimum: "full", level: "full"},
		{name: "read-only root, no Landlock", without: "landlock", minimum: "full", readOnly: true, level: "full"},
		{name: "read-only root, AppArmor restricts namespaces, as an ordinary user", without: "rights", minimum: "reduced", readOnly: true, nobody: true, level: "reduced"},
		{name: "own profile, parts of proc hidden", minimum: "full", masked: true, level: "full"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if (tt.masked || tt.without == "mounts") && program == os.Args[0] && usesC() {
				t.Skip("a build with cgo looks for its threads in /proc by numbers that are others there")
			}
			dir := sharedtest.ForeignFolder(t) // reachable for the browser's user, and removed with files of other users in it
			if !tt.nobody {
				if err := os.Chown(dir, 0, 0); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(dir, 0o711); err != nil {
				t.Fatal(err)
			}
			secrets := []string{filepath.Join(dir, "secret.key"), filepath.Join(dir, "relaypdf.db")}
			for _, path := range secrets {
				if err := os.WriteFile(path, []byte("STOLEN"), 0o600); err != nil {
					t.Fatal(err)
				}
				if tt.nobody {
					if err := os.Chown(path, 65534, 65534); err != nil {
						t.Fatal(err)
					}
				}
			}
			cmd := exec.Command(program, "doctor", "--json", "--data-dir", dir, "--database-url", "sqlite://"+dir+"/other.db",
				"--sandbox", tt.minimum, "--chromium", hostileBrowser(t, dir, secrets))
			if tt.masked {
				cmd = exec.Command("unshare", append([]string{"-m", "sh", "-c", `mount -t tmpfs none /proc/tty && exec "$@"`, "sh"}, cmd.Args...)...)
			}
			if tt.readOnly {
				cmd = exec.Command("unshare", append([]string{"-m", "sh", "-c", readOnlyRoot, "sh"}, cmd.Args...)...)
			}
			cmd.Env = append(os.Environ(), actAsProgram+"=1", withoutCalls+"="+tt.without, "RELAYPDF_MEMORY=2GB", "RELAYPDF_SECRET_KEY=STOLEN-from-the-environment-of-the-server")
			var out, logs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &logs
			runErr := cmd.Run()
			var d diagnosis
			if err := json.Unmarshal(out.Bytes(), &d); err != nil {
				t.Fatalf("%v in %q", err, out.String())
			}
			if tt.refusal != "" {
				if f := d.of("render"); runErr == nil || f.Verdict != "fail" || !strings.Contains(f.Message, tt.refusal) || !strings.Contains(f.Message, "RELAYPDF_SANDBOX=") {
					t.Errorf("got %+v (%v), want a refusal that says %q and what to do", f, runErr, tt.refusal)
				}
				if f := d.of("render"); !strings.Contains(f.Message+f.Remedy, tt.why) {
					t.Errorf("got %+v, want it to say %q", f, tt.why)
				}
				return
			}
			for _, check := range []string{"render", "office", "wkhtmltopdf"} {
				if f := d.of(check); f.Verdict != "ok" {
					t.Errorf("%s: got %+v, want it to work", check, f)
				}
			}
			if f := d.of("engines"); !strings.Contains(f.Message, fmt.Sprintf("the sandbox is %q", tt.level)) || (f.Verdict == "ok") != (tt.level == "full") {
				t.Errorf("got %+v, want the level %q", f, tt.level)
			}
			if f := d.of("engines"); !strings.Contains(f.Message, tt.why) {
				t.Errorf("got %+v, want it to say %q", f, tt.why)
			}
			shared := strings.Contains(out.String(), "protection off: unprivileged user")
			if shared != tt.nobody {
				t.Errorf("said that engines and service share a user: %v, want %v", shared, tt.nobody)
			}
			if strings.Contains(logs.String()+out.String(), "STOLEN") {
				t.Errorf("the browser has read a secret: %s%s", logs.String(), out.String())
			}
		})
	}
}

// readOnlyRoot gives a program only two writable folders: /tmp, in which LibreOffice processes create their pipes,
// and its own temporary folder.
const readOnlyRoot = `t=${TMPDIR:-/tmp}; mount --bind /tmp /tmp && mount --bind "$t" "$t" && mount -o remount,bind,ro / && ! touch /written 2>/dev/null && exec "$@"`

// usesC reports whether this binary was built with cgo, as with the race detector.
func usesC() bool {
	info, ok := debug.ReadBuildInfo()
	return !ok || !slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "0"})
}

// hostileBrowser returns a browser that first reads files of others, and does not start if that works or if it may
// use all memory. It always prints its version, because doctor asks for it outside the sandbox.
func hostileBrowser(t *testing.T, dir string, secrets []string) string {
	t.Helper()
	const version = `[ "$1" != --version ] || exec /usr/lib/chromium/chromium-headless-shell --version`
	script := "#!/bin/sh\n" + version + "\nfor f in " + strings.Join(secrets, " ") + ` /proc/$PPID/environ; do
	if cat "$f" 2>/dev/null | grep -a STOLEN >&2; then exit 7; fi
done
if [ "$(ulimit -d)" = unlimited ]; then echo "the kernel bounds no memory" >&2; exit 8; fi
exec /usr/lib/chromium/chromium-headless-shell "$@"
`
	folder := filepath.Join(dir, "browser")
	path := filepath.Join(folder, "browser")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
