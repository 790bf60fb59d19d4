package pdf

import (
	"encoding/json"
	"strings"
)

// qpdf drops the links between pages that move to another document: when it
// copies a page, those that it refers to are not there yet. So links are written
// with the numbers of their pages before a merge, and get the pages back after.

// mayLink tells objects that cannot hold a destination without reading them.
func mayLink(object json.RawMessage) bool {
	text := string(object)
	return strings.Contains(text, `"/Dest"`) || strings.Contains(text, `"/GoTo"`)
}

// rewriteDests passes every destination of the document's objects through f,
// which returns another one or false, and adds what changed to an update. It
// tells whether anything did.
func (s *structure) rewriteDests(u *update, f func(dest any) (any, bool)) (changed bool) {
	for _, objects := range s.Objects {
		for name, raw := range objects {
			var content struct {
				Value any `json:"value"`
			}
			object, ok := strings.CutPrefix(name, "obj:")
			if ok && mayLink(raw) && json.Unmarshal(raw, &content) == nil && rewriteDests(content.Value, 0, f) {
				u.set(object, content.Value)
				changed = true
			}
		}
	}
	return changed
}

// maxTreeDepth bounds name trees and nested values, which a hostile document
// may tie into loops.
const maxTreeDepth = 32

func rewriteDests(v any, depth int, f func(dest any) (any, bool)) (changed bool) {
	if depth > maxTreeDepth {
		return false
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			changed = rewriteDests(item, depth+1, f) || changed
		}
	case dict:
		for key, item := range v {
			if key == "/Dest" || key == "/D" && v["/S"] == "/GoTo" {
				if dest, ok := f(item); ok {
					v[key], changed = dest, true
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
	*structure
	byName  map[string][]any // names start with "/", strings with "u:" or "b:"
	numbers map[string]int   // of pages, from 0
	seen    map[string]bool  // nodes of the name tree, which may run in circles
}

func (s *structure) dests() *dests {
	d := &dests{structure: s, byName: map[string][]any{}, numbers: map[string]int{}, seen: map[string]bool{}}
	for i, page := range s.Pages {
		d.numbers[page.Object] = i
	}
	catalog := s.value(s.root())
	for name, dest := range d.follow(catalog["/Dests"]) {
		d.add(name, dest)
	}
	d.addTree(d.follow(catalog["/Names"])["/Dests"], 0)
	return d
}

func (d *dests) addTree(node any, depth int) {
	ref := reference(node)
	if depth > maxTreeDepth || d.seen[ref] {
		return
	}
	if ref != "" {
		d.seen[ref] = true
	}
	entries := d.follow(node)
	names, _ := entries["/Names"].([]any)
	for i := 0; i+1 < len(names); i += 2 {
		if name, ok := names[i].(string); ok {
			d.add(name, names[i+1])
		}
	}
	kids, _ := entries["/Kids"].([]any)
	for _, kid := range kids {
		d.addTree(kid, depth+1)
	}
}

// add keeps a destination: an array, or a dictionary with one.
func (d *dests) add(name string, dest any) {
	if entries := d.follow(dest); entries["/D"] != nil {
		dest = entries["/D"]
	}
	if view := d.array(dest); view != nil {
		d.byName[name] = view
	}
}

// follow returns the dictionary that v is or refers to.
func (d *dests) follow(v any) dict {
	if ref := reference(v); ref != "" {
		return d.value(ref)
	}
	entries, _ := v.(dict)
	return entries
}

// array returns the array that v is or refers to.
func (d *dests) array(v any) []any {
	if ref := reference(v); ref != "" {
		for _, objects := range d.Objects {
			var content struct {
				Value []any `json:"value"`
			}
			if raw, ok := objects["obj:"+ref]; ok && json.Unmarshal(raw, &content) == nil {
				return content.Value
			}
		}
	}
	view, _ := v.([]any)
	return view
}

// number writes a destination with the number of its page, counted on from
// first.
func (d *dests) number(first int) func(any) (any, bool) {
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
		return append([]any{float64(first + number)}, view[1:]...), true
	}
}

// unnumber gives a destination with a number its page back.
func (s *structure) unnumber(dest any) (any, bool) {
	view, ok := dest.([]any)
	if !ok || len(view) == 0 {
		return nil, false
	}
	number, ok := view[0].(float64)
	if !ok || number < 0 || int(number) >= len(s.Pages) {
		return nil, false
	}
	return append([]any{s.Pages[int(number)].Object}, view[1:]...), true
}
