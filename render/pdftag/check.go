package pdftag

import (
	"fmt"
	"strings"
	"unicode"
)

// checkElements reports headings that skip a level, and drawing without an alternative text.
func (d *tagger) checkElements() error {
	last := 0
	figures := 0
	d.walk(d.root, func(e *element) {
		if e.level() > 0 && d.firstHeading == "" {
			d.firstHeading = d.textOf(e)
		}

		switch level := e.level(); {
		case level == 0:
		case e.kind == "/H": // deeper than the standard has types for
			last = min(last+1, maxLevel)
			e.kind = fmt.Sprintf("/H%d", last)
		default:
			if level > last+1 {
				text := fmt.Sprintf("A heading of level %d follows one of level %d.", level, last)
				if last == 0 {
					text = fmt.Sprintf("The first heading is of level %d, not 1.", level)
				}

				d.faultAt(HeadingOrder, e, text, d.remedy(
					fmt.Sprintf("Use h%d, and set its size with CSS.", last+1),
					fmt.Sprintf("Use the style Heading %d.", last+1)))
			}
			last = level
		}

		if e.kind == "/Figure" {
			figures++
		}

		if e.alt+e.actual == "" {
			switch e.kind {
			case "/Figure":
				f := Violation{
					Rule: FigureAlt, Problem: "An image has no alternative text.", Page: d.pageOf(&kid{element: e}),
				}
				f.Remedy = d.remedy(`Set alt (aria-label for SVG), or alt="" for decoration.`,
					"Set one in the document.")
				if f.Element, f.Text = d.describe(e); f.Text == "" {
					f.Element = fmt.Sprintf("Figure %d", figures)
				}
				d.fault(f)
			case "/Formula":
				d.faultAt(FormulaAlt, e, "A formula has no alternative text.",
					d.remedy("Set aria-label on its element.", "Set one in the document."))
			}
		}
	})
	return nil
}

// maxLevel is the maximum level of a heading.
const maxLevel = 6

// level returns the level of a heading; 0 is none, and that of H is not known.
func (e *element) level() int {
	switch {
	case e.kind == "/H":
		return maxLevel + 1
	case len(e.kind) == len("/H1") && e.kind[1] == 'H' && e.kind[2] >= '1' && e.kind[2] <= '6':
		return int(e.kind[2] - '0')
	}
	return 0
}

// pageOf returns the number of the first page that has a part of a kid, from 1; 0 is none.
func (d *tagger) pageOf(k *kid) int {
	switch {
	case k.stream != nil:
		return k.stream.page + 1
	case k.annot != nil:
		return k.annot.page + 1
	}
	for _, inner := range k.element.kids {
		if page := d.pageOf(inner); page > 0 {
			return page
		}
	}
	return 0
}

// checkUntagged reports the texts that the source of the document has left out of the structure.
func (d *tagger) checkUntagged() error {
	if d.opt.Office {
		d.checkLoose()
	}
	if len(d.opt.Untagged) == 0 {
		return nil
	}

	outside := d.textOutside()
	for _, u := range d.opt.Untagged {
		f := Violation{
			Rule: UntaggedText, Element: u.Element, Text: beginning(u.Text),
			Problem: "Screen readers cannot read text that CSS generates.",
			Remedy:  "Write the text in the HTML, or mark decoration with content: \"…\" / \"\".",
		}
		if u.Frame {
			f.Problem = "Screen readers cannot read the content of a frame."
			f.Remedy = "Put the content into the document itself."
		}
		if u.Problem != "" {
			f.Problem = u.Problem
			f.Remedy = u.Remedy
		}

		text := unspaced(u.Text)
		for page, all := range outside {
			if text != "" && strings.Contains(all, text) {
				f.Page = page + 1
				break
			}
		}

		d.fault(f)
	}
	return nil
}

// checkLoose reports text that is neither in the structure nor an artifact, with the first such text of each page.
func (d *tagger) checkLoose() {
	for i, p := range d.pages {
		if p.content == nil {
			continue
		}

		for _, e := range p.content.events {
			if !e.loose {
				continue
			}

			shown := readText{maximum: maxText}
			d.appendEvent(&shown, p.content, e)
			if text := strings.TrimSpace(shown.String()); text != "" {
				d.fault(Violation{
					Rule: UntaggedText, Element: "Text", Text: beginning(text), Page: i + 1,
					Problem: "The text is outside of the structure, as in cells of spreadsheets.",
					Remedy:  "Convert the document to HTML, and create the PDF from that.",
				})
				break
			}
		}
	}
}

// textOutside returns the text of each page that is outside of the structure, without spaces.
func (d *tagger) textOutside() []string {
	pages := make([]strings.Builder, len(d.pages))
	for _, s := range d.order {
		for _, e := range s.events {
			if m := s.marks[e.mcid]; e.kind == drawing && e.form == nil && (m == nil || m.owner == nil) {
				shown := readText{maximum: maxText}
				d.appendShown(&shown, s, s.plain[e.start:e.end])
				pages[s.page].WriteString(unspaced(shown.String()))
			}
		}
	}

	texts := make([]string, len(pages))
	for i := range pages {
		texts[i] = pages[i].String()
	}

	return texts
}

func unspaced(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}
