package compare

import (
	"bytes"
	"math"

	"github.com/relaypdf/relaypdf/render/pdf/job"
)

const (
	// cellPoints is the distance in points below which changed pixels are parts of one area.
	cellPoints = 6
	// maxAreas is the maximum number of areas of a page. If there are more, those that are near are joined.
	maxAreas = 100
	// maxColorDelta is the difference between black and white in the measure of colorDelta.
	maxColorDelta = 35215
	// sizeSlack is the difference in points below which pages have the same size.
	sizeSlack = 1
)

// pixelDifferences holds the changed pixels of a pair of pages.
type pixelDifferences struct {
	width, height int // of both pages together
	changed       int // pixels

	cell   int // width and height of a cell in pixels
	across int // cells of a row
	cells  []pixelArea
}

// differences compares two images of one resolution. A pixel is changed if its colour differs by more than the
// threshold, or if only one page has it.
func (pair comparedPair) differences(threshold float64) *pixelDifferences {
	old := pair.images[0]
	latest := pair.images[1]
	slack := max(1, pair.dpi*sizeSlack/job.PointsPerInch)

	extent := func(a, b int) int {
		if max(a, b)-min(a, b) <= slack {
			return min(a, b)
		}
		return max(a, b)
	}

	d := &pixelDifferences{width: extent(old.width, latest.width), height: extent(old.height, latest.height)}
	d.cell = max(1, pair.dpi*cellPoints/job.PointsPerInch)
	d.across = (d.width + d.cell - 1) / d.cell
	d.cells = make([]pixelArea, d.across*((d.height+d.cell-1)/d.cell))

	ignored := pair.mask(d.width, d.height)
	limit := maxColorDelta * threshold * threshold
	both := min(old.width, latest.width, d.width)

	for y := range d.height {
		from := 0
		if y < old.height && y < latest.height {
			a := old.row(y)[:3*both]
			b := latest.row(y)[:3*both]
			from = both
			if !bytes.Equal(a, b) {
				d.addRow(y, a, b, limit, ignored)
			}
		}
		for x := from; x < d.width; x++ {
			d.add(x, y, ignored)
		}
	}

	return d
}

// mask returns the pixels that are not compared, or nil for none.
func (pair comparedPair) mask(width, height int) []bool {
	if len(pair.ignored) == 0 {
		return nil
	}

	mask := make([]bool, width*height)
	for _, area := range pair.ignored {
		a := area.pixels(pair.dpi, width, height)
		for y := a.top; y < a.bottom; y++ {
			for x := a.left; x < a.right; x++ {
				mask[y*width+x] = true
			}
		}
	}

	return mask
}

// addRow adds the changed pixels of a row.
func (d *pixelDifferences) addRow(y int, a, b []byte, limit float64, ignored []bool) {
	for i := 0; i < len(a); i += 3 {
		if a[i] == b[i] && a[i+1] == b[i+1] && a[i+2] == b[i+2] {
			continue
		}
		if colorDelta(a[i:i+3], b[i:i+3]) > limit {
			d.add(i/3, y, ignored)
		}
	}
}

// add adds a changed pixel.
func (d *pixelDifferences) add(x, y int, ignored []bool) {
	if len(ignored) > 0 && ignored[y*d.width+x] {
		return
	}
	d.changed++
	cell := &d.cells[y/d.cell*d.across+x/d.cell]
	cell.add(pixelArea{x, y, x + 1, y + 1})
}

// add enlarges an area so that it includes another. An area without pixels is empty.
func (a *pixelArea) add(b pixelArea) {
	if a.right == 0 {
		*a = b
		return
	}
	a.left, a.top = min(a.left, b.left), min(a.top, b.top)
	a.right, a.bottom = max(a.right, b.right), max(a.bottom, b.bottom)
}

// colorDelta returns the perceived difference of two colours: the weighted square of their distance in the colour space
// YIQ, as Kotsarenko and Ramos define it for image comparison.
func colorDelta(a, b []byte) float64 {
	red := float64(a[0]) - float64(b[0])
	green := float64(a[1]) - float64(b[1])
	blue := float64(a[2]) - float64(b[2])
	y := red*0.29889531 + green*0.58662247 + blue*0.11448223
	i := red*0.59597799 - green*0.27417610 - blue*0.32180189
	q := red*0.21147017 - green*0.52261711 + blue*0.31114694
	return 0.5053*y*y + 0.299*i*i + 0.1957*q*q
}

// share returns the share of changed pixels.
func (d *pixelDifferences) share() float64 {
	return float64(d.changed) / math.Max(1, float64(d.width)*float64(d.height))
}

// areas returns the parts of the pages with changed pixels, from top to bottom.
func (d *pixelDifferences) areas(dpi int) []PageArea {
	found := d.connected()
	for len(found) > maxAreas {
		d.coarsen()
		found = d.connected()
	}
	areas := make([]PageArea, len(found))
	for i, a := range found {
		areas[i] = a.points(dpi)
	}
	return areas
}

// coarsen doubles the size of cells.
func (d *pixelDifferences) coarsen() {
	down := len(d.cells) / max(1, d.across)
	across := (d.across + 1) / 2
	cells := make([]pixelArea, across*((down+1)/2))
	for i, cell := range d.cells {
		if cell.right > 0 {
			cells[i/d.across/2*across+i%d.across/2].add(cell)
		}
	}
	d.cells = cells
	d.across = across
	d.cell *= 2
}

// connected returns the areas around neighbouring cells with changed pixels.
func (d *pixelDifferences) connected() (areas []pixelArea) {
	seen := make([]bool, len(d.cells))
	down := len(d.cells) / max(1, d.across)

	for start, cell := range d.cells {
		if cell.right == 0 || seen[start] {
			continue
		}

		area := cell
		seen[start] = true
		for open := []int{start}; len(open) > 0; {
			at := open[len(open)-1]
			open = open[:len(open)-1]
			area.add(d.cells[at])
			x := at % d.across
			y := at / d.across

			for ny := max(0, y-1); ny <= min(down-1, y+1); ny++ {
				for nx := max(0, x-1); nx <= min(d.across-1, x+1); nx++ {
					if n := ny*d.across + nx; !seen[n] && d.cells[n].right > 0 {
						seen[n] = true
						open = append(open, n)
					}
				}
			}
		}

		areas = append(areas, area)
	}
	return areas
}
