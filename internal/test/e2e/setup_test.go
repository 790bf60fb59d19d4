package e2e

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

	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/app"
	"github.com/relaypdf/relaypdf/internal/cli"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/store"
	"github.com/relaypdf/relaypdf/store/credit"
)

// pagesAs is a browser without JavaScript with a logged-in user.
func pagesAs(t *testing.T, app *app.App, email string) func(path string, form url.Values) string {
	t.Helper()
	ctx, people := t.Context(), app.Store
	person, err := people.CreateUser(ctx, store.NewUser{Email: email, Verified: true})
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
	ctx, cancel := context.WithTimeout(t.Context(), pagePatience)
	defer cancel()
	from, to := io.Pipe()
	var out, errs bytes.Buffer
	args = append([]string{"setup", "--json", "--no-browser", "--machine", "lantern-ci-02"}, args...)
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Run(ctx, nil, args, strings.NewReader(stdin), to, &errs)
		_ = to.Close()
	}()
	lines := bufio.NewScanner(io.TeeReader(from, &out))
	for first := true; lines.Scan(); first = false {
		var begun struct{ UserCode string }
		if first && json.Unmarshal(lines.Bytes(), &begun) == nil && begun.UserCode != "" {
			decides(post, begun.UserCode, decision)
		}
	}
	code = <-ended
	return out.String(), errs.String(), code
}

// TestSetup gets a key from a running service, by a user on its pages.
func TestSetup(t *testing.T) {
	sharedtest.Slow(t)
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
		args = append([]string{"setup", "--no-browser", "--api-url", app.URL, "--env-file", file}, args...)
		var errs bytes.Buffer
		if code := cli.Run(t.Context(), nil, args, strings.NewReader("n\n"), io.Discard, &errs); code != exitUsage || !strings.Contains(errs.String(), "--force") {
			t.Errorf("%s: exit code %d: %s", name, code, errs.String())
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
	if after, err := os.ReadFile(file); err != nil || bytes.Equal(after, text) || strings.Count(string(after), "RELAYPDF_API_KEY") != 1 || strings.Count(string(after), beside) != 1 {
		t.Errorf("replaced: the file holds %q, %v", after, err)
	}
}

// TestDevicePages uses the pages of the device flow in a browser, and checks each.
func TestDevicePages(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	app := startPages(t)
	maya := openScreen(t, openBrowser(t), app)
	service := client.Client{BaseURL: app.URL, Retries: -1}
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
	maya.sees("No pending request with this code")
	maya.lookAt("/device/wrong")
	maya.fill("code", strings.ToLower(code.UserCode))
	maya.press("Continue")
	maya.sees("Does your terminal show this code?")
	maya.sees(code.UserCode)
	maya.sees("lantern-ci-02, Linux arm64")
	maya.lookAt("/device/decision")
	maya.fill("limit", "2.50")
	maya.press("Approve")
	maya.sees("Access approved")
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
	maya.sees("did not get a key")
	maya.lookAt("/device/denied")
	maya.calm("the pages of the device flow")
}

func runGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	git := exec.CommandContext(t.Context(), "git", args...)
	git.Dir = dir
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}
