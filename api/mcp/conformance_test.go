package mcp_test

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/service/operation"
)

// newerNode is the Node.js version that the tools of the protocol's authors need, which Debian does not have: `make
// setup` installs it next to them.
func newerNode(t *testing.T) string {
	t.Helper()
	path := filepath.Join(modules(t), ".bin", "node")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run `make setup`, which installs it", err)
	}
	return path
}

// excepted are scenarios that ask for what this server does not have, and may not have for their sake: each may
// fail for its reason, and for no other. The names of tools, prompts and resources are fixed in the scenarios;
// tools here are routes of the API, and each of them costs something.
var excepted = []struct {
	why       string
	only      string // the text of every failed check
	scenarios []string
}{
	{
		"They call tools that are to answer a fixed text, picture, sound, error or schema: the server answers routes, whose results and errors TestPaidCall, TestAlike and TestOfficialClient look at.",
		`unknown tool "test_|Tool 'json_schema_2020_12_tool' not found`,
		[]string{
			"tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-error",
			"json-schema-2020-12",
		},
	},
	{
		"They call tools that write to the client or tell of progress before they answer: the server answers in one piece of JSON, as the protocol allows. Over standard input and output TestProgress has it.",
		`unknown tool "test_`, []string{"tools-call-with-logging", "tools-call-with-progress"},
	},
	{
		"They have the server ask the client's model or its person: no tool here asks back.",
		`unknown (tool|prompt) "test_|Expected InputRequiredResult|could not get initial InputRequiredResult`,
		[]string{
			"tools-call-sampling", "tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums", "input-required-result-basic-elicitation",
			"input-required-result-basic-sampling", "input-required-result-basic-list-roots", "input-required-result-request-state",
			"input-required-result-multiple-input-requests", "input-required-result-multi-round", "input-required-result-non-tool-request",
			"input-required-result-result-type", "input-required-result-tampered-state", "input-required-result-capability-check",
		},
	},
	{
		"Of its 28 checks four need tools that ask back or write to the client; the others pass.",
		"Not testable: server does not list the diagnostic tool", []string{"server-stateless"},
	},
	{
		"It needs a tool whose argument is sent as a header, too: none here wants that.",
		"Not testable: server exposes no tool with x-mcp-header", []string{"http-custom-header-server-validation"},
	},
	{
		"They read resources and prompts of fixed names; TestResources and TestPrompts read those that there are.",
		`Resource not found|unknown prompt "test_`,
		[]string{
			"resources-read-text", "resources-read-binary", "resources-templates-read", "prompts-get-simple", "prompts-get-with-args",
			"prompts-get-embedded-resource", "prompts-get-with-image",
		},
	},
	{
		"Completion and subscriptions are capabilities, which the server does not claim.",
		`method not found: "completion/complete"|unknown method "resources/subscribe"`,
		[]string{"completion-complete", "resources-subscribe", "resources-unsubscribe"},
	},
	{
		"Tasks are an extension, which the server does not claim: what takes long is a job, by async and jobs_wait.",
		`unknown tool "|Not testable: no task was created|fixture from Check 2|capabilities\.extensions MUST|got -32601|returned error code -32602`,
		[]string{
			"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input", "tasks-request-headers",
			"tasks-dispatch-and-envelope", "tasks-required-task-error", "tasks-mrtr-composition",
		},
	},
}

// check is one thing that the protocol's tests have looked at.
type check struct {
	ID, Status   string
	ErrorMessage string
}

// TestConformance runs the protocol authors' checks on the server: every scenario of every version that they have for
// servers. Their client knows no keys, so a proxy adds one.
func TestConformance(t *testing.T) {
	t.Parallel()
	s := newServer(t, open, operation.Rows...)
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	keyed := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // which the server checks
		r.Out.Header.Set("Authorization", "Bearer "+s.Secret)
	}})
	defer keyed.Close()
	folder := t.TempDir()
	// It ends with 1 for the scenarios that are excepted.
	startNode(t, newerNode(t), nil, filepath.Join(modules(t), "@modelcontextprotocol", "conformance", "dist", "index.js"),
		"server", "--url", keyed.URL+api.AgentPath, "--suite", "all", "--timeout", "120000", "--output-dir", folder)
	seen := scenariosIn(t, folder)
	if len(seen) < 60 || len(seen["tools-list"]) == 0 {
		t.Fatalf("only %v ran", slices.Sorted(maps.Keys(seen)))
	}
	for _, e := range excepted {
		only := regexp.MustCompile(e.only)
		for _, name := range e.scenarios {
			failed := failedOf(seen[name])
			if len(failed) == 0 {
				t.Errorf("%s fails no more, or is not there: it is no exception", name)
			}
			for _, c := range failed {
				if !only.MatchString(c.ErrorMessage) {
					t.Errorf("%s: %+v, which is not why it is excepted", name, c)
				}
			}
			delete(seen, name)
		}
	}
	for name, checks := range seen {
		for _, c := range failedOf(checks) {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// scenariosIn reads the checks, by scenario.
func scenariosIn(t *testing.T, folder string) map[string][]check {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	dated := regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)
	seen := map[string][]check{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := dated.FindStringSubmatch(filepath.Base(filepath.Dir(file)))
		var checks []check
		if err := json.Unmarshal(text, &checks); err != nil || name == nil {
			t.Fatalf("%s: %v", file, err)
		}
		seen[name[1]] = checks
	}
	return seen
}

func failedOf(checks []check) []check {
	return slices.DeleteFunc(slices.Clone(checks), func(c check) bool { return c.Status != "FAILURE" })
}

// TestInspector runs the inspector of the protocol's authors the way a developer of agents uses it, in the protocol's
// two eras, and over standard input and output.
func TestInspector(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s := newServer(t, open)
	program := filepath.Join(modules(t), "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
	home := t.TempDir() // where it keeps its settings
	inspect := func(code int, args ...string) map[string]json.RawMessage {
		t.Helper()
		out, ended := startNode(t, newerNode(t), []string{"HOME=" + home}, append([]string{program, "--cli", "--format", "json", "--connect-timeout", "120000"}, args...)...)
		var saw struct{ Result map[string]json.RawMessage }
		if err := json.Unmarshal(out, &saw); ended != code || err != nil && code == 0 {
			t.Fatalf("%v: ended with %d, want %d: %v\n%s", args, ended, code, err, out)
		}
		return saw.Result
	}
	says := func(got map[string]json.RawMessage, member, want string) {
		t.Helper()
		if !strings.Contains(string(got[member]), want) {
			t.Errorf("%s lacks %s: %s", member, want, got[member])
		}
	}
	for _, era := range []string{"legacy", "modern"} {
		at := func(args ...string) []string {
			return append([]string{"--server-url", s.URL + api.AgentPath, "--transport", "http", "--header", "Authorization: Bearer " + s.Secret, "--protocol-era", era}, args...)
		}
		// --strict ends with 6 where a schema would trouble some client.
		says(inspect(0, at("--method", "tools/list", "--strict")...), "tools", `"name":"test_echo"`)
		made := inspect(0, at("--method", "tools/call", "--tool-name", "test_echo", "--tool-arg", "text=ab")...)
		var file struct{ ID string }
		if err := json.Unmarshal(made["structuredContent"], &file); err != nil || s.Content(t, file.ID) != "ab" {
			t.Errorf("%s: it made %s: %v", era, made, err)
		}
		says(inspect(5, at("--method", "tools/call", "--tool-name", "test_echo", "--tool-args-json", `{"text":7}`)...), "content", `invalid_request`)
		says(inspect(0, at("--method", "resources/list")...), "resources", "relaypdf://docs/quick-start")
		says(inspect(0, at("--method", "resources/templates/list")...), "resourceTemplates", "relaypdf://templates/{id}")
		says(inspect(0, at("--method", "resources/read", "--uri", "relaypdf://docs/quick-start")...), "contents", "# Quick start")
		says(inspect(0, at("--method", "prompts/list")...), "prompts", "make_invoice")
		says(inspect(0, at("--method", "prompts/get", "--prompt-name", "page_to_pdf", "--prompt-args", "url=https://x.example")...), "messages", "https://x.example")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	local := []string{self, "-e", "SERVE_AGENT=1", "-e", "SERVICE=" + s.URL, "-e", "KEY=" + s.Secret}
	says(inspect(0, append(local, "--method", "tools/list", "--strict")...), "tools", `"name":"pdf_create"`)
	says(inspect(0, append(local, "--method", "tools/call", "--tool-name", "prices_list")...), "structuredContent", "test.echo")
}
