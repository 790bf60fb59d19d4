package barcode

// penalty rates how hard a symbol is to read (ISO/IEC 18004, clause 7.8.3): long runs, blocks, patterns like a
// finder, and too much of one colour.
func penalty(g *grid) int {
	line := make([]bool, g.size)
	points := 0
	for i := range g.size {
		points += linePenalty(g.row(i))
		for y := range g.size {
			line[y] = g.at(i, y)
		}
		points += linePenalty(line)
	}
	return points + blockPenalty(g) + balancePenalty(g)
}

// linePenalty is 3 points for a run of five modules and 1 for each module
// more, and 40 for 1:1:3:1:1 with four light modules on either side.
func linePenalty(line []bool) int {
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

// blockPenalty is 3 points for each block of 2 × 2 modules of one colour.
func blockPenalty(g *grid) int {
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

// balancePenalty is 10 points for each full 5 % away from half dark.
func balancePenalty(g *grid) int {
	dark := 0
	for _, d := range g.dark {
		if d {
			dark++
		}
	}
	return abs(dark*20-len(g.dark)*10) / len(g.dark) * 10
}
