package pdftag

import (
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// annotation is a link of a page.
type annotation struct {
	ref     string
	page    int
	entries pdffile.Dict
	owner   *element
}

// readAnnotation reads an annotation of a page. All but links are faults: their appearances are not read.
func (d *tagger) readAnnotation(ref string, page int) {
	if ref == "" || d.annots[ref] != nil {
		return
	}

	entries := d.file.Dict(ref)
	if entries["/Subtype"] != "/Link" {
		d.fault(Violation{
			Rule: Annotation, Problem: "An annotation that is not a link has no description for screen readers.",
			Remedy: "Remove the annotation.", Page: page + 1,
		})
		return
	}

	a := &annotation{ref: ref, page: page, entries: entries}
	d.annots[ref] = a
	d.links = append(d.links, a)
}

// linkAnnotations gives every link its element and its description.
func (d *tagger) linkAnnotations() error {
	d.linkNotes()
	for _, a := range d.links {
		if a.owner == nil {
			d.addLink(a)
		}
	}

	d.settle()
	for _, a := range d.links {
		entries := pdffile.Without(a.entries, "/StructParent")
		entries["/F"] = pdffile.FlagPrint
		if pdffile.Text(entries["/Contents"]) == "" {
			entries["/Contents"] = "u:" + d.linkText(a)
		}
		a.entries = entries
	}

	return nil
}

// linkNotes gives notes the links from them back to the text, which LibreOffice leaves out of the structure: both are
// in the same order on a page.
func (d *tagger) linkNotes() {
	notes := map[int][]*element{}
	links := map[int][]*annotation{}
	d.walk(d.root, func(e *element) {
		if e.kind == "/Note" {
			page := d.pageOf(&kid{element: e}) - 1
			notes[page] = append(notes[page], e)
		}
	})

	for _, a := range d.links {
		if a.owner == nil && a.entries["/Dest"] != nil {
			links[a.page] = append(links[a.page], a)
		}
	}

	for page, list := range links {
		if len(list) != len(notes[page]) {
			continue
		}

		for i, a := range list {
			e := notes[page][i]
			if len(e.kids) > 0 && e.kids[0].is("/P") {
				e = e.kids[0].element
			}
			e.kids = slices.Concat([]*kid{newElement("/Link", []*kid{{annot: a}})}, e.kids)
			a.owner = e.kids[0].element
		}
	}
}

// addLink adds an element for a link that has none, at the end.
func (d *tagger) addLink(a *annotation) {
	link := newElement("/Link", []*kid{{annot: a}})
	d.root.kids = append(d.root.kids, newElement("/P", []*kid{link}))
	d.fault(Violation{
		Rule: LinkOutside, Problem: "A link is not in tagged text, so screen readers read it last.",
		Remedy: d.remedy("Move the link out of its frame or drawing.", ""), Element: "Link", Page: a.page + 1,
	})
}

// linkText returns the text of a link, or its target.
func (d *tagger) linkText(a *annotation) string {
	const longest = 500
	if text := shorten(d.textOf(a.owner), longest); text != "" {
		return text
	}
	if target := pdffile.Text(d.file.Entry(a.entries["/A"])["/URI"]); target != "" {
		return target
	}
	if name, ok := a.entries["/Dest"].(string); ok {
		return strings.TrimPrefix(name, "/")
	}
	return "Link"
}
