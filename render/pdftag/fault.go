package pdftag

import (
	"fmt"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// Violation is a fault of the document that cannot be repaired here.
type Violation struct {
	Rule    Rule
	Problem string             // a sentence
	Remedy  string             // a sentence; empty is none
	Element string             // the type or the selector of the element that the fault is in; empty is none
	Text    string             // the beginning of its text
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
func (d *tagger) fault(f Violation) {
	key := fmt.Sprint(f.Rule, f.Element, f.Text, f.Page, f.Problem, f.Remedy)
	if len(d.faults) >= maxFaults {
		f = Violation{Rule: f.Rule, Problem: "The document has more errors of this kind."}
		key = string(f.Rule)
	}

	if d.reported[key] {
		return
	}
	d.reported[key] = true

	for _, s := range d.opt.Standards {
		if f.Rule.breaks(s) {
			f.Breaks = append(f.Breaks, s)
		}
	}
	d.faults = append(d.faults, f)
}

// faultAt adds a fault of an element.
func (d *tagger) faultAt(rule Rule, e *element, problem, remedy string) {
	f := Violation{Rule: rule, Problem: problem, Remedy: remedy, Page: d.pageOf(&kid{element: e})}
	f.Element, f.Text = d.describe(e)
	d.fault(f)
}

// remedy returns the remedy for the kind of source that the document has.
func (d *tagger) remedy(html, office string) string {
	if d.opt.Office {
		return office
	}
	return html
}

// describe returns the type of an element and the beginning of its text.
func (d *tagger) describe(e *element) (kind, text string) {
	return e.kind[1:], beginning(d.textOf(e))
}

// beginning returns the beginning of a text, which identifies its element.
func beginning(text string) string {
	const longest = 60
	return shorten(text, longest)
}

func shorten(text string, longest int) string {
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return text
}
