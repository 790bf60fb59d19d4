package render

import (
	"cmp"
	"errors"
	"slices"

	"relaypdf/render/engine"
	"relaypdf/render/markup"
	"relaypdf/render/pdffile"
)

// Place is where an element of a template lies on a page, and which line of the
// template begins it.
type Place struct {
	Line int `json:"line"`
	Page int `json:"page"` // from 1
	// X and Y are how far from the left and from the top it begins, where the
	// page's sides are 1.
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// LineTemplate has a template's elements keep their lines, for Places.
func LineTemplate(source string) string { return markup.LineTemplate(source) }

// NameLines has a browser write down where the elements of a filled template lie
// that keep their lines.
func NameLines(html string) string { return markup.NameLines(html) }

// Places are where elements lie on the first pages of a document of which
// NameLines was made, in the order of pages and lines. A document that was not
// made so has none.
func Places(doc engine.Content, pages int) ([]Place, error) {
	f, err := pdffile.ReadPrinted(doc.Open(), doc.Size())
	if err != nil {
		return nil, unread(err)
	}
	named, err := f.Destinations(markup.LineNames, pages)
	if err != nil {
		return nil, unread(err)
	}
	var places []Place
	for _, d := range named {
		if line := markup.LineOfName(d.Name); line > 0 {
			places = append(places, Place{Line: line, Page: d.Page, X: d.X, Y: d.Y})
		}
	}
	slices.SortFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Page, b.Page), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Y, b.Y), cmp.Compare(a.X, b.X))
	})
	return places, nil
}

// unread has a document without places where its places cannot be read.
func unread(err error) error {
	if errors.Is(err, pdffile.ErrUnread) {
		return nil
	}
	return err
}
