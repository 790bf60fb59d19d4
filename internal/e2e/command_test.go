package e2e

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"relaypdf/api/operation"
	"relaypdf/internal/app"
	"relaypdf/internal/cli"
)

// ran is what a command line came to.
type ran struct {
	code     int
	out, err string
}

// relaypdf runs a command line of the product in this process.
func relaypdf(t testing.TB, args ...string) ran {
	t.Helper()
	var out, errOut bytes.Buffer
	code := cli.Run(t.Context(), operation.Rows, args, strings.NewReader(""), &out, &errOut)
	return ran{code, out.String(), errOut.String()}
}

// mustRun runs a command line that has to succeed and returns what it printed.
func mustRun(t testing.TB, args ...string) string {
	t.Helper()
	r := relaypdf(t, args...)
	if r.code != 0 {
		t.Fatalf("relaypdf %q: exit code %d: %s", args, r.code, r.err)
	}
	return r.out
}

// dataDir returns the flag of a data folder with one account, ada@example.com.
func dataDir(t testing.TB) (dir, flag string) {
	t.Helper()
	dir = t.TempDir()
	flag = "--data-dir=" + dir
	mustRun(t, "accounts", "create", "ada@example.com", flag)
	return dir, flag
}

// loadConfig returns the settings of flags and variables, without those of this process's environment.
func loadConfig(t testing.TB, flags []string, vars ...string) app.Config {
	t.Helper()
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	app.AddFlags(set, app.GroupServer)
	if err := set.Parse(flags); err != nil {
		t.Fatal(err)
	}
	config, err := app.LoadConfig(set, append([]string{"HOME=/home/ada"}, vars...))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// diagnosis is the output of `relaypdf doctor --json`.
type diagnosis struct {
	OK       bool
	Findings []finding
}

type finding struct{ Check, Verdict, Message, Remedy string }

func (d diagnosis) of(check string) finding {
	for _, f := range d.Findings {
		if f.Check == check {
			return f
		}
	}
	return finding{}
}

// missing reports whether there is no file at the path.
func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// foreignFolder returns a folder that belongs to nobody. Its parents are open,
// unlike those of t.TempDir.
func foreignFolder(t testing.TB) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder to another user")
	}
	dir, err := os.MkdirTemp("", "relaypdf-owner-") //nolint:usetesting // nobody could not pass through the parents of t.TempDir.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	return dir
}

// put writes a file into a new folder and returns its path.
func put(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
