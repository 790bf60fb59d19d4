package barcode

// The PDF417 of ISO/IEC 15438.

const (
	pdf417Base     = 929 // code words have the values 0 to 928
	pdf417MaxWords = 928 // in a symbol, check words included
	pdf417MinRows  = 3
	pdf417MaxRows  = 90
	pdf417MaxCols  = 30
	// pdf417MaxData is the most data words, the length word among them, for
	// which the standard recommends a level of error correction.
	pdf417MaxData   = 863
	pdf417RowHeight = 3 // modules, the least that the standard allows
	pdf417Quiet     = 2 // modules

	pdf417Start = 0b11111111010101000 // 17 modules
	pdf417Stop  = 0b111111101000101001
)

// encodePDF417 makes a PDF417 with the error correction that is asked for, or
// the recommended one.
func encodePDF417(req *Request) (*symbol, error) {
	text := req.Text
	words := pdf417Words(text)
	if len(words) > pdf417MaxData-1 {
		return nil, contentErrorf(PDF417, "is too long for a PDF417: at most about 2,500 digits, 1,700 letters or "+
			"1,000 other bytes; got %d bytes, which need %d code words of %d", len(text), len(words), pdf417MaxData-1)
	}

	level := pdf417Level(1 + len(words))
	if req.Level != "" {
		level = int(req.Level[0] - '0')
	}

	shape := newPDF417Shape(1+len(words), level)
	if shape.rows == 0 {
		return nil, contentErrorf(PDF417, "is too long for a PDF417 with eclevel %d; got %d bytes. "+
			"Use a lower eclevel or a shorter text", level, len(text))
	}

	words = append([]int{0}, words...)
	for len(words) < shape.rows*shape.cols-pdf417CheckWords(level) {
		words = append(words, pdf417Text) // a mode latch at the end has no effect
	}
	words[0] = len(words)
	words = append(words, pdf417Check(words, pdf417CheckWords(level))...)
	return shape.draw(words), nil
}

// pdf417Level returns the error correction level that annex E recommends for a
// number of data words, their length word included.
func pdf417Level(dataWords int) int {
	switch {
	case dataWords <= 40:
		return 2
	case dataWords <= 160:
		return 3
	case dataWords <= 320:
		return 4
	}
	return 5
}

func pdf417CheckWords(level int) int { return 2 << level }

// pdf417Check returns n check words of data: the complement of the remainder
// by the product of (x - 3^i) for i from 1 to n, modulo 929.
func pdf417Check(data []int, n int) []int {
	generator := pdf417Generator(n)
	rem := make([]int, n)

	for _, d := range data {
		factor := (d + rem[0]) % pdf417Base
		for i := range n - 1 {
			rem[i] = (rem[i+1] + (pdf417Base-factor)*generator[i]) % pdf417Base
		}
		rem[n-1] = (pdf417Base - factor) * generator[n-1] % pdf417Base
	}

	for i, r := range rem {
		rem[i] = (pdf417Base - r) % pdf417Base
	}
	return rem
}

// pdf417Generator returns the generator polynomial, highest power first and
// without its leading 1.
func pdf417Generator(degree int) []int {
	g := make([]int, degree+1)
	g[0] = 1
	root := 1

	for i := 1; i <= degree; i++ {
		root = root * 3 % pdf417Base
		for j := i; j >= 1; j-- {
			g[j] = (g[j] + (pdf417Base-root)*g[j-1]) % pdf417Base
		}
	}
	return g[1:]
}

// pdf417Shape is the form of a symbol.
type pdf417Shape struct{ rows, cols, level int }

// newPDF417Shape picks the columns that bring the symbol nearest to three times
// as wide as high, which fits cards and labels.
func newPDF417Shape(dataWords, level int) pdf417Shape {
	need := dataWords + pdf417CheckWords(level)
	var best pdf417Shape
	bestOff := -1

	for cols := 1; cols <= pdf417MaxCols; cols++ {
		rows := max(pdf417MinRows, (need+cols-1)/cols)
		if rows > pdf417MaxRows || rows*cols > pdf417MaxWords {
			continue
		}

		off := abs(pdf417Width(cols) - 3*pdf417RowHeight*rows)
		if bestOff < 0 || off < bestOff {
			best = pdf417Shape{rows, cols, level}
			bestOff = off
		}
	}
	return best
}

// pdf417Width returns the modules of a row: start, indicators, data and stop.
func pdf417Width(cols int) int { return 17 + 17*(cols+2) + 18 }

// draw draws the code words between the row indicators. These repeat rows, columns and level, so that a scanner can
// locate a part of a row.
func (p pdf417Shape) draw(words []int) *symbol {
	s := &symbol{quiet: margins{pdf417Quiet, pdf417Quiet, pdf417Quiet, pdf417Quiet}}
	facts := [3]int{(p.rows - 1) / 3, 3*p.level + (p.rows-1)%3, p.cols - 1}

	for y := range p.rows {
		cluster := y % 3
		modules := make([]bool, 0, pdf417Width(p.cols))
		word := func(value int) {
			modules = appendBits(modules, 1<<16|int(pdf417Patterns()[cluster][value]), 17)
		}

		modules = appendBits(modules, pdf417Start, 17)
		word(30*(y/3) + facts[cluster])
		for _, w := range words[y*p.cols : (y+1)*p.cols] {
			word(w)
		}
		word(30*(y/3) + facts[(cluster+2)%3])
		modules = appendBits(modules, pdf417Stop, 18)
		s.rows = append(s.rows, row{modules, pdf417RowHeight})
	}
	return s
}

// appendBits appends the lowest n bits of a pattern as modules.
func appendBits(modules []bool, pattern, n int) []bool {
	for i := n - 1; i >= 0; i-- {
		modules = append(modules, pattern>>i&1 == 1)
	}
	return modules
}
