package pdftag

import (
	"index/suffixarray"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const (
	// maxStructure is the maximum number of bytes of the structure's text that is compared with the source.
	maxStructure = 16 << 20
	// minRepeated is the length from which on a text that the source has less often is a repetition.
	minRepeated = 6
)

// checkTexts compares the text of the structure with that of the source, and reports texts that are missing in the
// structure, or in it more often, whatever the reason.
func (d *tagger) checkTexts() error {
	if len(d.opt.Texts) == 0 {
		return nil
	}

	var inSource strings.Builder
	keys := make([]string, len(d.opt.Texts))
	visible := map[string]int{}
	for i, t := range d.opt.Texts {
		key, ordered := lettersOf(t.Text)
		inSource.WriteString(key)
		if t.Visible && ordered && key != "" {
			keys[i] = key
			visible[key]++
		}
	}

	shown := readText{maximum: maxStructure}
	d.appendContents(&shown, d.root)
	if shown.full() {
		return nil
	}
	inStructure, _ := lettersOf(shown.String())
	source := suffixarray.New([]byte(inSource.String()))
	structure := suffixarray.New([]byte(inStructure))

	for i, t := range d.opt.Texts {
		key := keys[i]
		wanted := visible[key]
		if wanted == 0 {
			continue // already looked for
		}
		delete(visible, key)

		f := Violation{Rule: UntaggedText, Element: t.Element, Text: beginning(strings.Join(strings.Fields(t.Text), " "))}
		switch {
		case len(structure.Lookup([]byte(key), wanted)) < wanted:
			f.Problem = "The structure lacks the text, so screen readers cannot read it."
			f.Remedy = "Remove what hides it, such as inert, or simplify its style, in @media print."
		case len(key) >= minRepeated && !t.Repeats &&
			len(structure.Lookup([]byte(key), -1)) > len(source.Lookup([]byte(key), -1)):
			f.Problem = "The structure has the text more often than the HTML."
			f.Remedy = "Simplify its style in @media print."
		default:
			continue
		}
		d.fault(f)
	}
	return nil
}

// appendContents adds the text of the content of an element, without alternatives.
func (d *tagger) appendContents(out *readText, e *element) {
	for _, k := range e.kids {
		if k.element != nil {
			d.appendContents(out, k.element)
		} else if k.stream != nil {
			d.appendContent(out, k.stream, k.mcid)
		}
	}
}

// lettersOf returns the letters and digits of a text without accents and case, which styles can change. It is
// ordered if its letters are written in the order of the text, one after the other.
func lettersOf(text string) (letters string, ordered bool) {
	ordered = true
	letters = strings.Map(func(r rune) rune {
		switch {
		case r == 'ı':
			return 'i'
		case !unicode.IsLetter(r) && !unicode.IsNumber(r):
			return -1
		case unicode.IsLetter(r) && !unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Han,
			unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Lm):
			ordered = false
		}
		return r
	}, cases.Fold().String(norm.NFKD.String(text)))

	return letters, ordered
}
