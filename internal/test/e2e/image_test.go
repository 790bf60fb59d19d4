package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestImagesKeepLicenceTexts unpacks a package with the filters of the Dockerfile: the
// text of its licence is unpacked, and other documentation is not.
func TestImagesKeepLicenceTexts(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dockerfile, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	filters := filepath.Join(dir, "filters")
	command := regexp.MustCompile(`(?s)RUN (printf 'path-exclude.*?)\n(?:#|[A-Z])`).FindStringSubmatch(string(dockerfile))
	if command == nil {
		t.Fatal("the Dockerfile sets no filters")
	}
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v: %s", name, args, err, out)
		}
	}
	run("sh", "-c", strings.ReplaceAll(command[1], "/etc/dpkg/dpkg.cfg.d/slim", filters))
	text, err := os.ReadFile(filters)
	if err != nil {
		t.Fatal(err)
	}
	pack, into := filepath.Join(dir, "pack"), filepath.Join(dir, "into")
	write := func(path, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(pack, "DEBIAN", "control"), "Package: sample\nVersion: 1\nArchitecture: all\nMaintainer: A <a@example.com>\nDescription: sample\n")
	for _, name := range []string{"copyright", "README", "examples/copyright-less"} {
		write(filepath.Join(pack, "usr", "share", "doc", "sample", name), name)
	}
	write(filepath.Join(into, "var", "lib", "dpkg", "status"), "")
	for _, name := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(into, "var", "lib", "dpkg", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	deb := filepath.Join(dir, "sample.deb")
	run("dpkg-deb", "--root-owner-group", "--build", pack, deb)
	args := []string{"--root=" + into, "--log=/dev/null", "--force-not-root", "--force-script-chrootless"}
	for line := range strings.Lines(string(text)) {
		args = append(args, "--"+strings.TrimSpace(line))
	}
	run("dpkg", append(args, "--unpack", deb)...)
	for name, want := range map[string]bool{"copyright": true, "README": false, "examples/copyright-less": false} {
		if _, err := os.Stat(filepath.Join(into, "usr", "share", "doc", "sample", name)); (err == nil) != want {
			t.Errorf("%s is unpacked: %v, want %v", name, err == nil, want)
		}
	}
}

// TestCoreImageHasNoAGPLProgram reads which packages the stages of core install.
func TestCoreImageHasNoAGPLProgram(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	stages := map[string]string{}
	from := map[string]string{}
	for _, part := range regexp.MustCompile(`(?m)^FROM `).Split(string(text), -1)[1:] {
		head := strings.Fields(part)
		stages[head[2]], from[head[2]] = part, head[0]
	}
	has := func(stage string) bool {
		for ; stages[stage] != ""; stage = from[stage] {
			if regexp.MustCompile(`(?m)^\s.*\b(ghostscript|mupdf-tools)\b`).MatchString(stages[stage]) {
				return true
			}
		}
		return false
	}
	for stage, want := range map[string]bool{"core": false, "slim": true, "full": true} {
		if stages[stage] == "" || has(stage) != want {
			t.Errorf("%s has programs under the AGPL: %v, want %v", stage, has(stage), want)
		}
	}
}
