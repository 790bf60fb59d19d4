package pdftest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Tool runs a program and returns its output.
func Tool(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Save writes a document to a file of the test and returns its path.
func Save(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "document.pdf")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Load reads a file.
func Load(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Transform runs qpdf: options are between the input and the output.
func Transform(t testing.TB, content []byte, options ...string) []byte {
	t.Helper()
	in := Save(t, content)
	out := filepath.Join(t.TempDir(), "out.pdf")
	Tool(t, "qpdf", append(append([]string{in}, options...), out)...)
	return Load(t, out)
}
