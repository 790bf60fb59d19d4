package office

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
)

// pdfFile is the description by qpdf of a PDF that was printed here.
type pdfFile struct {
	work  *engine.Work
	name  string
	Pages []struct {
		Object string `json:"object"`
	} `json:"pages"`
	// QPDF holds a header and then the objects, by names such as "obj:4 0 R".
	QPDF []json.RawMessage `json:"qpdf"`

	header  map[string]any
	objects map[string]pdfObject
}

// pdfObject is an object other than a stream.
type pdfObject struct {
	Value any `json:"value"`
}

// pagePosition is a position: a page, from 0, and the height of the top in points.
type pagePosition struct {
	page int
	top  float64
}

// describePDF reads the structure of a PDF of the job's folder.
func describePDF(ctx context.Context, w *engine.Work, name string) (*pdfFile, error) {
	out, err := w.Exec(ctx, engine.Program{
		Name: "qpdf",
		Args: []string{
			"--json=2", "--json-key=pages", "--json-key=qpdf", "--json-stream-data=none", engine.PathArg(name),
		},
		MaxStdout: 128 << 20,
	})
	if err != nil {
		return nil, fmt.Errorf("describe what was printed: %w", err)
	}

	f := &pdfFile{work: w, name: name}
	if err := json.Unmarshal(out, f); err != nil {
		return nil, fmt.Errorf("describe what was printed: %w", err)
	}

	if len(f.QPDF) != 2 || len(f.Pages) == 0 {
		return nil, errors.New("describe what was printed: no pages")
	}
	err = errors.Join(json.Unmarshal(f.QPDF[0], &f.header), json.Unmarshal(f.QPDF[1], &f.objects))
	return f, err
}

// follow returns the target of v, or v itself.
func (f *pdfFile) follow(v any) any {
	if reference, ok := v.(string); ok {
		if object, ok := f.objects["obj:"+reference]; ok {
			return object.Value
		}
	}
	return v
}

// link is one link of a page.
type link struct {
	reference string // of its object
	dict      map[string]any
	address   string
	pagePosition
}

// links returns the links of a page that lead to an address.
func (f *pdfFile) links(number int) (found []link) {
	page, _ := f.follow(f.Pages[number].Object).(map[string]any)
	annotations, _ := f.follow(page["/Annots"]).([]any)
	for _, item := range annotations {
		reference, _ := item.(string)
		dict, _ := f.follow(item).(map[string]any)
		action, _ := f.follow(dict["/A"]).(map[string]any)
		address, _ := action["/URI"].(string)
		rectangle, _ := dict["/Rect"].([]any)

		l := link{
			reference:    reference,
			dict:         dict,
			address:      strings.TrimPrefix(address, "u:"),
			pagePosition: pagePosition{page: number},
		}
		for i := 1; i < len(rectangle); i += 2 {
			if y, ok := rectangle[i].(float64); ok {
				l.top = max(l.top, y)
			}
		}
		found = append(found, l)
	}
	return found
}

// marks returns the places of all marks.
func (f *pdfFile) marks() map[string]pagePosition {
	found := map[string]pagePosition{}
	for i := range f.Pages {
		for _, l := range f.links(i) {
			name, ok := strings.CutPrefix(l.address, markScheme)
			if _, known := found[name]; ok && !known {
				found[name] = l.pagePosition
			}
		}
	}
	return found
}

// locate returns the headings that were printed, with their pages.
func (f *pdfFile) locate(headings []markedHeading) (found []Heading) {
	marks := f.marks()
	for _, h := range headings {
		if at, ok := marks[h.mark]; ok {
			found = append(found, Heading{Title: h.title, Level: h.level, Page: at.page + 1, mark: h.mark})
		}
	}
	return found
}

// link rewrites the PDF: marks are removed, links to them become links to destinations of
// the document, and links to files of the job's folder are removed too.
func (f *pdfFile) link(ctx context.Context, output string) error {
	marks := f.marks()
	changes := map[string]pdfObject{}

	for i, page := range f.Pages {
		remaining := []string{}
		found := f.links(i)
		for _, l := range found {
			if strings.HasPrefix(l.address, markScheme) || strings.HasPrefix(l.address, "file:") {
				continue
			}
			if name, ok := strings.CutPrefix(l.address, gotoScheme); ok {
				at, known := marks[name]
				if !known {
					continue
				}
				delete(l.dict, "/A")
				const above = 6 // points of space above the target of a link
				l.dict["/Dest"] = []any{f.Pages[at.page].Object, "/XYZ", nil, at.top + above, nil}
				changes["obj:"+l.reference] = pdfObject{l.dict}
			}
			remaining = append(remaining, l.reference)
		}

		if len(remaining) < len(found) {
			dict, _ := f.follow(page.Object).(map[string]any)
			dict["/Annots"] = remaining
			changes["obj:"+page.Object] = pdfObject{dict}
		}
	}

	if len(changes) == 0 {
		return os.Rename(f.work.Path(f.name), f.work.Path(output))
	}
	return f.update(ctx, changes, output)
}

// update writes the PDF with other values of some objects.
func (f *pdfFile) update(ctx context.Context, changes map[string]pdfObject, output string) error {
	const name = "changes.json"
	header := map[string]any{
		"jsonversion": 2, "pdfversion": f.header["pdfversion"], "maxobjectid": f.header["maxobjectid"],
	}
	text, err := json.Marshal(map[string]any{"qpdf": []any{header, changes}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.work.Path(name), text, 0o600); err != nil {
		return err
	}

	_, err = f.work.Exec(ctx, engine.Program{
		Name: "qpdf", Args: []string{"--update-from-json=" + name, engine.PathArg(f.name), engine.PathArg(output)},
	})
	if err != nil {
		return fmt.Errorf("link what was printed: %w", err)
	}
	return nil
}
