package render

import (
	"cmp"
	"errors"
	"slices"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/markup"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// ElementPosition is the position of a template's element on a page, with the line of the template on which the element
// begins.
type ElementPosition struct {
	Line int `json:"line"`
	Page int `json:"page"` // from 1
	// X and Y are the distance of its start from the left and from the top, where the page's sides are 1.
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// LineTemplate stores the line number of each element of a template in the element, for ElementPositions.
func LineTemplate(source string) string { return markup.LineTemplate(source) }

// NameLines makes a browser record the positions of the elements of a filled template that have line numbers.
func NameLines(html string) string { return markup.NameLines(html) }

// ElementPositions returns the positions of elements on the first pages of a document, in the order of pages and lines.
// The document must have been made with NameLines; otherwise the result is empty.
func ElementPositions(doc engine.Content, pages int) ([]ElementPosition, error) {
	f, err := pdffile.ReadChromium(doc.Open(), doc.Size())
	if err != nil {
		return nil, unread(err)
	}

	named, err := f.Destinations(markup.LineNames, pages)
	if err != nil {
		return nil, unread(err)
	}

	var places []ElementPosition
	for _, d := range named {
		if line := markup.LineOfName(d.Name); line > 0 {
			places = append(places, ElementPosition{Line: line, Page: d.Page, X: d.X, Y: d.Y})
		}
	}

	slices.SortFunc(places, func(a, b ElementPosition) int {
		return cmp.Or(
			cmp.Compare(a.Page, b.Page), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Y, b.Y), cmp.Compare(a.X, b.X),
		)
	})
	return places, nil
}

// unread returns nil for a document whose positions cannot be read.
func unread(err error) error {
	if errors.Is(err, pdffile.ErrUnread) {
		return nil
	}
	return err
}
