package pagetext

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// item is a run or a ruled table, on its way into its place among all others.
type item struct {
	Box

	run   *run
	table *table
}

func itemBox(i item) Box { return i.Box }

// part is a unit of reading: rows of one column, or a table.
type part struct {
	Box

	rows  [][]*run
	table *table
}

const (
	// deepest is the maximum depth at which parts of a page are divided again.
	deepest = 12
	// fewestBeside is the minimum number of rows of a column or a table.
	fewestBeside = 2
)

// parts returns the parts of a page in reading order.
func (p *pageLayout) parts() []part {
	var items []item
	for _, r := range p.runs {
		items = append(items, item{Box: r.Box, run: r})
	}
	for _, t := range p.tables {
		items = append(items, item{Box: t.Box, table: t})
	}
	return p.split(items, 0)
}

// split divides items at gaps over their full height, unless the parts above and below are divided at the same
// gutter.
func (p *pageLayout) split(items []item, depth int) (parts []part) {
	for _, zone := range joinZones(zonesOf(items)) {
		parts = append(parts, p.splitZone(zone, depth)...)
	}
	return parts
}

// zonesOf divides items at empty heights.
func zonesOf(items []item) (zones [][]item) {
	sorted := slices.Clone(items)
	slices.SortStableFunc(sorted, func(a, b item) int { return cmp.Compare(a.Top, b.Top) })

	var heights []float64
	for _, it := range items {
		if it.run != nil {
			heights = append(heights, it.height())
		}
	}
	slices.Sort(heights)

	minimum := 8.0
	if len(heights) > 0 {
		minimum = 0.8 * heights[len(heights)/2]
	}

	lowest := math.Inf(-1)
	for _, it := range sorted {
		if len(zones) == 0 || it.Top-lowest > minimum {
			zones = append(zones, nil)
		}
		zones[len(zones)-1] = append(zones[len(zones)-1], it)
		lowest = max(lowest, it.Bottom)
	}
	return zones
}

// joinZones joins zones that follow one another and have columns in the same places.
func joinZones(zones [][]item) (joined [][]item) {
	gutter := 0.0
	ok := false

	for _, zone := range zones {
		x, found := findGutter(zone)
		if n := len(joined); n > 0 && (ok && parted(zone, gutter) || found && parted(joined[n-1], x)) {
			joined[n-1] = append(joined[n-1], zone...)
			if !ok {
				gutter = x
				ok = found
			}
			continue
		}
		joined = append(joined, zone)
		gutter = x
		ok = found
	}

	return joined
}

// parted reports whether there are items on both sides of a gutter, and none across.
func parted(items []item, gutter float64) bool {
	left := false
	right := false
	for _, it := range items {
		if it.Left < gutter-1 && it.Right > gutter+1 {
			return false
		}
		left, right = left || it.Right <= gutter+1, right || it.Left >= gutter-1
	}
	return left && right
}

// splitZone divides items at the gutter that most rows have. Above and below, items may cross it.
func (p *pageLayout) splitZone(items []item, depth int) []part {
	if len(items) == 0 {
		return nil
	}
	if len(items) < 2*fewestBeside || depth > deepest {
		return p.column(items)
	}

	gutter, ok := findGutter(items)
	if !ok {
		return p.column(items)
	}

	var parts []part
	divided := 0
	bands := p.bands(items, gutter)
	for _, b := range bands {
		if b.sideBySide {
			divided++
		}
	}
	if divided == 0 {
		return p.column(items)
	}

	for _, b := range bands {
		switch {
		case b.sideBySide:
			parts = append(parts, p.sideBySide(b.items, depth)...)
		case len(b.items) == len(items):
			parts = append(parts, p.column(b.items)...)
		default:
			parts = append(parts, p.split(b.items, depth+1)...)
		}
	}
	return parts
}

// findGutter finds the x that is in the gaps of most rows.
func findGutter(items []item) (x float64, ok bool) {
	type edge struct {
		at   float64
		open int
	}

	var edges []edge
	gap := func(a, b item) {
		if b.Left-a.Right > gutterOf(a, b) && a.sideBySide(b.Box) {
			edges = append(edges, edge{a.Right, 1}, edge{b.Left, -1})
		}
	}

	var before []item
	for _, row := range rowsOf(items, itemBox) {
		for i := 1; i < len(row); i++ {
			gap(row[i-1], row[i])
		}
		// Lines of columns need not be level.
		if len(row) == 1 {
			eachSide(row[0], before, gap)
		} else if len(before) == 1 {
			eachSide(before[0], row, gap)
		}
		before = row
	}

	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.open, a.open)) })
	count := 0
	maximum := 0
	for i, e := range edges {
		if count += e.open; count > maximum && i+1 < len(edges) && edges[i+1].at > e.at {
			maximum = count
			x = (e.at + edges[i+1].at) / 2
		}
	}

	return x, maximum >= fewestBeside || maximum > 0 && len(items) >= 2*fewestBeside && parted(items, x)
}

// eachSide calls do with an item and the nearest items of a row.
func eachSide(it item, row []item, do func(left, right item)) {
	for i, other := range row {
		if other.Right < it.Left && (i+1 == len(row) || row[i+1].Left > it.Left) {
			do(other, it)
		}
		if other.Left > it.Right {
			do(it, other)
			return
		}
	}
}

// gutterOf returns the minimum width of a gap between two items that separates columns.
func gutterOf(a, b item) float64 {
	size := 10.0
	if a.run != nil && b.run != nil {
		size = min(a.run.size, b.run.size)
	}
	return 0.8 * size
}

// band is a page between two heights: items on both sides of a gutter, or across it.
type band struct {
	items      []item
	sideBySide bool
}

// bands splits items into those that cross a gutter and those on either side of it.
func (p *pageLayout) bands(items []item, gutter float64) []band {
	sorted := slices.Clone(items)
	slices.SortStableFunc(sorted, func(a, b item) int { return cmp.Compare(a.middleY(), b.middleY()) })

	across := make([]bool, len(sorted))
	lowest := math.Inf(-1) // of all before
	for i, it := range sorted {
		across[i] = it.Left < gutter-1 && it.Right > gutter+1
		if !across[i] && it.run != nil && it.Top > lowest-0.2*it.height() && heading(it.run, sorted, i) {
			across[i] = true
		}
		lowest = max(lowest, it.Bottom)
	}

	var bands []band
	for i, it := range sorted {
		if n := len(bands); n > 0 && bands[n-1].sideBySide == !across[i] {
			bands[n-1].items = append(bands[n-1].items, it)
			continue
		}
		bands = append(bands, band{[]item{it}, !across[i]})
	}

	return joinBands(bands, gutter)
}

// joinBands joins bands that turn out to be of one kind.
func joinBands(bands []band, gutter float64) (joined []band) {
	for _, b := range bands {
		n := len(joined)
		if b.sideBySide && n > 0 && !joined[n-1].sideBySide {
			// The last line of a paragraph above may be short.
			for above := &joined[n-1]; len(b.items) > 0 && ends(above.items, b.items); b.items = b.items[1:] {
				above.items = append(above.items, b.items[0])
			}
		}
		if len(b.items) == 0 {
			continue
		}

		b.sideBySide = b.sideBySide && bothSides(b.items, gutter)
		if n > 0 && !b.sideBySide && !joined[n-1].sideBySide {
			joined[n-1].items = append(joined[n-1].items, b.items...)
			continue
		}
		joined = append(joined, b)
	}

	return joined
}

// heading reports whether the item i, which is on one side of a gutter, is a heading above
// both: it is larger than the text below it, and there is nothing on the other side.
func heading(r *run, sorted []item, i int) bool {
	const around = 3
	larger := i+1 < len(sorted)
	for _, other := range sorted[i+1 : min(len(sorted), i+1+around)] {
		if other.Top < r.Bottom-0.2*r.height() {
			return false
		}
		if other.run != nil && other.run.size*1.15 > r.size {
			larger = false
		}
	}
	return larger
}

// ends reports whether the first of the items below continues a paragraph above.
func ends(above, items []item) bool {
	first := items[0]
	last := above[len(above)-1]
	if first.run == nil || last.run == nil || len(items) > 1 && items[1].sideBySide(first.Box) {
		return false
	}
	return math.Abs(first.Left-last.Left) < 0.5*last.run.size && math.Abs(first.run.size-last.run.size) < 0.5 &&
		first.run.base-last.run.base < 1.6*last.run.size && last.width() > 2*first.run.size
}

// bothSides reports whether items are next to each other, with a gutter between them.
func bothSides(items []item, gutter float64) bool {
	left := Box{Top: math.Inf(1), Bottom: math.Inf(-1)}
	right := Box{Top: math.Inf(1), Bottom: math.Inf(-1)}
	leftCount := 0
	rightCount := 0

	for _, it := range items {
		if it.middleX() < gutter {
			left.Top, left.Bottom = min(left.Top, it.Top), max(left.Bottom, it.Bottom)
			leftCount++
		} else {
			right.Top, right.Bottom = min(right.Top, it.Top), max(right.Bottom, it.Bottom)
			rightCount++
		}
	}

	return leftCount > 0 && rightCount > 0 && left.Top < right.Bottom && right.Top < left.Bottom && max(leftCount, rightCount) >= fewestBeside
}

// sideBySide reads items that are in columns, as a table or as one column after another.
func (p *pageLayout) sideBySide(items []item, depth int) []part {
	columns := columnsOf(items)
	if len(columns) < 2 {
		return p.column(items)
	}

	if groups := apart(items); len(groups) > 1 {
		// A table ends where much is left free below it.
		var parts []part
		tables := 0
		for _, group := range groups {
			if c := columnsOf(group); len(c) > 1 && p.openTable(group, c) != nil {
				tables++
			}
		}
		if tables > 0 {
			for _, group := range groups {
				parts = append(parts, p.besideOrNot(group, depth)...)
			}
			return parts
		}
	} else if t := p.openTable(items, columns); t != nil {
		return []part{{Box: t.Box, table: t}}
	}

	if p.rtl {
		slices.Reverse(columns)
	}
	var parts []part
	for _, column := range columns {
		parts = append(parts, p.split(column, depth+1)...)
	}
	return parts
}

// besideOrNot reads one of several groups of items.
func (p *pageLayout) besideOrNot(items []item, depth int) []part {
	if c := columnsOf(items); len(c) > 1 {
		if t := p.openTable(items, c); t != nil {
			return []part{{Box: t.Box, table: t}}
		}
	}
	return p.split(items, depth+1)
}

// apart divides items at gaps between rows that are much larger than others.
func apart(items []item) (groups [][]item) {
	rows := rowsOf(items, itemBox)
	var gaps []float64
	for i := 1; i < len(rows); i++ {
		gaps = append(gaps, rows[i][0].Top-rows[i-1][0].Top)
	}
	if len(gaps) == 0 {
		return [][]item{items}
	}

	sorted := slices.Sorted(slices.Values(gaps))
	usual := sorted[len(sorted)/2]
	for i, row := range rows {
		if i == 0 || gaps[i-1] > max(1.8*usual, usual+1.2*row[0].height()) && gaps[i-1] > 2*row[0].height() {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], row...)
	}
	return groups
}

// columnsOf divides items at empty columns, from the left.
func columnsOf(items []item) (columns [][]item) {
	sorted := slices.Clone(items)
	slices.SortStableFunc(sorted, func(a, b item) int { return cmp.Compare(a.Left, b.Left) })
	right := math.Inf(-1)
	const gap = 3
	for _, it := range sorted {
		if len(columns) == 0 || it.Left > right+gap {
			columns = append(columns, nil)
		}
		columns[len(columns)-1] = append(columns[len(columns)-1], it)
		right = max(right, it.Right)
	}
	return columns
}

// around is the box of some items.
func around(items []item) Box {
	b := items[0].Box
	for _, it := range items[1:] {
		b = b.and(it.Box)
	}
	return b
}

// prose reports whether a column is running text.
func prose(column []item) bool {
	box := around(column)
	letters := 0
	width := 0.0
	for _, it := range column {
		if it.run == nil {
			return true // a ruled table cannot be a cell
		}
		letters += len([]rune(it.run.text()))
		width += it.width()
	}
	n := float64(len(column))
	return len(column) >= 3 && float64(letters)/n >= 18 && width/n >= 0.6*box.width()
}

// numeric reports whether most items of a column are numbers, or have some.
func numeric(column []item) bool {
	count := 0
	for _, it := range column {
		if strings.ContainsFunc(it.run.text(), unicode.IsDigit) {
			count++
		}
	}
	return count*2 >= len(column)
}

// openTable makes a table of columns without rules, if they form one.
func (p *pageLayout) openTable(items []item, columns [][]item) *table {
	running := 0
	for _, column := range columns {
		if slices.ContainsFunc(column, func(it item) bool { return it.run == nil || it.run.bullet }) {
			return nil
		}
		if prose(column) {
			running++
		}
	}

	rows := rowsOf(items, itemBox)
	box := around(items)
	lines := p.between(box)

	if running > 1 && len(lines) < 3 || running == len(columns) || !aligned(rows, columns, len(lines) > 0) {
		return nil
	}
	if len(columns) < 3 && len(lines) < 3 && !loose(rows) && !slices.ContainsFunc(columns[1:], numeric) && !labels(columns[0]) {
		return nil // such as two addresses next to each other
	}
	return p.fill(box, rows, columns, lines)
}

// aligned reports whether enough rows have several cells.
func aligned(rows [][]item, columns [][]item, ruled bool) bool {
	count := 0
	for _, row := range rows {
		if len(row) > 1 {
			count++
		}
	}
	return count >= fewestBeside && count*2 >= len(rows) && (count > fewestBeside || ruled || farApart(columns))
}

// loose reports whether the distance of rows is larger than that of lines of text.
func loose(rows [][]item) bool {
	first := rows[0][0].run
	last := rows[len(rows)-1][0].run
	return len(rows) > 1 && (last.base-first.base)/first.size > 1.7*float64(len(rows)-1)
}

// labels reports whether most items of a column end with a colon.
func labels(column []item) bool {
	count := 0
	for _, it := range column {
		if strings.HasSuffix(it.run.text(), ":") {
			count++
		}
	}
	return count*2 >= len(column)
}

// farApart reports whether the gaps between columns are wide.
func farApart(columns [][]item) bool {
	for i := 1; i < len(columns); i++ {
		if around(columns[i]).Left-around(columns[i-1]).Right < 2*columns[i][0].height() {
			return false
		}
	}
	return true
}

// between are the heights of the level lines that run through a box.
func (p *pageLayout) between(box Box) (heights []float64) {
	for _, r := range p.rules {
		if r.height() == 0 && r.Top > box.Top && r.Top < box.Bottom && min(r.Right, box.Right)-max(r.Left, box.Left) > 0.5*box.width() {
			heights = append(heights, r.Top)
		}
	}
	slices.Sort(heights)
	return heights
}

// fill puts rows of items into the cells of a table. Lines that belong together are
// one row: those between two ruled lines, or else those that follow so closely that
// they go on with a cell.
func (p *pageLayout) fill(box Box, rows [][]item, columns [][]item, lines []float64) *table {
	column := map[*run]int{}
	for i, c := range columns {
		for _, it := range c {
			column[it.run] = i
		}
	}

	ruled := len(lines) >= 2 && len(lines)*3 >= len(rows)
	t := &table{Box: box}
	tight := closest(rows)
	at := -1

	for i, row := range rows {
		band := nearestBelow(lines, row[0].middleY())
		goesOn := ruled && band == at
		if i > 0 && !ruled {
			first := row[0].run
			step := first.base - rows[i-1][0].run.base
			goesOn = len(row) < len(rows[i-1]) && len(row) < len(columns) && step < 0.85*tight && step < 1.5*first.size ||
				len(columns) > 2 && column[first] > 0 && step < 1.4*first.size
		}

		at = band
		if !goesOn || len(t.rows) == 0 {
			t.rows = append(t.rows, make([]cell, len(columns)))
		}
		last := t.rows[len(t.rows)-1]
		for _, it := range row {
			last[column[it.run]] = append(last[column[it.run]], it.run)
		}
	}

	if len(t.rows) < 2 {
		return nil
	}
	return t
}

// closest is the minimum distance of two rows with several cells.
func closest(rows [][]item) float64 {
	minimum := math.Inf(1)
	for i := 1; i < len(rows); i++ {
		if len(rows[i]) > 1 && len(rows[i-1]) > 1 {
			minimum = min(minimum, rows[i][0].run.base-rows[i-1][0].run.base)
		}
	}
	return minimum
}

// nearestBelow is the number of heights that lie above y.
func nearestBelow(heights []float64, y float64) int {
	n, _ := slices.BinarySearch(heights, y)
	return n
}

// column reads items as rows, from the top.
func (p *pageLayout) column(items []item) (parts []part) {
	var rows [][]*run
	flush := func() {
		if len(rows) == 0 {
			return
		}
		box := rows[0][0].Box
		for _, row := range rows {
			for _, r := range row {
				box = box.and(r.Box)
			}
		}
		parts = append(parts, part{Box: box, rows: rows})
		rows = nil
	}

	for _, row := range rowsOf(items, itemBox) {
		var runs []*run
		for _, it := range row {
			if it.table != nil {
				if len(runs) > 0 {
					rows = append(rows, runs)
					runs = nil
				}
				flush()
				parts = append(parts, part{Box: it.Box, table: it.table})
				continue
			}
			runs = append(runs, it.run)
		}
		if len(runs) > 0 {
			rows = append(rows, runs)
		}
	}

	flush()
	return parts
}
