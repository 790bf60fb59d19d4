package static

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFilesAreServedByTheirContent(t *testing.T) {
	style := strings.Repeat("p { color: red }\n", 100) + `@font-face { src: url("./inter.woff2") }`
	files, err := open(fstest.MapFS{
		"app.css": {Data: []byte(style)}, "inter.woff2": {Data: []byte("font")}, ".placeholder": {Data: []byte("x")},
	})
	if err != nil {
		t.Fatal(err)
	}
	get := func(path, encoding string) *http.Response {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept-Encoding", encoding)
		w := httptest.NewRecorder()
		files.ServeHTTP(w, r)
		return w.Result()
	}
	answer := get(files.URL("app.css"), "")
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(style, "./inter.woff2", files.URL("inter.woff2"), 1); string(body) != want {
		t.Errorf("got %q, want the font's address in it", body[len(body)-60:])
	}
	for name, want := range map[string]string{
		"Content-Type": "text/css; charset=utf-8", "X-Content-Type-Options": "nosniff", "Vary": "Accept-Encoding",
	} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	zipped := get(files.URL("app.css"), "br, gzip")
	for _, refused := range []string{"gzip;q=0", "br, gzip; q=0.0", "identity"} {
		if got := get(files.URL("app.css"), refused).Header.Get("Content-Encoding"); got != "" {
			t.Errorf("who takes %q gets %s", refused, got)
		}
	}
	plain, err := gzip.NewReader(zipped.Body)
	if err != nil {
		t.Fatal(err)
	}
	if unzipped, err := io.ReadAll(plain); err != nil || !bytes.Equal(unzipped, body) {
		t.Errorf("gzipped: got %d bytes, %v; want the same %d", len(unzipped), err, len(body))
	}
	if font := get(files.URL("inter.woff2"), "gzip"); font.Header.Get("Content-Type") != "font/woff2" || font.Header.Get("Content-Encoding") != "" {
		t.Errorf("the font came as %v", font.Header)
	}
	for _, path := range []string{"/static/app.css", "/static/", "/static/.placeholder", "/static/../static.go"} {
		if got := get(path, "").StatusCode; got != http.StatusNotFound {
			t.Errorf("%s: got status %d, want 404", path, got)
		}
	}
}

func TestMissingAssetsAreReported(t *testing.T) {
	if _, err := open(fstest.MapFS{".placeholder": {}}); !errors.Is(err, ErrMissing) {
		t.Errorf("got %v, want ErrMissing", err)
	}
	if files, err := Open(); err != nil {
		t.Errorf("this checkout's assets are not built: %v", err)
	} else if files.URL("app.css") == "" {
		t.Error("app.css has no address")
	}
}

// TestEditorIsSmall bounds what a browser fetches to edit a template.
func TestEditorIsSmall(t *testing.T) {
	files, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	const maximum = 250 << 10
	editor := files.byName["editor.js"]
	if editor == nil || len(editor.zipped()) == 0 || len(editor.zipped()) > maximum {
		t.Fatalf("the editor is missing, or has more than %d bytes gzipped", maximum)
	}
}

// TestEditorModulesImportTheCore checks that the panes of the editor import its core and packages, and not each other.
func TestEditorModulesImportTheCore(t *testing.T) {
	const maxLines = 300
	imported := regexp.MustCompile(`(?m)^(?:import|\}|export) .*from "(\.[^"]*)";$`)

	imports := 0
	for folder, allowed := range map[string]*regexp.Regexp{
		"src/editor":      regexp.MustCompile(`^\./core/|^\.\./code\.js$`),
		"src/editor/core": regexp.MustCompile(`^\./|^\.\./\.\./code\.js$`),
	} {
		modules, err := filepath.Glob(folder + "/*.js")
		if err != nil || len(modules) == 0 {
			t.Fatalf("%s: %d modules, %v", folder, len(modules), err)
		}

		for _, module := range modules {
			source, err := os.ReadFile(module)
			if err != nil {
				t.Fatal(err)
			}
			if lines := bytes.Count(source, []byte("\n")); lines > maxLines {
				t.Errorf("%s has %d lines, more than %d", module, lines, maxLines)
			}

			for _, found := range imported.FindAllSubmatch(source, -1) {
				imports++
				if !allowed.Match(found[1]) {
					t.Errorf("%s imports %s", module, found[1])
				}
			}
		}
	}
	if imports < 40 {
		t.Errorf("only %d imports were found", imports)
	}
}
