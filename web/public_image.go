package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/relaypdf/relaypdf/views"
)

// publicImagePath is the path of images of our own documents, which are rendered on first request. Their names contain the
// hash of their source.
const publicImagePath = "/drawn/"

const (
	// drawnKept is the maximum number of bytes of them in memory.
	drawnKept = 32 << 20
	// renderTimeout limits the wait for an image. Clients retry after a timeout.
	renderTimeout = 30 * time.Second
)

// publicImageCache holds rendered images by name. One is rendered at a time, so visitors who try the service find the other
// slots free.
type publicImageCache struct {
	*byteCache[[]byte]

	turn chan struct{}
}

func newPublicImageCache() *publicImageCache {
	return &publicImageCache{newByteCache[[]byte](drawnKept), make(chan struct{}, 1)}
}

// drawing is something that can be rendered under a name.
type drawing struct {
	sheet RenderRequest
	pdf   bool // the document is requested, not its image
}

// nameOf returns the name of a drawing, which changes with its content.
func (d drawing) nameOf(stem string) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%+v", d)
	end := ".png"
	if d.pdf {
		end = ".pdf"
	}
	return stem + "." + hex.EncodeToString(sum.Sum(nil)[:8]) + end
}

// drawingOf returns the drawing with a name: the example of the first page, a page
// of a layout, or the card of a public page.
func (w *Web) drawingOf(name string) (drawing, bool) {
	stem, _, _ := strings.Cut(name, ".")
	candidates := []drawing{}
	kind, rest, _ := strings.Cut(stem, "_")
	switch kind {
	case "example":
		candidates = append(candidates, exampleDrawing())
	case "card":
		for place := range w.public() {
			if cardStem(place.path) == stem {
				candidates = append(candidates, cardDrawing(place))
			}
		}
	case "layout":
		candidates = append(candidates, w.drawings(rest)...)
	}

	for _, d := range candidates {
		if d.nameOf(stem) == name {
			return d, true
		}
	}

	return drawing{}, false
}

// showPublicImage sends a drawing, which is rendered on the first request.
func (w *Web) showPublicImage(v *pageRequest) error {
	name := chi.URLParam(v.r, "name")
	content, ok := w.publicImages.find(name)
	if !ok {
		d, known := w.drawingOf(name)
		if !known {
			return errNotFound
		}
		var err error
		content, err = w.renderPublicImage(v.ctx(), name, d)
		if errors.Is(err, ErrBusy) {
			return v.busy()
		}
		if err != nil {
			return err
		}
	}

	h := v.w.Header()
	h.Set("Content-Type", "image/png")
	if strings.HasSuffix(name, ".pdf") {
		stem, _, _ := strings.Cut(name, ".")
		h.Set("Content-Type", "application/pdf")
		h.Set("Content-Disposition", `inline; filename="`+strings.TrimPrefix(stem, "layout_")+`.pdf"`)
	}

	_, err := v.w.Write(content)
	return err
}

// renderPublicImage renders in its turn, unless another visitor's request has rendered it meanwhile.
func (w *Web) renderPublicImage(ctx context.Context, name string, d drawing) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, renderTimeout, ErrBusy)
	defer cancel()

	select {
	case w.publicImages.turn <- struct{}{}:
		defer func() { <-w.publicImages.turn }()
	case <-ctx.Done():
		return nil, ErrBusy
	}
	if content, ok := w.publicImages.find(name); ok {
		return content, nil
	}

	made, err := w.cfg.Host.Draw(ctx, d.sheet)
	if err != nil {
		return nil, errors.Join(err, context.Cause(ctx))
	}

	content := made.Image
	if d.pdf {
		content = made.PDF
	}
	w.publicImages.store(name, content, len(content))
	return content, nil
}

// cardStem is the name of a page's card, without its hash.
func cardStem(path string) string {
	return "card_" + cmp.Or(strings.ReplaceAll(strings.Trim(path, "/"), "/", "_"), "home")
}

// card returns the name of the preview image for links to a page.
func (w *Web) card(path string) string {
	for place := range w.public() {
		if place.path == path {
			return cardDrawing(place).nameOf(cardStem(path))
		}
	}
	return cardDrawing(publicPage{path: "/", title: homeTitle}).nameOf(cardStem("/"))
}

// cardDrawing is an image of 1200 × 630 pixels with the logo and a page's title.
func cardDrawing(p publicPage) drawing {
	var b strings.Builder
	b.WriteString(`<!doctype html><meta charset="utf-8"><style>
body { margin: 0; width: 1200px; height: 630px; background: #fff; color: #13161c; font: 500 30px/1.4 Manrope, Roboto, sans-serif; position: relative; overflow: hidden }
h1 { position: absolute; left: 88px; top: 196px; width: 660px; margin: 0; font-weight: 700; font-size: 68px; line-height: 1.08; letter-spacing: -.04em }
p { position: absolute; left: 88px; bottom: 64px; margin: 0; color: #454c57 }
b { position: absolute; left: 88px; top: 72px; letter-spacing: -.03em; font-size: 34px }
svg { position: absolute; right: 72px; top: 150px; width: 380px }
i { position: absolute; left: 0; right: 0; bottom: 0; height: 14px; background: linear-gradient(90deg, #2fb4dc 0 20%, #e0408f 0 40%, #f4cf3a 0 60%, #13161c 0 80%, #2039b8 0) }
</style><b>relaypdf</b><h1>`)

	b.WriteString(html.EscapeString(p.title))
	b.WriteString(`</h1><p>`)
	b.WriteString(html.EscapeString(p.kind()))
	b.WriteString(
		`</p><svg viewBox="0 0 248 214"><g fill="none" stroke="#9aa1ab"><path d="M44 0v12M22 22h12M160 0v12M182 22h-12M204 214v-12M226 192h-12M88 214v-12M66 192h12"/><circle cx="204" cy="34" r="7"/><path d="M190 34h28M204 20v28"/></g><path fill="#2fb4dc" d="M44 22h116v124H44z"/><path fill="#e0408f" d="M88 68h116v124H88z"/><path fill="#2039b8" d="M88 68h72v78H88z"/></svg><i></i>`,
	)

	return drawing{sheet: RenderRequest{HTML: b.String(), Width: 1200, Height: 630}}
}

// publicPage is one of the public pages in its list.
type publicPage struct{ path, title, description string }

// kind returns the kind of a page.
func (p publicPage) kind() string {
	switch {
	case strings.HasPrefix(p.path, "/docs"):
		return "Documentation"
	case strings.HasPrefix(p.path, galleryPath):
		return "Templates"
	}
	return "An open-source document API"
}

// busyText is the message for visitors when all slots are busy.
const busyText = "Rendering is busy with API calls, which have priority. Try again in 5 seconds."

// exampleDrawing is the page that the example on the first page makes.
func exampleDrawing() drawing {
	return drawing{sheet: RenderRequest{HTML: exampleHTML, Format: livePapers[0], Page: 1, Only: true, DPI: liveDPI}}
}

// showRobots serves the rules for crawlers.
func (w *Web) showRobots(v *pageRequest) error {
	return v.text(
		"text/plain; charset=utf-8",
		"User-agent: *\nDisallow: /dashboard\nDisallow: /admin\nDisallow: /v1/\n\nSitemap: "+w.cfg.BaseURL+"/sitemap.xml\n",
	)
}

// showSitemap lists the public pages.
func (w *Web) showSitemap(v *pageRequest) error {
	var b strings.Builder
	b.WriteString(
		`<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
			`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n",
	)

	for p := range w.public() {
		fmt.Fprintf(&b, "<url><loc>%s</loc></url>\n", html.EscapeString(w.cfg.BaseURL+p.path))
	}

	b.WriteString("</urlset>\n")
	return v.text("application/xml; charset=utf-8", b.String())
}

// showStatus shows the current status of the service.
func (w *Web) showStatus(v *pageRequest) error {
	p := w.publicPage("Status", statusDescription, "", statusPath)
	return v.show(http.StatusOK, views.StatusPage(p, w.cfg.Host.Ready(v.ctx())))
}
