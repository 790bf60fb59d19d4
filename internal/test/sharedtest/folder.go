package sharedtest

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// WriteFile writes a file into a new folder and returns its path.
func WriteFile(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// PageFolder returns a folder with a page, a Markdown text and the files that they refer to.
func PageFolder(t testing.TB) string {
	t.Helper()
	outside := t.TempDir()
	dir := filepath.Join(outside, "page")
	red := image.NewRGBA(image.Rect(0, 0, 50, 50))
	draw.Draw(red, red.Bounds(), image.NewUniform(color.RGBA{255, 0, 0, 255}), image.Point{}, draw.Src)
	var picture strings.Builder
	if err := png.Encode(&picture, red); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"page.html": `<!DOCTYPE html><html><head><link rel="stylesheet" href="css/main.css?v=2"><link rel="icon" href="img/red.png">` +
			`<style>b { background: url(img/red.png) }</style></head><body><img src="img/red.png" alt='a&amp;b'><p class=x >kept</p></body></html>`,
		"css/main.css":   "@import 'more.css';\nimg { position: absolute; left: 50px; top: 50px }\n",
		"css/more.css":   "@import url(main.css);\nbody { background: url(\"../img/none.png\") green }\n",
		"img/red.png":    picture.String(),
		"text.md":        "# Text\n\n![a red one](img/red.png \"title\") and `![x](img/red.png)`\n\n```\n![y](img/red.png)\n```\n\n[r]: img/red.png\n[t]: text.md\n",
		"secret.txt":     "secret",
		"in/frame.html":  `<link rel=stylesheet href=frame.css><img src="../img/red.png"><iframe src="frame.html"></iframe><iframe src="deep.htm"></iframe><script type=module src="main.js"></script>`,
		"in/frame.css":   "p { background: url(../img/none.png) }",
		"in/deep.htm":    `<img src="../../outside.png"><p>deep</p>`,
		"in/main.js":     "// import './never.js'\nimport a, {\n  b,\n} from './parts/a.mjs'\nconst c = await import('./dynamic.js'); document.title = \"from './no.js'\"\n",
		"in/parts/a.mjs": `export*from"../main.js";import"./b.js";export const text = "./c.js"`,
		"in/parts/b.js":  "export default 1",
		"../outside.png": picture.String(),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "outside.png"), filepath.Join(dir, "img", "link.png")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("red.png", filepath.Join(dir, "img", "inside.png")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// ForeignFolder returns a folder that belongs to the user nobody. Its parents are open, unlike those of t.TempDir.
func ForeignFolder(t testing.TB) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder to another user")
	}
	dir, err := os.MkdirTemp("", "relaypdf-owner-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	return dir
}
