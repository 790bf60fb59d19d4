package pdftag

import "fmt"

// checkElements reports headings that skip a level, and drawing without an alternative text.
func (d *document) checkElements() error {
	last := 0
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
				text := fmt.Sprintf("A heading of level %d follows one of level %d. Use h%d, and set its size with CSS.", level, last, last+1)
				if last == 0 {
					text = fmt.Sprintf("The first heading is of level %d, not 1. Use h1, and set its size with CSS.", level)
				}
				d.faultAt(HeadingOrder, e, text)
			}
			last = level
		}
		if e.alt+e.actual == "" {
			switch e.kind {
			case "/Figure":
				d.faultAt(FigureAlt, e, `An image has no alternative text. Set alt, or alt="" for decoration.`)
			case "/Formula":
				d.faultAt(FormulaAlt, e, "A formula has no alternative text. Set aria-label on its element.")
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

// pageOf returns the number of the first page that has a part of an element, from 1; 0 is none.
func (d *document) pageOf(e *element) int {
	for _, k := range e.kids {
		switch {
		case k.stream != nil:
			return k.stream.page + 1
		case k.note != nil:
			return k.note.page + 1
		}
		if page := d.pageOf(k.element); page > 0 {
			return page
		}
	}
	return 0
}
