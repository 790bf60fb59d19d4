package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"relaypdf/client"
	"relaypdf/internal/slow"
	"relaypdf/store"
	"relaypdf/store/credit"
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

// pagesAs is a browser without JavaScript with a signed-in user.
func pagesAs(t *testing.T, app *App, email string) func(path string, form url.Values) string {
	t.Helper()
	ctx, people := t.Context(), app.Store
	person, err := people.CreatePerson(ctx, store.NewPerson{Email: email, Verified: true})
	if err != nil {
		t.Fatal(err)
	}
	account, err := app.Store.CreateAccount(ctx, email, credit.Dollar)
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Store.AddMember(ctx, account.ID, person.ID, store.RoleOwner); err != nil {
		t.Fatal(err)
	}
	token, err := people.NewToken(ctx, store.Token{Purpose: store.TokenSignIn, PersonID: person.ID, ExpiresAt: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := http.Client{Jar: jar}
	post := func(path string, form url.Values) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, app.URL+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("POST %s: %s, %v: %s", path, answer.Status, err, text)
		}
		return string(text)
	}
	post("/login/link?token="+token, url.Values{})
	return post
}

// decides types a code and approves or denies it.
func decides(post func(string, url.Values) string, code, decision string) {
	page := post("/device", url.Values{"code": {code}})
	id := regexp.MustCompile(`name="id" value="([^"]+)"`).FindStringSubmatch(page)
	post("/device/decision", url.Values{"id": {id[1]}, "code": {code}, "decision": {decision}, "limit": {"2.50"}, "expires": {"90"}})
}

// setsUp runs relaypdf setup with a user who decides in parallel, and returns its output and exit code.
func setsUp(t *testing.T, post func(string, url.Values) string, decision, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	root, err := newRootCommand(nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), pagePatience)
	defer cancel()
	from, to := io.Pipe()
	var out, errs bytes.Buffer
	root.SetArgs(append([]string{"setup", "--json", "--no-browser", "--machine", "lantern-ci-02"}, args...))
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(to)
	root.SetErr(&errs)
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, root)
		_ = to.Close()
	}()
	lines := bufio.NewScanner(io.TeeReader(from, &out))
	for first := true; lines.Scan(); first = false {
		var begun shownCode
		if first && json.Unmarshal(lines.Bytes(), &begun) == nil && begun.UserCode != "" {
			decides(post, begun.UserCode, decision)
		}
	}
	code = <-ended
	return out.String(), errs.String(), code
}

// TestSetup gets a key from a running service, by a person on its pages.
func TestSetup(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	app := startPages(t)
	post := pagesAs(t, app, "maya@example.com")
	dir := t.TempDir()
	file := filepath.Join(dir, ".env")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, ".git"), 0o700), os.WriteFile(file, []byte("# mine\nA=1\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	beside := "\nRELAYPDF_API_URL=" + app.URL + "\n"
	stdout, stderr, code := setsUp(t, post, "approve", "", "--api-url", app.URL, "--env-file", file)
	if strings.Contains(stderr, "git") || !strings.Contains(stdout, `"tracked":false`) {
		t.Errorf("outside of what git has it says %s and %s", stdout, stderr)
	}
	text, err := os.ReadFile(file)
	if err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, stderr)
	}
	key, ok := strings.CutPrefix(string(text), "# mine\nA=1\nRELAYPDF_API_KEY=")
	if key = strings.TrimSuffix(key, beside); !ok || strings.Contains(key, "\n") {
		t.Fatalf("the file holds %q", text)
	}
	if strings.Contains(stdout+stderr, key) {
		t.Error("the key was printed")
	}
	found, account, err := app.Store.KeyBySecret(t.Context(), key)
	if err != nil || account.Email != "maya@example.com" || found.Name != "cli lantern-ci-02" || found.SpendLimit == nil || *found.SpendLimit != 2_500_000 {
		t.Errorf("the key is %+v of %s, %v", found, account.Email, err)
	}
	if ignored, err := os.ReadFile(filepath.Join(dir, ".gitignore")); err != nil || string(ignored) != "/.env\n" {
		t.Errorf(".gitignore holds %q, %v", ignored, err)
	}
	if lines := strings.Split(strings.TrimSpace(stdout), "\n"); len(lines) != 2 || !strings.Contains(lines[1], `"variable":"RELAYPDF_API_KEY"`) || !strings.Contains(lines[1], `"prefix":"`+found.Prefix+`"`) {
		t.Errorf("printed %s", stdout)
	}

	// An existing key stays unless a flag overrides it, and no new key is requested.
	for name, args := range map[string][]string{"as JSON": {"--json"}, "no answer": nil} {
		r := runRows(t, nil, "n\n", append([]string{"setup", "--no-browser", "--api-url", app.URL, "--env-file", file}, args...)...)
		if r.code != exitUsage || !strings.Contains(r.err, "--force") {
			t.Errorf("%s: exit code %d: %s", name, r.code, r.err)
		}
	}
	if _, stderr, code := setsUp(t, post, "deny", "", "--force", "--api-url", app.URL, "--env-file", file); code != exitAuth || !strings.Contains(stderr, "denied") {
		t.Errorf("denied: exit code %d: %s", code, stderr)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, text) {
		t.Errorf("after the denial the file holds %q, %v", after, err)
	}
	runGit(t, dir, "init", "-q")
	runGit(t, dir, "add", "-f", ".env")
	stdout, stderr, code = setsUp(t, post, "approve", "", "--force", "--api-url", app.URL, "--env-file", file)
	if code != 0 || !strings.Contains(stderr, "git tracks "+file) || !strings.Contains(stdout, `"tracked":true`) {
		t.Errorf("replaced: exit code %d: %s and %s", code, stdout, stderr)
	}
	if after, err := os.ReadFile(file); err != nil || bytes.Equal(after, text) || strings.Count(string(after), keyVariable) != 1 || strings.Count(string(after), beside) != 1 {
		t.Errorf("replaced: the file holds %q, %v", after, err)
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
	for deadline := time.Now().Add(pagePatience); ; {
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

// TestDevicePages goes through the pages of the device flow in a browser, and has
// each looked at.
func TestDevicePages(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	app := startPages(t)
	maya := openScreen(t, openBrowser(t), app)
	service := client.Client{BaseURL: app.URL}
	begin := func() client.DeviceCode {
		t.Helper()
		code, err := service.BeginDevice(t.Context(), client.Machine{Name: "lantern-ci-02", System: "Linux arm64"})
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	code := begin()
	if code.VerificationURI != app.BaseURL()+"/device" {
		t.Errorf("the code is typed at %s", code.VerificationURI)
	}
	maya.join("maya@example.com")
	maya.open("/device")
	maya.weigh("/device")
	maya.lookAt("/device")
	maya.fill("code", "BCDF-GHJK")
	maya.press("Continue")
	maya.sees("No command line is waiting with this code")
	maya.lookAt("/device/wrong")
	maya.fill("code", strings.ToLower(code.UserCode))
	maya.press("Continue")
	maya.sees("Is this code on your screen?")
	maya.sees(code.UserCode)
	maya.sees("lantern-ci-02, Linux arm64")
	maya.lookAt("/device/decision")
	maya.fill("limit", "2.50")
	maya.press("Approve")
	maya.sees("Back to your terminal")
	maya.lookAt("/device/approved")
	code.Interval = 1
	key, err := service.WaitDevice(t.Context(), code)
	if err != nil || key.Key.SpendLimit == nil || *key.Key.SpendLimit != 2_500_000 || key.Key.ExpiresAt == nil {
		t.Errorf("got %+v, %v", key.Key, err)
	}
	maya.open("/dashboard/keys")
	maya.sees("cli lantern-ci-02")
	maya.open("/device")
	maya.fill("code", begin().UserCode)
	maya.press("Continue")
	maya.fill("limit", "much") // which does not matter now
	maya.press("Deny")
	maya.sees("gets no key")
	maya.lookAt("/device/denied")
	maya.calm("the pages of the device flow")
}
