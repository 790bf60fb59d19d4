package pdf

// sheetLayout is the arrangement of pages on sheets.
type sheetLayout struct {
	width, height float64 // of a sheet in points
	columns, rows int
	// down fills the columns one after the other, and not the rows.
	down   bool
	border bool
	margin float64 // around each page, in points
	guides []guide
}

// guide is a line across a sheet along which it is folded, or else cut.
type guide struct {
	upright, cut bool
}

// cells returns the number of pages on one side of a sheet.
func (l sheetLayout) cells() int { return l.columns * l.rows }

// sheets returns the number of pages of the result for n source pages.
func (l sheetLayout) sheets(n int) int { return (n + l.cells() - 1) / l.cells() }

// shrink returns the scale at which a page, with its size in points, fits into a cell.
func (l sheetLayout) shrink(width, height float64) float64 {
	return min(l.width/float64(l.columns)/width, l.height/float64(l.rows)/height)
}

// grids are the columns and rows of a portrait sheet by the number of its pages.
var grids = map[int][2]int{2: {1, 2}, 3: {1, 3}, 4: {2, 2}, 6: {2, 3}, 8: {2, 4}, 9: {3, 3}, 12: {3, 4}, 16: {4, 4}}

// NUpCell is the room of each page on a sheet that is so large in portrait, in points.
func NUpCell(perSheet int, width, height float64, landscape bool) (cellWidth, cellHeight float64) {
	l := NUpArgs{PerSheet: perSheet, Width: width, Height: height}.oriented(landscape)
	return l.width / float64(l.columns), l.height / float64(l.rows)
}

// oriented is the layout on sheets in portrait or landscape.
func (a NUpArgs) oriented(landscape bool) sheetLayout {
	grid := grids[a.PerSheet]
	l := sheetLayout{width: a.Width, height: a.Height, columns: grid[0], rows: grid[1], down: a.Columns, border: a.Border, margin: a.Margin}
	if landscape {
		l.width, l.height, l.columns, l.rows = l.height, l.width, l.rows, l.columns
	}
	return l
}

// layout returns the layout for pages with the size of the first one, as displayed.
func (a NUpArgs) layout(width, height float64) sheetLayout {
	if a.Landscape != nil {
		return a.oriented(*a.Landscape)
	}
	portrait := a.oriented(false)
	landscape := a.oriented(true)
	if landscape.shrink(width, height) > portrait.shrink(width, height) {
		return landscape
	}
	return portrait
}

// layout returns the layout for pages of which the first has the given size as shown. A
// booklet bound at the side has its pages side by side, others have them one below the
// other. Four pages on a side are two such pairs, which are cut apart.
func (a BookletArgs) layout(width, height float64) sheetLayout {
	landscape := width > height
	side := landscape == a.Short
	l := sheetLayout{width: a.Width, height: a.Height, columns: 1, rows: 2, down: !side}
	lying := side
	if side {
		l.columns = 2
		l.rows = 1
	}

	if a.PerSheet == 4 {
		l.columns = 2
		l.rows = 2
		lying = landscape
	}
	if lying {
		l.width, l.height = l.height, l.width
	}

	if a.Guides {
		l.guides = []guide{{upright: side}}
		if a.PerSheet == 4 {
			l.guides = append(l.guides, guide{upright: !side, cut: true})
		}
	}

	return l
}

// bookletOrder is the order of n pages, counted from 1, on the sides of the sheets of a
// booklet; 0 is an empty page. A sheet of four pages has the outermost that are left on
// its front and the next ones on its back; with four pages on a side it is two of
// those.
func bookletOrder(n, perSide int) (order []int) {
	onSheet := 2 * perSide
	whole := (n + onSheet - 1) / onSheet * onSheet

	for first := 1; first <= whole/2; first += perSide {
		for _, back := range []int{0, 1} {
			for pair := first + back; pair < first+perSide; pair += 2 {
				left := whole + 1 - pair
				right := pair
				if back == 1 {
					left, right = right, left
				}
				order = append(order, left, right)
			}
		}
	}

	for i, page := range order {
		if page > n {
			order[i] = 0
		}
	}

	return order
}
