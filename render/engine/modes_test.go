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

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// withoutNamespaces is set where the kernel refuses namespaces.
const withoutNamespaces = "ENGINE_TEST_WITHOUT_NAMESPACES"

// again is the variable that marks a process started by TestModes.
const again = "ENGINE_TEST_AGAIN"

// TestModes runs the tests of this package again: as an ordinary user, and as
// one who may not make namespaces, as in many containers.
func TestModes(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	if os.Getenv(again) != "" {
		t.Skip("it is running already")
	}
	// A folder where the engines' user may read the executable.
	dir := sharedDir(t)
	path := filepath.Join(dir, "engine.test")
	// Without the race detector, which watches the same tests in this process and
	// multiplies the time of every start of an engine.
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go test -c: %v\n%s", err, out)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	// The limit holds for the namespaces inside of this one.
	refused := slices.Concat(ordinary(t, "daemon"), []string{"unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c",
		`echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all --inh-caps=-all "$@"`, "sh"})
	for _, mode := range []struct {
		name    string
		command []string
		env     string
	}{
		{"ordinary user", ordinary(t, "nobody"), ""},
		{"without namespaces", refused, withoutNamespaces + "=1"},
	} {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			if mode.name == "ordinary user" && os.Geteuid() != 0 {
				t.Skip("this is what the other tests have done")
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
			defer cancel()
			args := slices.Concat(mode.command[1:], []string{path, "-test.timeout=30m"})
			cmd := exec.CommandContext(ctx, mode.command[0], args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), again+"=1", mode.env, "TMPDIR="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// ordinary returns the prefix of a command that runs as a user who is not root. Each mode has its own user: the
// system counts processes by user, and the modes run concurrently.
func ordinary(t *testing.T, name string) []string {
	t.Helper()
	if os.Geteuid() != 0 {
		return []string{"env"}
	}
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return []string{"setpriv", "--reuid", u.Uid, "--regid", u.Gid, "--clear-groups"}
}
