package pdftag

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// treeWriter writes the structure tree.
type treeWriter struct {
	key     int               // the next one of the tree of parents
	parents []any             // its keys and values
	shared  map[string]string // references of attributes, by their text
	ids     map[string]string // references of elements, by their identifiers
	wanted  map[string]bool   // identifiers that cells name as their headers
	roles   pdffile.Dict
	notes   int
}

// nextKey returns a new key of the tree of parents.
func (d *tagger) nextKey() int {
	d.tree.key++
	return d.tree.key - 1
}

// writeTree writes the structure tree and the tree of parents.
func (d *tagger) writeTree() error {
	t := &d.tree
	t.shared = map[string]string{}
	t.ids = map[string]string{}
	t.wanted = map[string]bool{}
	t.roles = pdffile.Dict{}
	root := d.update.Reserve()

	d.walk(d.root, func(e *element) {
		e.ref = d.update.Reserve()
		for _, id := range e.headers {
			t.wanted[id] = true
		}
	})

	d.root.parent = &element{ref: root}
	d.walk(d.root, d.identify)
	d.walk(d.root, d.writeElement)
	d.writeParents()

	tree := pdffile.Dict{
		"/Type": "/StructTreeRoot", "/K": d.root.ref, "/ParentTreeNextKey": t.key,
		"/ParentTree": d.newObject(pdffile.Dict{"/Nums": t.parents}),
	}
	if len(t.roles) > 0 {
		tree["/RoleMap"] = t.roles
	}
	if len(t.ids) > 0 {
		var names []any
		for _, id := range slices.Sorted(maps.Keys(t.ids)) {
			names = append(names, "u:"+id, t.ids[id])
		}
		tree["/IDTree"] = d.newObject(pdffile.Dict{"/Names": names})
	}

	d.update.Set(root, tree)
	d.catalog["/StructTreeRoot"] = root
	return nil
}

func (d *tagger) newObject(value any) string {
	ref := d.update.Reserve()
	d.update.Set(ref, value)
	return ref
}

// identify keeps the identifiers that something names; notes must have one.
func (d *tagger) identify(e *element) {
	t := &d.tree
	if e.kind == "/Note" {
		t.notes++
		e.id = fmt.Sprintf("note-%d", t.notes)
	} else if !t.wanted[e.id] || t.ids[e.id] != "" {
		e.id = ""
	}

	if e.id != "" {
		t.ids[e.id] = e.ref
	}

	if to := roles[e.kind]; to != "" {
		t.roles[e.kind] = to
	}
}

// writeElement writes an element.
func (d *tagger) writeElement(e *element) {
	entries := pdffile.Dict{"/S": e.kind, "/P": e.parent.ref}
	kids, page := d.kidValues(e)
	if page != "" {
		entries["/Pg"] = page
	}

	switch len(kids) {
	case 0:
	case 1:
		entries["/K"] = kids[0]
	default:
		entries["/K"] = kids
	}

	for key, text := range map[string]string{"/Alt": e.alt, "/ActualText": e.actual, "/Lang": e.lang, "/ID": e.id} {
		if text != "" {
			entries[key] = "u:" + text
		}
	}

	if a := d.attributes(e); len(a) > 1 {
		entries["/A"] = d.share(a)
	}
	d.update.Set(e.ref, entries)
}

// kidValues returns the values of an element's kids, and the page of those that are numbers only.
func (d *tagger) kidValues(e *element) (values []any, page string) {
	for _, k := range e.kids {
		switch {
		case k.element != nil:
			values = append(values, k.element.ref)
		case k.annot != nil:
			values = append(values, pdffile.Dict{"/Type": "/OBJR", "/Obj": k.annot.ref, "/Pg": d.pages[k.annot.page].ref})
		default:
			on := d.pages[k.stream.page].ref
			if page == "" && !k.stream.form {
				page = on
			}

			for _, mcid := range k.newMCIDs {
				if on == page && !k.stream.form {
					values = append(values, mcid)
					continue
				}
				reference := pdffile.Dict{"/Type": "/MCR", "/Pg": on, "/MCID": mcid}
				if k.stream.form {
					reference["/Stm"] = k.stream.ref
				}
				values = append(values, reference)
			}
		}
	}

	return values, page
}

// attributes returns the attributes of an element; one entry is none.
func (d *tagger) attributes(e *element) pdffile.Dict {
	switch {
	case e.kind == "/TH" || e.kind == "/TD":
		return d.cellAttributes(e)
	case e.kind == "/L" && e.numbering != "":
		return pdffile.Dict{"/O": "/List", "/ListNumbering": e.numbering}
	case e.kind == "/Form":
		return e.field
	}
	return nil
}

func (d *tagger) cellAttributes(e *element) pdffile.Dict {
	a := pdffile.Dict{"/O": "/Table"}
	if e.kind == "/TH" {
		a["/Scope"] = e.scope
	}
	if e.rows > 1 {
		a["/RowSpan"] = e.rows
	}
	if e.columns > 1 {
		a["/ColSpan"] = e.columns
	}

	var headers []any
	for _, id := range e.headers {
		if d.tree.ids[id] != "" {
			headers = append(headers, "u:"+id)
		}
	}
	if len(headers) > 0 {
		a["/Headers"] = headers
	}

	return a
}

// share returns the reference of attributes, which equal ones have too.
func (d *tagger) share(a pdffile.Dict) string {
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(a)) {
		fmt.Fprint(&key, name, a[name])
	}
	ref := d.tree.shared[key.String()]
	if ref == "" {
		ref = d.newObject(a)
		d.tree.shared[key.String()] = ref
	}
	return ref
}

// writeParents writes who owns the marks of streams, and the annotations.
func (d *tagger) writeParents() {
	t := &d.tree
	for _, s := range d.order {
		if s.key < 0 {
			continue
		}

		owners := make([]any, len(s.parents))
		for i, e := range s.parents {
			owners[i] = e.ref
		}
		t.parents = append(t.parents, s.key, d.newObject(owners))
	}

	for _, a := range d.links {
		key := d.nextKey()
		a.entries["/StructParent"] = key
		d.update.Set(a.ref, a.entries)
		t.parents = append(t.parents, key, a.owner.ref)
	}
}
