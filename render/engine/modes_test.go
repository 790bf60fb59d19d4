package engine_test

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// withoutNamespaces is set where the kernel refuses namespaces.
const withoutNamespaces = "ENGINE_TEST_WITHOUT_NAMESPACES"

// again says that this process was started by TestModes.
const again = "ENGINE_TEST_AGAIN"

// TestModes runs the tests of this package again: as an ordinary user, and as
// one who may not make namespaces, as in many containers.
func TestModes(t *testing.T) {
	if os.Getenv(again) != "" {
		t.Skip("it is running already")
	}
	// Where the engines' user may read the program.
	dir := sharedDir(t)
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "engine.test")
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	ordinary := []string{"env"}
	if os.Geteuid() == 0 {
		u, err := user.Lookup("nobody")
		if err != nil {
			t.Fatal(err)
		}
		ordinary = []string{"setpriv", "--reuid", u.Uid, "--regid", u.Gid, "--clear-groups"}
	}
	// The limit holds for the namespaces inside of this one.
	refused := slices.Concat(ordinary, []string{"unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c",
		`echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all --inh-caps=-all "$@"`, "sh"})
	for _, mode := range []struct {
		name    string
		command []string
		env     string
	}{
		{"ordinary user", ordinary, ""},
		{"without namespaces", refused, withoutNamespaces + "=1"},
	} {
		t.Run(mode.name, func(t *testing.T) {
			if mode.name == "ordinary user" && os.Geteuid() != 0 {
				t.Skip("this is what the other tests have done")
			}
			ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
			defer cancel()
			args := slices.Concat(mode.command[1:], []string{path, "-test.timeout=5m30s"})
			cmd := exec.CommandContext(ctx, mode.command[0], args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), again+"=1", mode.env, "TMPDIR="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
