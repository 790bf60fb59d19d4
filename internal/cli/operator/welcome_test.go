package operator

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/app"
)

// TestMain makes this program its own engine.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "engine" {
		engine := NewEngineCommand()
		engine.SetArgs(os.Args[2:])
		if err := engine.Execute(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// firstStart starts a server, and returns it and what welcomeFirst prints. The server ends with the test.
func firstStart(t *testing.T, dir string, settings ...string) (*app.App, string) {
	t.Helper()
	config, err := app.LoadConfig(nil, append([]string{
		"RELAYPDF_DATA_DIR=" + dir, "RELAYPDF_LISTEN=127.0.0.1:0", "RELAYPDF_METRICS_LISTEN=", "RELAYPDF_ENGINES=none",
		"RELAYPDF_SANDBOX=none",
	}, settings...))
	if err != nil {
		t.Fatal(err)
	}

	a, err := app.New(t.Context(), config, slog.New(slog.DiscardHandler), app.Hooks{Cold: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})

	var out bytes.Buffer
	if err := welcomeFirst(t.Context(), a, &out); err != nil {
		t.Fatal(err)
	}
	return a, out.String()
}

// part returns the first group of a pattern in a text that contains it.
func part(t *testing.T, text, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("%q does not match %s", text, pattern)
	}
	return found[1]
}

// send returns the status and the final address of a request, with the key if there is one.
func send(t *testing.T, method, url, key string) (status int, path string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}

	r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode, response.Request.URL.Path
}

func TestFirstStartPrintsALoginAndAKey(t *testing.T) {
	t.Parallel()
	a, printed := firstStart(t, t.TempDir())
	base := part(t, printed, `running at (\S+)`)
	key := part(t, printed, `key +(pdf_live_\S+)`)
	link := part(t, printed, `log in +(\S+)`)
	if !strings.Contains(printed, "account    admin@localhost, $5.00") {
		t.Errorf("got %q, want the account with its balance", printed)
	}

	if status, _ := send(t, http.MethodGet, base+"/v1/account", key); status != http.StatusOK {
		t.Errorf("the key: got %d, want 200", status)
	}
	if status, path := send(t, http.MethodGet, link, ""); status != http.StatusOK {
		t.Errorf("the link: got %d at %s, want 200", status, path)
	}

	var again bytes.Buffer
	if err := welcomeFirst(t.Context(), a, &again); err != nil || again.Len() > 0 {
		t.Errorf("the next start: got %q and %v, want nothing", again.String(), err)
	}
}

func TestFirstStartIsForEmptyServers(t *testing.T) {
	t.Parallel()
	t.Run("with another address", func(t *testing.T) {
		t.Parallel()
		a, printed := firstStart(t, t.TempDir(), "RELAYPDF_ADMIN_EMAIL=ops@example.com", "RELAYPDF_TRIAL=1.25")
		if !strings.Contains(printed, "account    ops@example.com, $1.25") {
			t.Errorf("got %q, want the account of the setting", printed)
		}

		owner, err := a.Store.UserByEmail(t.Context(), "ops@example.com")
		if err != nil || owner.VerifiedAt == nil || !owner.Operator {
			t.Errorf("got %+v and %v, want a verified operator", owner, err)
		}
	})
	t.Run("without an address", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if _, printed := firstStart(t, dir, "RELAYPDF_ADMIN_EMAIL="); printed != "" {
			t.Errorf("got %q, want nothing", printed)
		}
	})
	t.Run("with an account", func(t *testing.T) {
		t.Parallel()
		a, _ := firstStart(t, t.TempDir(), "RELAYPDF_ADMIN_EMAIL=")
		if _, err := a.Store.CreateAccount(t.Context(), "ada@example.com", 0); err != nil {
			t.Fatal(err)
		}

		a.Config.AdminEmail = "ops@example.com"
		var out bytes.Buffer
		if err := welcomeFirst(t.Context(), a, &out); err != nil || out.Len() > 0 {
			t.Errorf("got %q and %v, want nothing", out.String(), err)
		}
	})
	t.Run("not an address", func(t *testing.T) {
		t.Parallel()
		for _, email := range []string{"ops", "Ops <ops@example.com>", "ops@"} {
			_, err := app.LoadConfig(nil, []string{"RELAYPDF_ADMIN_EMAIL=" + email})
			if err == nil || !strings.Contains(err.Error(), "RELAYPDF_ADMIN_EMAIL") ||
				!strings.Contains(err.Error(), "ada@example.com") {
				t.Errorf("%s: got %v, want an error with the name and an example", email, err)
			}
		}
	})
}
