package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/spool"
	"github.com/relaypdf/relaypdf/render/template"
	"github.com/relaypdf/relaypdf/service/call"
	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/web"
)

// guestTimeout is the timeout of a visitor's document.
const guestTimeout = 10 * time.Second

// papers are the sizes of sheets in inches.
var papers = map[string]struct{ width, height float64 }{
	"A4": {210 / 25.4, 297 / 25.4}, "A5": {148 / 25.4, 210 / 25.4}, "Letter": {8.5, 11},
}

// draw renders a document and an image for visitors of the pages, who have no account: without network, and only if
// no API call needs the slot.
func (a *App) draw(ctx context.Context, sheet web.RenderRequest) (web.RenderedSheet, error) {
	drawn, err := a.drawSheet(ctx, sheet)
	switch {
	case err == nil || ctx.Err() != nil:
		return drawn, err
	case errors.Is(err, chrome.ErrBusy), operation.Unstarted(err):
		return web.RenderedSheet{}, web.ErrBusy
	}

	if failure := call.APIError(err); failure.Code != wire.InternalError {
		return web.RenderedSheet{}, &web.DocumentError{Text: failure.Error()}
	}
	return web.RenderedSheet{}, err
}

func (a *App) drawSheet(ctx context.Context, sheet web.RenderRequest) (web.RenderedSheet, error) {
	guests := a.render.Guests()
	page := render.PageSettings{Timeout: guestTimeout, Offline: true}
	html := sheet.HTML
	if html == "" {
		var err error
		html, err = guests.FillTemplate(
			ctx, template.Call{Template: template.Template{HTML: sheet.Template}, Data: sheet.Data}, nil,
		)
		if err != nil {
			return web.RenderedSheet{}, err
		}
	}

	if sheet.Width > 0 {
		image, err := guests.Screenshot(ctx, render.Source{HTML: html}, page, chrome.Screenshot{
			Viewport: chrome.Viewport{Width: sheet.Width, Height: sheet.Height},
		})
		if err != nil {
			return web.RenderedSheet{}, err
		}
		picture, err := whole(image.Body)
		return web.RenderedSheet{Image: picture}, err
	}

	paper, ok := papers[sheet.Format]
	if !ok {
		return web.RenderedSheet{}, fmt.Errorf("no paper is called %q", sheet.Format)
	}
	options := render.PDF{Width: paper.width, Height: paper.height, Landscape: sheet.Landscape, PrintBackground: true}
	if sheet.Only {
		options.PageRanges = fmt.Sprint(sheet.Page)
	}

	doc, err := guests.PDF(ctx, render.Source{HTML: html}, page, options)
	if err != nil {
		return web.RenderedSheet{}, err
	}
	defer func() { _ = doc.Body.Close() }()

	var made web.RenderedSheet
	made.PDF, err = io.ReadAll(doc.Body.Open())
	if err != nil || sheet.Page == 0 {
		return made, err
	}

	which := fmt.Sprint(sheet.Page)
	if sheet.Only {
		which = "1" // the only one
	}
	image, _, err := guests.RasterPages(ctx, render.PDFFile{Content: doc.Body}, pdf.RasterArgs{
		Pages: which,
		DPI:   sheet.DPI,
	})
	if err != nil {
		return web.RenderedSheet{}, err
	}
	made.Image, err = whole(image)
	return made, err
}

// whole reads a file and frees it.
func whole(file *spool.File) ([]byte, error) {
	content, err := io.ReadAll(file.Open())
	return content, errors.Join(err, file.Close())
}
