// Command gallery renders the thumbnails of the gallery's layouts, and a contact sheet of all of them in
// bin/gallery.pdf. The thumbnails are committed, so a build needs no browser; a test fails when they are out of date.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/template"
	"github.com/relaypdf/relaypdf/static/gallery"
)

const (
	folder = "static/gallery/thumbnails"
	sheet  = "bin/gallery.pdf"
	// wide is the width of a thumbnail; thumbnails with much small type are narrower.
	wide = 480
	// maximum is the maximum size of a thumbnail in bytes.
	maximum = 12 << 10
)

func main() {
	err := serveOrDraw(context.Background(), os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "gallery:", err)
		os.Exit(1)
	}
}

// serveOrDraw is both sides: the renderer starts this program as its engine.
func serveOrDraw(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "engine" {
		return render.ServeEngine(os.Stdin, os.Stdout)
	}

	g, err := gallery.New()
	if err != nil {
		return err
	}

	dir, err := os.MkdirTemp("", "gallery-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o711); err != nil {
		return err
	}

	r, err := render.New(ctx, render.Config{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	return draw(ctx, r, g, dir)
}

// draw writes a thumbnail of each layout whose source has changed, the hashes of their sources, and the contact
// sheet.
func draw(ctx context.Context, r *render.Renderer, g *gallery.Gallery, dir string) error {
	sources := map[string]string{}
	var tiles strings.Builder
	for _, l := range g.List("", "") {
		sources[l.ID] = l.Source()
		image := g.Thumbnail(l.ID)
		if l.DrawnFrom != l.Source() || len(image) == 0 {
			var err error
			if image, err = thumbnail(ctx, r, l, dir); err != nil {
				return fmt.Errorf("%s: %w", l.ID, err)
			}
			if err := os.WriteFile(filepath.Join(folder, l.ID+".webp"), image, 0o644); err != nil {
				return err
			}
			fmt.Printf("%s: %d bytes\n", l.ID, len(image))
		}

		fmt.Fprintf(&tiles, `<figure><img src="data:image/webp;base64,%s"><figcaption>%s<br>%s</figcaption></figure>`,
			base64.StdEncoding.EncodeToString(image), html.EscapeString(l.Name), html.EscapeString(l.Category))
	}

	index, err := json.MarshalIndent(sources, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "sources.json"), append(index, '\n'), 0o644); err != nil {
		return err
	}
	return contactSheet(ctx, r, tiles.String())
}

// thumbnail draws the first page of a layout with its sample.
func thumbnail(ctx context.Context, r *render.Renderer, l gallery.Layout, dir string) ([]byte, error) {
	document, err := r.For("gallery").FillTemplate(ctx,
		template.Call{Template: template.Template{HTML: l.HTML}, Data: l.Sample}, nil)
	if err != nil {
		return nil, err
	}

	var options struct{ Landscape bool }
	if err := json.Unmarshal(l.Options, &options); err != nil {
		return nil, err
	}

	opt := render.PDF{
		Width: 210 / 25.4, Height: 297 / 25.4, Landscape: options.Landscape, PrintBackground: true, PageRanges: "1",
	}
	doc, err := r.For("gallery").PDF(ctx, render.Source{HTML: document}, render.PageSettings{}, opt)
	if err != nil {
		return nil, err
	}
	page, err := io.ReadAll(doc.Body.Open())
	_ = doc.Body.Close()
	if err != nil {
		return nil, err
	}

	path := filepath.Join(dir, l.ID)
	if err := os.WriteFile(path+".pdf", page, 0o600); err != nil {
		return nil, err
	}
	// Twice as large as displayed, so that the browser makes smooth edges.
	pdftoppm := exec.CommandContext(ctx, "pdftoppm", "-png", "-singlefile",
		"-scale-to-x", fmt.Sprint(2*wide), "-scale-to-y", "-1", path+".pdf", path)
	if err := pdftoppm.Run(); err != nil {
		return nil, fmt.Errorf("pdftoppm: %w", err)
	}

	image, err := os.ReadFile(path + ".png")
	if err != nil {
		return nil, err
	}
	return small(ctx, r, image, options.Landscape)
}

// small makes a WebP of an image: as wide and as good as the bytes allow.
func small(ctx context.Context, r *render.Renderer, image []byte, landscape bool) ([]byte, error) {
	for _, width := range []int{wide, wide * 7 / 8, wide * 3 / 4} {
		height := width * 297 / 210
		if landscape {
			height = width * 210 / 297
		}

		source := fmt.Sprintf(`<style>* { margin: 0 } img { display: block; width: %dpx; height: %dpx }</style><img src="data:image/png;base64,%s">`,
			width, height, base64.StdEncoding.EncodeToString(image))
		for quality := 80; quality >= 20; quality -= 10 {
			out, err := shoot(ctx, r, source, chrome.Screenshot{
				Type: "webp", Quality: quality, Viewport: chrome.Viewport{Width: width, Height: height},
			})
			if err != nil || len(out) <= maximum {
				return out, err
			}
		}
	}
	return nil, fmt.Errorf("no quality makes a thumbnail of %d bytes", maximum)
}

func shoot(ctx context.Context, r *render.Renderer, source string, how chrome.Screenshot) ([]byte, error) {
	shot, err := r.For("gallery").Screenshot(ctx, render.Source{HTML: source}, render.PageSettings{}, how)
	if err != nil {
		return nil, err
	}
	defer func() { _ = shot.Body.Close() }()
	return io.ReadAll(shot.Body.Open())
}

// contactSheet prints all thumbnails side by side.
func contactSheet(ctx context.Context, r *render.Renderer, tiles string) error {
	const style = `<!doctype html><meta charset="utf-8"><style>@page { margin: 10mm } body { margin: 0; display: grid; grid-template-columns: repeat(5, 1fr); gap: 6mm 5mm; align-items: end; font: 7.5pt/1.35 Lato, sans-serif }
figure { margin: 0; break-inside: avoid } img { width: 100%; display: block; box-shadow: 0 0 0 .2mm #bbb; margin-bottom: 1.5mm }</style>`
	doc, err := r.For("gallery").PDF(ctx, render.Source{HTML: style + tiles}, render.PageSettings{},
		render.PDF{Width: 297 / 25.4, Height: 420 / 25.4, PrintBackground: true})
	if err != nil {
		return err
	}
	defer func() { _ = doc.Body.Close() }()

	if err := os.MkdirAll(filepath.Dir(sheet), 0o750); err != nil {
		return err
	}
	file, err := os.Create(sheet)
	if err != nil {
		return err
	}

	if _, err := io.Copy(file, doc.Body.Open()); err != nil {
		return err
	}
	return file.Close()
}
