package e2e

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/cli"
	"github.com/relaypdf/relaypdf/service/operation"
)

// ran is the result of a command line.
type ran struct {
	code     int
	out, err string
}

// Exit codes, as `relaypdf help exit-codes` has them.
const (
	exitUsage = 2
	exitAuth  = 3
	exitInput = 8
)

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
