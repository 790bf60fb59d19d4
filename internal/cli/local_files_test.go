package cli

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
)

// TestInputsOfLocalFiles sends only the files that a page refers to in its folder.
func TestInputsOfLocalFiles(t *testing.T) {
	dir := sharedtest.PageFolder(t)
	embed := func(file, field, text string) (string, *localFiles) {
		t.Helper()
		l := &localFiles{}
		got, err := l.embed(filepath.Join(dir, file), field, text)
		if err != nil {
			t.Fatal(err)
		}
		return got, l
	}
	page, err := os.ReadFile(filepath.Join(dir, "page.html"))
	if err != nil {
		t.Fatal(err)
	}
	got, l := embed("page.html", "html", string(page))
	if want := []string{"css/main.css", "css/more.css", "img/red.png"}; !slices.Equal(l.sent, want) || len(l.missed) != 1 || l.missed[0] != "img/none.png was not uploaded: the file does not exist" {
		t.Errorf("sent %q, missed %q", l.sent, l.missed)
	}
	for _, want := range []string{
		`<link rel="stylesheet" href="data:text/css;charset=utf-8;base64,`, `<link rel="icon" href="img/red.png">`, `background: url("data:image/png;base64,`,
		`<img src="data:image/png;base64,`, `alt="a&amp;b"`, `<p class=x >kept</p></body></html>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
	_, style, _ := strings.Cut(got, `href="data:text/css;charset=utf-8;base64,`)
	style, _, _ = strings.Cut(style, `"`)
	if css, err := base64.StdEncoding.DecodeString(style); err != nil || !strings.Contains(string(css), `@import "data:text/css;charset=utf-8;base64,`) {
		t.Errorf("the style is %q, %v", css, err)
	}

	for source, missed := range map[string]string{
		`<img src="../outside.png">`:                              "../outside.png was not uploaded: it is outside the page's folder",
		`<img src="img/link.png">`:                                "img/link.png was not uploaded: it is a symbolic link out of the page's folder",
		`<img src="secret.txt">`:                                  "secret.txt was not uploaded: it is not a style, image, font or script",
		`<img src="img">`:                                         "img was not uploaded: it is not a style, image, font or script",
		`<img src="https://example.com/a.png">`:                   "",
		`<img src="//example.com/a.png">`:                         "",
		`<img src="data:image/png;base64,AA==">`:                  "",
		`<img src="{{logo}}.png">`:                                "",
		`<a href="img/red.png">x</a>`:                             "",
		`<base href="https://e.com/"><img src="img/red.png">`:     "",
		`<!-- <img src="img/red.png"> --><p style="color: red">x`: "",
		`<script>let a = '<img src="img/red.png">'</script>`:      "",
		`<textarea><img src="img/red.png"></textarea>`:            "",
		`<iframe src="in/frame.html"></iframe>`:                   "in/frame.html was not uploaded: it is not a style, image, font or script",
		`<script type=module>import "./in/main.js"</script>`:      "",
	} {
		got, l := embed("page.html", "html", source)
		if got != source || strings.Join(l.missed, "; ") != missed || len(l.sent) > 0 {
			t.Errorf("%s: became %s, sent %q, missed %q, want %q", source, got, l.sent, l.missed, missed)
		}
	}
	for _, source := range []string{
		`<img src="img/inside.png">`, `<img src=/img/red.png>`, `<img srcset="img/red.png 2x, https://e.com/b.png 3x">`, `<p style="background: url('img/red.png')">`,
		`<input type=image src=img/red.png>`, `<svg><image xlink:href="img/red.png"/></svg>`, `<video poster="img/red.png">`, `<img src="img/red%2Epng">`,
		`<object data="img/red.png"></object>`, `<iframe src="img/red.png"></iframe>`,
	} {
		if got, l := embed("page.html", "html", source); !strings.Contains(got, "data:image/png;base64,") || len(l.sent) != 1 || len(l.missed) > 0 {
			t.Errorf("%s: became %s, sent %q, missed %q", source, got, l.sent, l.missed)
		}
	}

	text, err := os.ReadFile(filepath.Join(dir, "text.md"))
	if err != nil {
		t.Fatal(err)
	}
	got, l = embed("text.md", "markdown", string(text))
	for _, want := range []string{`![a red one](data:image/png;base64,`, ` "title") and ` + "`![x](img/red.png)`", "```\n![y](img/red.png)\n```", "[r]: data:image/png", "[t]: text.md"} {
		if !strings.Contains(got, want) {
			t.Errorf("the Markdown lacks %q:\n%s", want, got)
		}
	}
	if !slices.Equal(l.sent, []string{"img/red.png"}) || len(l.missed) > 0 {
		t.Errorf("of the Markdown: sent %q, missed %q", l.sent, l.missed)
	}
}

// TestOperationMistakesWithLocalFiles reports missing files of a page, in pipes too.
func TestOperationMistakesWithLocalFiles(t *testing.T) {
	b := newBench(t, nil)
	dir := sharedtest.PageFolder(t)
	r := b.run("", "doc", "print", filepath.Join(dir, "page.html"), "-o", filepath.Join(dir, "page.pdf"), "--json-output")
	if got := decodeJSON[callOutput](t, r.out); r.code != 0 || r.err != "relaypdf: img/none.png was not uploaded: the file does not exist\n" || len(got.LocalFiles) != 3 {
		t.Errorf("got %+v", r)
	}
	r = b.run("", "doc", "create", filepath.Join(dir, "page.html"), "--no-local-files")
	if r.code != 0 || strings.Contains(r.out, "data:") || r.err != "" {
		t.Errorf("without local files: got %+v", r)
	}
}

// TestWhereLocalFilesGo: conversions that no browser makes would refuse assets.
func TestWhereLocalFilesGo(t *testing.T) {
	table, err := schema.NewTable(operation.Rows)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"pdf.create": true, "images.create": true, "templates.preview": true, "convert.create": false, "pdf.merge": false} {
		if got := takesAssets(table.Lookup(name).Schema); got != want {
			t.Errorf("%s: as assets is %v, want %v", name, got, want)
		}
	}
}

// TestLocalFilesAsAssets sends files along with the page if the operation accepts them, and leaves the page
// unchanged.
func TestLocalFilesAsAssets(t *testing.T) {
	dir := sharedtest.PageFolder(t)
	names := func(file, field, text string, given ...any) (list []string, l *localFiles) {
		t.Helper()
		l = &localFiles{asAssets: true}
		got, err := l.embed(filepath.Join(dir, file), field, text)
		if err != nil || got != text {
			t.Fatalf("the page became %q, %v", got, err)
		}
		input := map[string]any{}
		if given != nil {
			input["assets"] = given
		}
		l.addTo(input)
		assets, _ := input["assets"].([]any)
		for _, asset := range assets {
			about, _ := asset.(map[string]any)
			name, _ := about["filename"].(string)
			list = append(list, name)
			encoded, _ := about["file"].(string)
			want, err := os.ReadFile(filepath.Join(dir, name))
			if content, err2 := base64.StdEncoding.DecodeString(encoded); len(given) == 0 && (err != nil || err2 != nil || !bytes.Equal(content, want)) {
				t.Errorf("%s is sent as %.50q, %v, %v", name, content, err, err2)
			}
		}
		return list, l
	}
	page, err := os.ReadFile(filepath.Join(dir, "page.html"))
	if err != nil {
		t.Fatal(err)
	}
	got, l := names("page.html", "html", string(page))
	if want := []string{"css/main.css", "css/more.css", "img/red.png"}; !slices.Equal(got, want) || !slices.Equal(l.sent, want) || len(l.missed) != 1 {
		t.Errorf("sent %q of %q, missed %q, want %q", got, l.sent, l.missed, want)
	}
	if got, _ := names("page.html", "html", `<img src="img/red.png">`, map[string]any{"filename": "img/red.png", "url": "https://e.com/a.png"}); !slices.Equal(got, []string{"img/red.png"}) {
		t.Errorf("sent %q besides what the command line names", got)
	}
	if got, l := names("page.html", "html", `<svg><use href="img/red.png#a"/></svg><img src="../outside.png"><img src="img/link.png"><img src="img/inside.png">`); !slices.Equal(got, []string{"img/red.png", "img/inside.png"}) || len(l.missed) != 2 {
		t.Errorf("sent %q, missed %q", got, l.missed)
	}
	const frame, module = `<iframe src="in/frame.html#a"></iframe>`, `<script type=module>import x from "./in/parts/b.js"</script>`
	if got, l := names("page.html", "html", frame+module); !slices.Equal(got, []string{"in/frame.html", "in/frame.css", "img/red.png", "in/deep.htm", "in/main.js", "in/parts/a.mjs", "in/parts/b.js"}) ||
		!slices.Equal(l.missed, []string{"img/none.png was not uploaded: the file does not exist", "../outside.png was not uploaded: it is outside the page's folder"}) {
		t.Errorf("sent %q of a frame, missed %q", got, l.missed)
	}
	if got, l := names("page.html", "html", `<iframe srcdoc='<img src="img/red.png">'></iframe><script>import "./in/main.js"</script>`); !slices.Equal(got, []string{"img/red.png"}) || len(l.missed) > 0 {
		t.Errorf("sent %q of a frame in the page, missed %q", got, l.missed)
	}
	if got, _ := names("text.md", "markdown", "![x](img/red.png)\n\n<style>@import 'css/more.css';</style>\n"); !slices.Equal(got, []string{"css/more.css", "css/main.css", "img/red.png"}) {
		t.Errorf("sent %q of Markdown", got)
	}
	var many strings.Builder
	for i := range maxLocalAssets + 5 {
		name := fmt.Sprintf("img/%d.png", i)
		fmt.Fprintf(&many, "<img src=%s>", name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, l := names("page.html", "html", many.String()); len(got) != maxLocalAssets || len(l.missed) != 5 || !strings.Contains(l.missed[0], "100 files of 50 MiB") {
		t.Errorf("sent %d, missed %q", len(got), l.missed)
	}
}
