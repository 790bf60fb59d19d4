package pdftag

import "slices"

// maxTableWork is the maximum number of steps of making all tables regular.
const maxTableWork = 20_000_000

// cell is a row or a cell; empty cells stay.
func (s *shaper) cell(e *element, kids []*kid) []*kid {
	if e.kind != "/TR" {
		e.kids = s.flow(kids)
		return []*kid{{element: e}}
	}

	cells := make([]*kid, 0, len(kids))
	for _, k := range kids {
		if !k.is("/TH", "/TD") {
			k = newElement("/TD", s.flow([]*kid{k}))
		}
		cells = append(cells, k)
	}

	e.kids = cells
	return []*kid{{element: e}}
}

// table is a table: a caption, and rows with as many columns each.
func (s *shaper) table(e *element, kids []*kid) []*kid {
	var caption, rows []*kid
	for _, k := range orphans(orphans(kids, "/TD", "/TR", s.cell), "/TH", "/TR", s.cell) {
		switch {
		case k.is("/Caption"):
			caption = append(caption, k)
		case k.is("/TR"):
			if len(k.element.kids) > 0 {
				rows = append(rows, k)
			}
		default:
			rows = append(rows, newElement("/TR", []*kid{newElement("/TD", s.flow([]*kid{k}))}))
		}
	}

	if len(rows) == 0 {
		return s.blocks(captionsAsText(caption))
	}
	if len(caption) > 1 {
		caption = []*kid{newElement("/Caption", captionsAsText(caption))}
	}

	e.kids = slices.Concat(caption, rows)
	g := grid{shaper: s, rows: rows}
	if !g.regular() {
		s.faultAt(TableSize, e, "A table is too large to be checked.", "Split the table.")
	}
	headers(rows)
	return []*kid{{element: e}}
}

// captionsAsText makes captions paragraphs.
func captionsAsText(kids []*kid) []*kid {
	for _, k := range kids {
		if k.is("/Caption") {
			k.element.kind = "/P"
		}
	}
	return kids
}

// headers gives all header cells a scope. Cells name their headers only where a scope does not say it.
func headers(rows []*kid) {
	spanning := false
	for i, row := range rows {
		for _, k := range row.element.kids {
			c := k.element
			if c.kind != "/TH" {
				continue
			}
			spanning = spanning || c.rows > 1 || c.columns > 1
			if c.scope != "/Row" && c.scope != "/Column" && c.scope != "/Both" {
				c.scope = "/Row"
				if i == 0 {
					c.scope = "/Column"
				}
			}
		}
	}

	if spanning {
		return
	}

	for _, row := range rows {
		for _, k := range row.element.kids {
			k.element.headers = nil
		}
	}
}

// grid places the cells of a table.
type grid struct {
	*shaper

	rows    []*kid
	columns int
	held    []span // places in the next rows that cells of rows above have, in order
}

// span is a run of columns that a cell has for some more rows.
type span struct{ start, end, rows int }

// regular bounds the spans, and fills the rows with empty cells; false means that the table is too large.
func (g *grid) regular() bool {
	for _, fill := range []bool{false, true} {
		g.held = nil
		for i, row := range g.rows {
			if !g.place(row.element, len(g.rows)-i, fill) {
				return false
			}
		}
	}
	return true
}

// place gives the cells of a row their columns; left is the number of rows from it on.
func (g *grid) place(row *element, left int, fill bool) bool {
	if g.budget -= len(row.kids) + len(g.held); g.budget < 0 {
		return false
	}

	var next []span
	var kids []*kid
	column := 0
	cells := row.kids
	pad := func(end int) {
		if fill && end > column {
			k := newElement("/TD", nil)
			k.element.columns = end - column
			kids = append(kids, k)
		}
		column = max(column, end)
	}

	for _, h := range append(g.held, span{start: maxColumns, end: maxColumns}) {
		for len(cells) > 0 && column < h.start {
			c := cells[0].element
			c.columns = min(c.columns, h.start-column)
			if c.rows == 0 || c.rows > left {
				c.rows = left
			}
			if c.rows > 1 {
				next = append(next, span{column, column + c.columns, c.rows - 1})
			}
			kids = append(kids, cells[0])
			cells = cells[1:]
			column += c.columns
		}

		if h.rows == 0 {
			break
		}
		pad(h.start)
		column = h.end
		if h.rows > 1 {
			next = append(next, span{h.start, h.end, h.rows - 1})
		}
	}

	if fill {
		pad(g.columns)
		row.kids = kids
	}

	g.columns = max(g.columns, column)
	g.held = next
	return len(cells) == 0
}

// maxColumns is the maximum number of columns of a table.
const maxColumns = 1 << 20
