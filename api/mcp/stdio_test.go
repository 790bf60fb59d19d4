package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/api"
	"github.com/relaypdf/relaypdf/api/mcp"
	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/client"
	"github.com/relaypdf/relaypdf/internal/test/apitest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
)

// TestMain makes this test binary the server of a client that starts one.
func TestMain(m *testing.M) {
	if os.Getenv("SERVE_AGENT") == "" {
		os.Exit(m.Run())
	}
	tools, err := api.Tools()
	var selected mcp.Selection
	if err == nil {
		selected, err = mcp.Select(tools, "all")
	}
	if err == nil {
		local := mcp.Local{
			Tools: selected, Documents: documents, Version: "test", Roots: filepath.SplitList(os.Getenv("ROOTS")),
			Service: &client.Client{BaseURL: os.Getenv("SERVICE"), Key: os.Getenv("KEY"), Retries: -1},
		}
		err = local.Serve(context.Background(), os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// line is an agent on this machine.
type line struct {
	in  io.Writer
	out *bufio.Scanner
	id  int
}

// startLocal starts a server on standard input and output, as it were, whose work is
// done by a service.
func startLocal(t *testing.T, roots []string, rows ...schema.Definition[*operation.Deps]) (*line, *apitest.Server) {
	t.Helper()
	return startSelected(t, "all", roots, rows...)
}

// startSelected is startLocal with the given toolsets.
func startSelected(t *testing.T, toolsets string, roots []string, rows ...schema.Definition[*operation.Deps]) (*line, *apitest.Server) {
	t.Helper()
	var tools mcp.Selection
	s := newServer(t, func(cfg *apitest.Settings) {
		open(cfg)
		cfg.Agents = func(d *api.MCPBackend) (http.Handler, error) {
			var err error
			if tools, err = mcp.Select(d.Tools(), toolsets); err != nil {
				return nil, err
			}
			return mcp.NewHandler(d, documents, cfg.Logger)
		}
	}, rows...)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- mcp.Local{Tools: tools, Documents: documents, Version: "test", Roots: roots, Service: s.Client()}.Serve(t.Context(), in, out)
	}()
	t.Cleanup(func() {
		if err := toServer.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	l := &line{in: toServer, out: bufio.NewScanner(fromServer)}
	l.out.Buffer(nil, 16<<20)
	l.ask(t, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	if _, err := io.WriteString(l.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	return l, s
}

func (l *line) ask(t *testing.T, method, params string) answer {
	t.Helper()
	l.id++
	if _, err := fmt.Fprintf(l.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", l.id, method, params); err != nil {
		t.Fatal(err)
	}
	if !l.out.Scan() {
		t.Fatalf("%s is not answered: %v", method, l.out.Err())
	}
	var a answer
	if err := json.Unmarshal(l.out.Bytes(), &a); err != nil || a.Error != nil {
		t.Fatalf("%s is answered with %s (%v)", method, l.out.Text(), err)
	}
	return a
}

func (l *line) use(t *testing.T, tool, arguments string) result {
	t.Helper()
	var r result
	if err := json.Unmarshal(l.ask(t, "tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`).Result, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLocalFiles holds the tools to the folders that they were given.
func TestLocalFiles(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(root, "in.txt"), "hello")
	write(t, filepath.Join(outside, "secret.txt"), "secret")
	if err := os.Symlink(outside, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(root, "file-link")); err != nil {
		t.Fatal(err)
	}
	l, s := startLocal(t, []string{root})
	var made struct{ URL, SavedTo string }
	l.use(t, "test_echo", `{"text":"ab","path":"in.txt","saveTo":"out.txt"}`).into(t, &made)
	if got, err := os.ReadFile(filepath.Join(root, "out.txt")); err != nil || string(got) != "ab" || made.SavedTo != "out.txt" || made.URL == "" {
		t.Errorf("saved %q (%v), told %+v", got, err, made)
	}
	calls := len(s.Effects(t))
	for arguments, want := range map[string]string{
		`{"text":"a","path":"none.txt"}`:                                     "path cannot be read: no such file or directory.",
		`{"text":"a","path":"../` + filepath.Base(outside) + `/secret.txt"}`: "path must be a path in " + root + ".",
		`{"text":"a","path":"` + filepath.Join(outside, "secret.txt") + `"}`: "path must be a path in " + root + ".",
		`{"text":"a","path":"link/secret.txt"}`:                              "path cannot be read: path escapes from parent.",
		`{"text":"a","path":"file-link"}`:                                    "path cannot be read: path escapes from parent.",
		`{"text":"a","path":"."}`:                                            "path must be a file.",
		`{"text":"a","path":7}`:                                              "path must be a path.",
		`{"text":"a","saveTo":"out.txt"}`:                                    "saveTo already exists and is not overwritten. Choose another name.",
		`{"text":"a","saveTo":"link/new.txt"}`:                               "saveTo cannot be written: path escapes from parent.",
		`{"text":"a","saveTo":"` + filepath.Join(outside, "new.txt") + `"}`:  "saveTo must be a path in " + root + ".",
		`{"text":"a","saveTo":"none/new.txt"}`:                               "saveTo cannot be written: no such file or directory.",
		`{"text":"a","saveTo":"new.txt","async":true}`:                       "saveTo is mutually exclusive with async.",
		`{"text":"a","saveTo":"new.txt","path":"none.txt"}`:                  "path cannot be read: no such file or directory.",
		`{"text":7,"saveTo":"new.txt"}`:                                      "text must be a string of at most 100 characters; got 7.",
		`{"text":"a","saveTo":""}`:                                           "saveTo must be a path.",
	} {
		if f := l.use(t, "test_echo", arguments).failure(t); f.Code != wire.InvalidRequest || f.Message != want {
			t.Errorf("%s: got %q, want %q", arguments, f.Message, want)
		}
	}
	if got := len(s.Effects(t)); got != calls {
		t.Errorf("what was refused left something behind: %v", s.Effects(t))
	}
	left, err := filepath.Glob(filepath.Join(root, "*"))
	if err != nil || len(left) != 4 {
		t.Errorf("the folder has %v", left)
	}
	if left, err = filepath.Glob(filepath.Join(outside, "*")); err != nil || len(left) != 1 {
		t.Errorf("the folder outside has %v", left)
	}
}

// TestUnlistedToolsReadLocalFiles: tools outside of the list run too, and accept local files wherever they accept files.
func TestUnlistedToolsReadLocalFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, filepath.Join(root, "a.txt"), "hello")
	l, s := startSelected(t, "default", []string{root}, operation.Rows...)
	var made struct{ ID string }
	l.use(t, "zip_create", `{"files":[{"filename":"a.txt","path":"a.txt"}],"saveTo":"a.zip"}`).into(t, &made)
	saved, err := os.ReadFile(filepath.Join(root, "a.zip"))
	if err != nil || string(saved) != s.Content(t, made.ID) {
		t.Errorf("saved %d bytes: %v", len(saved), err)
	}
	// The list describes assets once, with pdf_create.
	for _, tool := range []string{"pdf_create", "images_create", "templates_preview"} {
		f := l.use(t, tool, `{"html":"a","assets":[{"filename":"b","path":"none.txt"}]}`).failure(t)
		if len(f.Details) != 1 || f.Details[0].Field != "assets[0].path" {
			t.Errorf("%s: %+v", tool, f)
		}
	}
}

func TestNoRootsNoFiles(t *testing.T) {
	t.Parallel()
	l, _ := startLocal(t, nil)
	if f := l.use(t, "test_echo", `{"text":"a","path":"/etc/hostname"}`).failure(t); !strings.Contains(f.Message, "--root") {
		t.Errorf("without folders a path gets %+v", f)
	}
	if f := l.use(t, "test_echo", `{"text":"a","saveTo":"/tmp/new.txt"}`).failure(t); !strings.Contains(f.Message, "--root") {
		t.Errorf("without folders saveTo gets %+v", f)
	}
	if f := l.use(t, "test_echo", `{"text":7}`).failure(t); f.Code != wire.InvalidRequest || f.Details[0].Field != "text" || f.RequestID == "" {
		t.Errorf("a refusal of the service is told as %+v", f)
	}
}

// TestLocalToolsAreTheSame compares the tools of both transports: they differ only in the paths of local files.
func TestLocalToolsAreTheSame(t *testing.T) {
	t.Parallel()
	l, s := startLocal(t, nil, operation.Rows...)
	var here, there struct{ Tools []listed }
	if err := json.Unmarshal(l.ask(t, "tools/list", `{}`).Result, &here); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(ask(t, s, "tools/list", "").Result, &there); err != nil {
		t.Fatal(err)
	}
	name := func(tool listed) string { return tool.Name }
	if got, want := namesOf(here.Tools, name), namesOf(there.Tools, name); !slices.Equal(got, want) {
		t.Errorf("here are %v, there %v", got, want)
	}
	for i, tool := range here.Tools {
		if tool.Description != there.Tools[i].Description {
			t.Errorf("%s says %q here and %q there", tool.Name, tool.Description, there.Tools[i].Description)
		}
		if got, want := withoutPaths(t, tool.InputSchema), withoutPaths(t, there.Tools[i].InputSchema); !reflect.DeepEqual(got, want) {
			t.Errorf("%s accepts %s here and %s there", tool.Name, tool.InputSchema, there.Tools[i].InputSchema)
		}
	}
	if f := l.use(t, "pdf_merge", `{"files":[{"path":"a.pdf"},{"path":"b.pdf"}]}`).failure(t); len(f.Details) != 2 || f.Details[1].Field != "files[1].path" {
		t.Errorf("paths in a list are refused with %+v", f)
	}
}

// withoutPaths returns a schema without the fields for agents on this machine.
func withoutPaths(t *testing.T, schema json.RawMessage) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(schema, &v); err != nil {
		t.Fatal(err)
	}
	var strip func(v any)
	strip = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if members, ok := v["properties"].(map[string]any); ok {
				for _, name := range []string{"path", "saveTo"} {
					delete(members, name)
				}
			}
			for _, member := range v {
				strip(member)
			}
		case []any:
			for _, item := range v {
				strip(item)
			}
		}
	}
	strip(v)
	return v
}

func namesOf(tools []listed, name func(listed) string) (names []string) {
	for _, tool := range tools {
		names = append(names, name(tool))
	}
	return names
}

// TestOfficialClientStartsIt has the protocol's client start the server as desktop
// clients do.
func TestOfficialClientStartsIt(t *testing.T) {
	t.Parallel()
	s := product(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	write(t, filepath.Join(root, "a.txt"), "hello")
	calls := `{"uploaded": {"name": "files_upload", "arguments": {"path": "a.txt", "filename": "a.txt"}}, "account": {"name": "account_get", "arguments": {}}}`
	out := runNode(t, []string{"SERVE_AGENT=1", "SERVICE=" + s.URL, "KEY=" + s.Secret, "ROOTS=" + root, "CALLS=" + calls}, "testdata/client.js", program)
	var saw struct {
		Tools             []string
		Uploaded, Account result
	}
	if err := json.Unmarshal(out, &saw); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	var file struct{ ID string }
	saw.Uploaded.into(t, &file)
	if got := s.Content(t, file.ID); got != "hello" || saw.Account.IsError || !slices.Contains(saw.Tools, "pdf_create") {
		t.Errorf("uploaded %q, account %+v, tools %v", got, saw.Account, saw.Tools)
	}
}

// TestProgress keeps a call running until its client is notified, and expects no notification after its response.
func TestProgress(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	l, _ := startLocal(t, nil, apitest.Echo(func(ctx context.Context, _ *apitest.EchoInput) error {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return ctx.Err()
	}), apitest.JSON())
	_, err := io.WriteString(l.in, `{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"test_echo","arguments":{"text":"a"},"_meta":{"progressToken":"t-1"}}}`+"\n")
	if err != nil {
		t.Fatal(err)
	}
	for told := 0; ; {
		if !l.out.Scan() {
			t.Fatalf("nothing comes: %v", l.out.Err())
		}
		var m struct {
			ID     int
			Method string
			Params struct {
				ProgressToken string
				Progress      float64
				Message       string
			}
			Result json.RawMessage
		}
		if err := json.Unmarshal(l.out.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		if m.ID == 77 {
			if told < 2 || m.Result == nil {
				t.Errorf("after %d notifications: %s", told, l.out.Text())
			}
			break
		}
		told++
		if m.Method != "notifications/progress" || m.Params.ProgressToken != "t-1" || m.Params.Progress != float64(2*told) || !strings.Contains(m.Params.Message, "test_echo") {
			t.Errorf("told %s", l.out.Text())
		}
		if told == 2 {
			close(release)
		}
	}
	// Without a progress token no notification comes: the next line is the response.
	if got := l.use(t, "test_echo", `{"text":"b"}`); got.IsError {
		t.Errorf("got %+v", got)
	}
}
