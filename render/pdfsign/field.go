package pdfsign

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// field is a field for signatures.
type field struct {
	ref       string
	name      string // full
	entries   pdffile.Dict
	value     string       // reference of the signature; empty if it is direct or there is none
	signature pdffile.Dict // nil if it is not signed
}

// maxFields bounds the fields of a form.
const maxFields = 50_000

// formReader reads the fields of a form.
type formReader struct {
	*pdffile.File

	seen   map[string]bool
	fields []*field
}

// signatureFields returns the fields for signatures, in the order of the form.
func signatureFields(f *pdffile.File) []*field {
	r := &formReader{File: f, seen: map[string]bool{}}
	list, _ := f.Target(f.Entry(f.Catalog()["/AcroForm"])["/Fields"]).([]any)
	for _, item := range list {
		r.read(pdffile.Reference(item), "", "", 0)
	}
	return r.fields
}

// read reads a field and those below it, which inherit its type.
func (r *formReader) read(ref, above, kind string, depth int) {
	if ref == "" || r.seen[ref] || depth > pdffile.MaxDepth || len(r.seen) > maxFields {
		return
	}
	r.seen[ref] = true
	entries := r.Dict(ref)

	name := above
	if own := pdffile.Text(r.Target(entries["/T"])); own != "" {
		name = strings.TrimPrefix(above+"."+own, ".")
	}
	if own, ok := r.Target(entries["/FT"]).(string); ok {
		kind = own
	}

	kids, _ := r.Target(entries["/Kids"]).([]any)
	if kind == "/Sig" && (entries["/V"] != nil || len(kids) == 0) {
		f := &field{ref: ref, name: name, entries: entries, value: pdffile.Reference(entries["/V"])}
		f.signature = r.Entry(entries["/V"])
		r.fields = append(r.fields, f)
	}

	for _, kid := range kids {
		r.read(pdffile.Reference(kid), name, kind, depth+1)
	}
}

// permission returns what a signature certifies; NotCertified if nothing. A permission that is none of the standard
// forbids everything.
func permission(f *pdffile.File, signature pdffile.Dict) Permission {
	references, _ := f.Target(signature["/Reference"]).([]any)
	for _, item := range references {
		entry := f.Entry(item)
		if f.Target(entry["/TransformMethod"]) != "/DocMDP" {
			continue
		}

		parameters := f.Entry(entry["/TransformParams"])
		p, ok := f.Target(parameters["/P"]).(float64)
		switch {
		case !ok && parameters["/P"] == nil:
			return FormFilling // the default
		case p == float64(FormFilling) || p == float64(Annotations):
			return Permission(p)
		}
		return NoChanges
	}

	return NotCertified
}

// useField signs an existing field.
func (d *editedFile) useField(fields []*field, name, signature string, value pdffile.Dict) error {
	i := slices.IndexFunc(fields, func(f *field) bool { return f.name == name })
	if i < 0 {
		return fail(BadField, "must be the name of a signature field of the PDF; it has no field %q", name)
	}
	f := fields[i]
	if f.entries["/V"] != nil {
		return fail(BadField, "must be the name of an unsigned field; %q is signed already", name)
	}

	entries := maps.Clone(f.entries)
	entries["/V"] = signature
	if lock := d.Entry(entries["/Lock"]); lock != nil {
		parameters := pdffile.Dict{"/Action": d.Target(lock["/Action"])}
		if lock["/Fields"] != nil {
			parameters["/Fields"] = d.Target(lock["/Fields"])
		}
		references, _ := value["/Reference"].([]any)
		value["/Reference"] = append(references, transform("/FieldMDP", parameters))
	}

	if entries["/Subtype"] == "/Widget" && d.Entry(entries["/AP"]) == nil {
		entries["/AP"] = pdffile.Dict{"/N": d.emptyAppearance()}
	}

	d.Set(f.ref, entries)
	return d.setForm(nil)
}

// emptyAppearance adds an appearance that shows nothing.
func (d *editedFile) emptyAppearance() string {
	ref := d.Reserve()
	d.Set(ref, pdffile.Stream{Entries: pdffile.Dict{
		"/Type": "/XObject", "/Subtype": "/Form", "/BBox": []any{0, 0, 0, 0}, "/Resources": pdffile.Dict{},
	}, Content: []byte{}})
	return ref
}

// maxPages is more than a signed document has.
const maxPages = 50_000

// addField adds a field with a signature.
func (d *editedFile) addField(signature string, o Options) error {
	pages, err := d.Pages(maxPages)
	if err != nil {
		return fail(Unreadable, "has pages that cannot be read")
	}

	number := 1
	box := []any{0, 0, 0, 0}
	if o.Visible != nil {
		number = o.Visible.Page
	}
	if number < 1 || number > len(pages) {
		return fail(BadPage, "must be on a page of the PDF, which has %d; got page %d", len(pages), number)
	}

	page := pages[number-1]
	var appearance string
	if o.Visible == nil {
		appearance = d.emptyAppearance()
	} else if box, appearance, err = d.visible(page, o.Visible); err != nil {
		return err
	}

	name := d.freeName()
	ref := d.Reserve()
	widget := pdffile.Dict{
		"/Type": "/Annot", "/Subtype": "/Widget", "/FT": "/Sig", "/T": "u:" + name, "/TU": "u:" + name, "/V": signature,
		"/P": page.Ref,
		"/F": pdffile.FlagPrint | flagLocked, "/Rect": box, "/AP": pdffile.Dict{"/N": appearance},
	}
	if err := d.annotate(page.Ref, ref, widget); err != nil {
		return err
	}

	d.Set(ref, widget)
	return d.setForm(ref)
}

// freeName returns a name that no field has.
func (d *editedFile) freeName() string {
	taken := map[string]bool{}
	list, _ := d.Target(d.Entry(d.Catalog()["/AcroForm"])["/Fields"]).([]any)
	for _, item := range list {
		taken[pdffile.Text(d.Target(d.Entry(item)["/T"]))] = true
	}
	for n := 1; ; n++ {
		if name := "Signature" + strconv.Itoa(n); !taken[name] {
			return name
		}
	}
}

// annotate adds a widget to a page.
func (d *editedFile) annotate(page, ref string, widget pdffile.Dict) error {
	entries := maps.Clone(d.Dict(page))
	list, ok := d.Target(entries["/Annots"]).([]any)
	if entries["/Annots"] != nil && !ok {
		return fail(Unreadable, "has annotations that cannot be read")
	}

	list = append(slices.Clone(list), ref)
	if shared := pdffile.Reference(entries["/Annots"]); shared != "" {
		d.Set(shared, list)
	} else {
		entries["/Annots"] = list
	}

	if d.tag(page, ref, widget) && entries["/Tabs"] == nil {
		entries["/Tabs"] = "/S"
	}
	d.Set(page, entries)
	return nil
}

// setForm adds a field to the form, unless it is nil, and marks the document as signed.
func (d *editedFile) setForm(added any) error {
	catalog := d.catalog()
	form := maps.Clone(d.Entry(catalog["/AcroForm"]))
	if form == nil {
		form = pdffile.Dict{}
	}

	if added != nil {
		list, ok := d.Target(form["/Fields"]).([]any)
		if form["/Fields"] != nil && !ok {
			return fail(Unreadable, "has form fields that cannot be read")
		}

		list = append(slices.Clone(list), added)
		if shared := pdffile.Reference(form["/Fields"]); shared != "" {
			d.Set(shared, list)
		} else {
			form["/Fields"] = list
		}
	}

	flags, _ := d.Target(form["/SigFlags"]).(float64)
	form["/SigFlags"] = int(flags) | signaturesExist | appendOnly
	if own := pdffile.Reference(catalog["/AcroForm"]); own != "" {
		d.Set(own, form)
		return nil
	}
	catalog["/AcroForm"] = form
	d.Set(d.Root(), catalog)
	return nil
}

// tag adds the widget to the structure of a tagged document, as PDF/UA requires, and reports whether the document is
// tagged.
func (d *editedFile) tag(page, ref string, widget pdffile.Dict) bool {
	root := pdffile.Reference(d.Catalog()["/StructTreeRoot"])
	tree := maps.Clone(d.Dict(root))
	if root == "" || tree == nil {
		return false
	}
	parents := d.parentNumbers(tree)
	if parents == nil {
		return true
	}

	key := 0
	for number := range parents {
		key = max(key, number+1)
	}
	next, _ := d.Target(tree["/ParentTreeNextKey"]).(float64)
	key = max(key, int(next))

	element := d.Reserve()
	above, below := d.container(root, tree)
	d.Set(element, pdffile.Dict{
		"/Type": "/StructElem", "/S": "/Form", "/P": above, "/Pg": page,
		"/K": pdffile.Dict{"/Type": "/OBJR", "/Obj": ref, "/Pg": page},
	})
	below["/K"] = append(d.kids(below["/K"]), element)
	d.Set(above, below)
	if above != root {
		d.Set(root, tree)
	}

	tree["/ParentTreeNextKey"] = key + 1
	d.addParent(tree, key, element)
	widget["/StructParent"] = key
	return true
}

// container returns the element to which the widget's is added: the only one below the root, or the root.
func (d *editedFile) container(root string, tree pdffile.Dict) (string, pdffile.Dict) {
	kids := d.kids(tree["/K"])
	if len(kids) == 1 {
		ref := pdffile.Reference(kids[0])
		if entries := d.Dict(ref); entries != nil && entries["/S"] != nil {
			return ref, maps.Clone(entries)
		}
	}
	return root, tree
}

// kids returns the children of an element as a list.
func (d *editedFile) kids(v any) []any {
	switch target := d.Target(v).(type) {
	case nil:
		return nil
	case []any:
		return slices.Clone(target)
	}
	return []any{v}
}

// parentNumbers returns the keys of the tree of parents; nil if the document has none.
func (d *editedFile) parentNumbers(tree pdffile.Dict) map[int]bool {
	if d.Entry(tree["/ParentTree"]) == nil {
		return nil
	}
	keys := map[int]bool{}
	for key := range d.TreeEntries(tree["/ParentTree"], "/Nums") {
		if number, ok := key.(float64); ok {
			keys[int(number)] = true
		}
	}
	return keys
}

// addParent adds an entry with the highest key to the tree of parents.
func (d *editedFile) addParent(tree pdffile.Dict, key int, element string) {
	parents := maps.Clone(d.Entry(tree["/ParentTree"]))
	if list, ok := d.Target(parents["/Nums"]).([]any); ok || parents["/Kids"] == nil {
		parents["/Nums"] = append(slices.Clone(list), key, element)
	} else {
		leaf := d.Reserve()
		d.Set(leaf, pdffile.Dict{"/Nums": []any{key, element}, "/Limits": []any{key, key}})
		kids, _ := d.Target(parents["/Kids"]).([]any)
		parents["/Kids"] = append(slices.Clone(kids), leaf)
	}

	if ref := pdffile.Reference(tree["/ParentTree"]); ref != "" {
		d.Set(ref, parents)
	} else {
		tree["/ParentTree"] = parents
	}
}

// locks returns whether a signature locks fields.
func locks(f *pdffile.File, signature pdffile.Dict) func(name string) bool {
	references, _ := f.Target(signature["/Reference"]).([]any)
	for _, item := range references {
		entry := f.Entry(item)
		if f.Target(entry["/TransformMethod"]) != "/FieldMDP" {
			continue
		}

		parameters := f.Entry(entry["/TransformParams"])
		list, _ := f.Target(parameters["/Fields"]).([]any)
		named := func(name string) bool {
			return slices.ContainsFunc(list, func(v any) bool {
				text := pdffile.Text(f.Target(v))
				return name == text || len(name) > len(text) && name[:len(text)+1] == text+"."
			})
		}

		switch f.Target(parameters["/Action"]) {
		case "/Include":
			return named
		case "/Exclude":
			return func(name string) bool { return !named(name) }
		}
		return func(string) bool { return true }
	}

	return func(string) bool { return false }
}
