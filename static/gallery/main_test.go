package gallery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/relaypdf/relaypdf/internal/test/sharedtest"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/template"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// renderer is one browser for all tests, started by the first that prints.
var renderer = sync.OnceValues(func() (*render.Renderer, error) {
	dir, err := os.MkdirTemp("", "gallery-test-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o711); err != nil { // the browser's own user passes through
		return nil, err
	}
	engine, err := sharedtest.Engine(dir)
	if err != nil {
		return nil, err
	}
	r, err := render.New(context.Background(), render.Config{Dir: dir, Queue: 1000, Engine: engine})
	if err != nil {
		return nil, err
	}
	stop = func() error { return errors.Join(r.Close(), os.RemoveAll(dir)) }
	return r, nil
})

// stop ends what renderer started.
var stop = func() error { return nil }

// printed is a layout's PDF.
type printed struct {
	path  string
	pages int
}

// filled keeps what fill has made: both papers and both tests print the same.
var filled sync.Map

// fill makes HTML of a layout and a variant of its sample.
func fill(t testing.TB, l Layout, variant string) string {
	t.Helper()
	once, _ := filled.LoadOrStore(l.ID+"/"+variant, sync.OnceValues(func() (string, error) {
		return fillOnce(t, l, variant)
	}))
	html, err := once.(func() (string, error))()
	if err != nil {
		t.Fatalf("%s, %s: %v", l.ID, variant, err)
	}
	return html
}

func fillOnce(t testing.TB, l Layout, variant string) (string, error) {
	t.Helper()
	r, err := renderer()
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(vary(t, l, variant))
	if err != nil {
		return "", err
	}
	call := template.Call{Template: template.Template{HTML: l.HTML}, Data: body, Strict: variant == asItIs}
	var html string
	for range 5 {
		html, err = r.For("gallery").FillTemplate(t.Context(), call, nil)
		// 300 codes come near the limit of time on a machine that does much else.
		if limit := (*template.LimitError)(nil); !errors.As(err, &limit) {
			break
		}
	}
	return html, err
}

// ownFormat is the paper that a layout's options name.
func ownFormat(t testing.TB, l Layout) string {
	t.Helper()
	var options struct{ Format string }
	if err := json.Unmarshal(l.Options, &options); err != nil {
		t.Fatal(err)
	}
	return options.Format
}

// papers are the sizes of the formats in inches.
var papers = map[string][2]float64{"A4": {210 / 25.4, 297 / 25.4}, "Letter": {8.5, 11}}

// settings are a layout's options on a format.
func settings(t testing.TB, l Layout, format string) render.PDF {
	t.Helper()
	var options struct {
		Landscape, PrintBackground bool
	}
	if err := json.Unmarshal(l.Options, &options); err != nil {
		t.Fatal(err)
	}
	size := papers[format]
	return render.PDF{Width: size[0], Height: size[1], Landscape: options.Landscape, PrintBackground: options.PrintBackground}
}

// printHTML prints a document to a file.
func printHTML(t testing.TB, html string, opt render.PDF) printed {
	t.Helper()
	r, err := renderer()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := r.For("gallery").PDF(t.Context(), render.Source{HTML: html}, render.PageSettings{Timeout: 5 * time.Minute}, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = doc.Body.Close() }()
	path := filepath.Join(t.TempDir(), "document.pdf")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(file, doc.Body.Open()); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return printed{path: path, pages: doc.Pages}
}

// run returns what a program of poppler's prints.
func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).Output()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(out)
}
