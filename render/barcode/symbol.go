package barcode

// symbol is a barcode before it is drawn. All its measures are in modules, counted from the top left of the image.
type symbol struct {
	// linear is a bar code, whose first row may have any height.
	linear bool
	rows   []row // all of one length
	quiet  margins
	labels []label
	// labelRows is the number of the last rows that exist only for the labels.
	labelRows int
	// labelSpace is the height that the labels take below the rows.
	labelSpace int
}

// row is a line of modules, height modules high.
type row struct {
	dark   []bool
	height int
}

// margins are the widths of the quiet zone.
type margins struct{ left, right, top, bottom int }

// label is a line of human-readable text.
type label struct {
	text     string
	centre   float64 // of the line, from the left
	baseline float64 // from the top
	size     float64 // of the font
	digits   bool    // of an EAN-13 or UPC-A
}

// faces returns the fonts of the label.
func (l label) faces() fontList {
	if l.digits {
		return digitFaces()
	}
	return textFaces()
}

// width returns the width of the line.
func (l label) width() float64 { return l.size * l.faces().width(l.text) }

// The layout of bar codes. The standards ask for ten modules of quiet zone at the ends and for none above and
// below, where a small margin looks better.
const (
	barQuiet  = 10
	barMargin = 4
	barHeight = 50

	// labelSize makes digits as high as those of EAN-13. minLabel is the minimum size of a long text before it
	// makes the image wider.
	labelSize   = 11
	minLabel    = 8
	labelHeight = 8 // of a digit
	labelTop    = 2 // between bars and text
	labelTail   = 2 // descent of letters like g below the line
	barBaseline = barMargin + barHeight + labelTop + labelHeight
)

// setBars makes the symbol a bar code with a line of text below.
func (s *symbol) setBars(bars []bool, text string) {
	s.linear = true
	s.rows = []row{{bars, barHeight}}
	s.quiet = margins{barQuiet, barQuiet, barMargin, barMargin}
	s.labelSpace = labelTop + labelHeight + labelTail
	size := min(labelSize, float64(s.width())/textFaces().width(text))
	s.labels = []label{{text: text, centre: float64(s.width()) / 2, baseline: barBaseline, size: max(minLabel, size)}}
}

// dropLabels removes the labels and the space for them.
func (s *symbol) dropLabels() {
	s.rows = s.rows[:len(s.rows)-s.labelRows]
	s.labels = nil
	s.labelRows = 0
	s.labelSpace = 0
}

// width returns the width of the image.
func (s *symbol) width() int {
	return s.quiet.left + len(s.rows[0].dark) + s.quiet.right
}

// height returns the height of the image.
func (s *symbol) height() int {
	h := s.quiet.top + s.labelSpace + s.quiet.bottom
	for _, r := range s.rows {
		h += r.height
	}
	return h
}
