package pdftest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed Validate.java
var validator []byte

//go:embed Preflight.java
var preflight []byte

// VeraFolder holds veraPDF and its libraries, as .ci/setup installs them.
const VeraFolder = "/usr/local/lib/relaypdf/verapdf"

// veraLibraries are the libraries of Debian that veraPDF needs and the jar lacks.
var veraLibraries = []string{"jaxb-api", "jaxb-core", "jaxb-runtime", "jaxb-impl", "istack-commons-runtime", "txw2", "javax.activation", "stax-ex", "FastInfoset"}

// VeraPDF returns the rules of a standard ("1b", "2b", "3b", "ua1") that each file breaks, by the
// file's path, as veraPDF reports them. A file that keeps all rules is absent.
func VeraPDF(t testing.TB, standard string, files ...string) map[string][]string {
	t.Helper()
	path := []string{filepath.Join(VeraFolder, "libraries.jar")}
	for _, name := range veraLibraries {
		path = append(path, "/usr/share/java/"+name+".jar")
	}
	return runJava(t, path, "Validate.java", validator, append([]string{standard}, files...))
}

// Preflight returns the rules of PDF/A-1b that each file breaks, by the file's path, as PDFBox reports them.
func Preflight(t testing.TB, files ...string) map[string][]string {
	t.Helper()
	var path []string
	for _, name := range []string{"preflight", "pdfbox2", "fontbox2", "xmpbox", "commons-logging", "commons-io", "jaxb-api", "javax.activation"} {
		path = append(path, "/usr/share/java/"+name+".jar")
	}
	return runJava(t, path, "Preflight.java", preflight, files)
}

// runJava runs a program that prints "file TAB rule" for each rule that a file breaks.
func runJava(t testing.TB, path []string, name string, program []byte, files []string) map[string][]string {
	t.Helper()
	broken := map[string][]string{}
	for line := range strings.Lines(java(t, path, name, program, files...)) {
		file, rule, found := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !found {
			t.Fatalf("%s printed %q", name, line)
		}
		broken[file] = append(broken[file], rule)
	}
	return broken
}

// java runs a program and returns its output.
func java(t testing.TB, path []string, name string, program []byte, args ...string) string {
	t.Helper()
	source := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(source, program, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "java", append([]string{"-cp", strings.Join(path, ":"), source}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, stderr.String())
	}
	return string(out)
}
