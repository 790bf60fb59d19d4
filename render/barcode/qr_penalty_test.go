package barcode

import (
	"math/rand/v2"
	"testing"
)

// TestPenalty compares the penalty with the one that is counted module by module.
func TestPenalty(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for size := 21; size <= 177; size += 4 {
		for _, share := range []int{0, 1, 50, 90, 100} { // of dark modules
			g := newGrid(size)
			for i := range g.dark {
				g.dark[i] = random.IntN(100) < share
			}
			for range size { // Random modules have few finders.
				x, y := random.IntN(size-10), random.IntN(size)
				for i := range 11 {
					finder := 0b00001011101>>i&1 == 1
					g.set(x+i, y, finder)
					g.set(y, size-1-x-i, finder)
				}
			}
			if got, want := penalty(g), countedPenalty(g); got != want {
				t.Errorf("%d modules, %d %% dark: %d points, want %d", size, share, got, want)
			}
		}
	}
}

// countedPenalty is penalty, module by module.
func countedPenalty(g *grid) int {
	line := make([]bool, g.size)
	points := 0
	for i := range g.size {
		points += countedLine(g.row(i))
		for y := range g.size {
			line[y] = g.at(i, y)
		}
		points += countedLine(line)
	}
	return points + countedBlocks(g) + countedBalance(g)
}

// countedLine is 3 points for a run of five modules and 1 for each module
// more, and 40 for 1:1:3:1:1 with four light modules on either side.
func countedLine(line []bool) int {
	const (
		window      = 1<<11 - 1
		finderLeft  = 0b00001011101
		finderRight = 0b10111010000
	)
	points, run, last := 0, 0, 0
	for i, dark := range line {
		bit := 0
		if dark {
			bit = 1
		}
		if i > 0 && bit == last&1 {
			run++
		} else {
			run = 1
		}
		switch {
		case run == 5:
			points += 3
		case run > 5:
			points++
		}
		last = (last<<1 | bit) & window
		if i >= 10 && (last == finderLeft || last == finderRight) {
			points += 40
		}
	}
	return points
}

// countedBlocks is 3 points for each block of 2 × 2 modules of one colour.
func countedBlocks(g *grid) int {
	points := 0
	for y := range g.size - 1 {
		upper, lower := g.row(y), g.row(y+1)
		for x := range g.size - 1 {
			if upper[x] == upper[x+1] && lower[x] == lower[x+1] && upper[x] == lower[x] {
				points += 3
			}
		}
	}
	return points
}

// countedBalance is 10 points for each full 5 % away from half dark.
func countedBalance(g *grid) int {
	dark := 0
	for _, d := range g.dark {
		if d {
			dark++
		}
	}
	return abs(dark*20-len(g.dark)*10) / len(g.dark) * 10
}
