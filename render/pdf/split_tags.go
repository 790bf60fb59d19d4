package pdf

import (
	"cmp"
	"slices"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// tags is the structure of a tagged document: the elements that readers for the blind follow. A part has the elements
// of its pages and those above them.
type tags struct {
	*splitter

	root    string
	parents map[int]any // elements of marked content, by the key of a page or an annotation
	loaded  map[string]*tag
}

// tag is an element of the structure.
type tag struct {
	entries pdffile.Dict
	parent  string
	order   map[string]int // of its elements
}

// newTags reads the structure of a document; nil means that it has none.
func newTags(s *splitter) *tags {
	root := pdffile.Reference(s.Catalog()["/StructTreeRoot"])
	entries := s.Dict(root)
	if entries == nil {
		return nil
	}
	t := &tags{splitter: s, root: root, parents: map[int]any{}, loaded: map[string]*tag{}}
	for key, parent := range s.TreeEntries(entries["/ParentTree"], "/Nums") {
		if n, ok := key.(float64); ok {
			t.parents[int(n)] = parent
		}
	}
	return t
}

// load reads an element; nil means that it is none.
func (t *tags) load(ref string) *tag {
	if found, ok := t.loaded[ref]; ok {
		return found
	}

	entries := t.Dict(ref)
	if entries == nil || ref != t.root && entries["/S"] == nil {
		t.loaded[ref] = nil
		return nil
	}

	found := &tag{entries: entries, parent: pdffile.Reference(entries["/P"]), order: map[string]int{}}
	for i, kid := range t.kids(entries) {
		if of := pdffile.Reference(kid); of != "" {
			found.order[of] = i
		}
	}
	t.loaded[ref] = found
	return found
}

// kids returns what an element consists of.
func (t *tags) kids(entries pdffile.Dict) []any {
	k := entries["/K"]
	if list, ok := t.Target(k).([]any); ok {
		return list
	}
	if k == nil {
		return nil
	}
	return []any{k}
}

// partTags is the structure of a part.
type partTags struct {
	in     map[string]bool     // its elements
	filled map[string]bool     // elements with marked content on its pages
	kids   map[string][]string // elements of elements
}

// write gives a part its structure.
func (t *tags) write(u *pdffile.Update, catalog pdffile.Dict, p piece) {
	if t == nil {
		return
	}

	part := &partTags{in: map[string]bool{}, filled: map[string]bool{}, kids: map[string][]string{}}
	numbers := []any{}
	for _, key := range t.keys(p) {
		numbers = append(numbers, key, t.keep(part, t.parents[key]))
	}
	if len(part.in) == 0 {
		delete(catalog, "/MarkInfo")
		return
	}

	for ref := range part.in {
		u.Set(ref, t.element(ref, part, p))
	}

	root := pdffile.Without(t.load(t.root).entries, "/IDTree", "/AF")
	root["/K"], root["/ParentTree"] = t.ordered(t.root, part), pdffile.Dict{"/Nums": numbers}
	u.Set(t.root, root)
	catalog["/StructTreeRoot"] = t.root
}

// keys returns the keys of the pages of a part and of their annotations, in order.
func (t *tags) keys(p piece) (keys []int) {
	add := func(key any) {
		if n, ok := key.(float64); ok && t.parents[int(n)] != nil {
			keys = append(keys, int(n))
		}
	}

	for _, ref := range t.refs[p.first-1 : p.last] {
		page := t.Dict(ref)
		add(page["/StructParents"])
		list, _ := t.Target(page["/Annots"]).([]any)
		for _, annotation := range list {
			add(t.Entry(annotation)["/StructParent"])
		}
	}

	return job.Unique(keys)
}

// keep adds elements with content, and those above them. It returns those that it added: one, or a list.
func (t *tags) keep(part *partTags, value any) any {
	if list, ok := t.Target(value).([]any); ok {
		added := make([]any, len(list))
		for i, item := range list {
			if pdffile.Reference(item) != "" {
				added[i] = t.keep(part, item)
			}
		}
		return added
	}

	ref := pdffile.Reference(value)
	if ref == t.root || t.load(ref) == nil {
		return nil
	}

	part.filled[ref] = true
	for at := ref; at != t.root && !part.in[at]; {
		part.in[at] = true
		above := t.load(at).parent
		parent := t.load(above)
		if parent == nil {
			break
		}
		if _, ok := parent.order[at]; ok {
			part.kids[above] = append(part.kids[above], at)
		}
		at = above
	}

	return ref
}

// element returns an element of a part with what it has there.
func (t *tags) element(ref string, part *partTags, p piece) pdffile.Dict {
	entries := pdffile.Without(t.load(ref).entries, "/K", "/Ref", "/AF")
	page := t.numbers[pdffile.Reference(entries["/Pg"])]
	if page < p.first || page > p.last {
		delete(entries, "/Pg")
	}
	if t.load(pdffile.Reference(entries["/P"])) == nil {
		delete(entries, "/P")
	}

	if !part.filled[ref] && entries["/S"] != "/TR" {
		entries["/K"] = t.ordered(ref, part)
		return entries
	}

	list := []any{}
	for _, kid := range t.kids(t.load(ref).entries) {
		if t.has(kid, page, part, p) {
			list = append(list, kid)
		}
	}

	entries["/K"] = list
	return entries
}

// has reports whether a part has something that an element consists of: marked content, an annotation, an element, or
// an empty cell, without which a row would lack a column.
func (t *tags) has(kid any, page int, part *partTags, p piece) bool {
	if _, isMark := kid.(float64); isMark {
		return page >= p.first && page <= p.last
	}

	ref := pdffile.Reference(kid)
	entries := t.Entry(kid)
	switch entries["/Type"] {
	case "/MCR":
		if of := pdffile.Reference(entries["/Pg"]); of != "" {
			page = t.numbers[of]
		}
		return page >= p.first && page <= p.last
	case "/OBJR":
		page = t.numbers[pdffile.Reference(entries["/Obj"])]
		return page >= p.first && page <= p.last
	}

	return part.in[ref] || isCell(entries) && len(t.kids(entries)) == 0
}

// ordered returns the elements of an element in their order.
func (t *tags) ordered(ref string, part *partTags) []any {
	order := t.load(ref).order
	kids := slices.Clone(part.kids[ref])
	slices.SortFunc(kids, func(a, b string) int { return cmp.Compare(order[a], order[b]) })
	list := []any{}
	for _, kid := range kids {
		list = append(list, kid)
	}
	return list
}

func isCell(entries pdffile.Dict) bool { return entries["/S"] == "/TD" || entries["/S"] == "/TH" }
