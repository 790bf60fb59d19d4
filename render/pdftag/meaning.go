package pdftag

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Chromium gives many glyphs of Indic and Arabic scripts no meaning, and writes a text of its own around their
// clusters. The meanings are found in those texts.

const (
	unknownText = "Some characters of a font have no Unicode value."
	otherFont   = "Use another font."
)

// uses are the uses of a code that has no meaning, or a private one.
type uses struct {
	// within are texts that replace the code: what is left of the text around it, without the other codes.
	within   []string
	replaced bool
	// alone are uses that no text replaces.
	alone []use
}

// use is a place of content.
type use struct {
	stream *stream
	at     int
}

// maxUses is the maximum number of uses of a code that are remembered.
const maxUses = 3

// readSpan is content that a text replaces.
type readSpan struct {
	text  string
	codes []spanCode
}

type spanCode struct {
	font *font
	code uint16
	at   int
}

// readUses finds the codes of a stream that have no meaning, or a private one.
func (d *tagger) readUses(s *stream) {
	l := pdffile.NewLexer(s.plain)
	var f *font
	var name, actual []byte
	var strs [][]byte
	var open *readSpan
	numbered := false // the marked content belongs to an element

	for {
		kind, word := l.Next()
		switch kind {
		case pdffile.EndToken:
			open.alone(s)
			return
		case pdffile.NameToken:
			name = word
			numbered = numbered || string(word) == "/MCID"
		case pdffile.StringToken:
			strs = append(strs, word)
			if string(name) == "/ActualText" {
				actual = word
			}
		case pdffile.OperatorToken:
			switch string(word) {
			case "Tf":
				f = s.fonts[string(name)]
			case "BDC", "BMC":
				open.alone(s) // the text around marks is left out
				open = nil
				if actual != nil && !numbered {
					open = &readSpan{text: pdffile.Text(fmt.Sprintf("b:%x", unquote(actual)))}
				}
			case "EMC":
				open.learn()
				open = nil
			case "Tj", "TJ", "'", "\"":
				shown := open
				if shown == nil {
					shown = &readSpan{}
				}

				for _, raw := range strs {
					shown.add(f, raw, l.At()-len(word))
				}
				if open == nil {
					shown.alone(s)
				}
			}

			strs = nil
			name = nil
			actual = nil
			numbered = false
		}
	}
}

// add adds the codes of a string that an operator at an offset shows.
func (p *readSpan) add(f *font, raw []byte, at int) {
	if f == nil || !f.mapped {
		return
	}
	f.split(unquote(raw), func(code uint16) { p.codes = append(p.codes, spanCode{f, code, at}) })
}

// alone notes the odd codes of content that no text replaces.
func (p *readSpan) alone(s *stream) {
	if p == nil {
		return
	}
	for _, c := range p.codes {
		if u := c.font.use(c.code); u != nil && len(u.alone) < maxUses {
			u.alone = append(u.alone, use{s, c.at})
		}
	}
}

// learn notes the odd codes of content that a text replaces. A single one means what the others do not.
func (p *readSpan) learn() {
	if p == nil {
		return
	}

	rest := p.text
	odd := 0
	for _, c := range p.codes {
		if c.font.odd(c.code) {
			odd++
			continue
		}
		for _, r := range c.font.means[c.code] {
			rest = strings.Replace(rest, string(r), "", 1)
		}
	}

	for _, c := range p.codes {
		u := c.font.use(c.code)
		if u == nil {
			continue
		}

		u.replaced = true
		if odd == 1 && rest != "" && len(u.within) < maxUses && !slices.Contains(u.within, rest) {
			u.within = append(u.within, rest)
		}
	}
}

// use returns the uses of a code; nil if it is not odd.
func (f *font) use(code uint16) *uses {
	if !f.odd(code) {
		return nil
	}
	u := f.uses[code]
	if u == nil {
		u = &uses{}
		f.uses[code] = u
	}
	return u
}

// nameCodes gives the codes of fonts that have no meaning the one that the texts around them have. One that is always
// replaced, and has no part of the text of its own, gets an invisible character.
func (d *tagger) nameCodes() error {
	const invisible = "\u2060" // word joiner

	for _, ref := range slices.Sorted(maps.Keys(d.fonts)) {
		f := d.fonts[ref]
		named := false

		for code := range f.invalid {
			if f.uses[code] == nil { // used where no content is read, such as in patterns
				d.fault(Violation{
					Rule: FontUnicode, Problem: unknownText, Remedy: otherFont, Element: f.name, Page: f.page + 1,
				})
			}
		}

		for code, u := range f.uses {
			switch {
			case f.private[code]:
				continue
			case len(u.within) == 1 || len(u.within) > 0 && len(u.alone) == 0:
				f.means[code] = u.within[0]
			case u.replaced && len(u.alone) == 0:
				f.means[code] = invisible
			default:
				f.means[code] = "\uFFFD"
				continue
			}
			u.alone = nil
			named = true
		}

		if named {
			d.setMap(f)
		}
	}

	return nil
}

// nameBullets gives private characters that are labels of list items, as in documents of Word, the meaning of a bullet.
func (d *tagger) nameBullets() error {
	for _, ref := range slices.Sorted(maps.Keys(d.fonts)) {
		f := d.fonts[ref]
		named := false

		for code := range f.private {
			if u := f.uses[code]; u != nil && slices.ContainsFunc(u.alone, use.labels) {
				f.means[code] = "•"
				named = true
				delete(f.private, code)
				delete(f.uses, code)
			}
		}

		if named {
			d.setMap(f)
		}
	}

	return nil
}

// labels reports whether a place is the label of a list item: in its Lbl, or its first content.
func (u use) labels() bool {
	m := u.mark()
	if m == nil || m.owner == nil {
		return false
	}
	first := m.kid.place == 0
	for e := m.owner; e != nil && (first || e.kind == "/Lbl"); e = e.parent {
		if e.kind == "/Lbl" || e.kind == "/LI" {
			return true
		}
		first = e.parent != nil && e.parent.kids[0].element == e
	}
	return false
}

// setMap writes the map of codes to Unicode of a font.
func (d *tagger) setMap(f *font) {
	entries := pdffile.Without(d.file.Dict(f.ref))
	entries["/ToUnicode"] = d.newObject(pdffile.Deflated(pdffile.Dict{}, f.writeMap()))
	d.update.Set(f.ref, entries)
}

// writeMap writes the map of codes to Unicode.
func (f *font) writeMap() []byte {
	const maximum = 100 // in a section
	digits := 2
	if f.wide {
		digits = 4
	}

	out := fmt.Appendf(nil, "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n"+
		"/CIDSystemInfo <</Registry (Adobe) /Ordering (UCS) /Supplement 0>> def\n"+
		"/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n"+
		"1 begincodespacerange\n<%0*x> <%s>\nendcodespacerange\n", digits, 0, strings.Repeat("f", digits))
	for codes := range slices.Chunk(slices.Sorted(maps.Keys(f.means)), maximum) {
		out = fmt.Appendf(out, "%d beginbfchar\n", len(codes))
		for _, code := range codes {
			out = fmt.Appendf(out, "<%0*x> <", digits, code)
			for _, unit := range utf16.Encode([]rune(f.means[code])) {
				out = fmt.Appendf(out, "%04x", unit)
			}
			out = append(out, ">\n"...)
		}
		out = append(out, "endbfchar\n"...)
	}

	return append(out, "endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n"...)
}

// reportUses reports the codes without a meaning that no text replaces, with their elements.
func (d *tagger) reportUses() error {
	for _, ref := range slices.Sorted(maps.Keys(d.fonts)) {
		f := d.fonts[ref]

		for _, code := range slices.Sorted(maps.Keys(f.uses)) {
			fault := Violation{
				Rule: FontUnicode, Remedy: otherFont,
				Problem: fmt.Sprintf("Characters of the font %s have no Unicode value, shown here as %q.",
					strings.TrimPrefix(f.name, "/"), "\uFFFD"),
			}
			if f.private[code] {
				fault = Violation{
					Rule: PrivateText, Problem: "A character is private to its font, so it has no meaning elsewhere.",
					Remedy: "Use a character of Unicode, or an image with alt.",
				}
			}

			for _, u := range f.uses[code].alone {
				fault.Page = u.stream.page + 1
				if m := u.mark(); m != nil && m.owner != nil {
					fault.Element, fault.Text = d.describe(m.owner)
				}
				d.fault(fault)
			}
		}
	}

	return nil
}

// mark returns the mark of a place; nil is none.
func (u use) mark() *mark {
	i, _ := slices.BinarySearchFunc(u.stream.events, u.at, func(e event, at int) int {
		if e.end <= at {
			return -1
		}
		return 1
	})
	if i == len(u.stream.events) || u.stream.events[i].start > u.at {
		return nil
	}
	return u.stream.marks[u.stream.events[i].mcid]
}
