package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/api"
)

// patience is for Node.js tools on a busy machine.
const patience = 5 * time.Minute

// modules returns the folder in which `make setup` installs npm packages.
func modules(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../.ci/node/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(path, "@modelcontextprotocol")); err != nil {
		t.Fatalf("%v: run `make setup`, which installs it", err)
	}
	return path
}

// runNode runs a Node program and returns its output.
func runNode(t *testing.T, env []string, args ...string) []byte {
	t.Helper()
	out, code := startNode(t, "node", env, args...)
	if code != 0 {
		t.Fatalf("node %v ended with %d", args, code)
	}
	return out
}

// startNode runs a Node program, and returns its output and its exit error.
func startNode(t *testing.T, program string, env []string, args ...string) (out []byte, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	node := exec.CommandContext(ctx, program, args...)
	node.Env = append(append(os.Environ(), "NODE_PATH="+modules(t)), env...)
	var stderr bytes.Buffer
	node.Stderr = &stderr
	out, err := node.Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		t.Fatalf("%s %v: %v", program, args, err)
	}
	if code = node.ProcessState.ExitCode(); code != 0 {
		t.Logf("%s %v ended with %d: %s\n%s", program, args, code, stderr.Bytes(), out)
	}
	return out, code
}

// TestOfficialClient runs the protocol's official client as an agent does.
func TestOfficialClient(t *testing.T) {
	t.Parallel()
	s := newServer(t, open)
	s.Work(t)
	calls := `{
		"made": {"name": "test_echo", "arguments": {"text": "ab"}},
		"refused": {"name": "test_echo", "arguments": {"text": 7}},
		"prices": {"name": "prices_list", "arguments": {}},
		"unknown": {"name": "none", "arguments": {}}
	}`
	out := runNode(t, []string{"KEY=" + s.Secret, "CALLS=" + calls, `JOB={"name":"test_echo","arguments":{"text":"c","async":true}}`}, "testdata/client.js", s.URL+api.AgentPath)
	var saw struct {
		Server                     struct{ Name string }
		Instructions               string
		Tools                      []string
		Made, Refused, Prices, Job result
		Unknown                    struct{ Thrown string }
	}
	if err := json.Unmarshal(out, &saw); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if saw.Server.Name != "relaypdf" || saw.Instructions == "" || !slices.Contains(saw.Tools, "test_echo") || !slices.Contains(saw.Tools, "jobs_wait") {
		t.Errorf("it meets %+v with tools %v", saw.Server, saw.Tools)
	}
	var made, job struct{ ID, URL, Status string }
	saw.Made.into(t, &made)
	saw.Job.into(t, &job)
	if s.Content(t, made.ID) != "ab" || job.Status != "completed" || s.Content(t, job.ID) != "c" {
		t.Errorf("it made %+v and %+v", made, job)
	}
	if saw.Made.Content[0].Type != "resource_link" || saw.Made.Content[0].URI != made.URL {
		t.Errorf("it was given %+v", saw.Made.Content)
	}
	if f := saw.Refused.failure(t); len(f.Details) != 1 || f.Details[0].Field != "text" {
		t.Errorf("it was refused with %+v", f)
	}
	if saw.Prices.IsError || !strings.Contains(saw.Unknown.Thrown, "none") {
		t.Errorf("prices: %+v; a tool that there is none of: %+v", saw.Prices, saw.Unknown)
	}
}
