package pdf

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strconv"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// qpdf drops the links between pages that move to another document: when it
// copies a page, those that it refers to are not there yet. So links are written
// with markers of their pages before a merge, and get the pages back after.

// rewriteAllDests passes every destination of the document's objects, except those to leave out, through f, which
// returns another one or false. It adds the changes to an update.
func rewriteAllDests(s *job.Structure, u *pdffile.Update, leave []string, f func(dest any) (any, bool)) {
	skipped := map[string]bool{}
	for _, ref := range leave {
		skipped[ref] = true
	}

	for _, ref := range s.Containing("/Dest", "/GoTo") {
		if skipped[ref] {
			continue
		}
		value, body, err := s.Object(ref)
		if err == nil && body == 0 && rewriteDests(value, 0, f) {
			u.Set(ref, value)
		}
	}
}

func rewriteDests(v any, depth int, f func(dest any) (any, bool)) (changed bool) {
	if depth > pdffile.MaxDepth {
		return false
	}

	switch v := v.(type) {
	case []any:
		for _, item := range v {
			changed = rewriteDests(item, depth+1, f) || changed
		}
	case pdffile.Dict:
		for key, item := range v {
			if key == "/Dest" || key == "/D" && v["/S"] == "/GoTo" {
				if dest, ok := f(item); ok {
					v[key] = dest
					changed = true
				}
				continue
			}
			changed = rewriteDests(item, depth+1, f) || changed
		}
	}

	return changed
}

// dests finds the destinations of a document.
type dests struct {
	*job.Structure
	byName  map[string][]any // names start with "/", strings with "u:" or "b:"
	numbers map[string]int   // of pages, from 0
}

func destsOf(s *job.Structure) *dests {
	d := &dests{Structure: s, byName: map[string][]any{}, numbers: map[string]int{}}
	for i, page := range s.Pages {
		d.numbers[page.Object] = i
	}

	catalog := s.Catalog()
	for name, dest := range d.Entry(catalog["/Dests"]) {
		d.add(name, dest)
	}

	for key, dest := range d.TreeEntries(d.Entry(catalog["/Names"])["/Dests"], "/Names") {
		if name, ok := key.(string); ok {
			d.add(name, dest)
		}
	}
	return d
}

// add keeps a destination: an array, or a dictionary with one.
func (d *dests) add(name string, dest any) {
	if entries := d.Entry(dest); entries["/D"] != nil {
		dest = entries["/D"]
	}
	if view := d.array(dest); view != nil {
		d.byName[name] = view
	}
}

// array returns the array that v is or refers to.
func (d *dests) array(v any) []any {
	if ref := pdffile.Reference(v); ref != "" {
		// An unreadable object is not a destination.
		v, _, _ = d.Object(ref)
	}
	view, _ := v.([]any)
	return view
}

// number writes a destination with the marker of its page, whose number counts on
// from first.
func (d *dests) number(first int, m pageMarker) func(any) (any, bool) {
	return func(dest any) (any, bool) {
		view := d.array(dest)
		if name, ok := dest.(string); ok && view == nil {
			view = d.byName[name]
		}
		if len(view) == 0 {
			return nil, false
		}

		page, ok := view[0].(string)
		number, known := d.numbers[page]
		if !ok || !known {
			return nil, false
		}

		return append([]any{m.page(first + number)}, view[1:]...), true
	}
}

// pageMarker is a placeholder for pages until they have their position in the result. Its name is one that no input can
// contain.
type pageMarker string

const (
	markerChars = 16
	// markerDigits is larger than the number of digits of any page number.
	markerDigits = 7
)

func newPageMarker() pageMarker { return pageMarker(rand.Text()[:markerChars]) }

// page returns the marker of a page, counted from 0, as a value.
func (m pageMarker) page(n int) string { return fmt.Sprintf("/%s%0*d", m, markerDigits, n) }

// replace puts references of pages instead of their markers, which are longer, in a file that
// qpdf has written and that is not compressed.
func (m pageMarker) replace(content []byte, pages []string) {
	length := 1 + markerChars + markerDigits
	for at := 0; ; {
		next := bytes.Index(content[at:], []byte("/"+m))
		if next < 0 || at+next+length > len(content) {
			return
		}

		field := content[at+next : at+next+length]
		at += next + length
		text := "null"
		if n, err := strconv.Atoi(string(field[length-markerDigits:])); err == nil && n >= 0 && n < len(pages) {
			text = pages[n]
		}
		copy(field, fmt.Sprintf("%-*s", length, text))
	}
}
