package operator

import (
	"bytes"
	"strings"
	"testing"
)

// TestConfigCommand runs the command as a user does, in this process's environment.
func TestConfigCommand(t *testing.T) {
	t.Setenv("RELAYPDF_MAX_BODY", "7MiB")
	cmd := newConfigCommand()
	var out, errOut bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetArgs([]string{"--data-dir", t.TempDir(), "--billing", "off"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(out.String()) {
		if f := strings.Fields(line); len(f) == 3 {
			rows[f[0]] = f[1] + " " + f[2]
		}
	}
	for name, want := range map[string]string{
		"RELAYPDF_MAX_BODY": "7MiB environment", "RELAYPDF_BILLING": "off flag", "RELAYPDF_MAX_FILE": "50MiB default",
	} {
		if rows[name] != want {
			t.Errorf("%s: got %q, want %q", name, rows[name], want)
		}
	}
}
