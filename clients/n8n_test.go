package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// TestClientsN8n builds the n8n node of the OpenAPI document, checks it with n8n's linters, and runs workflows with it
// in n8n's executor.
func TestClientsN8n(t *testing.T) {
	t.Parallel()
	s := serve(t, func(cfg *apitest.Settings) {
		cfg.Render, cfg.MaxBody, cfg.DrawTime = lab.renderer(t), 8<<20, patience
	})
	dir := n8nPackage(t, s)
	run(t, dir, os.Environ(), "npm", "run", "--silent", "lint")
	runN8n(t, s, dir)
}

// TestN8nCallsEveryOperation runs a workflow for each operation of the document, in n8n's executor.
func TestN8nCallsEveryOperation(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s, calls := serveEverything(t)
	dir := n8nPackage(t, s)
	list, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "calls.json"), string(list))
	runN8n(t, s, dir, "CALLS="+filepath.Join(dir, "calls.json"))
}

func runN8n(t *testing.T, s service, dir string, variables ...string) {
	t.Helper()
	// n8n stores a key in the folder of its user.
	env := append(s.environment(t), "PACKAGE="+dir, "N8N_USER_FOLDER="+t.TempDir(), "N8N_ENCRYPTION_KEY=test")
	out := run(t, dir, append(env, variables...), "node", filepath.Join("test", "run.cjs"))
	// n8n reports the errors that the workflows expect on the same output.
	if !strings.HasSuffix(out, "ok") {
		t.Errorf("the node printed %q", out)
	}
}

// n8nPackage is the built node, with the parameters that are made of the service's document.
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
	linkModules(t, dir, "publish")

	write(t, filepath.Join(dir, "openapi.json"), string(s.description(t)))
	run(t, ".", os.Environ(), "go", "run", "../cmd/n8n", filepath.Join(dir, "openapi.json"), filepath.Join(dir, "nodes", "RelayPdf", "description.ts"))
	run(t, dir, os.Environ(), "npm", "run", "--silent", "build")
	return dir
}
