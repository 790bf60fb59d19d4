package e2e

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
)

// TestDocumentsFromARealService makes a PDF and an image with the product's
// own commands, a whole App and a real browser.
func TestDocumentsFromARealService(t *testing.T) {
	sharedtest.Slow(t)
	dir, data := dataDir(t)
	key := strings.TrimSpace(mustRun(t, "keys", "create", "--account", "ada@example.com", data))
	config := loadConfig(t, []string{data, "--listen=127.0.0.1:0", "--render-slots=1"}, "RELAYPDF_METRICS_LISTEN=", "RELAYPDF_RATE_LIMITS=off")
	app := startApp(t, config, io.Discard)
	client := []string{"--api-url", app.URL, "--api-key", key}
	for _, tt := range []struct {
		args []string
		file string
		head string
	}{
		{[]string{"pdf", sharedtest.WriteFile(t, "a.md", "# Hello"), "--format", "a5"}, "a.pdf", "%PDF-"},
		{[]string{"images", sharedtest.WriteFile(t, "a.html", "<h1>Hello"), "--viewport-width", "200", "--viewport-height", "100"}, "a.png", "\x89PNG\r\n"},
	} {
		file := filepath.Join(dir, tt.file)
		mustRun(t, append(append(tt.args, "-o", file), client...)...)
		content, err := os.ReadFile(file)
		if err != nil || !bytes.HasPrefix(content, []byte(tt.head)) {
			t.Errorf("%v: got %.20q and %v, want a file that starts with %q", tt.args, content, err, tt.head)
		}
	}
	t.Run("templates", func(t *testing.T) { rendersTemplates(t, client) })
	t.Run("local files", func(t *testing.T) { drawsLocalFiles(t, client) })
	if r := relaypdf(t, append([]string{"pdf", "https://127.0.0.1/"}, client...)...); r.code != exitInput || !strings.Contains(r.err, "url must be") {
		t.Errorf("got %+v, want a refused address", r)
	}
}

// rendersTemplates makes documents of a folder with a partial that only it has, and
// publishes it.
func rendersTemplates(t *testing.T, client []string) {
	t.Helper()
	t.Chdir(t.TempDir())
	run := func(args ...string) ran {
		return relaypdf(t, append(append([]string{"templates"}, args...), client...)...)
	}
	if err := os.MkdirAll("bill/partials", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"bill/template.html": "{{> head}}<p>{{total}}</p>", "bill/partials/head.html": "<h1>Bill of {{name}}</h1>", "bill/data.json": `{"name": "Ada", "total": 12}`,
		"bill/options.json": `{"format": "A5"}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r := run("render", "bill", "--strict"); r.code != 0 {
		t.Fatalf("render: got %+v", r)
	}
	said := func() string {
		t.Helper()
		r := relaypdf(t, append([]string{"pdf", "text", "bill.pdf"}, client...)...)
		return strings.Join(strings.Fields(r.out+r.err), " ")
	}
	if text := said(); !strings.Contains(text, "Bill of Ada") || !strings.Contains(text, "12") {
		t.Errorf("the document says %s", text)
	}
	if r := run("render", "bill"); r.code != exitUsage || !strings.Contains(r.err, "bill.pdf exists already") {
		t.Errorf("over a file: got %+v", r)
	}
	if r := run("push", "bill", "--publish", "-m", "first"); r.code != 0 {
		t.Fatalf("push: got %+v", r)
	}
	if r := run("publish", "bill"); r.code != exitInput || !strings.Contains(r.err, "no draft") {
		t.Errorf("publish without a draft: got %+v", r)
	}
	if r := relaypdf(t, append([]string{"pdf", "--template-id", "bill", "--template-data", `{"name":"Bob"}`, "-o", "bill.pdf", "-f"}, client...)...); r.code != 0 {
		t.Fatalf("the published template: got %+v", r)
	}
	if text := said(); !strings.Contains(text, "Bill of Bob") {
		t.Errorf("the document says %s", text)
	}
	if r := run("pull", "bill", "again"); r.code != 0 {
		t.Errorf("pull: got %+v", r)
	}
	if _, err := os.Stat("again/partials/head.html"); err != nil {
		t.Errorf("pull: %v, want the partial, too", err)
	}
	if err := os.WriteFile("bill/template.html", []byte("{{#if"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := run("render", "bill", "-f"); r.code != exitInput {
		t.Errorf("a broken template: got %+v", r)
	}
}

// drawsLocalFiles makes images of a page and of a Markdown text with images in the same folder, and checks their
// colours.
func drawsLocalFiles(t *testing.T, client []string) {
	t.Helper()
	dir := sharedtest.PageFolder(t)
	shot := filepath.Join(dir, "shot.png")
	mustRun(t, append([]string{"images", filepath.Join(dir, "page.html"), "-o", shot, "--viewport-width", "100", "--viewport-height", "100"}, client...)...)
	f, err := os.Open(shot)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	for place, want := range map[image.Point]color.RGBA{
		{X: 75, Y: 10}: {0, 128, 0, 255}, // by the imported style
		{X: 75, Y: 75}: {255, 0, 0, 255}, // the image
	} {
		if got := color.RGBAModel.Convert(picture.At(place.X, place.Y)); got != want {
			t.Errorf("the colour at %v is %v, want %v", place, got, want)
		}
	}
	out := filepath.Join(dir, "text.pdf")
	mustRun(t, append([]string{"pdf", filepath.Join(dir, "text.md"), "-o", out}, client...)...)
	images := mustRun(t, append([]string{"pdf", "raster", out, "--dpi", "36", "-o", "-"}, client...)...)
	drawn, err := png.Decode(strings.NewReader(images))
	if err != nil {
		t.Fatal(err)
	}
	red := 0
	for y := range drawn.Bounds().Dy() {
		for x := range drawn.Bounds().Dx() {
			if color.RGBAModel.Convert(drawn.At(x, y)) == (color.RGBA{255, 0, 0, 255}) {
				red++
			}
		}
	}
	if red < 50 {
		t.Errorf("%d pixels of the picture in the Markdown are there", red)
	}
}
