package job

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

// DrawPages runs a program that carries out the content of pages: it draws them, or reads their text. Pages that draw
// far more than any document needs are refused first, and the program's processor time grows with the pages.
func (d *Document) DrawPages(ctx context.Context, pages int, p engine.Program) ([]byte, error) {
	if err := d.CheckDrawn(); err != nil {
		return nil, err
	}

	p.CPU = drawTime + time.Duration(pages)*drawPageTime
	return d.Work.Exec(ctx, p)
}

// drawnCheck is the check of what a document's pages draw. Copies of the document share it.
type drawnCheck struct {
	once sync.Once
	err  error
}

// CheckDrawn refuses a document with a page whose forms draw forms without end.
func (d *Document) CheckDrawn() error {
	if d.drawn == nil {
		return nil
	}
	d.drawn.once.Do(func() { d.drawn.err = d.countDrawn() })
	return d.drawn.err
}

// countDrawn counts what each page draws. A document that cannot be read here is left to the limits of the program.
func (d *Document) countDrawn() error {
	f, err := d.ReadSelf()
	if err != nil {
		return nil //nolint:nilerr // See above.
	}
	pages, err := f.Pages(MaxInputPages)
	if err != nil {
		return nil //nolint:nilerr // See above.
	}

	for i, page := range pages {
		if f.Drawn(page) >= pdffile.MaxDrawn {
			return &Error{Kind: OverLimit, Input: d.Number, Text: fmt.Sprintf(
				"draws more than %d million objects on page %d, because its forms contain each other. "+
					"Flatten or simplify the page",
				pdffile.MaxDrawn/1_000_000, i+1,
			)}
		}
	}
	return nil
}
