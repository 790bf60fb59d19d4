package barcode

// dataMatrixPlacement lays code words out on the square without its finder
// patterns, along diagonals (ISO/IEC 16022, annex F).
type dataMatrixPlacement struct {
	*grid
	taken []bool
	words []byte // those that are not placed yet
}

// utah is the shape of a code word: rows and columns from its last bit, the
// most significant bit first.
var utah = [8][2]int{{-2, -2}, {-2, -1}, {-1, -2}, {-1, -1}, {-1, 0}, {0, -2}, {0, -1}, {0, 0}}

// The shapes of code words that a corner cuts apart. Numbers below 0 count from
// the far side.
var dataMatrixCorners = [4][8][2]int{
	{{-1, 0}, {-1, 1}, {-1, 2}, {0, -2}, {0, -1}, {1, -1}, {2, -1}, {3, -1}},
	{{-3, 0}, {-2, 0}, {-1, 0}, {0, -4}, {0, -3}, {0, -2}, {0, -1}, {1, -1}},
	{{-3, 0}, {-2, 0}, {-1, 0}, {0, -2}, {0, -1}, {1, -1}, {2, -1}, {3, -1}},
	{{-1, 0}, {-1, -1}, {0, -3}, {0, -2}, {0, -1}, {1, -3}, {1, -2}, {1, -1}},
}

// placeDataMatrix lays words out on a square with size modules on a side.
func placeDataMatrix(words []byte, size int) *grid {
	p := &dataMatrixPlacement{grid: newGrid(size), taken: make([]bool, size*size), words: words}
	row, col := 4, 0

	for row < size || col < size {
		p.corner(row, col)
		for row >= 0 && col < size { // up and to the right
			if row < size && col >= 0 && !p.taken[row*size+col] {
				p.word(row, col)
			}
			row, col = row-2, col+2
		}
		row, col = row+1, col+3
		for row < size && col >= 0 { // down and to the left
			if row >= 0 && col < size && !p.taken[row*size+col] {
				p.word(row, col)
			}
			row, col = row+2, col-2
		}
		row, col = row+3, col+1
	}

	if last := size - 1; !p.taken[len(p.taken)-1] {
		// Four modules that no word reaches; the other two stay light.
		p.set(last, last, true)
		p.set(last-1, last-1, true)
	}
	return p.grid
}

// corner places a word in a special shape if the walk meets its condition.
func (p *dataMatrixPlacement) corner(row, col int) {
	size := p.size
	switch {
	case row == size && col == 0:
		p.shape(dataMatrixCorners[0])
	case row == size-2 && col == 0 && size%8 == 4:
		p.shape(dataMatrixCorners[2])
	case row == size-2 && col == 0 && size%4 != 0:
		p.shape(dataMatrixCorners[1])
	case row == size+4 && col == 2 && size%8 == 0:
		p.shape(dataMatrixCorners[3])
	}
}

// shape places the next word on a corner shape.
func (p *dataMatrixPlacement) shape(shape [8][2]int) {
	for bit, at := range shape {
		p.bit((at[0]+p.size)%p.size, (at[1]+p.size)%p.size, bit)
	}
	p.words = p.words[1:]
}

// word places the next word with its last bit at row and col. Modules beyond the square
// wrap to the opposite side, shifted.
func (p *dataMatrixPlacement) word(row, col int) {
	shift := 4 - (p.size+4)%8
	for bit, at := range utah {
		r, c := row+at[0], col+at[1]
		if r < 0 {
			r, c = r+p.size, c+shift
		}
		if c < 0 {
			r, c = r+shift, c+p.size
		}
		p.bit(r, c, bit)
	}
	p.words = p.words[1:]
}

func (p *dataMatrixPlacement) bit(row, col, bit int) {
	p.set(col, row, p.words[0]>>(7-bit)&1 == 1)
	p.taken[row*p.size+col] = true
}
