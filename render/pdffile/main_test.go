package pdffile

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tool runs a program by hand and returns what it printed.
func tool(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// save writes a document to a file of the test and returns its path.
func save(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "document.pdf")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// transform runs qpdf by hand: options stand between the input and the output.
func transform(t testing.TB, content []byte, options ...string) []byte {
	t.Helper()
	in, out := save(t, content), filepath.Join(t.TempDir(), "out.pdf")
	tool(t, "qpdf", append(append([]string{in}, options...), out)...)
	changed, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}
