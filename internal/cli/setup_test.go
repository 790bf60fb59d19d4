package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestEnvFileKeepsOtherLines(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]struct {
		before, after string
		has           bool
	}{
		"empty":          {"", "RELAYPDF_API_KEY=new\n", false},
		"others":         {"# mine\nA=1\n\nB='x y'\n", "# mine\nA=1\n\nB='x y'\nRELAYPDF_API_KEY=new\n", false},
		"no line end":    {"A=1", "A=1\nRELAYPDF_API_KEY=new\n", false},
		"windows":        {"A=1\r\nRELAYPDF_API_KEY=old\r\nB=2\r\n", "A=1\r\nRELAYPDF_API_KEY=new\r\nB=2\r\n", true},
		"windows, new":   {"A=1\r\n", "A=1\r\nRELAYPDF_API_KEY=new\r\n", false},
		"in its place":   {"A=1\nRELAYPDF_API_KEY=old\nB=2", "A=1\nRELAYPDF_API_KEY=new\nB=2", true},
		"export":         {"  export RELAYPDF_API_KEY = \"old\"\n", "  export RELAYPDF_API_KEY = new\n", true},
		"a comment":      {"RELAYPDF_API_KEY=old  # of CI\n", "RELAYPDF_API_KEY=new  # of CI\n", true},
		"none yet":       {"RELAYPDF_API_KEY= # paste here\n", "RELAYPDF_API_KEY= new # paste here\n", false},
		"quoted nothing": {"RELAYPDF_API_KEY=\"\"\n", "RELAYPDF_API_KEY=new\n", false},
		"commented out":  {"#RELAYPDF_API_KEY=old\n", "#RELAYPDF_API_KEY=old\nRELAYPDF_API_KEY=new\n", false},
		"another name":   {"MY_RELAYPDF_API_KEY=a\nRELAYPDF_API_KEY_2=b\n", "MY_RELAYPDF_API_KEY=a\nRELAYPDF_API_KEY_2=b\nRELAYPDF_API_KEY=new\n", false},
		"twice":          {"RELAYPDF_API_KEY=a\nRELAYPDF_API_KEY=b\n", "RELAYPDF_API_KEY=new\nRELAYPDF_API_KEY=new\n", true},
	} {
		f := envFile{text: q.before}
		has := f.has(keyVariable)
		if f.set(keyVariable, "new"); f.text != q.after || has != q.has {
			t.Errorf("%s: got %q and has %v; want %q and %v", name, f.text, has, q.after, q.has)
		}
	}
}

func TestEnvFileIsPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, link := filepath.Join(dir, "real.env"), filepath.Join(dir, ".env")
	if err := errors.Join(os.WriteFile(file, []byte("A=1\n"), 0o644), os.Symlink("real.env", link)); err != nil {
		t.Fatal(err)
	}
	f, err := readEnvFile(link)
	if err != nil {
		t.Fatal(err)
	}
	f.set(keyVariable, "new")
	if err := f.write(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is no link any more")
	}
	if _, err := readEnvFile(dir); err == nil {
		t.Error("a folder is a file of variables")
	}
	if _, err := readEnvFile(filepath.Join(dir, "none", ".env")); err == nil {
		t.Error("a file in no folder can be written")
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".relaypdf-*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestEnvFileIsIgnoredInGit(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]struct {
		top, here, after string // of the repository's folder, of the file's before and after
	}{
		"no file":            {"", "", "/.env\n"},
		"others":             {"", "node_modules\n*.log", "node_modules\n*.log\n/.env\n"},
		"there":              {"", ".env\n", ".env\n"},
		"a pattern":          {"", "# local\n.env*\n", "# local\n.env*\n"},
		"above":              {"*.env\n", "", ""},
		"above, by its path": {"/app/.env\n", "", ""},
		"taken back":         {".env\n", "!.env\n", "!.env\n/.env\n"},
		"a folder":           {"", ".env/\n", ".env/\n/.env\n"},
		"another's":          {"/.env\n", "", "/.env\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			here := filepath.Join(top, "app")
			err := errors.Join(os.MkdirAll(filepath.Join(top, ".git"), 0o700), os.Mkdir(here, 0o700), os.WriteFile(filepath.Join(here, ".env"), nil, 0o600))
			for folder, text := range map[string]string{top: q.top, here: q.here} {
				if text != "" {
					err = errors.Join(err, os.WriteFile(filepath.Join(folder, ".gitignore"), []byte(text), 0o600))
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time there is nothing to be done
				f, err := readEnvFile(filepath.Join(here, ".env"))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.ignoreInGit(); err != nil {
					t.Fatal(err)
				}
				if got, err := os.ReadFile(filepath.Join(here, ".gitignore")); string(got) != q.after || err != nil && q.after != "" {
					t.Errorf("got %q, %v; want %q", got, err, q.after)
				}
			}
		})
	}
	alone := filepath.Join(t.TempDir(), ".env")
	f, err := readEnvFile(alone)
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := f.ignoreInGit(); err != nil || changed != "" {
		t.Errorf("outside of a repository %q was changed, %v", changed, err)
	}
}

func runGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	git := exec.CommandContext(t.Context(), "git", args...)
	git.Dir = dir
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// TestTrackedByGit: a file that git tracks is committed, whatever is in .gitignore.
func TestTrackedByGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, ".env")
	if err := os.WriteFile(file, []byte("A=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if tracked(t.Context(), file) {
		t.Error("outside of a repository it is tracked")
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", ".env"}} {
		if tracked(t.Context(), file) {
			t.Errorf("before git %s it is tracked", args[0])
		}
		runGit(t, dir, args...)
	}
	if !tracked(t.Context(), file) {
		t.Error("what was added is not tracked")
	}
	if tracked(t.Context(), filepath.Join(dir, "other.env")) {
		t.Error("what is not there is tracked")
	}
}

// TestSetupOpensTheAddress in the browser of who sits here, without the code in it.
func TestSetupOpensTheAddress(t *testing.T) {
	dir := t.TempDir()
	noted := filepath.Join(dir, "noted")
	script := filepath.Join(dir, "browser")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf '%s' \"$*\" >"+noted+".part && mv "+noted+".part "+noted+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BROWSER", script)
	openAddress(t.Context(), "https://pdf.example/device")
	for deadline := time.Now().Add(testTimeout); ; {
		if text, err := os.ReadFile(noted); err == nil {
			if string(text) != "https://pdf.example/device" {
				t.Errorf("opened %q", text)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing was opened")
		}
		<-time.After(10 * time.Millisecond)
	}
}
