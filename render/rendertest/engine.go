// Package rendertest is what tests of render and of packages above it share.
package rendertest

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

// Engine builds the program whose children a render.Renderer's engines are, in a
// folder, and returns its command for render.Config.Engine. It has no race detector,
// which would make every start four times as long and JavaScript ten times as slow,
// and would find nothing: what engines do is watched in the tests of the
// packages below render, whose own programs their engines are.
func Engine(dir string) ([]string, error) {
	path := filepath.Join(dir, "engine")
	// As make builds, whose cache it shares.
	build := exec.Command("env", "CGO_ENABLED=0", "go", "build", "-o", path, "relaypdf/cmd/relaypdf") //nolint:noctx // It ends.
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the engine: %w\n%s", err, out)
	}
	return []string{path, "engine"}, nil
}
