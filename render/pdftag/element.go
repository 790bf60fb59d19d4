package pdftag

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

const (
	// maxDepth is the maximum depth of elements. Deeper ones become those of their ancestor at that depth.
	maxDepth = 256
	// maxRead is the depth below which elements are left out, so that their content becomes artifacts.
	maxRead = 10_000
	// maxElements is the maximum number of elements of a document.
	maxElements = 4 << 20
)

// element is an element of the structure tree.
type element struct {
	kind        string // its type, a name such as "/P"
	ref         string // in the new file
	parent      *element
	kids        []*kid
	alt, actual string
	lang        string
	id          string
	rows        int // that a cell spans; 0 means all that follow
	columns     int
	scope       string
	headers     []string
	numbering   string
	field       pdffile.Dict // attributes of a printed field
}

// kid is a part of an element: another element, content, or an annotation.
type kid struct {
	element  *element
	stream   *stream
	mcid     int // MCID in the source file
	annot    *annotation
	owner    *element
	place    int   // in its owner
	newMCIDs []int // of the content's marks, as they are; none if another mark includes it
}

// is reports whether a kid is an element of one of some types.
func (k *kid) is(kinds ...string) bool {
	return k.element != nil && slices.Contains(kinds, k.element.kind)
}

// continues reports whether content follows this content in the same element, so that they can have one mark.
func (k *kid) continues(next *kid) bool {
	return k == next || k.owner == next.owner && k.place+1 == next.place && k.stream == next.stream
}

// readTree reads the structure tree.
func (d *tagger) readTree() error {
	tree := d.file.Entry(d.catalog["/StructTreeRoot"])
	if tree == nil && !d.opt.Office && slices.ContainsFunc(d.order, func(s *stream) bool { return s.text }) {
		d.fault(Violation{
			Rule: UntaggedText, Element: "Text",
			Problem: "The browser wrote no structure, so screen readers cannot read the text.",
			Remedy:  "Write the text in the HTML.",
		})
	}

	r := &treeReader{
		tagger: d, roles: d.file.Entry(tree["/RoleMap"]), seen: map[string]bool{}, values: map[string]any{},
		pages: map[string]int{},
	}
	for i, p := range d.pages {
		r.pages[p.ref] = i
	}

	d.root = &element{kind: "/Document", rows: 1, columns: 1}
	r.readKid(d.root, tree["/K"], "", 0)
	return nil
}

type treeReader struct {
	*tagger

	roles pdffile.Dict
	seen  map[string]bool // elements, which may not be there twice
	pages map[string]int
	// values are the attributes that several elements refer to.
	values map[string]any
}

// readKid adds the kids that a value holds: one, or a list. Page is the reference of the element's page.
func (r *treeReader) readKid(e *element, v any, page string, depth int) {
	ref := pdffile.Reference(v)
	if ref != "" {
		if r.seen[ref] || len(r.seen) > maxElements || depth > maxRead {
			return
		}
		r.seen[ref] = true
		v = r.file.Target(v)
	}

	switch v := v.(type) {
	case float64:
		r.addContent(e, page, "", int(v))
	case []any:
		if ref != "" {
			depth++
		}
		for _, item := range v {
			r.readKid(e, item, page, depth)
		}
	case pdffile.Dict:
		if own := pdffile.Reference(v["/Pg"]); own != "" {
			page = own
		}
		r.addKid(e, v, page, depth)
	}
}

// addKid adds content, an annotation, or an element with all below it.
func (r *treeReader) addKid(e *element, entries pdffile.Dict, page string, depth int) {
	switch entries["/Type"] {
	case "/MCR":
		mcid, _ := entries["/MCID"].(float64)
		r.addContent(e, page, pdffile.Reference(entries["/Stm"]), int(mcid))
	case "/OBJR":
		if annot := r.annots[pdffile.Reference(entries["/Obj"])]; annot != nil && annot.owner == nil {
			annot.owner = e
			e.kids = append(e.kids, &kid{annot: annot})
		}
	default:
		if entries["/S"] == nil {
			return
		}

		if depth < maxDepth {
			child := r.readElement(entries)
			e.kids = append(e.kids, &kid{element: child})
			e = child
		}
		r.readKid(e, entries["/K"], page, depth+1)
	}
}

// addContent adds the content of a mark, if it is drawn once, and nothing else has it.
func (r *treeReader) addContent(e *element, page, form string, mcid int) {
	var s *stream
	if form != "" {
		s = r.streams[form]
	} else if i, ok := r.pages[page]; ok {
		s = r.tagger.pages[i].content
	}
	if s == nil || s.form != (form != "") {
		return
	}

	m := s.marks[mcid]
	if m == nil || m.owner != nil || s.drawn == 0 {
		return
	}

	if s.drawn > 1 {
		r.addRepeated(e, s)
		return
	}

	m.owner = e
	m.kid = &kid{stream: s, mcid: mcid}
	e.kids = append(e.kids, m.kid)
}

// addRepeated adds a form that is drawn more than once, as shadows and masks are, to the first element that has a part
// of it. A mark in it would be on the page twice, so the element has the last drawing of the form as a whole.
func (r *treeReader) addRepeated(e *element, form *stream) {
	const firstNew = 1 << 30 // above all numbers of marks

	s := form.last.stream
	event := &s.events[form.last.event]
	if event.mcid >= firstNew && s.marks[event.mcid].owner == e {
		return
	}
	if s.drawn != 1 || event.mcid >= firstNew {
		r.fault(Violation{
			Rule:    RepeatedForm,
			Problem: "Content with a filter or a mask is rendered more than once, so screen readers cannot read it.",
			Remedy:  "Remove the filter or mask.", Page: form.page + 1,
		})
		return
	}

	event.mcid = firstNew + len(s.marks)
	k := &kid{stream: s, mcid: event.mcid}
	s.marks[event.mcid] = &mark{text: form.text, owner: e, kid: k}
	e.kids = append(e.kids, k)
}

// readElement reads an element without its kids.
func (r *treeReader) readElement(entries pdffile.Dict) *element {
	e := &element{rows: 1, columns: 1}
	e.kind, _ = entries["/S"].(string)
	e.kind = r.standardType(e.kind)
	e.alt = pdffile.Text(entries["/Alt"])
	e.actual = pdffile.Text(entries["/ActualText"])
	e.lang = pdffile.Text(entries["/Lang"])
	e.id = pdffile.Text(entries["/ID"])
	for _, attributes := range listOf(r.target(entries["/A"])) {
		a, _ := r.target(attributes).(pdffile.Dict)
		r.readAttributes(e, a)
	}
	return e
}

// target is File.Target, which reads each object once.
func (r *treeReader) target(v any) any {
	ref := pdffile.Reference(v)
	if ref == "" {
		return v
	}
	value, known := r.values[ref]
	if !known {
		value = r.file.Target(v)
		r.values[ref] = value
	}
	return value
}

// listOf returns the first items of a list, or a list of one value.
func listOf(v any) []any {
	const maximum = 100
	if list, ok := v.([]any); ok {
		return list[:min(len(list), maximum)]
	}
	return []any{v}
}

func (r *treeReader) readAttributes(e *element, a pdffile.Dict) {
	const maximum = 1 << 16
	span := func(key string, before int) int {
		n, ok := a[key].(float64)
		if !ok || n < 0 || n > maximum {
			return before
		}
		return int(n)
	}

	switch a["/O"] {
	case "/Table":
		e.rows = span("/RowSpan", e.rows)
		e.columns = max(1, span("/ColSpan", e.columns))
		if scope, ok := a["/Scope"].(string); ok {
			e.scope = scope
		}

		for _, id := range listOf(r.target(a["/Headers"])) {
			if text := pdffile.Text(id); text != "" {
				e.headers = append(e.headers, text)
			}
		}
	case "/List":
		e.numbering, _ = a["/ListNumbering"].(string)
	case "/PrintField":
		if e.field == nil {
			e.field = pdffile.Dict{}
		}
		maps.Copy(e.field, a)
	}
}

// standardType returns the type that an element's has in the standard; one that there is not is a group.
func (r *treeReader) standardType(kind string) string {
	const mapped = 8
	for range mapped {
		if _, ours := roles[kind]; ours || pdffile.StandardType(kind) {
			return kind
		}
		next, ok := r.roles[kind].(string)
		if !ok {
			break
		}
		kind = next
	}
	return "/NonStruct"
}

// roles are the types of PDF 2.0 that Chromium uses, with those of PDF 1.7 that they are mapped to.
var roles = map[string]string{"/Em": "/Span", "/Strong": "/Span", "/Aside": "/Sect", "/Title": "/P", "/Sub": "/Span"}

var languagePattern = regexp.MustCompile(`^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*$`)

// language returns a language tag in its form of the standard; empty if it is none.
func language(tag string) string {
	tag = strings.ReplaceAll(strings.TrimSpace(tag), "_", "-")
	if !languagePattern.MatchString(tag) {
		return ""
	}
	return tag
}
