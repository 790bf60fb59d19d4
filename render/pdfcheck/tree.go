package pdfcheck

import (
	"cmp"
	"slices"

	"github.com/relaypdf/relaypdf/render/pdffile"
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

func standardType(name string) bool { return pdffile.StandardType("/" + name) }

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
	r := &treeReader{
		checker: c, roles: c.Entry(tree["/RoleMap"]), known: map[string]standardRole{}, ids: map[string]int{},
	}
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
		e.Dict["both"] = r.h && r.hn
		e.Dict["twice"] = r.ids[pdffile.Text(c.get(e.Dict, "/ID"))] > 1
		o := e.object
		o.element = e
		c.visit(ofElement, o)
	}
}

type treeReader struct {
	*checker

	roles pdffile.Dict
	known map[string]standardRole // of types that are not standard
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
		e := &element{
			object: object{Dict: v, ref: ref, page: r.numbers[pdffile.Reference(v["/Pg"])]}, parent: parent,
			own: r.name(v, "/S"),
		}
		e.kind, e.mapped = r.standard(e.own)
		e.lang = parent.lang || r.filled(v, "/Lang")
		r.tagged = r.tagged || v["/Lang"] != nil
		parent.kids = append(parent.kids, e)
		r.all = append(r.all, e)
		r.add(e, v["/K"], page, depth+1)
		parent.page = cmp.Or(parent.page, e.page)
	}
}

// standardRole is the standard type that a type is mapped to, or the fault of its mapping.
type standardRole struct {
	kind  string
	fault error
}

// standard returns the standard type that a type is mapped to.
func (r *treeReader) standard(name string) (string, error) {
	if standardType(name) {
		if r.roles["/"+name] != nil && r.name(r.roles, "/"+name) != name {
			return name, remapped
		}
		return name, nil
	}
	var path []string // of types that are not known yet
	role, known := r.known[name]
	for !known && !standardType(name) {
		r.known[name] = standardRole{"", circular} // until the end of the path is found
		path = append(path, name)
		if name = r.name(r.roles, "/"+name); name == "" {
			break
		}
		role, known = r.known[name]
	}
	switch {
	case known:
	case name == "":
		role = standardRole{"", unmapped}
	default:
		role = standardRole{name, nil}
	}
	for _, name := range path {
		r.known[name] = role
	}
	return role.kind, role.fault
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
func (e *element) inner() []string { return e.appendInner(nil) }

func (e *element) appendInner(kinds []string) []string {
	for _, k := range e.kids {
		if k.passes() {
			kinds = k.appendInner(kinds)
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
