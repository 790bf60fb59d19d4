package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/relaypdf/relaypdf/internal/cli/console"
	"github.com/relaypdf/relaypdf/internal/setting"
)

// atHome gives a test a user's folder of its own, and an empty folder to be in.
func atHome(t *testing.T) (config string) {
	t.Helper()
	config = t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	for _, name := range []string{"RELAYPDF_API_KEY", "RELAYPDF_API_URL", "RELAYPDF_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Chdir(t.TempDir())
	return filepath.Join(config, "relaypdf", profileFile)
}

// TestAccountProfiles logs in to two servers, chooses between them, and logs out.
func TestAccountProfiles(t *testing.T) {
	b := newBench(t, nil)
	other := newBench(t, nil)
	file := atHome(t)
	run := func(stdin string, args ...string) ran { return runRows(t, b.rows, stdin, args...) }
	done := func(r ran) {
		t.Helper()
		if r.code != 0 {
			t.Fatalf("got %+v", r)
		}
		for _, secret := range []string{b.Secret, other.Secret} {
			if strings.Contains(r.out+r.err, secret) {
				t.Errorf("the key is shown: %+v", r)
			}
		}
	}
	if r := run("", "account"); r.code != exitAuth || !strings.Contains(r.err, "Run relaypdf login or relaypdf setup") {
		t.Errorf("no profile is saved: got %+v", r)
	}
	if r := run("pdf_live_wrong\n", "login", "--with-key", "--api-url", b.URL); r.code != exitAuth || !console.IsAbsent(file) {
		t.Errorf("a wrong key: got %+v, want it refused and not kept", r)
	}
	if r := run("two words", "login", "--with-key", "--api-url", b.URL); r.code != exitUsage {
		t.Errorf("no key: got %+v", r)
	}
	done(run(b.Secret+"\n", "login", "--with-key", "--api-url", b.URL))
	done(run(other.Secret, "login", "--with-key", "--api-url", other.URL+"/", "--profile", "other"))
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v and %v, want a file that only its owner reads", info, err)
	}
	serverOf := func(args ...string) string {
		t.Helper()
		r := run("", append([]string{"whoami", "--json"}, args...)...)
		done(r)
		return decodeJSON[whoIs](t, r.out).URL
	}
	if got := serverOf(); got != b.URL {
		t.Errorf("without a name it is %s, want %s", got, b.URL)
	}
	if got := serverOf("--profile", "other"); got != other.URL {
		t.Errorf("--profile other is %s, want %s", got, other.URL)
	}
	if got := serverOf("--api-url", other.URL); got != other.URL {
		t.Errorf("the address of a profile is %s, want its key", got)
	}
	t.Setenv("RELAYPDF_PROFILE", "other")
	if got := serverOf(); got != other.URL {
		t.Errorf("RELAYPDF_PROFILE is %s, want %s", got, other.URL)
	}
	if got := serverOf("--profile", "default"); got != b.URL {
		t.Errorf("a flag is %s, want it to win over the environment", got)
	}
	if r := run("", "account", "--profile", "none"); r.code != exitUsage || !strings.Contains(r.err, "known profiles: default, other; run relaypdf login --profile none") {
		t.Errorf("no such profile: got %+v", r)
	}
	t.Setenv("RELAYPDF_PROFILE", "")
	// No key is sent to another server than its own.
	if r := run("", "account", "--api-url", "http://127.0.0.1:1"); r.code != exitAuth || !strings.Contains(r.err, "No API key for http://127.0.0.1:1") {
		t.Errorf("a foreign address: got %+v", r)
	}
	if r := run("", "account", "--api-url", "http://127.0.0.1:1", "--profile", "other"); r.code != exitUsage {
		t.Errorf("an address against a profile: got %+v", r)
	}
	done(run("", "profiles", "use", "other"))
	if got := serverOf(); got != other.URL {
		t.Errorf("after profiles use it is %s, want %s", got, other.URL)
	}
	list := run("", "profiles", "list")
	done(list)
	if !strings.Contains(list.out, "other    "+other.URL) || strings.Count(list.out, "yes\n") != 1 {
		t.Errorf("got %s", list.out)
	}
	if r := run("", "__complete", "profiles", "use", ""); !strings.HasPrefix(r.out, "default\t"+b.URL+"\nother\t") {
		t.Errorf("completion: got %+v", r)
	}
	done(run("", "logout"))
	if got := serverOf(); got != b.URL {
		t.Errorf("the profile that is left is %s, want %s", got, b.URL)
	}
	done(run("", "logout"))
	if r := run("", "logout"); r.code != exitUsage || !strings.Contains(r.err, "no profile is saved") {
		t.Errorf("logout again: got %+v", r)
	}
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "pdf_live_") {
		t.Errorf("keys are left in %s, %v", text, err)
	}
}

// TestAccountProfilesOfOthers: a file with keys that others can read is not used.
func TestAccountProfilesOfOthers(t *testing.T) {
	file := atHome(t)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"default":"a","profiles":{"a":{"url":"http://127.0.0.1:1","key":"pdf_live_x"}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := relaypdf(t, "account"); r.code != exitUsage || !strings.Contains(r.err, "close it with chmod 600 "+file) {
		t.Errorf("got %+v", r)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := relaypdf(t, "account"); r.code != exitNetwork {
		t.Errorf("got %+v, want the profile's server to be asked", r)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := relaypdf(t, "account"); r.code != exitUsage || !strings.Contains(r.err, "correct it, or remove it and log in again") {
		t.Errorf("got %+v", r)
	}
}

// TestAccountDotEnv reads the file that relaypdf setup writes, after flags and environment and before the profile; a
// URL without a key is ignored.
func TestAccountDotEnv(t *testing.T) {
	b := newBench(t, nil)
	atHome(t)
	if r := runRows(t, b.rows, "pdf_live_profile", "profiles", "list", "--json"); r.out != `{"profiles":[]}`+"\n" {
		t.Fatalf("got %+v", r)
	}
	known := &profiles{Default: "a", All: map[string]profile{"a": {URL: "http://127.0.0.1:1", Key: "pdf_live_profile"}}}
	if p, err := readProfiles(); err != nil {
		t.Fatal(err)
	} else if known.path = p.path; known.write() != nil {
		t.Fatal("the profile was not kept")
	}
	for _, tt := range []struct {
		env, variable string
		args          []string
		want          credentials
	}{
		{"", "", nil, credentials{"http://127.0.0.1:1", "pdf_live_profile", "profile a", "a"}},
		{"RELAYPDF_API_URL=http://127.0.0.1:9", "", nil, credentials{"http://127.0.0.1:1", "pdf_live_profile", "profile a", "a"}},
		{"A=1\nexport RELAYPDF_API_KEY='pdf_live_env' # mine\n", "", nil, credentials{"http://localhost:8787", "pdf_live_env", ".env", ""}},
		{"RELAYPDF_API_KEY=pdf_live_env\nRELAYPDF_API_URL=http://127.0.0.1:9", "", nil, credentials{"http://127.0.0.1:9", "pdf_live_env", ".env", ""}},
		{"RELAYPDF_API_KEY=pdf_live_env\nRELAYPDF_API_URL=http://127.0.0.1:9", "", []string{"--api-url", "http://127.0.0.1:8"}, credentials{"http://127.0.0.1:8", "pdf_live_env", ".env", ""}},
		{"RELAYPDF_API_KEY=pdf_live_env", "", []string{"--profile", "a"}, credentials{"http://127.0.0.1:1", "pdf_live_profile", "profile a", "a"}},
		{"RELAYPDF_API_KEY=pdf_live_env", "pdf_live_variable", nil, credentials{"http://localhost:8787", "pdf_live_variable", "RELAYPDF_API_KEY", ""}},
		{"RELAYPDF_API_KEY=pdf_live_env", "pdf_live_variable", []string{"--api-key", "pdf_live_flag"}, credentials{"http://localhost:8787", "pdf_live_flag", "--api-key", ""}},
		{"", "pdf_live_variable", []string{"--profile", "a"}, credentials{"http://127.0.0.1:1", "pdf_live_profile", "profile a", "a"}},
	} {
		if err := os.WriteFile(dotEnv, []byte(tt.env), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv(keyVariable, tt.variable)
		config, err := setting.LoadClient(clientFlags(t, tt.args), os.Environ())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := credentialsOf(config); err != nil || got != tt.want {
			t.Errorf("%q, %q, %q: got %+v and %v, want %+v", tt.env, tt.variable, tt.args, got, err, tt.want)
		}
	}
}

// clientFlags returns the flags of a client command that got arguments.
func clientFlags(t *testing.T, args []string) *pflag.FlagSet {
	t.Helper()
	cmd := newAccountCommand()
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return cmd.Flags()
}
