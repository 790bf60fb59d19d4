package pdf

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Processor time of a program that draws or reads pages. A dense page takes a second at a high resolution.
const (
	drawTime     = 10 * time.Second
	drawPageTime = 3 * time.Second
)

// drawPages runs a program that carries out the content of pages: it draws them, or reads their text. Pages that draw
// far more than any document needs are refused first, and the program's processor time grows with the pages.
func (d *document) drawPages(ctx context.Context, pages int, p engine.Program) ([]byte, error) {
	if err := d.checkDrawn(); err != nil {
		return nil, err
	}

	p.CPU = drawTime + time.Duration(pages)*drawPageTime
	return d.work.Exec(ctx, p)
}

// drawnCheck is the check of what a document's pages draw. Copies of the document share it.
type drawnCheck struct {
	once sync.Once
	err  error
}

// checkDrawn refuses a document with a page whose forms draw forms without end.
func (d *document) checkDrawn() error {
	if d.drawn == nil {
		return nil
	}
	d.drawn.once.Do(func() { d.drawn.err = d.countDrawn() })
	return d.drawn.err
}

// countDrawn counts what each page draws. A document that cannot be read here is left to the limits of the program.
func (d *document) countDrawn() error {
	f, err := d.readSelf()
	if err != nil {
		return nil //nolint:nilerr // See above.
	}
	pages, err := f.Pages(maxInputPages)
	if err != nil {
		return nil //nolint:nilerr // See above.
	}

	for i, page := range pages {
		if f.Drawn(page) >= pdffile.MaxDrawn {
			return &Error{Kind: OverLimit, Input: d.number, Text: fmt.Sprintf(
				"draws more than %d million objects on page %d, because its forms contain each other. "+
					"Flatten or simplify the page",
				pdffile.MaxDrawn/1_000_000, i+1,
			)}
		}
	}
	return nil
}
