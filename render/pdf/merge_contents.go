package pdf

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"relaypdf/render/engine"
	"relaypdf/render/pdffile"
)

// Measures is the result of MeasureJob: the pages of the inputs of a merge, and the size of the first of them in points,
// as displayed.
type Measures struct {
	Pages         []int
	Width, Height float64
}

// Total returns the number of all pages.
func (m Measures) Total() (total int) {
	for _, n := range m.Pages {
		total += n
	}
	return total
}

// measureParts counts the pages of the inputs of a merge.
func measureParts(ctx context.Context, w *engine.Work, args Merge) (Measures, error) {
	parts, _, err := newParts(w, args)
	if err != nil {
		return Measures{}, err
	}
	first, err := parts[0].openStructure(ctx)
	if err != nil {
		return Measures{}, err
	}
	err = each(ctx, parts[1:], func(ctx context.Context, i int) error { return parts[1+i].prepare(ctx) })
	if err != nil {
		return Measures{}, err
	}
	var m Measures
	m.Width, m.Height = first.paper(first.Dict(first.Pages[0].Object)).size()
	for _, p := range parts {
		m.Pages = append(m.Pages, p.pages)
	}
	return m, checkPages(m.Total())
}

// ContentsURL precedes the numbers of parts, from 1, in the links of a table of contents.
const ContentsURL = "https://contents.invalid/"

// DefaultTitle is the title of a part without one, from 0.
func DefaultTitle(i int) string { return fmt.Sprintf("Document %d", i+1) }

// linkContents makes the links of a table of contents, the first part, lead to the first pages of the others.
func (s *structure) linkContents(u *pdffile.Update, parts []part, m mark) {
	for _, page := range s.Pages {
		list, _ := s.Target(s.Dict(page.Object)["/Annots"]).([]any)
		for _, annotation := range list {
			ref, entries := pdffile.Reference(annotation), s.Entry(annotation)
			number, found := strings.CutPrefix(pdffile.Text(s.Target(s.Entry(entries["/A"])["/URI"])), ContentsURL)
			n, err := strconv.Atoi(number)
			if !found || err != nil || n < 1 || n >= len(parts) || ref == "" {
				continue
			}
			entries = pdffile.Without(entries, "/A")
			entries["/Dest"] = []any{m.page(parts[n].first), "/XYZ", nil, nil, nil}
			u.Set(ref, entries)
		}
	}
}
