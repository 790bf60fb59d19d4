package pdfcheck

import (
	"cmp"
	"slices"
	"strings"

	"relaypdf/render/pdffile"
)

// element is an element of the structure tree.
type element struct {
	object

	kind     string // its standard type, such as "P"; empty is unknown
	own      string // its type in the file
	mapped   error  // a fault of its mapping to a standard type
	parent   *element
	kids     []*element
	objects  int  // annotations and other objects that it has
	contents int  // parts of content that it has
	lang     bool // its language, or that of an ancestor, is known
	skips    bool // a heading that skips a level
}

// standardTypes are the structure types of PDF 1.7.
const standardTypes = ` Document Part Art Sect Div BlockQuote Caption TOC TOCI Index NonStruct Private P H H1 H2 H3 H4 H5 H6 L LI Lbl LBody Table TR TH TD THead TBody TFoot
 Span Quote Note Reference BibEntry Code Link Annot Ruby RB RT RP Warichu WT WP Figure Formula Form `

func standardType(name string) bool {
	return name != "" && strings.Contains(strings.ReplaceAll(standardTypes, "\n", " "), " "+name+" ")
}

// faults of a mapping
type mapFault string

func (f mapFault) Error() string { return string(f) }

const (
	unmapped mapFault = "unmapped"
	circular mapFault = "circular"
	remapped mapFault = "remapped"
)

// readTree reads the structure tree, and presents its elements to their rules.
func (c *checker) readTree() {
	tree := c.Entry(c.catalog["/StructTreeRoot"])
	if tree == nil {
		return
	}
	r := &treeReader{checker: c, roles: c.Entry(tree["/RoleMap"]), ids: map[string]int{}}
	c.root = &element{lang: c.catalog["/Lang"] != nil}
	r.add(c.root, tree["/K"], 0, 0)
	last := 0
	for _, e := range r.all {
		if level := e.level(); level > 0 {
			e.skips = level > last+1
			last = level
		}
		r.h = r.h || e.kind == "H"
		r.hn = r.hn || e.level() > 0
		if e.kind == "Note" {
			r.ids[pdffile.Text(c.get(e.Dict, "/ID"))]++
		}
	}
	for _, e := range r.all {
		e.Dict["both"], e.Dict["twice"] = r.h && r.hn, r.ids[pdffile.Text(c.get(e.Dict, "/ID"))] > 1
		o := e.object
		o.element = e
		c.visit(ofElement, o)
	}
}

type treeReader struct {
	*checker

	roles pdffile.Dict
	all   []*element
	ids   map[string]int // how many notes have an ID
	h, hn bool
}

// add adds the kids that a value holds.
func (r *treeReader) add(parent *element, v any, page, depth int) {
	if depth > maxDepth || len(r.all) >= maxElements {
		r.unread = true
		return
	}
	ref := pdffile.Reference(v)
	if !r.first("kid ", ref) {
		return
	}
	switch v := r.Target(v).(type) {
	case float64:
		parent.contents++
		parent.page = cmp.Or(parent.page, page)
	case []any:
		for _, item := range v {
			r.add(parent, item, page, depth+1)
		}
	case pdffile.Dict:
		if own := r.numbers[pdffile.Reference(v["/Pg"])]; own > 0 {
			page = own
		}
		switch v["/Type"] {
		case "/MCR":
			parent.contents++
			parent.page = cmp.Or(parent.page, page)
			return
		case "/OBJR":
			parent.objects++
			r.owners[pdffile.Reference(v["/Obj"])] = parent
			parent.page = cmp.Or(parent.page, page)
			return
		}
		if v["/S"] == nil {
			return
		}
		e := &element{object: object{Dict: v, ref: ref, page: r.numbers[pdffile.Reference(v["/Pg"])]}, parent: parent, own: r.name(v, "/S")}
		e.kind, e.mapped = r.standard(e.own)
		e.lang = parent.lang || r.filled(v, "/Lang")
		r.tagged = r.tagged || v["/Lang"] != nil
		parent.kids = append(parent.kids, e)
		r.all = append(r.all, e)
		r.add(e, v["/K"], page, depth+1)
		parent.page = cmp.Or(parent.page, e.page)
	}
}

// standard returns the standard type that a type is mapped to.
func (r *treeReader) standard(name string) (string, error) {
	if standardType(name) {
		if r.roles["/"+name] != nil && r.name(r.roles, "/"+name) != name {
			return name, remapped
		}
		return name, nil
	}
	seen := map[string]bool{}
	for !standardType(name) {
		next := r.name(r.roles, "/"+name)
		switch {
		case next == "":
			return "", unmapped
		case seen[next], next == name, len(seen) > maxDepth:
			return "", circular
		}
		seen[next] = true
		name = next
	}
	return name, nil
}

// level returns the level of a heading; 0 is none.
func (e *element) level() int {
	if len(e.kind) == 2 && e.kind[0] == 'H' && e.kind[1] >= '1' && e.kind[1] <= '6' {
		return int(e.kind[1] - '0')
	}
	return 0
}

// passes reports whether an element only groups others.
func (e *element) passes() bool { return e.kind == "NonStruct" || e.kind == "Div" || e.kind == "" }

// above returns the type of the nearest ancestor that does not only group.
func (e *element) above() string {
	for p := e.parent; p != nil; p = p.parent {
		if !p.passes() || p.parent == nil {
			return p.kind
		}
	}
	return ""
}

// inner returns the types of the kids, with those of kids that only group.
func (e *element) inner() (kinds []string) {
	for _, k := range e.kids {
		if k.passes() {
			kinds = append(kinds, k.inner()...)
		} else {
			kinds = append(kinds, k.kind)
		}
	}
	return kinds
}

// others reports whether kids have types other than these.
func (e *element) others(kinds ...string) bool {
	return slices.ContainsFunc(e.inner(), func(kind string) bool { return !slices.Contains(kinds, kind) })
}

func (e *element) count(kind string) (n int) {
	for _, k := range e.inner() {
		if k == kind {
			n++
		}
	}
	return n
}

// outside reports whether the element of a type is in something else than these.
func (e *element) outside(kind string, parents ...string) bool {
	return e.kind == kind && !slices.Contains(parents, e.above())
}
