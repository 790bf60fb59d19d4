package api

import (
	"context"
	"errors"
	"fmt"

	"relaypdf/api/op"
	"relaypdf/render"
	"relaypdf/store/credit"
)

// Env is what the run of an operation may use.
type Env struct {
	Render *render.Renderer
	// Tenant is the account that pays. Nothing of one tenant's documents is
	// within reach of another's.
	Tenant string
	// MaxFile is the most that one file may have, in bytes, however it comes.
	MaxFile int64
	// Stored opens a result of an earlier call of the tenant, which the caller
	// closes. It returns store.ErrNotFound where the tenant has no such file.
	Stored func(ctx context.Context, id string) (op.Body, error)
}

type row[In any] = op.Spec[*Env, In]

// Operations is the product on one screen: paths, tools, commands, prices,
// documentation and forms all derive from these rows.
var Operations = []op.Row[*Env]{
	row[PDFInput]{
		Info: op.Info{
			Name: "pdf.create", Summary: "Make a PDF from HTML, a web page or Markdown",
			Price: 2000 * credit.Microdollar, Produces: []string{"application/pdf"},
		},
		Example: PDFInput{
			HTML:    new("<h1>Invoice 42</h1><p>Total: 99.00 EUR</p>"),
			Options: PDFOptions{Format: "A4", Margin: Margin{Top: Length{"20mm"}, Bottom: Length{"20mm"}}},
		},
		Run: runPDF,
	},
	row[ImageInput]{
		Info: op.Info{
			Name: "images.create", Summary: "Make an image of HTML or a web page",
			Price: 1500 * credit.Microdollar, Produces: []string{"image/png", "image/jpeg", "image/webp"},
		},
		Example: ImageInput{
			HTML:    new("<h1>Hello</h1>"),
			Options: ImageOptions{Viewport: Viewport{Width: 1200, Height: 630}},
		},
		Run: runImage,
	},
}

// fieldError names the field of the request that an error of the renderer is
// about, where it is about one.
func fieldError(err error) error {
	var beyond *render.PageRangeError
	switch {
	case errors.Is(err, render.ErrRefused):
		return &URLError{Field: "url", Cause: err}
	case errors.As(err, &beyond):
		return op.Faults{{Field: "options.pageRanges", Message: fmt.Sprintf("goes beyond the end; the document's page count is %d", beyond.Pages)}}
	case errors.Is(err, render.ErrNoContentArea):
		// The size in the page's own @page rule, which only Chromium knows.
		return op.Faults{{Field: "options.margin", Message: "leaves no room for content on the page"}}
	case errors.Is(err, render.ErrSelector):
		return op.Faults{{Field: "options.waitForSelector", Message: "is not a valid CSS selector"}}
	}
	return err
}
