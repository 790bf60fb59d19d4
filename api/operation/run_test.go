package operation

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"relaypdf/api/op"
	"relaypdf/render"
)

// newEnv starts a renderer.
func newEnv(t *testing.T) *Env {
	t.Helper()
	// Not t.TempDir, which lies in a folder that the browser's user cannot enter.
	dir, err := os.MkdirTemp("", "operation-test-") //nolint:usetesting // for the reason above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	// The browser's own user passes through it.
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	r, err := render.New(t.Context(), render.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return &Env{Render: r.For("acct_1")}
}

// run binds a body and runs the call.
func run(t *testing.T, env *Env, name, body string) (op.Result, error) {
	t.Helper()
	table, err := op.NewTable(Rows)
	if err != nil {
		t.Fatal(err)
	}
	call, err := table.Lookup(name).Bind(t.Context(), strings.NewReader(body), op.Files{})
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return call.Run(t.Context(), env)
}

func TestRunsMakeFiles(t *testing.T) {
	env := newEnv(t)
	example := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	table, err := op.NewTable(Rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, body, file, contentType, magic string }{
		{"pdf.create", example(table.Lookup("pdf.create").Example), "document.pdf", "application/pdf", "%PDF-"},
		{"images.create", example(table.Lookup("images.create").Example), "screenshot.png", "image/png", "\x89PNG"},
		{"images.create", with(`"type":"jpeg","quality":50,"fullPage":true`), "screenshot.jpeg", "image/jpeg", "\xff\xd8\xff"},
		{"images.create", with(`"type":"webp","clip":{"x":0,"y":0,"width":10,"height":10}`), "screenshot.webp", "image/webp", "RIFF"},
	} {
		result, err := run(t, env, test.name, test.body)
		if err != nil {
			t.Errorf("%s: %v", test.body, err)
			continue
		}
		content, err := io.ReadAll(result.Body.Open())
		if err != nil {
			t.Error(err)
		}
		if got := result.Stem + result.Extension; got != test.file || result.ContentType != test.contentType {
			t.Errorf("%s: %s of type %s, want %s of type %s", test.body, got, result.ContentType, test.file, test.contentType)
		}
		if !bytes.HasPrefix(content, []byte(test.magic)) || int64(len(content)) != result.Body.Size() {
			t.Errorf("%s: %d bytes that start with %.8q, want %q", test.body, len(content), content, test.magic)
		}
		if err := result.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRunsNameTheField(t *testing.T) {
	env := newEnv(t)
	for _, address := range []string{"http://example.com/", "https://127.0.0.1/", "https://metadata.google.internal/", "file:///etc/passwd"} {
		for _, name := range []string{"pdf.create", "images.create"} {
			_, err := run(t, env, name, `{"url":"`+address+`"}`)
			var refused *URLError
			if !errors.As(err, &refused) || refused.Field != "url" {
				t.Errorf("%s of %s: error %v, want a URLError on url", name, address, err)
			}
		}
	}
	for options, want := range map[string]string{
		`"pageRanges":"2"`:         "options.pageRanges goes beyond the end; the document's page count is 1",
		`"waitForSelector":"p[[["`: "options.waitForSelector is not a valid CSS selector",
	} {
		_, err := run(t, env, "pdf.create", with(options))
		var faults op.Faults
		if !errors.As(err, &faults) || faults.Error() != want+"." {
			t.Errorf("%s: error %v, want %q", options, err, want)
		}
	}
}
