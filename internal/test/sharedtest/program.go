package sharedtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program writes the executable, as make builds it but without symbols, into a folder and returns its path. It is
// linked once for all packages whose tests ask for it, because go run caches the linked executable and go build
// does not; cp copies it.
func Program(dir string) (string, error) {
	path := filepath.Join(dir, "relaypdf")
	run := exec.Command("go", "run", "-exec", "cp", "github.com/relaypdf/relaypdf/cmd/relaypdf", path) //nolint:noctx // It ends.
	run.Env = append(run.Environ(), "CGO_ENABLED=0")                                                   // as make builds, whose cache it shares
	if out, err := run.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
}

// Engine is Program for a render.Renderer's engines: it returns the command for render.Config.Engine. It has no
// race detector, which would make every start four times as long and JavaScript ten times as slow, and would find
// nothing: the tests of the packages below render, whose test binaries are their engines, cover the engines' code.
func Engine(dir string) ([]string, error) {
	path, err := Program(dir)
	if err != nil {
		return nil, err
	}
	return []string{path, "engine"}, nil
}

// Tool builds a tool as pinned in a module file of .ci, if Go's cache does not have it, and returns its path.
func Tool(moduleFile, name string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}

	build := exec.CommandContext(context.Background(), "go", "tool", "-modfile="+filepath.Join(root, ".ci", moduleFile), "-n", name)
	build.Dir = root
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	path, err := build.Output()
	return strings.TrimSpace(string(path)), err
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil && dir != "/"; dir = filepath.Dir(dir) {
		if _, absent := os.Stat(filepath.Join(dir, "go.mod")); absent == nil {
			return dir, nil
		}
	}
	return "", errors.Join(err, errors.New("go.mod is not above this folder"))
}
