package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/service/operation"
)

// TestHelpPages writes a page for every command, which man can read.
func TestHelpPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	mustRun(t, "man", dir)
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, want := range []string{
		"\nrelaypdf\\-pdf\\-create \\- Create a PDF from HTML", "\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIstring\\fR", ".SH EXIT STATUS", "\\fBrelaypdf\\-pdf\\fR(1)", ".SH EXAMPLES",
	} {
		if text := read("relaypdf-pdf-create.1"); !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if root, err := newProgram(operation.Rows).root(); err != nil {
		t.Fatal(err)
	} else if pages, err := filepath.Glob(filepath.Join(dir, "*.1")); err != nil || len(pages) < len(root.Commands()) {
		t.Errorf("got %d pages and %v", len(pages), err)
	}
	if strings.Contains(read("relaypdf.1"), "relaypdf\\-engine") {
		t.Error("a hidden command has a page")
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Log("there is no groff to read the pages with")
		return
	}
	var wrong bytes.Buffer
	check := exec.CommandContext(t.Context(), groff, "-Kutf8", "-man", "-ww", "-z", "-Tutf8", filepath.Join(dir, "relaypdf-pdf-create.1"), filepath.Join(dir, "relaypdf.1"))
	check.Stderr = &wrong
	if err := check.Run(); err != nil || wrong.Len() > 0 {
		t.Errorf("groff: %v %s", err, &wrong)
	}
}

// TestHelpOfShells has shells complete commands, values, extensions and ids.
func TestHelpOfShells(t *testing.T) {
	b := newBench(t, nil)
	job, _, _ := strings.Cut(b.run("x", "doc", "print", "-", "--response", "async", "-q").out, "\t")
	client := []string{"--api-url", b.URL, "--api-key", b.Secret}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"doc", "dr"}, "draw\tAnswer with the input\n:4\n"},
		{[]string{"doc", "draw", "--type", ""}, "png\njpeg\n:4\n"},
		{[]string{"doc", "draw", "--output", ""}, "png\njpg\njpeg\nzip\n:8\n"},
		{[]string{"doc", "draw", "--filename", ""}, ":4\n"},
		{[]string{"doc", "draw", "--filename", "@"}, ":0\n"},
		{append(append([]string{"jobs", "wait"}, client...), ""), job + "\tdoc.print processing"},
	} {
		r := runRows(t, b.rows, "", append([]string{"__complete"}, tt.args...)...)
		if r.code != 0 || !strings.HasPrefix(r.out, tt.want) {
			t.Errorf("%q: got %+v, want %q", tt.args, r, tt.want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if r := runRows(t, b.rows, "", "completion", shell); r.code != 0 || !strings.Contains(r.out, "relaypdf") {
			t.Errorf("%s: got exit code %d", shell, r.code)
		}
	}
}
