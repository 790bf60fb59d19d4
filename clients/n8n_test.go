package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestClientsN8n builds the n8n node of the OpenAPI document, checks it with n8n's linters, and runs workflows with it
// in n8n's executor: one call of every operation, and files in and out.
func TestClientsN8n(t *testing.T) {
	t.Parallel()
	s, calls := serveEverything(t)
	dir := n8nPackage(t, s)
	run(t, dir, os.Environ(), "npm", "run", "--silent", "build")
	run(t, dir, os.Environ(), "npm", "run", "--silent", "lint")

	list, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "calls.json"), string(list))
	home := t.TempDir() // n8n stores a key there
	env := append(s.environment(t), "PACKAGE="+dir, "CALLS="+filepath.Join(dir, "calls.json"), "N8N_USER_FOLDER="+home, "N8N_ENCRYPTION_KEY=test")
	// n8n reports the errors that the workflows expect on the same output.
	if got := run(t, dir, env, "node", filepath.Join("test", "run.cjs")); !strings.HasSuffix(got, "ok") {
		t.Errorf("the node printed %q", got)
	}
}

// n8nPackage is the source of the node, with the parameters that are made of the service's document.
func n8nPackage(t *testing.T, s service) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "n8n-nodes-relaypdf")
	for _, part := range []string{"credentials", "nodes", "test"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join("n8n", part))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"package.json", "tsconfig.json", "eslint.config.mjs"} {
		text, err := os.ReadFile(filepath.Join("n8n", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), string(text))
	}
	modules, err := filepath.Abs(filepath.Join("..", ".ci", "publish", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}

	description, err := s.API.Description()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "openapi.json"), string(description))
	run(t, ".", os.Environ(), "go", "run", "../cmd/n8n", filepath.Join(dir, "openapi.json"), filepath.Join(dir, "nodes", "RelayPdf", "description.ts"))
	return dir
}
