package clients

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"testing"
)

// python is Debian's, which has httpx.
const python = "/usr/bin/python3"

// pythonFolder returns the absolute path of a file of the Python client.
func pythonPath(t *testing.T, elements ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{"python"}, elements...)...))
	if err != nil {
		t.Fatal(err)
	}

	return path
}

// runPython runs a program with the client of the repository.
func runPython(t *testing.T, s service, arguments ...string) string {
	t.Helper()
	env := append(s.environment(t), "PYTHONPATH="+pythonPath(t), "PYTHONDONTWRITEBYTECODE=1")

	return run(t, t.TempDir(), env, append([]string{python}, arguments...)...)
}

func TestClientsPython(t *testing.T) {
	t.Parallel()
	s := serve(t)
	if got := runPython(t, s, pythonPath(t, "test", "client.py")); got != "ok" {
		t.Errorf("the client printed %q", got)
	}
}

// TestClientsPythonEvery calls each operation with the methods of both clients.
func TestClientsPythonEvery(t *testing.T) {
	t.Parallel()
	s, calls := serveEverything(t)
	list, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "calls.json")
	write(t, file, string(list))

	if got := runPython(t, s, pythonPath(t, "test", "every.py"), file); got != strconv.Itoa(len(calls)) {
		t.Errorf("the client printed %q, want the number of calls, %d", got, len(calls))
	}
}
