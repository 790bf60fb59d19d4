package barcode

// grid is a square of modules.
type grid struct {
	size int
	dark []bool // row after row
}

func newGrid(size int) *grid {
	return &grid{size: size, dark: make([]bool, size*size)}
}

func (g *grid) at(x, y int) bool        { return g.dark[y*g.size+x] }
func (g *grid) set(x, y int, dark bool) { g.dark[y*g.size+x] = dark }
func (g *grid) row(y int) []bool        { return g.dark[y*g.size : (y+1)*g.size] }

// symbol returns the grid as a symbol with a quiet zone all around it.
func (g *grid) symbol(quiet int) *symbol {
	s := &symbol{quiet: margins{quiet, quiet, quiet, quiet}}
	for y := range g.size {
		s.rows = append(s.rows, row{g.row(y), 1})
	}
	return s
}

// bits is a string of bits, collected from the most significant one on.
type bits struct {
	bytes []byte
	n     int
}

// add appends the lowest bits of value, the most significant one first.
func (b *bits) add(value, count int) {
	for i := count - 1; i >= 0; i-- {
		if b.n%8 == 0 {
			b.bytes = append(b.bytes, 0)
		}
		if value>>i&1 == 1 {
			b.bytes[b.n/8] |= 0x80 >> (b.n % 8)
		}
		b.n++
	}
}
