package barcode

import (
	"math"
	"slices"
)

// qrCanvas is a QR Code being drawn. Modules of patterns are fixed: data is placed around them and the mask leaves
// them unchanged.
type qrCanvas struct {
	*grid
	fixed   []bool
	version int
	level   qrLevel
}

// drawQR draws the symbol with the mask that gives the fewest penalty points.
func drawQR(words []byte, version int, level qrLevel) *grid {
	size := qrSize(version)
	c := &qrCanvas{grid: newGrid(size), fixed: make([]bool, size*size), version: version, level: level}

	c.drawTiming()
	c.drawFinder(3, 3)
	c.drawFinder(size-4, 3)
	c.drawFinder(3, size-4)
	c.drawAlignment()
	c.drawVersion()
	c.drawFormat(0) // reserves the place
	c.drawData(words)

	data := c.grid
	best := c.grid
	minPenalty := math.MaxInt
	for mask := range 8 {
		c.grid = &grid{size: size, dark: slices.Clone(data.dark)}
		c.applyMask(mask)
		c.drawFormat(mask)
		if p := penalty(c.grid); p < minPenalty {
			best = c.grid
			minPenalty = p
		}
	}
	return best
}

// fix sets a module that belongs to a pattern.
func (c *qrCanvas) fix(x, y int, dark bool) {
	c.set(x, y, dark)
	c.fixed[y*c.size+x] = true
}

func (c *qrCanvas) drawTiming() {
	for i := range c.size {
		c.fix(6, i, i%2 == 0)
		c.fix(i, 6, i%2 == 0)
	}
}

// drawFinder draws a finder pattern and its light separator around a centre.
func (c *qrCanvas) drawFinder(cx, cy int) {
	for dy := -4; dy <= 4; dy++ {
		for dx := -4; dx <= 4; dx++ {
			x, y := cx+dx, cy+dy
			if x < 0 || y < 0 || x >= c.size || y >= c.size {
				continue
			}
			ring := max(abs(dx), abs(dy))
			c.fix(x, y, ring != 2 && ring != 4)
		}
	}
}

func (c *qrCanvas) drawAlignment() {
	centres := qrAlignment(c.version)
	last := len(centres) - 1

	for i, cy := range centres {
		for j, cx := range centres {
			if i == 0 && j == 0 || i == 0 && j == last || i == last && j == 0 {
				continue // a finder is there
			}
			for dy := -2; dy <= 2; dy++ {
				for dx := -2; dx <= 2; dx++ {
					c.fix(cx+dx, cy+dy, max(abs(dx), abs(dy)) != 1)
				}
			}
		}
	}
}

// drawVersion writes the version with the check bits of a BCH (18, 6) code,
// twice, from version 7 on (clause 7.10).
func (c *qrCanvas) drawVersion() {
	if c.version < 7 {
		return
	}
	word := bch(c.version, 12, 0x1F25)
	for i := range 18 {
		dark := word>>i&1 == 1
		a, b := c.size-11+i%3, i/3
		c.fix(a, b, dark)
		c.fix(b, a, dark)
	}
}

// drawFormat writes level and mask with the check bits of a BCH (15, 5) code,
// twice, and the module that is always dark (clause 7.9).
func (c *qrCanvas) drawFormat(mask int) {
	levelBits := [4]int{1, 0, 3, 2}[c.level]
	word := bch(levelBits<<3|mask, 10, 0x537) ^ 0x5412
	bit := func(i int) bool { return word>>i&1 == 1 }

	for i := range 6 {
		c.fix(8, i, bit(i))
		c.fix(14-(i+9), 8, bit(i+9))
	}
	c.fix(8, 7, bit(6))
	c.fix(8, 8, bit(7))
	c.fix(7, 8, bit(8))
	for i := range 8 {
		c.fix(c.size-1-i, 8, bit(i))
	}
	for i := 8; i < 15; i++ {
		c.fix(8, c.size-15+i, bit(i))
	}
	c.fix(8, c.size-8, true)
}

// bch appends check bits to value: the remainder by a generator polynomial.
func bch(value, checkBits, generator int) int {
	rem := value
	for range checkBits {
		rem = rem<<1 ^ (rem>>(checkBits-1))*generator
	}
	return value<<checkBits | rem
}

// drawData fills the free modules in columns of two, from the right to the
// left, up and down in turns (clause 7.7.3). Modules left over stay light.
func (c *qrCanvas) drawData(words []byte) {
	n := 0
	up := true

	for right := c.size - 1; right >= 1; right -= 2 {
		if right == 6 {
			right = 5 // the column of the timing pattern is skipped
		}
		for i := range c.size {
			y := i
			if up {
				y = c.size - 1 - i
			}
			for x := right; x > right-2; x-- {
				if c.fixed[y*c.size+x] || n >= 8*len(words) {
					continue
				}
				c.set(x, y, words[n/8]>>(7-n%8)&1 == 1)
				n++
			}
		}
		up = !up
	}
}

// applyMask turns over the modules that a mask picks. Masks repeat every 12
// modules, so that the rules are asked once for a tile and not for each module.
func (c *qrCanvas) applyMask(mask int) {
	const tile = 12
	var picked [tile][tile]bool

	for y := range tile {
		for x := range tile {
			picked[y][x] = qrMasked(mask, x, y)
		}
	}

	for y := range c.size {
		dark := c.row(y)
		fixed := c.fixed[y*c.size : (y+1)*c.size]
		line := &picked[y%tile]
		for x := range dark {
			dark[x] = dark[x] != (line[x%tile] && !fixed[x])
		}
	}
}

// qrMasked reports whether a mask turns a module over (table 10).
func qrMasked(mask, x, y int) bool {
	switch mask {
	case 0:
		return (x+y)%2 == 0
	case 1:
		return y%2 == 0
	case 2:
		return x%3 == 0
	case 3:
		return (x+y)%3 == 0
	case 4:
		return (x/3+y/2)%2 == 0
	case 5:
		return x*y%2+x*y%3 == 0
	case 6:
		return (x*y%2+x*y%3)%2 == 0
	}
	return ((x+y)%2+x*y%3)%2 == 0
}

func abs(n int) int { return max(n, -n) }
