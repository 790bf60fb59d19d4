package pdftag

import (
	"slices"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// shape makes the tree as the standards want it, and as small as its meaning permits: groups without a meaning
// are replaced by what is in them, and content that is no text outside figures becomes an artifact.
func (d *tagger) shape() error {
	s := &shaper{tagger: d, budget: maxTableWork}
	d.setLanguage()
	kids := d.gathered(s.kids(d.root, d.opt.Language, false))
	if len(kids) == 1 && kids[0].is("/Document") {
		d.root = kids[0].element
		d.root.lang = ""
		kids = d.root.kids
	}
	d.root.kids = s.blocks(kids)
	d.settle()
	return nil
}

// gathered puts elements that are outside of the only Document into it, each at the end of its page. LibreOffice writes
// frames that are below the text so.
func (d *tagger) gathered(kids []*kid) []*kid {
	isDocument := func(k *kid) bool { return k.is("/Document") }
	at := slices.IndexFunc(kids, isDocument)
	if at < 0 || slices.ContainsFunc(kids[at+1:], isDocument) {
		return kids
	}

	top := kids[at].element
	outside := slices.Concat(kids[:at], kids[at+1:])
	pages := map[*kid]int{}
	for _, k := range outside {
		pages[k] = d.pageOf(k)
	}
	slices.SortStableFunc(outside, func(a, b *kid) int { return pages[a] - pages[b] })

	all := make([]*kid, 0, len(top.kids)+len(outside))
	for _, k := range top.kids {
		page := d.pageOf(k)
		for len(outside) > 0 && pages[outside[0]] < page {
			all = append(all, outside[0])
			outside = outside[1:]
		}
		all = append(all, k)
	}

	top.kids = slices.Concat(all, outside)
	return kids[at : at+1]
}

// setLanguage chooses the language of the document. The caller's is the first; then come its own.
func (d *tagger) setLanguage() {
	own := d.catalog["/Lang"]
	if d.opt.NoLanguage {
		own = nil
	}

	for _, tag := range []any{"u:" + d.opt.Language, own} {
		if d.opt.Language = language(pdffile.Text(tag)); d.opt.Language != "" {
			return
		}
	}

	d.fault(Violation{
		Rule: DocumentLanguage, Problem: "The document does not name its language.",
		Remedy: d.remedy("Set lang on the html element.", "Set it in the document."),
	})
}

// shaper shapes the tree.
type shaper struct {
	*tagger

	budget int // of steps in tables
}

// settle sets who owns what in the finished tree. Marks that nothing in it has become artifacts.
func (d *tagger) settle() {
	for _, s := range d.order {
		for _, m := range s.marks {
			m.owner = nil
		}
	}

	for _, a := range d.links {
		a.owner = nil
	}

	d.walk(d.root, func(e *element) {
		for i, k := range e.kids {
			k.owner = e
			k.place = i
			switch {
			case k.element != nil:
				k.element.parent = e
			case k.annot != nil:
				k.annot.owner = e
			default:
				k.stream.marks[k.mcid].owner = e
			}
		}
	})
}

// walk calls f for an element and all below it, in their order.
func (d *tagger) walk(e *element, f func(*element)) {
	f(e)
	for _, k := range e.kids {
		if k.element != nil {
			d.walk(k.element, f)
		}
	}
}

// kids returns the shaped kids of an element. Pictured means that it is in a figure, whose drawing has a meaning.
func (s *shaper) kids(e *element, lang string, pictured bool) []*kid {
	var out []*kid
	for _, k := range e.kids {
		switch {
		case k.element != nil:
			out = append(out, s.element(k.element, lang, pictured)...)
		case k.stream != nil && !pictured && !k.stream.marks[k.mcid].text:
			k.stream.marks[k.mcid].owner = nil
		default:
			out = append(out, k)
		}
	}
	return out
}

// element shapes an element, and returns the kids that replace it in its parent: often it alone.
func (s *shaper) element(e *element, lang string, pictured bool) []*kid {
	lang = s.language(e, lang)
	leaf := !slices.ContainsFunc(e.kids, isElement)
	kids := linked(e, s.kids(e, lang, pictured || meansDrawing(e.kind)))
	e.kids = kids

	switch e.kind {
	case "/NonStruct", "/Div", "/Span", "/Private":
		if leaf && e.lang+e.alt+e.actual == "" {
			return kids
		}
		return s.group(e, kids)
	case "/Figure":
		return s.figure(e, kids)
	case "/Formula", "/Form":
		return s.drawn(e, kids)
	case "/Table":
		return s.table(e, kids)
	case "/TR", "/TH", "/TD":
		return s.cell(e, kids)
	case "/THead", "/TBody", "/TFoot":
		return kids
	case "/L":
		return s.list(e, kids)
	case "/LI":
		return s.item(e, kids)
	case "/Link":
		return s.link(e, kids)
	case "/Ruby":
		return s.ruby(e, kids)
	}

	return s.plain(e, kids)
}

// language gives an element its language only if it is not that around it, and returns the language in the element.
func (s *shaper) language(e *element, around string) string {
	tag := language(e.lang)
	if tag == "" && e.lang != "" {
		s.fault(Violation{
			Rule: ElementLanguage, Problem: "A language is not a tag of BCP 47.",
			Remedy: "Set lang to a tag such as en or pt-BR.", Element: e.lang,
		})
	}

	e.lang = tag
	if tag == around {
		e.lang = ""
	}

	if tag == "" {
		return around
	}
	return tag
}

// meansDrawing reports whether drawing without text has a meaning in an element.
func meansDrawing(kind string) bool {
	return kind == "/Figure" || kind == "/Formula" || kind == "/Form" || kind == "/Lbl"
}

// plain is an element that stays as it is, unless it is empty.
func (s *shaper) plain(e *element, kids []*kid) []*kid {
	if len(kids) == 0 {
		return nil
	}

	switch {
	case inline(e.kind):
		e.kids = spliced(kids)
	case e.kind == "/Document" || e.kind == "/Art" || e.kind == "/Sect" || e.kind == "/Part" ||
		e.kind == "/BlockQuote" || e.kind == "/Aside":
		e.kids = s.blocks(kids)
	default:
		e.kids = s.flow(kids)
	}

	return []*kid{{element: e}}
}

// group is an element without a meaning: kids replace it, unless it has a language or a text of its own.
func (s *shaper) group(e *element, kids []*kid) []*kid {
	switch {
	case len(kids) == 0:
		return nil
	case e.lang+e.alt+e.actual != "":
		e.kind = "/Span"
		if slices.ContainsFunc(kids, block) {
			e.kind = "/Div"
			kids = s.blocks(kids)
		}
		e.kids = spliced(kids)
		return []*kid{{element: e}}
	case slices.ContainsFunc(kids, block):
		return s.blocks(kids)
	}

	if !slices.ContainsFunc(kids, func(k *kid) bool { return !isLine(k) }) {
		if len(kids) == 1 {
			return kids
		}
		return s.blocks(kids)
	}

	e.kind = lineKind
	e.kids = spliced(kids)
	return []*kid{{element: e}}
}

// lineKind is the type of a group of text until it is known to be a paragraph, or a part of one.
const lineKind = "/"

// inline reports whether elements of a type are in lines of text.
func inline(kind string) bool {
	switch kind {
	case "/Span", "/Em", "/Strong", "/Quote", "/Code", "/Reference", "/BibEntry", "/Link", "/Ruby", "/Figure",
		"/Formula", "/Form", "/Sub", "/Annot", "/Lbl", lineKind:
		return true
	}
	return false
}

func isElement(k *kid) bool { return k.element != nil }

// block reports whether a kid cannot be in a line of text.
func block(k *kid) bool {
	return k.element != nil &&
		(!inline(k.element.kind) || k.element.kind == "/Link" && slices.ContainsFunc(k.element.kids, block))
}

func isLine(k *kid) bool { return k.is(lineKind) }

// spliced replaces groups of text by what is in them.
func spliced(kids []*kid) []*kid { return unwrapped(kids, isLine) }

// unwrapped replaces some elements in a list by their kids.
func unwrapped(kids []*kid, which func(*kid) bool) []*kid {
	if !slices.ContainsFunc(kids, which) {
		return kids
	}
	var out []*kid
	for _, k := range kids {
		if which(k) {
			out = append(out, k.element.kids...)
			continue
		}
		out = append(out, k)
	}
	return out
}

// flow returns kids of an element that can have text or blocks: text alone stays as it is.
func (s *shaper) flow(kids []*kid) []*kid {
	lines := 0
	other := false

	for _, k := range kids {
		if block(k) {
			return s.blocks(kids)
		}
		if isLine(k) {
			lines++
		} else {
			other = true
		}
	}

	if lines > 1 && !other {
		return s.blocks(kids)
	}
	return spliced(kids)
}

// blocks makes paragraphs of text between blocks. A group of text is one of its own, unless it is next to other text.
func (s *shaper) blocks(kids []*kid) []*kid {
	kids = orphans(orphans(kids, "/TD", "/TR", s.cell), "/TH", "/TR", s.cell)
	kids = captionsAsText(orphans(orphans(kids, "/TR", "/Table", s.table), "/LI", "/L", s.list))

	out := make([]*kid, 0, len(kids))
	for start := 0; start < len(kids); {
		if block(kids[start]) {
			out = append(out, kids[start])
			start++
			continue
		}

		end := start
		for end < len(kids) && !block(kids[end]) {
			end++
		}
		out = append(out, s.paragraphs(kids[start:end])...)
		start = end
	}
	return out
}

func (s *shaper) paragraphs(run []*kid) []*kid {
	if slices.ContainsFunc(run, func(k *kid) bool { return !isLine(k) }) {
		if len(run) == 1 && run[0].element != nil && meansDrawing(run[0].element.kind) {
			return run // a figure alone
		}
		return []*kid{newElement("/P", spliced(run))}
	}
	var out []*kid
	for _, k := range run {
		out = append(out, newElement("/P", k.element.kids))
	}
	return out
}

// newElement returns a kid that is a new element.
func newElement(kind string, kids []*kid) *kid {
	return &kid{element: &element{kind: kind, rows: 1, columns: 1, kids: kids}}
}

// linked puts the annotations in an element into links: a group with one is a link itself, as notes have them.
func linked(e *element, kids []*kid) []*kid {
	if e.kind == "/Link" || !slices.ContainsFunc(kids, isNote) {
		return kids
	}

	if e.kind == "/NonStruct" || e.kind == "/Span" || e.kind == "/Reference" {
		e.kind = "/Link"
		return kids
	}

	for i, k := range kids {
		if isNote(k) {
			kids[i] = newElement("/Link", []*kid{k})
		}
	}
	return kids
}

func isNote(k *kid) bool { return k.annot != nil }

// link is a link, if it has an annotation, which is not in a paragraph of the link.
func (s *shaper) link(e *element, kids []*kid) []*kid {
	var notes, content []*kid
	for _, k := range kids {
		if isNote(k) {
			notes = append(notes, k)
		} else {
			content = append(content, k)
		}
	}

	if len(notes) == 0 {
		return s.group(e, kids)
	}

	e.kids = slices.Concat(s.flow(content), notes)
	return []*kid{{element: e}}
}

// figure is a figure with its text, or a group around one.
func (s *shaper) figure(e *element, kids []*kid) []*kid {
	if len(kids) == 0 {
		return nil
	}

	isFigure := func(k *kid) bool { return k.is("/Figure") }
	first := slices.IndexFunc(kids, isFigure)
	switch {
	case e.alt+e.actual != "":
	case first >= 0 && !slices.ContainsFunc(kids[first+1:], isFigure):
		inner := kids[first].element
		e.alt = inner.alt
		e.actual = inner.actual
		kids = unwrapped(kids, isFigure)
	case first >= 0 || slices.ContainsFunc(kids, block):
		return s.blocks(kids)
	case onlyText(kids):
		return s.group(e, kids)
	}

	return s.drawn(e, kids)
}

// onlyText reports whether kids have text, and no drawing beside it.
func onlyText(kids []*kid) bool {
	return !slices.ContainsFunc(kids, func(k *kid) bool {
		return k.stream != nil && !k.stream.marks[k.mcid].text || k.element != nil && !onlyText(k.element.kids)
	})
}

// drawn is a figure, a formula or a field: nothing in it has a meaning but its caption and its links.
func (s *shaper) drawn(e *element, kids []*kid) []*kid {
	var out []*kid
	var add func(kids []*kid)
	add = func(kids []*kid) {
		for _, k := range kids {
			if k.element != nil && !k.is("/Caption", "/Link") {
				add(k.element.kids)
				continue
			}
			out = append(out, k)
		}
	}

	add(kids)
	if len(out) == 0 {
		return nil
	}

	e.kids = out
	return []*kid{{element: e}}
}

// ruby pairs each base with its annotation.
func (s *shaper) ruby(e *element, kids []*kid) []*kid {
	var out, base []*kid
	for _, k := range kids {
		switch {
		case k.is("/RT") && len(base) > 0:
			pair := newElement("/Ruby", []*kid{newElement("/RB", spliced(base)), k})
			pair.element.lang = e.lang
			out = append(out, pair)
			base = nil
		case k.is("/RT", "/RB", "/RP"):
			base = append(base, k.element.kids...)
		default:
			base = append(base, k)
		}
	}

	return append(out, base...)
}
