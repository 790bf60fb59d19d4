package fakeoidc

import (
	"bufio"
	"html"
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
)

// StartForeign starts an independent OpenID Connect provider, for one client with ClientID, and returns its URL.
// Root is the folder of the repository.
func StartForeign(t *testing.T, root, redirect, secret string) (issuer string) {
	t.Helper()
	modules, err := filepath.Abs(filepath.Join(root, ".ci", "node", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "oidc-provider")); err != nil {
		t.Fatalf("%v: run `make setup`, which installs it", err)
	}
	node := exec.CommandContext(t.Context(), "node", filepath.Join(root, "internal", "test", "fakeoidc", "foreign.js"), redirect, ClientID, secret)
	node.Env = append(node.Environ(), "NODE_PATH="+modules)
	var faults strings.Builder
	node.Stderr = &faults
	in, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := node.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("the provider ended with %v: %s", err, faults.String())
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "http://") {
			return lines.Text()
		}
	}
	t.Fatalf("the provider did not start: %s", faults.String())
	return ""
}

var foreignForm = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)

// Agrees goes through the pages of the provider as a user, and returns the URL that it redirects to.
func Agrees(t *testing.T, address, who, house string) (back string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), house) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	form := url.Values(nil)
	for range 5 {
		method := http.MethodGet
		if form != nil {
			method = http.MethodPost
		}
		r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if to, ok := strings.CutPrefix(answer.Header.Get("Location"), house); ok {
			return to
		}
		action := foreignForm.FindStringSubmatch(string(page))
		if action == nil {
			t.Fatalf("the provider shows status %d and no form: %s", answer.StatusCode, page)
		}
		address = html.UnescapeString(action[1])
		form = url.Values{"prompt": {"consent"}}
		if strings.Contains(string(page), `name="login"`) {
			form = url.Values{"prompt": {"login"}, "login": {who}, "password": {"any"}}
		}
	}
	t.Fatal("the provider asks and asks")
	return ""
}
