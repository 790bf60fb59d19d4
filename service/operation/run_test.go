package operation

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/spool"
	"github.com/relaypdf/relaypdf/service/schema"
)

// newDeps starts a renderer that reaches these hosts besides public ones.
func newDeps(t *testing.T, hosts ...string) *Deps {
	t.Helper()
	// Not t.TempDir, which is in a folder that the browser's user cannot enter.
	dir, err := os.MkdirTemp("", "operation-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	// The browser's own user passes through it.
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	r, err := render.New(t.Context(), render.Config{Dir: dir, AllowHosts: hosts})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return &Deps{Render: r.For("acct_1")}
}

// run binds a body and runs the call.
func run(t *testing.T, deps *Deps, name, body string) (schema.Result, error) {
	t.Helper()
	table := newTable(t)
	call, err := table.Lookup(name).Bind(t.Context(), strings.NewReader(body), schema.Files{})
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return call.Run(t.Context(), deps)
}

func TestRunsMakeFiles(t *testing.T) {
	deps := newDeps(t)
	example := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	table := newTable(t)
	for _, test := range []struct{ name, body, file, contentType, magic string }{
		{"pdf.create", example(table.Lookup("pdf.create").Example), "document.pdf", "application/pdf", "%PDF-"},
		{"images.create", example(table.Lookup("images.create").Example), "screenshot.png", "image/png", "\x89PNG"},
		{"images.create", with(`"type":"jpeg","quality":50,"fullPage":true`), "screenshot.jpeg", "image/jpeg", "\xff\xd8\xff"},
		{"images.create", with(`"type":"webp","clip":{"x":0,"y":0,"width":10,"height":10}`), "screenshot.webp", "image/webp", "RIFF"},
	} {
		result, err := run(t, deps, test.name, test.body)
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
	deps := newDeps(t)
	for _, address := range []string{"http://example.com/", "https://127.0.0.1/", "https://metadata.google.internal/", "file:///etc/passwd"} {
		for _, name := range []string{"pdf.create", "images.create"} {
			_, err := run(t, deps, name, `{"url":"`+address+`"}`)
			var refused *URLError
			if !errors.As(err, &refused) || refused.Refused[0].Field != "url" {
				t.Errorf("%s of %s: error %v, want a URLError on url", name, address, err)
			}
		}
	}
	for options, want := range map[string]string{
		`"pageRanges":"2"`:         "options.pageRanges must select pages of the document, which has 1",
		`"waitForSelector":"p[[["`: "options.waitForSelector is not a valid CSS selector",
	} {
		_, err := run(t, deps, "pdf.create", with(options))
		var faults schema.FieldErrors
		if !errors.As(err, &faults) || faults.Error() != want+"." {
			t.Errorf("%s: error %v, want %q", options, err, want)
		}
	}
}

// zipOf packs files in the order of their names and contents.
func zipOf(t *testing.T, files ...string) string {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		w, err := archive.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// A page finds what came with it, and a site what is in it.
func TestAssetsAndSites(t *testing.T) {
	deps := newDeps(t)
	const page = `<!doctype html><link rel=stylesheet href="css/site.css"><p id=x>plain</p><script src="./app.js"></script>`
	inline := func(content string) string { return base64.StdEncoding.EncodeToString([]byte(content)) }
	const style, script = `#x::before{content:"styled "}`, `x.append(" scripted")`
	for name, body := range map[string]string{
		"html":     `{"html":` + quoted(page) + `,"assets":[{"filename":"css/site.css","file":"` + inline(style) + `"},{"filename":"app.js","file":"` + inline(script) + `"}]}`,
		"markdown": `{"markdown":` + quoted("# Title\n\n"+page) + `,"assets":[{"filename":"css/site.css","file":"` + inline(style) + `"},{"filename":"./app.js","file":"` + inline(script) + `"}],"options":{"html":"allow"}}`,
		"site":     `{"file":"` + zipOf(t, "my site/index.html", page, "my site/css/site.css", `@import "none.css";`+style, "my site/css/none.css", "", "my site/app.js", script, "my site/deep/index.html", "other") + `"}`,
	} {
		result, err := run(t, deps, "pdf.create", body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text := textOf(t, result.Body); !strings.Contains(text, "styled plain scripted") {
			t.Errorf("%s: printed %q", name, text)
		}
		if len(result.Warnings) > 0 {
			t.Errorf("%s: %v", name, result.Warnings)
		}
	}
	result, err := run(t, deps, "images.create", `{"html":"<img src=missing.png>","assets":[{"filename":"a.css","file":"eA=="}]}`)
	if err != nil {
		t.Fatal(err)
	}
	result.Body.Close()
	if w := result.Warnings; len(w) != 1 || w[0].Code != "resource_failed" || !strings.HasSuffix(w[0].URL, "/missing.png") {
		t.Errorf("a missing asset: %v", w)
	}

	for body, want := range map[string]string{
		`{"file":"eA=="}`: "must be a ZIP archive with an index.html",
		`{"file":"` + zipOf(t, "a.html", "x") + `"}`:                                          "it contains none",
		`{"file":"` + zipOf(t, "index.html", "x", "../../etc/passwd", "y") + `"}`:             "Names must be relative",
		`{"file":"` + zipOf(t, "index.html", "x", "/etc/passwd", "y") + `"}`:                  "Names must be relative",
		`{"file":"` + zipOf(t, "index.html", "x", "a", "y", "a", "z") + `"}`:                  "more than once",
		`{"file":"` + zipOf(t, "index.html", "x", "bomb", strings.Repeat("0", 51<<20)) + `"}`: "must be at most 50 MiB when unpacked",
		`{"file":"` + zipOf(t, "index.html", " ") + `"}`:                                      "empty index.html",
	} {
		_, err := run(t, deps, "pdf.create", body)
		var faults schema.FieldErrors
		if !errors.As(err, &faults) || faults[0].Field != "file" || !strings.Contains(faults[0].Message, want) {
			t.Errorf("%.60s: %v, want a fault of file: %s", body, err, want)
		}
	}
}

// A link in an archive is refused, wherever it leads.
func TestSiteWithALink(t *testing.T) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	header := &zip.FileHeader{Name: "secret"}
	header.SetMode(os.ModeSymlink | 0o777)
	w, err := archive.CreateHeader(header)
	if err == nil {
		_, err = io.WriteString(w, "/etc/passwd")
	}
	if err == nil {
		_, err = archive.Create("index.html")
	}
	if err = errors.Join(err, archive.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = render.OpenSite(t.Context(), spool.FromBytes(out.Bytes()))
	var wrong *render.SiteError
	if !errors.As(err, &wrong) || !strings.Contains(wrong.Text, "is not a regular file") {
		t.Errorf("%v, want a refused link", err)
	}
}

func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// textOf returns the text of a PDF, and closes it.
func textOf(t *testing.T, body schema.Body, options ...string) string {
	t.Helper()
	defer body.Close()
	cmd := exec.CommandContext(t.Context(), "pdftotext", append(options, "-", "-")...)
	cmd.Stdin = body.Open()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
