package pagetext

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// table is one of a page: its rows, and in each a run of lines for each column.
type table struct {
	Box

	rows [][]cell
}

// cell is the lines in one field of a table.
type cell []*run

// rule is a line: level, or else upright.
type rule struct {
	at, from, to float64
	level        bool
}

const (
	// ruleSlack is by how much lines that meet may miss one another, in points.
	ruleSlack = 2.5
	// mostRules is the number of lines from which a page counts as a drawing.
	mostRules = 1500
)

// joinRules makes one of the rules that lie on one line and touch.
func joinRules(boxes []Box) (joined []Box) {
	var rules []rule
	for _, b := range boxes {
		if b.width() >= b.height() {
			rules = append(rules, rule{b.middleY(), b.Left, b.Right, true})
		} else {
			rules = append(rules, rule{b.middleX(), b.Top, b.Bottom, false})
		}
	}

	slices.SortFunc(rules, func(a, b rule) int {
		if a.level != b.level {
			return cmp.Compare(level(a), level(b))
		}
		return cmp.Or(cmp.Compare(math.Round(a.at), math.Round(b.at)), cmp.Compare(a.from, b.from))
	})

	var last *rule
	var kept []rule
	for _, r := range rules {
		if last != nil && last.level == r.level && math.Abs(last.at-r.at) <= 1.5 && r.from <= last.to+ruleSlack {
			last.to = max(last.to, r.to)
			continue
		}
		kept = append(kept, r)
		last = &kept[len(kept)-1]
	}

	for _, r := range kept {
		if r.level {
			joined = append(joined, Box{r.from, r.at, r.to, r.at})
		} else {
			joined = append(joined, Box{r.at, r.from, r.at, r.to})
		}
	}

	return joined
}

func level(r rule) int {
	if r.level {
		return 0
	}
	return 1
}

// ruledTables finds tables whose cells have rules on all sides, and removes their words from those of the page.
func ruledTables(p *pageLayout, words []Word) (tables []*table, left []Word) {
	if len(p.rules) < 4 || len(p.rules) > mostRules {
		return nil, words
	}

	var grids []*grid
	for _, group := range touching(p.rules) {
		if g := newGrid(group); g != nil {
			grids = append(grids, g)
		}
	}
	if len(grids) == 0 {
		return nil, words
	}

	slices.SortFunc(grids, func(a, b *grid) int { return cmp.Compare(a.width()*a.height(), b.width()*b.height()) })
	const maximum = 200 // of them are searched one by one
	grids = grids[:min(len(grids), maximum)]
words:
	for _, w := range words {
		for _, g := range grids { // the smallest first: tables can be nested
			if g.put(w) {
				continue words
			}
		}
		left = append(left, w)
	}

	for _, g := range grids {
		if t := g.table(); t != nil {
			tables = append(tables, t)
			continue
		}
		left = append(left, g.words()...)
	}

	return tables, left
}

// touching groups rules that meet.
func touching(rules []Box) [][]Box {
	of := make([]int, len(rules))
	for i := range of {
		of[i] = i
	}

	root := func(i int) int {
		for of[i] != i {
			of[i] = of[of[i]]
			i = of[i]
		}
		return i
	}

	for i, a := range rules {
		for j, b := range rules[:i] {
			if a.Left <= b.Right+ruleSlack && b.Left <= a.Right+ruleSlack && a.Top <= b.Bottom+ruleSlack && b.Top <= a.Bottom+ruleSlack {
				of[root(i)] = root(j)
			}
		}
	}

	groups := map[int][]Box{}
	for i, r := range rules {
		groups[root(i)] = append(groups[root(i)], r)
	}

	var all [][]Box
	for i := range rules {
		if group := groups[i]; len(group) > 0 {
			all = append(all, group)
		}
	}
	return all
}

// grid is a ruled table whose cells are being filled.
type grid struct {
	Box

	xs, ys []float64
	// first is, of each field, the field that it is a part of: cells may span fields.
	first map[[2]int][2]int
	cells map[[2]int][]Word
}

// places are the distinct values of some, in order.
func places(values []float64) (distinct []float64) {
	slices.Sort(values)
	for _, v := range values {
		if n := len(distinct); n == 0 || v-distinct[n-1] > ruleSlack {
			distinct = append(distinct, v)
		}
	}
	return distinct
}

// newGrid makes a grid of rules, if they form one.
func newGrid(rules []Box) *grid {
	var xs, ys []float64
	g := &grid{Box: rules[0], first: map[[2]int][2]int{}, cells: map[[2]int][]Word{}}
	levels := 0

	for _, r := range rules {
		g.Box = g.and(r)
		if r.width() >= r.height() {
			ys = append(ys, r.Top)
			levels++
		} else {
			xs = append(xs, r.Left)
		}
	}
	if levels < 2 || len(xs) == 0 {
		return nil
	}

	// The outermost lines may be left out.
	g.xs, g.ys = places(append(xs, g.Left, g.Right)), places(append(ys, g.Top, g.Bottom))
	const maximum = 20_000 // fields: more are a drawing
	if len(g.xs) < 3 || len(g.ys) < 3 || len(g.xs)*len(g.ys) > maximum {
		return nil
	}

	g.span(rules)
	return g
}

// span finds the fields that no line parts from the one to their left or above.
func (g *grid) span(rules []Box) {
	columns := len(g.xs) - 1
	rows := len(g.ys) - 1
	upright := map[[2]int]bool{} // lines left of a field
	level := map[[2]int]bool{}   // lines above a field

	for _, r := range rules {
		if r.width() >= r.height() {
			y := nearest(g.ys, r.Top)
			for x := range columns {
				if middle := (g.xs[x] + g.xs[x+1]) / 2; r.Left <= middle && middle <= r.Right {
					level[[2]int{x, y}] = true
				}
			}
			continue
		}

		x := nearest(g.xs, r.Left)
		for y := range rows {
			if middle := (g.ys[y] + g.ys[y+1]) / 2; r.Top <= middle && middle <= r.Bottom {
				upright[[2]int{x, y}] = true
			}
		}
	}

	for y := range rows {
		for x := range columns {
			at := [2]int{x, y}
			g.first[at] = at
			if x > 0 && !upright[at] {
				g.first[at] = g.first[[2]int{x - 1, y}]
			} else if y > 0 && !level[at] {
				g.first[at] = g.first[[2]int{x, y - 1}]
			}
		}
	}
}

// nearest is the number of the value that is nearest to another.
func nearest(values []float64, v float64) int {
	i := sort.SearchFloat64s(values, v)
	if i > 0 && (i == len(values) || v-values[i-1] < values[i]-v) {
		i--
	}
	return i
}

// put puts a word into its cell, if it is inside the grid.
func (g *grid) put(w Word) bool {
	x := w.middleX()
	y := w.middleY()
	if !g.holds(x, y) {
		return false
	}
	column := min(max(sort.SearchFloat64s(g.xs, x)-1, 0), len(g.xs)-2)
	row := min(max(sort.SearchFloat64s(g.ys, y)-1, 0), len(g.ys)-2)
	at := g.first[[2]int{column, row}]
	g.cells[at] = append(g.cells[at], w)
	return true
}

// words are all words of a grid.
func (g *grid) words() (all []Word) {
	for y := range len(g.ys) - 1 {
		for x := range len(g.xs) - 1 {
			all = append(all, g.cells[[2]int{x, y}]...)
		}
	}
	return all
}

// table makes a table of a grid, unless it frames something else.
func (g *grid) table() *table {
	t := &table{Box: g.Box}
	filled := 0
	columns := map[int]bool{}
	used := map[int]bool{}
	for at := range g.cells {
		used[at[0]] = true
	}

	for y := range len(g.ys) - 1 {
		var row []cell
		some := false
		for x := range len(g.xs) - 1 {
			// A column narrower than a letter is a double line.
			words := g.cells[[2]int{x, y}]
			if len(words) == 0 && !used[x] && g.xs[x+1]-g.xs[x] < 12 {
				continue
			}

			row = append(row, makeRuns(slices.Clone(words)))
			if len(words) > 0 {
				some = true
				filled++
				columns[x] = true
			}
		}

		if some {
			t.rows = append(t.rows, row)
		}
	}

	if len(columns) < 2 || len(t.rows) < 2 || filled < 3 {
		return nil
	}
	t.dropEmpty()
	if len(t.rows[0]) < 2 {
		return nil
	}
	return t
}

// dropEmpty drops empty columns.
func (t *table) dropEmpty() {
	used := make([]bool, len(t.rows[0]))
	for _, row := range t.rows {
		for x, c := range row {
			used[x] = used[x] || len(c) > 0
		}
	}

	for i, row := range t.rows {
		var kept []cell
		for x, c := range row {
			if used[x] {
				kept = append(kept, c)
			}
		}
		t.rows[i] = kept
	}
}
