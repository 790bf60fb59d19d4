package clients

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// python is Debian's, which has httpx and mypy.
const python = "/usr/bin/python3"

// pythonPath returns the absolute path of a file of the Python client.
func pythonPath(t *testing.T, elements ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{"python"}, elements...)...))
	if err != nil {
		t.Fatal(err)
	}

	return path
}

// runPython runs a program in a folder, with the client of the repository.
func runPython(t *testing.T, s service, dir string, arguments ...string) string {
	t.Helper()
	env := append(s.environment(t), "PYTHONPATH="+pythonPath(t), "PYTHONDONTWRITEBYTECODE=1")

	return run(t, dir, env, append([]string{python}, arguments...)...)
}

func TestClientsPython(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if got := runPython(t, s, t.TempDir(), pythonPath(t, "test", "client.py")); got != "ok" {
		t.Errorf("the client printed %q", got)
	}
}

// TestClientsPythonEvery calls each operation with the methods of both clients, and runs README.md.
func TestClientsPythonEvery(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s, calls := serveEverything(t)
	// The MCP endpoint has clients of its own.
	calls = slices.DeleteFunc(calls, func(c call) bool { return c.Operation == "mcp_send" })
	list, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "calls.json"), string(list))
	if got := runPython(t, s, dir, pythonPath(t, "test", "every.py"), "calls.json"); got != strconv.Itoa(len(calls)) {
		t.Errorf("the client printed %q, want the number of calls, %d", got, len(calls))
	}

	identity := calls[slices.IndexFunc(calls, func(c call) bool { return c.Operation == "signing_identities_create" })]
	var input struct {
		PKCS12 []byte `json:"pkcs12"`
	}
	if err := json.Unmarshal(identity.Body, &input); err != nil {
		t.Fatalf("the example of signing_identities_create: %v", err)
	}
	write(t, filepath.Join(dir, "key.p12"), string(input.PKCS12))
	write(t, filepath.Join(dir, "readme.py"), "import os\nos.environ['RELAYPDF_API_KEY'] = os.environ['KEY']\n"+
		strings.ReplaceAll(pythonReadme(t), `"http://localhost:8787"`, "os.environ['BASE_URL']")+
		"\nassert receive(os.environ['EVENT'].encode(), {'Service-Signature': os.environ['SIGNATURE']}, os.environ['SECRET']) == 204\n")
	runPython(t, s, dir, "readme.py")
	for _, name := range []string{"invoice", "invoice-43", "invoice-44", "merged", "report", "letter", "signed", "pages", "order", "payslip"} {
		if text, err := os.ReadFile(filepath.Join(dir, name+".pdf")); err != nil || !strings.HasPrefix(string(text), "%PDF") {
			t.Errorf("README.md writes no %s.pdf: %v", name, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "invoices.zip")); err != nil || !strings.HasPrefix(string(text), "PK") {
		t.Errorf("README.md writes no invoices.zip: %v", err)
	}
}

// pythonReadme returns the blocks of README.md as one program.
func pythonReadme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(pythonPath(t, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var program strings.Builder
	for _, block := range regexp.MustCompile("(?s)```python\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		program.WriteString(block[1] + "\n")
	}

	return program.String()
}

// TestClientsPythonTypes checks the package and programs that use it with mypy and pyright, in their strictest modes.
// They accept typed.py and README.md, and no line of mistyped.py that ends with #.
func TestClientsPythonTypes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts type checkers")
	}
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"typed.py", "mistyped.py"} {
		text, err := os.ReadFile(pythonPath(t, "test", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), string(text))
	}
	write(t, filepath.Join(dir, "readme.py"), pythonReadme(t))
	if err := os.CopyFS(filepath.Join(dir, "relaypdf"), os.DirFS(pythonPath(t, "relaypdf"))); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "pyrightconfig.json"), `{"typeCheckingMode": "strict", "pythonVersion": "3.10"}`)

	mistyped, err := os.ReadFile(filepath.Join(dir, "mistyped.py"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i, line := range strings.Split(string(mistyped), "\n") {
		if strings.HasSuffix(line, "#") {
			want = append(want, "mistyped.py:"+strconv.Itoa(i+1))
		}
	}

	// Older versions of mypy have Unpack as a feature to switch on.
	mypy := []string{"mypy", "--strict", "--python-version=3.10", "--enable-incomplete-feature=Unpack", "relaypdf", "typed.py", "readme.py", "mistyped.py"}
	for _, checker := range [][]string{mypy, {tool(t, "pyright"), "--pythonpath", python}} {
		cmd := exec.CommandContext(t.Context(), checker[0], checker[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Fatalf("%s found no error:\n%s", checker[0], out)
		}
		var got []string
		for _, match := range regexp.MustCompile(`(?m)([\w./]+\.py:\d+):.*\berror\b`).FindAllStringSubmatch(string(out), -1) {
			got = append(got, filepath.Base(match[1]))
		}
		slices.Sort(want)
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%s found errors in %v, want %v\n%s", checker[0], got, want, out)
		}
	}
}
