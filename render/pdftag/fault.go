package pdftag

import (
	"fmt"

	"relaypdf/render/pdffile"
)

// Fault is a fault of the document that cannot be repaired here.
type Fault struct {
	Rule    Rule
	Text    string             // what is wrong, as a sentence
	Element string             // the type of the element and its text, if the fault is in one
	Page    int                // from 1; 0 means that it is in no page
	Breaks  []pdffile.Standard // of the wanted ones
}

// Rule is a kind of fault.
type Rule string

// The rules that a document can break.
const (
	FigureAlt        Rule = "figure-alt"
	FormulaAlt       Rule = "formula-alt"
	HeadingOrder     Rule = "heading-order"
	DocumentTitle    Rule = "document-title"
	DocumentLanguage Rule = "document-language"
	ElementLanguage  Rule = "element-language"
	RepeatedForm     Rule = "repeated-form"
	LinkOutside      Rule = "link-outside"
	UntaggedText     Rule = "untagged-text"
	Annotation       Rule = "annotation"
	TableSize        Rule = "table-size"
	FontFile         Rule = "font-file"
	FontUnicode      Rule = "font-unicode"
	PrivateText      Rule = "private-text"
	MissingGlyph     Rule = "missing-glyph"
	ImageColor       Rule = "image-color"
	Newer            Rule = "newer" // than PDF/A-1
)

// breaks reports whether a document that breaks a rule breaks a standard.
func (r Rule) breaks(s pdffile.Standard) bool {
	const none, b, u, a = 4, 1, 2, 3
	if r == Newer {
		return s == pdffile.A1B
	}
	lowest := none // the lowest level of PDF/A that demands it
	switch r {
	case ElementLanguage, LinkOutside:
		return false
	case Annotation, FontFile, MissingGlyph, ImageColor:
		lowest = b
	case FontUnicode:
		lowest = u
	case RepeatedForm, PrivateText, UntaggedText:
		lowest = a
	}
	if s == pdffile.UA1 {
		return r != PrivateText && r != ImageColor
	}
	return s.Level() >= lowest
}

// maxFaults is the maximum number of faults that are listed. Of more, one of each rule is.
const maxFaults = 1000

// fault adds a fault once, with the standards that it breaks of those that are wanted.
func (d *document) fault(f Fault) {
	key := fmt.Sprint(f.Rule, f.Element, f.Page, f.Text)
	if len(d.faults) >= maxFaults {
		f = Fault{Rule: f.Rule, Text: "The document has more faults of this kind."}
		key = string(f.Rule)
	}
	if d.told[key] {
		return
	}
	d.told[key] = true
	for _, s := range d.opt.Standards {
		if f.Rule.breaks(s) {
			f.Breaks = append(f.Breaks, s)
		}
	}
	d.faults = append(d.faults, f)
}

// faultAt adds a fault of an element.
func (d *document) faultAt(rule Rule, e *element, text string) {
	d.fault(Fault{Rule: rule, Text: text, Element: d.describe(e), Page: d.pageOf(&kid{element: e})})
}

// remedy returns the remedy for the kind of source that the document has, after a space; empty is none.
func (d *document) remedy(html, office string) string {
	text := html
	if d.opt.Office {
		text = office
	}
	if text == "" {
		return ""
	}
	return " " + text
}

// describe returns the type of an element and the beginning of its text.
func (d *document) describe(e *element) string {
	return quoted(e.kind[1:], d.textOf(e))
}

// quoted adds the beginning of a text to the name of its element.
func quoted(name, text string) string {
	const longest = 60
	if text == "" {
		return name
	}
	return fmt.Sprintf("%s %q", name, shorten(text, longest))
}

func shorten(text string, longest int) string {
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return text
}
