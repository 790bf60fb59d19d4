package pdf

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Measures is the result of MeasureJob: the pages of the inputs of a merge, the titles in their metadata, and the size
// of the first page in points, as displayed, or 0.
type Measures struct {
	Pages         []int
	Titles        []string
	Width, Height float64
}

// Total returns the number of all pages.
func (m Measures) Total() (total int) {
	for _, n := range m.Pages {
		total += n
	}
	return total
}

// MeasureJob reads the page counts and titles of the inputs of a merge.
var MeasureJob = job.Define("pdf.merge.measure", engine.ReadTime, measureParts)

// measureParts reads the inputs of a merge.
func measureParts(ctx context.Context, w *engine.Work, args MergeArgs) (Measures, error) {
	parts, _, err := newParts(w, args)
	if err != nil {
		return Measures{}, err
	}

	for i := range parts {
		parts[i].rich = true // has a structure
	}
	if err := openParts(ctx, parts); err != nil {
		return Measures{}, err
	}

	var m Measures
	if s := parts[0].structure; s != nil {
		m.Width, m.Height = s.Paper(s.Dict(s.Pages[0].Object)).Size()
	}

	for _, p := range parts {
		title := ""
		if p.structure != nil {
			texts, _ := metadataOf(p.structure)
			title = texts["/Title"]
		}
		m.Pages = append(m.Pages, p.Pages)
		m.Titles = append(m.Titles, title)
	}
	return m, nil
}

// ContentsURL precedes the numbers of parts, from 1, in the links of a table of contents.
const ContentsURL = "https://contents.invalid/"

// DefaultTitle is the title of a part without one, from 0.
func DefaultTitle(i int) string { return fmt.Sprintf("Document %d", i+1) }

// linkContents makes the links of a table of contents, the first part, lead to the first pages of the others.
func linkContents(s *job.Structure, u *pdffile.Update, parts []part, m pageMarker) {
	for _, page := range s.Pages {
		list, _ := s.Target(s.Dict(page.Object)["/Annots"]).([]any)
		for _, annotation := range list {
			ref := pdffile.Reference(annotation)
			entries := s.Entry(annotation)
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
