package client_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeBuildsInAnotherModule follows client/README.md in an empty folder: the commands create a module, in
// which the example builds. It may depend on no other module, and on no package of this one except client and
// api/wire. A misspelt field does not compile.
func TestReadmeBuildsInAnotherModule(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(sh|go)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 4 || blocks[0][1] != "sh" || blocks[1][1] != "go" || !strings.HasPrefix(blocks[2][2], "go build\n") {
		t.Fatalf("README.md has %d blocks, want the commands for a module, a program, the commands to build and run it, and more", len(blocks))
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(dir, script string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "GOFLAGS=-trimpath", "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
		return string(out)
	}
	run(dir, strings.ReplaceAll(blocks[0][2], "=../relaypdf", "='"+root+"'"))
	module := filepath.Join(dir, "invoices")
	if err := os.WriteFile(filepath.Join(module, "main.go"), []byte(blocks[1][2]), 0o600); err != nil {
		t.Fatal(err)
	}
	run(module, "go build")
	if _, err := os.Stat(filepath.Join(module, "invoices")); err != nil {
		t.Error(err)
	}

	wrong := strings.Replace(blocks[1][2], "HTML:", "Html:", 1)
	if err := os.WriteFile(filepath.Join(module, "main.go"), []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build")
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "GOFLAGS=-trimpath", "CGO_ENABLED=0")
	const field = "unknown field Html in struct literal of type client.PDFCreateInput"
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), field) {
		t.Errorf("a misspelt field: %v\n%s, want %q", err, out, field)
	}

	const want = "github.com/relaypdf/relaypdf/api/wire\ngithub.com/relaypdf/relaypdf/client\ninvoices\n"
	if got := run(module, "go list -deps -f '{{if not .Standard}}{{.ImportPath}}{{end}}'"); got != want {
		t.Errorf("it is built of\n%swant\n%s", got, want)
	}
}
