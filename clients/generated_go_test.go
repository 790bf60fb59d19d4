package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// TestGeneratedGo generates a client with oapi-codegen, compiles it and calls every operation with it. The versions
// of the generator and its runtime are pinned in a separate module, testdata/go.
func TestGeneratedGo(t *testing.T) {
	sharedtest.Slow(t)
	t.Parallel()
	s, calls := serveEverything(t)
	dir := t.TempDir()
	sources, err := os.ReadDir(filepath.Join("testdata", "go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		text, err := os.ReadFile(filepath.Join("testdata", "go", source.Name()))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, strings.TrimSuffix(source.Name(), ".txt")), string(text))
	}
	description := s.description(t)
	write(t, filepath.Join(dir, "openapi.json"), string(description))
	list, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "calls.json"), string(list))
	write(t, filepath.Join(dir, "service", "README"), "The generator writes into this folder.\n")
	env := append(s.environment(t), "GOFLAGS=", "GO111MODULE=on", "GOWORK=off")
	run(t, dir, env, "go", "tool", "oapi-codegen", "-config", "config.yaml", "openapi.json")
	// The output of go build, such as a list of downloaded modules, is ignored.
	run(t, dir, env, "go", "build", "-o", "generated", ".")
	if out := run(t, dir, env, filepath.Join(dir, "generated")); out != "ok" {
		t.Errorf("the client says %q", out)
	}
}
