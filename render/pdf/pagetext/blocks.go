package pagetext

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

type kind int

const (
	paragraph kind = iota
	headingBlock
	listItem
	tableBlock
	codeBlock
)

// block is a part of a page's text: its lines, or a table.
type block struct {
	kind  kind
	lines []line
	// level is the level of a heading, from 1, or the depth of a list item, from 0.
	level int
	// mark is the beginning of a list item.
	mark  string
	table *table
	rtl   bool
	// broken lists the lines after a line break.
	broken map[int]bool
}

// line is a row of a column.
type line struct {
	Box

	words []Word
	size  float64
	base  float64
	// gaps lists the words after a wide gap.
	gaps   map[int]bool
	bullet bool
}

// newLine makes a line of the runs of a row.
func newLine(row []*run) line {
	l := line{Box: row[0].Box, size: row[0].size, base: row[0].base, gaps: map[int]bool{}, bullet: row[0].bullet}
	for i, r := range row {
		if i > 0 && r.Left-l.Right > 2.5*max(r.size, l.size) {
			l.gaps[len(l.words)] = true
		}
		l.Box = l.and(r.Box)
		l.words = append(l.words, r.words...)
		if len(r.text()) > 3 && r.size > l.size {
			l.size, l.base = r.size, r.base
		}
	}
	return l
}

func (l line) text() string {
	r := run{words: l.words}
	return r.text()
}

// all reports whether all words of a line are so.
func (l line) all(is func(Word) bool) bool {
	for _, w := range l.words {
		if !is(w) && strings.ContainsFunc(w.Text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			return false
		}
	}
	return true
}

func isBold(w Word) bool { return w.Bold }

// code reports whether a line is set as code is.
func (d *textFacts) code(l line) bool {
	return !d.mono && len(l.words) > 0 && l.words[0].Mono && l.all(func(w Word) bool { return w.Mono })
}

// blocks are the text of a page.
func (d *textFacts) blocks(p *pageLayout) (blocks []block) {
	for _, part := range p.parts() {
		if part.table != nil {
			blocks = append(blocks, block{kind: tableBlock, table: part.table, rtl: p.rtl})
			continue
		}
		blocks = append(blocks, d.columnBlocks(part)...)
	}

	blocks = joinCode(joinColumns(blocks))
	nest(blocks)
	if len(p.askew) > 0 {
		blocks = append(blocks, block{lines: []line{{words: p.askew, gaps: map[int]bool{}}}})
	}

	return blocks
}

// columnBlocks parts the rows of a column into blocks.
func (d *textFacts) columnBlocks(p part) (blocks []block) {
	var lines []line
	for _, row := range p.rows {
		lines = append(lines, newLine(row))
	}

	step := usualStep(lines)
	for i := range lines {
		l := lines[i]
		mark, rest := d.listMark(l)
		level := d.headingLevel(lines, i, p.Box)
		last := len(blocks) - 1
		goesOn := last >= 0 && i > 0 && d.goesOn(blocks[last], lines, i, level, step, p.Box)
		within := goesOn && blocks[last].kind == paragraph && !l.bullet && mark != "-" && !indented(l, blocks[last].lines[0])

		if mark != "" && level == 0 && !within {
			blocks = append(blocks, block{kind: listItem, mark: mark, lines: []line{rest}})
			continue
		}

		if goesOn {
			b := &blocks[last]
			if b.kind != headingBlock && endsEarly(lines[i-1], l, p.Box) {
				if b.broken == nil {
					b.broken = map[int]bool{}
				}
				b.broken[len(b.lines)] = true
			}
			b.lines = append(b.lines, l)
			continue
		}

		b := block{lines: []line{l}, level: level}
		switch {
		case level > 0:
			b.kind = headingBlock
		case d.code(l):
			b.kind = codeBlock
		}
		blocks = append(blocks, b)
	}

	for i := range blocks {
		blocks[i].settle()
	}
	return blocks
}

// settle decides how a block is read, and makes all its lines lines if most are.
func (b *block) settle() {
	right := 0
	left := 0
	for _, l := range b.lines {
		for _, w := range l.words {
			r, l := directions(w.Text)
			right, left = right+r, left+l
		}
	}
	b.rtl = right > left

	const short = 24 // letters a line, of addresses
	if len(b.lines) > 1 && (len(b.broken)*2 >= len(b.lines) || b.kind == paragraph && right+left < short*len(b.lines) && !b.wraps()) {
		if b.broken == nil {
			b.broken = map[int]bool{}
		}
		for i := 1; i < len(b.lines); i++ {
			b.broken[i] = true
		}
	}
}

// wraps reports whether a line of a block ends within a word, or within a sentence that
// continues.
func (b *block) wraps() bool {
	for i := 1; i < len(b.lines); i++ {
		if strings.ContainsRune(hyphens+",", lastRune(b.lines[i-1].text())) || unicode.IsLower(firstRune(b.lines[i].text())) || unspaced(firstRune(b.lines[i].text())) {
			return true
		}
	}
	return false
}

// usualStep is the distance of most lines, in parts of their size.
func usualStep(lines []line) float64 {
	var steps []float64
	for i := 1; i < len(lines); i++ {
		if step := (lines[i].base - lines[i-1].base) / lines[i].size; step > 0.8 && step < 2.2 && math.Abs(lines[i].size-lines[i-1].size) < 0.5 {
			steps = append(steps, step)
		}
	}
	if len(steps) == 0 {
		return 1.35
	}
	slices.Sort(steps)
	return steps[len(steps)/3]
}

// goesOn reports whether line i belongs to the block before.
func (d *textFacts) goesOn(b block, lines []line, i, level int, step float64, column Box) bool {
	l := lines[i]
	before := lines[i-1]
	if !near(before, l, step) || (b.kind == headingBlock) != (level > 0) {
		return false
	}

	switch {
	case b.kind == headingBlock:
		return level == b.level && l.all(isBold) == before.all(isBold)
	case b.kind == codeBlock || d.code(l):
		return b.kind == codeBlock && d.code(l)
	case len(l.gaps) > 0 || len(before.gaps) > 0:
		return false
	case b.kind == listItem:
		// The continuation of an item is below its text, or at least not to its left.
		return l.Left > b.lines[0].Left-1.2*l.size || l.Left >= before.Left-1
	case begins(lines, i, column) && len(b.lines) > 1:
		return false
	}

	return l.all(isBold) == before.all(isBold) || !before.all(isBold) || len(b.lines) > 1
}

// near reports whether a line is as large as the one before, and follows as closely as in paragraphs.
func near(before, l line, step float64) bool {
	down := (l.base - before.base) / l.size
	return math.Abs(l.size-before.size) <= 0.12*max(l.size, before.size) && down <= max(1.25*step, step+0.2) && down >= -0.5
}

// begins reports whether line i begins a paragraph although it follows closely.
func begins(lines []line, i int, column Box) bool {
	l := lines[i]
	before := lines[i-1]
	if !endsSentence(before) {
		return false
	}
	// The first line of a paragraph may be indented, or the others are.
	if in := l.Left - before.Left; in > 0.8*l.size && in < 4*l.size && i+1 < len(lines) && lines[i+1].Left < l.Left-0.5*l.size {
		return true
	}
	return endsEarly(before, l, column) && before.Right < column.Right-0.15*column.width() && l.Left-column.Left > 0.8*l.size
}

func endsSentence(l line) bool {
	text := strings.TrimRight(l.text(), "\"'”’»)")
	return text != "" && strings.ContainsRune(".!?:。！？", lastRune(text))
}

// endsEarly reports whether a line ends before it is full: the next word would have had
// room on it.
func endsEarly(l, next line, column Box) bool {
	if len(next.words) == 0 || len(l.words) == 0 || strings.ContainsRune(hyphens, lastRune(l.words[len(l.words)-1].Text)) {
		return false
	}

	width := next.words[0].width()
	for _, w := range next.words[1:] {
		if !w.Joined {
			break
		}
		width += w.width()
	}
	if unspaced(firstRune(next.words[0].Text)) {
		width = next.size
	}

	return l.Right+width+0.6*l.size < column.Right && l.Left-0.6*l.size-width > column.Left-width-0.6*l.size-1
}

// listMark returns the beginning of a list item, and the rest of its line.
func (d *textFacts) listMark(l line) (mark string, rest line) {
	if l.bullet {
		return "-", l
	}
	if len(l.words) < 2 {
		return "", l
	}

	n := 1
	first := l.words[0].Text
	for n < len(l.words)-1 && l.words[n].Joined && len(first) < 8 {
		first += l.words[n].Text
		n++
	}
	if l.words[n].Joined {
		return "", l
	}
	if mark = marker(first); mark == "" {
		return "", l
	}

	rest = l
	rest.words = l.words[n:]
	rest.gaps = map[int]bool{}
	rest.Left = rest.words[0].Left
	for at := range l.gaps {
		if at > n {
			rest.gaps[at-n] = true
		}
	}
	return mark, rest
}

// indented reports whether a line begins to the right of another.
func indented(l, other line) bool { return l.Left > other.Left+0.3*l.size }

// longestHeading is the maximum number of letters of a heading.
const longestHeading = 200

// headingLevel returns the level of a heading, or 0 for other lines.
func (d *textFacts) headingLevel(lines []line, i int, column Box) int {
	l := lines[i]
	text := l.text()
	if len([]rune(text)) > longestHeading || !strings.ContainsFunc(text, unicode.IsLetter) && !strings.ContainsFunc(text, unicode.IsDigit) || len(l.gaps) > 0 {
		return 0
	}

	if l.size >= d.body*larger && !d.within(lines, i, column) {
		for n, size := range d.headings {
			if l.size >= size-0.6 {
				return min(n+1, deepestHeading)
			}
		}
		return min(len(d.headings)+1, deepestHeading)
	}

	if !d.alone(lines, i, text, column) {
		return 0
	}
	return min(len(d.headings)+1, deepestHeading)
}

// alone reports whether line i is bold and separate, like headings of the text's size.
func (d *textFacts) alone(lines []line, i int, text string, column Box) bool {
	l := lines[i]
	if d.bold || l.size < d.body*0.95 || !l.all(isBold) || l.bullet || endsLine(text) || !strings.ContainsFunc(text, unicode.IsLetter) || l.width() > 0.95*column.width() && len(text) > 80 {
		return false
	}
	return i+1 < len(lines) && (!lines[i+1].all(isBold) || lines[i+1].base-l.base >= 1.8*l.size) && (i == 0 || !follows(lines[i-1], l))
}

// follows reports whether a bold line is too close below another for a heading.
func follows(before, l line) bool {
	bold := before.all(isBold)
	down := l.base - before.base
	return down < 1.25*l.size && (!bold || before.size <= l.size*1.05) || bold && math.Abs(before.size-l.size) < 0.5 && down < 1.8*l.size
}

// within reports whether a line that is a little larger than the text is still a part of
// it: the text layers of scans have a different size for each line.
func (d *textFacts) within(lines []line, i int, column Box) bool {
	const much = 1.4
	l := lines[i]
	if l.size > much*d.body {
		return false
	}
	if unicode.IsLower(firstRune(l.text())) {
		return true
	}
	if i+1 == len(lines) || l.width() < 0.8*column.width() {
		return false
	}

	next := lines[i+1]
	return next.base-l.base < 1.5*l.size && l.size < 1.3*next.size && l.size != next.size
}

// endsLine reports whether a text ends as sentences do, unlike headings.
func endsLine(text string) bool { return strings.ContainsRune(".:;,", lastRune(text)) }

const (
	// larger is the minimum ratio of a heading's size to the size of the text.
	larger         = 1.12
	deepestHeading = 6
)

// joinColumns joins a paragraph at the end of a column with its continuation in the next.
func joinColumns(blocks []block) []block {
	var joined []block
	for _, b := range blocks {
		if n := len(joined); n > 0 && b.kind == paragraph && joined[n-1].kind == paragraph {
			before := &joined[n-1]
			last := before.lines[len(before.lines)-1]
			first := b.lines[0]
			letter := firstRune(first.text())
			if first.Top < last.Top && math.Abs(first.size-last.size) < 0.5 && !endsSentence(last) && unicode.IsLower(letter) && len(before.lines) > 1 {
				if b.broken != nil {
					if before.broken == nil {
						before.broken = map[int]bool{}
					}
					for at := range b.broken {
						before.broken[at+len(before.lines)] = true
					}
				}
				before.lines = append(before.lines, b.lines...)
				continue
			}
		}
		joined = append(joined, b)
	}

	return joined
}

// joinCode joins blocks of code between which there is but an empty line.
func joinCode(blocks []block) []block {
	var joined []block
	for _, b := range blocks {
		if n := len(joined); n > 0 && b.kind == codeBlock && joined[n-1].kind == codeBlock {
			before := &joined[n-1]
			last := before.lines[len(before.lines)-1]
			first := b.lines[0]
			if down := first.base - last.base; down > 0 && down < 3.5*last.size && math.Abs(first.size-last.size) < 0.5 {
				if down > 1.6*last.size {
					before.lines = append(before.lines, line{size: last.size})
				}
				before.lines = append(before.lines, b.lines...)
				continue
			}
		}
		joined = append(joined, b)
	}

	return joined
}

// nest finds the nesting depth of list items.
func nest(blocks []block) {
	var lefts []float64
	for i := range blocks {
		b := &blocks[i]
		if b.kind != listItem {
			lefts = nil
			continue
		}

		at := b.lines[0].Left
		for len(lefts) > 0 && lefts[len(lefts)-1] > at+0.5*b.lines[0].size {
			lefts = lefts[:len(lefts)-1]
		}
		if len(lefts) == 0 || at > lefts[len(lefts)-1]+0.5*b.lines[0].size {
			lefts = append(lefts, at)
		}

		b.level = len(lefts) - 1
	}
}
