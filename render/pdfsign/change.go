package pdfsign

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Change is a change of a document after a signature.
type Change struct {
	Kind ChangeKind
	Text string // what has changed, such as the name of a field
}

// ChangeKind is the kind of a change.
type ChangeKind string

// The kinds of changes.
const (
	ChangeSignature  ChangeKind = "signature"
	ChangeTimestamp  ChangeKind = "timestamp"
	ChangeEvidence   ChangeKind = "validation-data"
	ChangeMetadata   ChangeKind = "metadata"
	ChangeForm       ChangeKind = "form-filling"
	ChangeAnnotation ChangeKind = "annotation"
	ChangeCover      ChangeKind = "covered-content" // by the box of a later signature
	ChangeOther      ChangeKind = "other"
)

// judgeChanges decides on changes under a permission. Without a certification, nobody knows whether the signer agrees
// to changes of the form and annotations.
func judgeChanges(changes []Change, allowed Permission) (Verdict, string) {
	verdict := Valid
	reason := ""
	for _, c := range changes {
		minPermission := NoChanges
		switch c.Kind {
		case ChangeOther:
			return Invalid, "The document was changed after the signature: " + c.Text + "."
		case ChangeForm, ChangeSignature, ChangeMetadata:
			if c != dates {
				minPermission = FormFilling
			}
		case ChangeAnnotation:
			minPermission = Annotations
		}

		switch {
		case allowed != NotCertified && allowed < minPermission:
			return Invalid, "The document was changed after its certification, which forbids this: " + c.Text + "."
		case c.Kind == ChangeCover && allowed != Annotations && verdict == Valid:
			verdict = Undecided
			reason = "A later signature covers what was signed: " + c.Text + "."
		case allowed == NotCertified && (c.Kind == ChangeForm || c.Kind == ChangeAnnotation):
			verdict = Undecided
			reason = "The document was changed after the signature, which does not state whether this is allowed: " +
				c.Text + "."
		}
	}

	return verdict, reason
}

// fileEnd matches the end of a file.
var fileEnd = regexp.MustCompile(`startxref\s+\d+\s+%%EOF\s*$`)

// changes returns the changes after a signature.
func (v *verifier) changes(s *examined) []Change {
	if s.WholeDocument {
		return nil
	}

	d := &differ{
		old: s.signed, new: v.File, end: s.end, memo: map[[2]string]bool{}, roles: map[string]dictRole{},
		elements: map[string]bool{}, seen: map[Change]bool{}, locked: locks(s.signed, s.field.signature),
	}
	now := d.new.Tables()
	then := d.old.Tables()

	switch {
	case len(now) <= len(then) || !slices.Equal(now[len(now)-len(then):], then) ||
		slices.Min(now[:len(now)-len(then)]) < s.end,
		!fileEnd.Match(v.content[max(s.end, len(v.content)-pdffile.HeaderWithin):]), !d.new.UpdateOf(d.old):
		d.other("bytes follow that are not an update of the document")
	case d.old.Root() != d.new.Root():
		d.other("another catalog")
	default:
		d.document()
	}

	for _, ref := range slices.Sorted(maps.Keys(d.signed)) {
		v.addedSignature(d, ref)
	}
	return d.found
}

// addedSignature explains a field that has been signed since. A timestamp shows nothing: anybody can add one.
func (v *verifier) addedSignature(d *differ, ref string) {
	i := slices.IndexFunc(v.signatures, func(s *examined) bool { return s.field.ref == ref })
	if i < 0 {
		d.addedField(ref)
		return
	}

	switch s := v.signatures[i]; {
	case !s.Intact:
		d.other(fmt.Sprintf("the field %q was added without a valid signature", s.Field))
	case s.Kind == TimestampKind && visible(d.new, s.field.entries):
		d.add(ChangeAnnotation, fmt.Sprintf("the visible timestamp %q", s.Field))
	case s.Kind == TimestampKind:
		d.add(ChangeTimestamp, fmt.Sprintf("timestamp %q", s.Field))
	default:
		d.add(ChangeSignature, fmt.Sprintf("signature %q", s.Field))
		for _, part := range v.covered(d, s) {
			d.add(ChangeCover,
				fmt.Sprintf("the box of the signature %q by %q covers %s", s.Field, signerName(s.contents), part))
		}
	}
}

// addedField explains a field for a signature to come, which shows nothing until then.
func (d *differ) addedField(ref string) {
	entries := d.new.Dict(ref)
	name := pdffile.Text(d.new.Target(entries["/T"]))
	switch {
	case entries["/V"] != nil:
		d.other("a field was added without a signature")
	case entries["/AP"] != nil || entries["/MK"] != nil:
		d.add(ChangeAnnotation, fmt.Sprintf("the visible field %q for a signature", name))
	default:
		d.add(ChangeSignature, fmt.Sprintf("the field %q for a signature", name))
	}
}

// visible reports whether a field shows something in a box on a page.
func visible(f *pdffile.File, entries pdffile.Dict) bool {
	box, _ := f.Target(entries["/Rect"]).([]any)
	const corners = 4
	if len(box) != corners {
		return entries["/AP"] != nil
	}
	same := func(a, b any) bool {
		first, ok := f.Target(a).(float64)
		return ok && first == f.Target(b)
	}
	return entries["/AP"] != nil && !same(box[0], box[2]) && !same(box[1], box[3])
}

// dictRole is a kind of dictionaries with rules of their own.
type dictRole int

const (
	structureRole dictRole = iota + 1 // the catalog, the form, pages and elements of the structure
	fieldRole                         // fields and annotations, whose entries may change
)

// differ compares a document with itself at an earlier time. All that is reachable from the catalog must be the same,
// except for what the changes of forms and annotations explain.
type differ struct {
	old, new *pdffile.File
	end      int                 // of the earlier document
	memo     map[[2]string]bool  // results of same, by references
	trail    [][2]string         // of memo, that are true
	roles    map[string]dictRole // dictionaries with rules of their own
	elements map[string]bool     // of the structure
	fields   map[string]string   // names of the fields of the earlier document, by reference
	signed   map[string]bool     // fields that have been signed since
	open     bool                // grown accepts all further entries and items
	locked   func(name string) bool
	found    []Change
	seen     map[Change]bool
}

func (d *differ) add(kind ChangeKind, text string) {
	if c := (Change{kind, text}); !d.seen[c] {
		d.seen[c] = true
		d.found = append(d.found, c)
	}
}

func (d *differ) other(text string) { d.add(ChangeOther, text) }

// document compares the catalogs and all below them.
func (d *differ) document() {
	d.signed = map[string]bool{}
	d.fields = map[string]string{}
	was := d.old.Catalog()
	is := d.new.Catalog()

	d.roles[d.old.Root()] = structureRole
	d.assignRoles(was["/Pages"], 0)
	d.assignElementRoles(was["/StructTreeRoot"], 0)
	if form := pdffile.Reference(was["/AcroForm"]); form != "" {
		d.roles[form] = structureRole
	}

	d.form(was["/AcroForm"], is["/AcroForm"])
	d.pages(was["/Pages"], is["/Pages"], 0)
	d.information()

	for _, key := range keys(was, is) {
		switch key {
		case "/AcroForm", "/Pages", "/Extensions", "/Version":
		case "/DSS":
			if !d.same(was[key], is[key], key, 0) {
				d.add(ChangeEvidence, "validation data")
			}
		case "/Metadata":
			d.xmp(was[key], is[key])
		case "/StructTreeRoot":
			if was[key] == nil || !d.grown(was[key], is[key], "", 0) {
				d.other("the structure of the document")
			}
		default:
			if !d.same(was[key], is[key], key, 0) {
				d.other("the entry " + key[1:] + " of the catalog")
			}
		}
	}
}

func keys(a, b pdffile.Dict) []string {
	var list []string
	for key := range a {
		list = append(list, key)
	}
	for key := range b {
		if _, both := a[key]; !both {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return list
}

// assignRoles notes the objects of the tree of pages, and the annotations of pages, which are compared by their own rules.
func (d *differ) assignRoles(v any, depth int) {
	ref := pdffile.Reference(v)
	node := d.plainDict(v)
	if node == nil || d.roles[ref] == structureRole || depth > pdffile.MaxDepth {
		return
	}
	d.roles[ref] = structureRole

	kids, _ := d.old.Target(node["/Kids"]).([]any)
	for _, kid := range kids {
		d.assignRoles(kid, depth+1)
	}

	annotations, _ := d.old.Target(node["/Annots"]).([]any)
	for _, item := range annotations {
		if part := pdffile.Reference(item); d.plainDict(item) != nil && d.roles[part] == 0 {
			d.roles[part] = fieldRole
		}
	}
}

// plainDict returns an object of the earlier document that is a dictionary and not a stream, then and now; nil if it is
// something else.
func (d *differ) plainDict(v any) pdffile.Dict {
	if pdffile.Reference(v) == "" {
		return nil
	}
	value, isStream, ok := target(d.old, v)
	_, isToo, okToo := target(d.new, v)
	entries, _ := value.(pdffile.Dict)
	if !ok || !okToo || isStream || isToo {
		return nil
	}
	return entries
}

// pages compares a node of the tree of pages.
func (d *differ) pages(a, b any, depth int) {
	if ref := pdffile.Reference(a); ref == "" || a != b || depth > pdffile.MaxDepth || d.once("page", ref) {
		d.other("the pages of the document")
		return
	}

	was := d.old.Entry(a)
	is := d.new.Entry(b)
	before, ok1 := d.old.Target(was["/Kids"]).([]any)
	after, ok2 := d.new.Target(is["/Kids"]).([]any)
	if len(before) != len(after) || ok1 != (was["/Kids"] != nil) || ok2 != (is["/Kids"] != nil) {
		d.other("the number of pages")
		return
	}

	for i := range before {
		d.pages(before[i], after[i], depth+1)
	}

	for _, key := range keys(was, is) {
		switch key {
		case "/Kids", "/LastModified", "/PieceInfo":
		case "/Tabs":
			if was[key] != nil && was[key] != is[key] {
				d.other("the order of a page's fields")
			}
		case "/Annots":
			d.annotations(d.old.Target(was[key]), d.new.Target(is[key]))
		default:
			if !d.same(was[key], is[key], key, 0) {
				d.other("the entry " + key[1:] + " of a page")
			}
		}
	}
}

// annotations compares the annotations of a page.
func (d *differ) annotations(a, b any) {
	before, _ := a.([]any)
	after, _ := b.([]any)
	if len(before) == 0 && a != nil && before == nil || after == nil && b != nil {
		d.other("the annotations of a page")
		return
	}

	for _, item := range before {
		ref := pdffile.Reference(item)
		kind := d.old.Target(d.old.Entry(item)["/Subtype"])
		switch {
		case ref != "" && d.fields[ref] != "": // compared with the form
			if !slices.Contains(after, item) {
				d.other("a field was removed from a page")
			}
		case ref == "" && !slices.ContainsFunc(after, func(other any) bool { return d.same(item, other, inList, 0) }),
			ref != "" && (!slices.Contains(after, item) || !d.sameEntries(item)):
			if kind == "/Widget" {
				d.other("a field on a page")
			} else {
				d.add(ChangeAnnotation, "an annotation")
			}
		}
	}

	d.addedAnnotations(before, after)
}

// addedAnnotations explains the annotations that a page has since.
func (d *differ) addedAnnotations(before, after []any) {
	for _, item := range after {
		if pdffile.Reference(item) == "" {
			if !slices.ContainsFunc(before, func(other any) bool { return d.same(other, item, inList, 0) }) {
				d.other("an annotation that is not an object")
			}
			continue
		}
		if slices.Contains(before, item) {
			continue
		}

		switch {
		case d.signed[pdffile.Reference(item)]:
		case d.new.Target(d.new.Entry(item)["/Subtype"]) == "/Widget":
			d.other("a field was added to a page")
		default:
			d.add(ChangeAnnotation, "an annotation")
		}
	}
}

// sameEntries reports whether an annotation is as before.
func (d *differ) sameEntries(ref any) bool {
	was := d.plainDict(ref)
	is := d.new.Entry(ref)
	if was == nil {
		return d.same(ref, ref, "/Annots", 0)
	}
	return is != nil &&
		!slices.ContainsFunc(keys(was, is), func(key string) bool { return !d.same(was[key], is[key], key, 0) })
}

// names notes the names of fields and their widgets.
func (d *differ) names(list []any, above string, depth int) {
	for _, item := range list {
		ref := pdffile.Reference(item)
		entries := d.plainDict(item)
		if entries == nil || d.fields[ref] != "" || depth > pdffile.MaxDepth {
			continue
		}

		name := above
		if own := pdffile.Text(d.old.Target(entries["/T"])); own != "" {
			if name != "" {
				name += "."
			}
			name += own
		}
		if name == "" {
			name = "(no name)"
		}

		d.fields[ref] = name
		d.roles[ref] = fieldRole
		kids, _ := d.old.Target(entries["/Kids"]).([]any)
		d.names(kids, name, depth+1)
	}
}

// field compares a field and those below it. Filled means that the value of one above has changed.
func (d *differ) field(ref string, filled bool, depth int) {
	was := d.plainDict(ref)
	is := d.new.Dict(ref)
	if was == nil || is == nil || depth > pdffile.MaxDepth || d.once("field", ref) {
		d.other("a field cannot be read")
		return
	}

	name := d.fields[ref]
	changed := func(key string) bool { return !d.same(was[key], is[key], key, 0) }
	signature := d.inheritedType(ref) == "/Sig"
	own := !signature && slices.ContainsFunc(valueKeys, changed)
	filled = filled || own

	var free []string // keys that may change
	switch {
	case signature && was["/V"] == nil && is["/V"] != nil && was["/T"] != nil:
		d.signed[ref] = true
		free = []string{"/V", "/AP", "/MK", "/F", "/StructParent", "/TU"}
	case filled:
		free = append([]string{"/AP", "/M"}, valueKeys...)
	}

	d.kids(was["/Kids"], is["/Kids"], filled, depth)
	for _, key := range keys(was, is) {
		if key != "/Kids" && !slices.Contains(free, key) && changed(key) {
			d.other(fmt.Sprintf("the entry %s of the field %q", key[1:], name))
		}
	}

	switch {
	case own && d.locked(name):
		d.other(fmt.Sprintf("the field %q, which the signature locks", name))
	case own:
		d.add(ChangeForm, fmt.Sprintf("the field %q", name))
	}
}

// valueKeys are the entries of a field with its value and state.
var valueKeys = []string{"/V", "/AS", "/I", "/RV"}

func (d *differ) kids(a, b any, filled bool, depth int) {
	before, ok1 := d.old.Target(a).([]any)
	after, ok2 := d.new.Target(b).([]any)
	if !slices.Equal(before, after) || ok1 != (a != nil) || ok2 != (b != nil) {
		d.other("the fields of the form")
		return
	}
	for _, kid := range before {
		d.field(pdffile.Reference(kid), filled, depth+1)
	}
}

// inheritedType returns the type of a field.
func (d *differ) inheritedType(ref string) any {
	for range pdffile.MaxDepth {
		entries := d.old.Dict(ref)
		if kind := d.old.Target(entries["/FT"]); kind != nil {
			return kind
		}
		if ref = pdffile.Reference(entries["/Parent"]); ref == "" {
			return nil
		}
	}
	return nil
}

// maxDepth bounds the objects between the catalog and another; lists such as the entries of an outline are long.
const maxDepth = 50_000

// inList is the key of the items of a list.
const inList = ""

// items is the end of the key of the items of a list, after the key of the list.
const items = "[]"

// backward reports whether an entry or an item of a list refers to a dictionary with rules of its own and does not use
// its content. Such dictionaries are compared by their rules, unless another entry uses them.
func backward(kind dictRole, key string) bool {
	switch key {
	case "/P", "/Parent", "/Popup", "/IRT", "/Obj", "/T",
		"/T" + items, "/Fields" + items, "/CO" + items, "/Kids" + items:
		return true
	case inList, "/Pg", "/SE", "/Dest", "/D", "/Data":
		return kind == structureRole
	}
	return kind == structureRole && strings.HasSuffix(key, items)
}

// same reports whether two values of an entry are the same, with all that they refer to.
func (d *differ) same(a, b any, key string, depth int) bool {
	if depth > maxDepth {
		return false
	}

	from := pdffile.Reference(a)
	to := pdffile.Reference(b)
	if from == "" && to == "" {
		return d.sameValue(a, b, key, depth)
	}
	if kind := max(d.roles[from], d.roles[to]); kind != 0 && backward(kind, key) {
		return from == to
	}

	pair := [2]string{from, to}
	if from != "" && d.leads(from) {
		pair[1] += key // which decides how the references in it are compared
	}

	since := len(d.trail)
	if from != "" && to != "" {
		if known, ok := d.memo[pair]; ok {
			return known
		}
		d.memo[pair] = true // until it is known, for loops
		d.trail = append(d.trail, pair)
	}

	if d.sameTarget(a, b, key, depth+1) {
		return true
	}
	// Results since then may have relied on this one.
	for _, other := range d.trail[since:] {
		delete(d.memo, other)
	}
	d.trail = d.trail[:since]
	if from != "" && to != "" {
		d.memo[pair] = false
	}
	return false
}

// leads reports whether an object is a list or a reference.
func (d *differ) leads(ref string) bool {
	pair := [2]string{"leads", ref}
	result, known := d.memo[pair]
	if !known {
		value := d.old.Target(ref)
		_, isList := value.([]any)
		result = isList || pdffile.Reference(value) != ""
		d.memo[pair] = result
	}
	return result
}

// sameTarget compares the objects of references, or values.
func (d *differ) sameTarget(a, b any, key string, depth int) bool {
	was, isStream, ok1 := target(d.old, a)
	is, isToo, ok2 := target(d.new, b)
	if !ok1 || !ok2 || isStream != isToo {
		return false
	}

	switch {
	case pdffile.Reference(was) != "" || pdffile.Reference(is) != "":
		return d.same(was, is, key, depth) // some readers follow it
	case was == nil && is == nil:
		return d.new.Unmoved(d.old, pdffile.Reference(a)) && d.new.Unmoved(d.old, pdffile.Reference(b))
	case !isStream:
		return d.sameValue(was, is, key, depth)
	}

	first, ok1 := d.old.Stream(pdffile.Reference(a))
	second, ok2 := d.new.Stream(pdffile.Reference(b))
	return ok1 && ok2 && bytes.Equal(first.Content, second.Content) &&
		d.sameValue(pdffile.Without(first.Entries, "/Length"), pdffile.Without(second.Entries, "/Length"),
			inList, depth)
}

func target(f *pdffile.File, v any) (value any, isStream, ok bool) {
	ref := pdffile.Reference(v)
	if ref == "" {
		return v, false, true
	}
	value, body, err := f.Object(ref)
	return value, body != 0, err == nil
}

// sameValue compares values that are not references. The items of a list are compared as what its key has.
func (d *differ) sameValue(a, b any, key string, depth int) bool {
	switch was := a.(type) {
	case pdffile.Dict:
		is, ok := b.(pdffile.Dict)
		differs := func(key string) bool { return !d.same(was[key], is[key], key, depth+1) }
		return ok && !slices.ContainsFunc(keys(was, is), differs)
	case []any:
		is, ok := b.([]any)
		if !ok || len(was) != len(is) {
			return false
		}
		for i := range was {
			if !d.same(was[i], is[i], strings.TrimSuffix(key, items)+items, depth+1) {
				return false
			}
		}
		return true
	}

	switch b.(type) {
	case pdffile.Dict, []any:
		return false
	}
	return a == b
}
