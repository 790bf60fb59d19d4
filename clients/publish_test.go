package clients

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// repository is the root of the source.
func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// program returns a folder with the program, which is named as GoReleaser names it.
func program(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "relaypdf_linux_"+runtime.GOARCH+"_v1")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := sharedtest.Program(folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

// readJSON reads a JSON file into a value.
func readJSON(t *testing.T, path string, value any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, value); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// TestDesktopBundle packs the bundle, unpacks it, and starts its server as a desktop application does.
func TestDesktopBundle(t *testing.T) {
	t.Parallel()
	s := serve(t)
	out := t.TempDir()
	run(t, repository(t), os.Environ(), ".ci/release-bundle", "v1.2.3", out, program(t))
	bundle := filepath.Join(out, "relaypdf_1.2.3.mcpb")
	unpacked := filepath.Join(out, "unpacked")
	run(t, out, os.Environ(), publishTool(t, "mcpb"), "unpack", bundle, unpacked)

	var manifest struct {
		Version string
		Server  struct {
			Config struct {
				Command string
				Args    []string
				Env     map[string]string
			} `json:"mcp_config"`
		}
		Settings map[string]any `json:"user_config"`
	}
	readJSON(t, filepath.Join(unpacked, "manifest.json"), &manifest)
	if manifest.Version != "1.2.3" {
		t.Errorf("the version of the manifest is %q", manifest.Version)
	}

	folder := t.TempDir()
	values := strings.NewReplacer("${__dirname}", unpacked, "${user_config.api_url}", s.URL, "${user_config.api_key}", s.Secret, "${user_config.folder}", folder)
	config := manifest.Server.Config
	cmd := exec.CommandContext(t.Context(), values.Replace(config.Command))
	for _, argument := range config.Args {
		cmd.Args = append(cmd.Args, values.Replace(argument))
	}
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	for name, value := range config.Env {
		cmd.Env = append(cmd.Env, name+"="+values.Replace(value))
	}

	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{
		Name: "barcodes_create", Arguments: map[string]any{"type": "qr", "text": "hello", "saveTo": filepath.Join(folder, "code.png")},
	})
	if err != nil || result.IsError {
		t.Fatalf("the tool returned %+v, %v", result, err)
	}
	if code, err := os.ReadFile(filepath.Join(folder, "code.png")); err != nil || !bytes.HasPrefix(code, []byte("\x89PNG")) {
		t.Errorf("the file is %.20q, %v", code, err)
	}

	checkRegistryEntry(t, filepath.Join(out, "server.json"), bundle)
}

// checkRegistryEntry checks the entry of the MCP registry with the registry's own schema.
func checkRegistryEntry(t *testing.T, path, bundle string) {
	t.Helper()
	const module = "github.com/modelcontextprotocol/registry"
	run(t, ".", os.Environ(), "go", "mod", "download", "-modfile=../.ci/publish.mod", module)
	folder := run(t, ".", os.Environ(), "go", "list", "-modfile=../.ci/publish.mod", "-m", "-f", "{{.Dir}}", module)
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(folder, "internal", "validators", "schemas", "2025-12-11.json"))
	if err != nil {
		t.Fatal(err)
	}
	var entry any
	readJSON(t, path, &entry)
	if err := schema.Validate(entry); err != nil {
		t.Errorf("server.json: %v", err)
	}

	var server struct {
		Version, Description string
		Packages             []struct{ Identifier, FileSha256 string }
	}
	readJSON(t, path, &server)
	content, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	const url = "https://github.com/relaypdf/relaypdf/releases/download/v1.2.3/relaypdf_1.2.3.mcpb"
	if server.Version != "1.2.3" || server.Packages[0].Identifier != url || server.Packages[0].FileSha256 != hex.EncodeToString(sum[:]) {
		t.Errorf("server.json is %+v", server)
	}
}

// publishTool is a Node program of .ci/publish.
func publishTool(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(repository(t), ".ci", "publish", "node_modules", ".bin", name)
}

// TestAction runs the step of the GitHub Action with a release of this program, from a server of this test.
func TestAction(t *testing.T) {
	t.Parallel()
	s := serve(t)
	releases := serveRelease(t)
	script := filepath.Join(repository(t), ".github", "actions", "render", "render.sh")

	// act runs the step in a workspace, and returns its output.
	act := func(workspace string, inputs ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), script)
		cmd.Dir = workspace
		cmd.Env = append([]string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + workspace, "RUNNER_TEMP=" + t.TempDir(), "GITHUB_OUTPUT=" + filepath.Join(workspace, "outputs"),
			"RELAYPDF_RELEASES=" + releases, "INPUT_COMMAND=barcodes", "INPUT_SOURCE=", "INPUT_ARGUMENTS=", "INPUT_OUTPUT=",
			"INPUT_API_URL=" + s.URL, "INPUT_API_KEY=" + s.Secret, "INPUT_VERSION=v1.2.3",
		}, inputs...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}

	workspace := t.TempDir()
	out, err := act(workspace, "INPUT_ARGUMENTS=--type=qr\n--text=$(touch injected) \"a b\"\r\n", "INPUT_OUTPUT=code.png")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if code, err := os.ReadFile(filepath.Join(workspace, "code.png")); err != nil || !bytes.HasPrefix(code, []byte("\x89PNG")) {
		t.Errorf("the file is %.20q, %v", code, err)
	}
	if outputs, err := os.ReadFile(filepath.Join(workspace, "outputs")); err != nil || !strings.HasPrefix(string(outputs), "version=") {
		t.Errorf("the outputs are %q, %v", outputs, err)
	}
	if _, err := os.Stat(filepath.Join(workspace, "injected")); err == nil {
		t.Error("an input was run as a command")
	}

	for _, c := range []struct{ input, want string }{
		{"INPUT_VERSION=main", `version must be a release such as v1.2.0, or "installed"; got "main".`},
		{"INPUT_VERSION=v6.6.6", "the checksum of relaypdf_6.6.6_linux_"},
		{"INPUT_VERSION=v4.0.4", "/v4.0.4/relaypdf_4.0.4_linux_" + runtime.GOARCH + ".tar.gz cannot be downloaded."},
		{"INPUT_API_KEY=", "api-key is required"},
		{"INPUT_API_URL=", "api-url is required"},
		{"INPUT_ARGUMENTS=--type=none", "type must be"},
		{"RUNNER_ARCH=X86", "no release for the processor X86"},
	} {
		if out, err := act(t.TempDir(), c.input); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v, %s", c.input, err, out)
		}
	}
}

// serveRelease serves the release v1.2.3, and v6.6.6, whose checksum is wrong.
func serveRelease(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	archive := filepath.Join(dir, "archive.tar.gz")
	run(t, program(t), os.Environ(), "tar", "-czf", archive, "relaypdf")
	content, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		version, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		sum := sha256.Sum256(content)
		switch {
		case version == "v4.0.4":
			http.NotFound(w, r)
		case name == "checksums.txt":
			if version == "v6.6.6" {
				sum = [32]byte{}
			}
			_, _ = fmt.Fprintf(w, "%x  relaypdf_%s_linux_%s.tar.gz\n", sum, strings.TrimPrefix(version, "v"), runtime.GOARCH)
		default:
			_, _ = w.Write(content)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestWorkflows lints the workflows of this repository, and one that uses the action: with its inputs.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	root := repository(t)
	dir := t.TempDir()
	for _, part := range []string{".github/workflows", ".github/actions"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(root, part))); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/main\n")
	const use = `on: push
jobs:
  render:
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@v4
      - uses: ./.github/actions/render
        with: { source: invoice.html, output: invoice.pdf, api-url: "https://pdf.example.com", api-key: "${{ secrets.KEY }}"%s }
`
	write(t, filepath.Join(dir, ".github", "workflows", "use.yml"), fmt.Sprintf(use, ""))

	program, err := sharedtest.Tool("publish.mod", "actionlint")
	if err != nil {
		t.Fatal(err)
	}
	lint := func() (string, error) {
		cmd := exec.CommandContext(t.Context(), program, "-shellcheck=", "-pyflakes=")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := lint(); err != nil {
		t.Errorf("actionlint: %v\n%s", err, out)
	}

	write(t, filepath.Join(dir, ".github", "workflows", "use.yml"), fmt.Sprintf(use, ", pages: 3"))
	if out, err := lint(); err == nil || !strings.Contains(out, `input "pages" is not defined`) {
		t.Errorf("an unknown input: %v\n%s", err, out)
	}
}

// TestReleaseNotesAreThoseOfTheVersion asks for the notes of a candidate and of its release, which have one prefix.
func TestReleaseNotesAreThoseOfTheVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, ".ci", "release-notes")
	script, err := os.ReadFile(filepath.Join(repository(t), ".ci", "release-notes"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, program, string(script))
	write(t, filepath.Join(dir, "CHANGELOG.md"), "# Changelog\n\n## Unreleased\n\n- new\n\n"+
		"## 1.2.0-rc.1\n\n- candidate\n\n## 1.2.0 – 2026-01-02\n\n- release\n\n## 1.1.0\n\n- old\n")

	for version, want := range map[string]string{"v1.2.0": "- release", "v1.2.0-rc.1": "- candidate", "v1.1.0": "- old"} {
		if got := run(t, dir, os.Environ(), "sh", program, version); got != want {
			t.Errorf("the notes of %s are %q, want %q", version, got, want)
		}
	}

	out, err := exec.CommandContext(t.Context(), "sh", program, "v1.2").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no section '## 1.2'") {
		t.Errorf("the notes of v1.2: %v %s", err, out)
	}
}

// TestReleaseNpmRunsAgain publishes a package twice to a registry that accepts each version once, and then another
// package of the same version.
func TestReleaseNpmRunsAgain(t *testing.T) {
	t.Parallel()
	registry := npmRegistry(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "npmrc"), strings.TrimPrefix(registry, "http:")+"/:_authToken=secret\n")
	env := append(os.Environ(), "NPM_CONFIG_REGISTRY="+registry, "NPM_CONFIG_CACHE="+filepath.Join(dir, "cache"),
		"NPM_CONFIG_USERCONFIG="+filepath.Join(dir, "npmrc"))

	write(t, filepath.Join(dir, "package.json"), `{"name": "relaypdf-probe", "version": "1.2.3", "files": ["index.js"]}`)
	write(t, filepath.Join(dir, "index.js"), "1")
	file := filepath.Join(dir, run(t, dir, env, "npm", "pack", "--silent"))
	program := filepath.Join(repository(t), ".ci", "release-npm")
	if out := run(t, dir, env, program, file, "--access", "public"); !strings.Contains(out, "+ relaypdf-probe@1.2.3") {
		t.Errorf("the first time: %s", out)
	}
	if out := run(t, dir, env, program, file, "--access", "public"); out != "relaypdf-probe@1.2.3 is published already" {
		t.Errorf("the second time: %s", out)
	}

	write(t, filepath.Join(dir, "index.js"), "2")
	run(t, dir, env, "npm", "pack", "--silent")
	cmd := exec.CommandContext(t.Context(), program, file)
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err == nil || strings.Contains(string(out), "published already") {
		t.Errorf("another content: %v %s", err, out)
	}
}

// npmRegistry returns the URL of a registry with one package, whose versions cannot be replaced.
func npmRegistry(t *testing.T) string {
	t.Helper()
	var mutex sync.Mutex
	var published []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		switch {
		case r.URL.Path != "/relaypdf-probe", r.Method == http.MethodGet && published == nil:
			http.Error(w, "{}", http.StatusNotFound)
		case r.Method == http.MethodGet:
			_, _ = w.Write(published)
		case published != nil:
			http.Error(w, "{}", http.StatusForbidden)
		default:
			published, _ = io.ReadAll(r.Body)
			_, _ = w.Write([]byte("{}"))
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestPostmanCollection converts the OpenAPI document, and sends requests of the collection.
func TestPostmanCollection(t *testing.T) {
	t.Parallel()
	s := serve(t)
	out := t.TempDir()
	run(t, repository(t), os.Environ(), ".ci/release-postman", "v1.2.3", out)
	var collection postmanFolder
	readJSON(t, filepath.Join(out, "relaypdf_1.2.3.postman_collection.json"), &collection)

	description := s.description(t)
	var document struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(description, &document); err != nil {
		t.Fatal(err)
	}
	var want []string
	for path, methods := range document.Paths {
		for method := range methods {
			want = append(want, strings.ToUpper(method)+" "+path)
		}
	}

	requests := collection.requests()
	var got []string
	for _, r := range requests {
		got = append(got, r.Method+" "+r.path())
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("the requests are\n%s\nand those of the document\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	for _, r := range requests {
		switch r.Method + " " + r.path() {
		case "GET /v1/account", "POST /v1/barcodes":
		default:
			continue
		}
		request, err := http.NewRequest(r.Method, s.URL+r.path(), strings.NewReader(r.Body.Raw))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range r.Header {
			if !h.Disabled {
				request.Header.Set(h.Key, h.Value)
			}
		}
		request.Header.Set("Authorization", "Bearer "+s.Secret)
		response, err := s.HTTP.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(response.Body)
		if err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %s %v", r.path(), response.Status, answer, err)
		}
	}
}

// postmanFolder is a collection or a folder of it.
type postmanFolder struct {
	Item    []postmanFolder
	Request *postmanRequest
}

type postmanRequest struct {
	Method string
	URL    struct {
		Host, Path []string
	}
	Header []struct {
		Key, Value string
		Disabled   bool
	}
	Body struct{ Raw string }
}

// path is the path of the request, as the OpenAPI document writes it.
func (r postmanRequest) path() string {
	parts := slices.Clone(r.URL.Path)
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return "/" + strings.Join(parts, "/")
}

func (f postmanFolder) requests() []postmanRequest {
	var list []postmanRequest
	if f.Request != nil {
		list = append(list, *f.Request)
	}
	for _, item := range f.Item {
		list = append(list, item.requests()...)
	}
	return list
}
