package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/setting"
)

// TestInstallKeepsExistingEntries writes the entry of a client next to those of others.
func TestInstallKeepsExistingEntries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := agentClients["cursor"]
	file := c.file(setting.Folders{System: "linux", Home: dir})
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	before := `{"other": {"a": 1}, "mcpServers": {"mine": {"command": "x"}, "relaypdf": {"command": "old"}}}`
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	entry, err := c.entry("", "", []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.install(file, entry); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Other      map[string]int
		MCPServers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	ours := config.MCPServers["relaypdf"]
	if config.Other["a"] != 1 || config.MCPServers["mine"].Command != "x" || ours.Command == "old" || strings.Join(ours.Args, " ") != "mcp --root "+dir {
		t.Errorf("the configuration is %s", text)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("beside it are %v", left)
	}
	if err := os.WriteFile(file, []byte("{ // mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.install(file, entry); err == nil || !strings.Contains(err.Error(), "not valid JSON") {
		t.Errorf("a file that is not JSON: %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "{ // mine" {
		t.Errorf("it was changed to %s (%v)", text, err)
	}
	if entry, err := c.entry("", "default,forms", nil); err != nil || strings.Join(entry["args"].([]string), " ") != "mcp --toolsets default,forms" {
		t.Errorf("with toolsets: %v, %v", entry, err)
	}
	if _, err := c.entry("", "", []string{filepath.Join(dir, "none")}); err == nil || !strings.Contains(err.Error(), "not a folder") {
		t.Errorf("a folder that is not there: %v", err)
	}
	for name, c := range agentClients {
		path := filepath.Join(t.TempDir(), c.file(setting.Folders{Home: "home"}))
		if err := c.install(path, entry); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), `"`+c.member+`"`) || strings.Contains(string(text), "pdf_live_") {
			t.Errorf("%s: %s (%v)", name, text, err)
		}
	}
}

// TestInstallLogsIn: a client may start the server anywhere, so that a key has to be
// one that is found there.
func TestInstallLogsIn(t *testing.T) {
	atHome(t)
	t.Setenv("HOME", t.TempDir())
	const hint = "Run relaypdf login"
	if out := mustRun(t, "mcp", "install", "cursor"); !strings.Contains(out, "Restart Cursor to use it.\n") || !strings.Contains(out, hint) {
		t.Errorf("without a key: %q", out)
	}
	if out := mustRun(t, "mcp", "install", "claude-code"); strings.Contains(out, hint) {
		t.Errorf("in a folder, which may have a key: %q", out)
	}
	if r := relaypdf(t, "mcp", "install", "cursor", "--profile", "work"); r.code != exitUsage || !strings.Contains(r.err, `no profile "work"; run relaypdf login --profile work`) {
		t.Errorf("a profile that there is none of: %+v", r)
	}
	logins, err := readProfiles()
	if err != nil {
		t.Fatal(err)
	}
	logins.All["work"] = profile{URL: "https://pdf.example.com", Key: "pdf_live_x"}
	if err := logins.write(); err != nil {
		t.Fatal(err)
	}
	if out := mustRun(t, "mcp", "install", "cursor", "--profile", "work"); strings.Contains(out, hint) {
		t.Errorf("with a key: %q", out)
	}
	if out := mustRun(t, "mcp", "install", "vscode", "--profile", "work", "--print"); !strings.Contains(strings.Join(strings.Fields(out), ""), `"args":["mcp","--profile","work"]`) {
		t.Errorf("of a profile: %s", out)
	}
}

// TestToolsetsOfTheCommand refuses unknown toolsets, before a client starts and when it is configured.
func TestToolsetsOfTheCommand(t *testing.T) {
	atHome(t)
	t.Setenv("HOME", t.TempDir())
	const want = `--toolsets: unknown toolset "none"; valid toolsets: default, all, account, `
	for _, args := range [][]string{
		{"mcp", "--toolsets", "forms,none", "--api-url", "http://127.0.0.1:9", "--api-key", "pdf_live_x"},
		{"mcp", "install", "cursor", "--toolsets", "none"},
	} {
		if r := relaypdf(t, args...); r.code != exitUsage || !strings.Contains(r.err, want) {
			t.Errorf("%v: %+v", args, r)
		}
	}
	if out := mustRun(t, "mcp", "install", "vscode", "--toolsets", "all", "--print"); !strings.Contains(strings.Join(strings.Fields(out), ""), `"args":["mcp","--toolsets","all"]`) {
		t.Errorf("the entry is %s", out)
	}
}

// TestConfigurationsOfEachSystem: the files are where the clients read them on that system.
func TestConfigurationsOfEachSystem(t *testing.T) {
	linux := setting.Folders{System: "linux", Home: "/home/ada"}
	mac := setting.Folders{System: "darwin", Home: "/Users/ada"}
	windows := setting.Folders{System: "windows", Home: "C:/Users/ada", AppData: "C:/Users/ada/AppData/Roaming"}
	for _, tt := range []struct {
		client string
		user   setting.Folders
		want   string
	}{
		{"claude-desktop", linux, "/home/ada/.config/Claude/claude_desktop_config.json"},
		{"claude-desktop", mac, "/Users/ada/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude-desktop", windows, "C:/Users/ada/AppData/Roaming/Claude/claude_desktop_config.json"},
		{"claude-code", mac, ".mcp.json"},
		{"cursor", linux, "/home/ada/.cursor/mcp.json"},
		{"cursor", mac, "/Users/ada/.cursor/mcp.json"},
		{"cursor", windows, "C:/Users/ada/.cursor/mcp.json"},
		{"vscode", windows, ".vscode/mcp.json"},
		{"windsurf", mac, "/Users/ada/.codeium/windsurf/mcp_config.json"},
		{"windsurf", windows, "C:/Users/ada/.codeium/windsurf/mcp_config.json"},
	} {
		if got := agentClients[tt.client].file(tt.user); got != tt.want {
			t.Errorf("%s on %s: got %s, want %s", tt.client, tt.user.System, got, tt.want)
		}
	}
}
