package redact

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/text/unicode/bidi"
)

// cornerNumbers is the number of values of a letter's corners: x and y of its top left, top right, bottom left and
// bottom right.
const cornerNumbers = 8

// pageLetters are the letters of a page. Quads are their corners in points, and Codes the codes of the content that
// show them: none for a space or the end of a line that only readers see.
type pageLetters struct {
	Text  []string
	Quads []float64
	Codes [][]int
}

// foundPage holds the content to remove from a page, by corners.
type foundPage struct {
	// letters has one entry for each letter, or one for all letters of a word that is upright or sideways.
	letters [][]float64
	// covers are letters that follow one another, together.
	covers [][]float64
}

// quad is the corners of a letter.
func (p pageLetters) quad(n int) []float64 { return p.Quads[n*cornerNumbers : (n+1)*cornerNumbers] }

// gap separates letters that are not adjacent: no text contains it.
const gap = "\x00"

// standing returns the letters of level text and their numbers by position, line by line and from the left,
// whatever the order in which they are drawn. A document that draws the end of a word before its beginning would
// otherwise hide the word.
func (p pageLetters) standing() (letters []string, numbers []int) {
	const slack, space, far = 0.3, 0.2, 0.5 // of a letter's height
	var level []int
	for n, text := range p.Text {
		if q := p.quad(n); text != "\n" && math.Abs(q[1]-q[3]) < 0.5 && q[2] > q[0] && q[5] > q[1] {
			level = append(level, n)
		}
	}

	bottom := func(n int) float64 { return p.quad(n)[5] }
	height := func(n int) float64 { return p.quad(n)[5] - p.quad(n)[1] }
	slices.SortStableFunc(level, func(a, b int) int { return cmp.Compare(bottom(a), bottom(b)) })

	for len(level) > 0 {
		end := 1
		for end < len(level) && bottom(level[end])-bottom(level[0]) < slack*height(level[0]) {
			end++
		}

		row := level[:end]
		level = level[end:]
		slices.SortStableFunc(row, func(a, b int) int { return cmp.Compare(p.quad(a)[0], p.quad(b)[0]) })
		for i, n := range row {
			between := ""
			switch {
			case i == 0 || p.quad(n)[0]-p.quad(row[i-1])[2] > far*height(n):
				between = gap
			case p.quad(n)[0]-p.quad(row[i-1])[2] > space*height(n):
				between = " "
			}

			if between != "" {
				letters, numbers = append(letters, between), append(numbers, -1)
			}
			letters, numbers = append(letters, p.Text[n]), append(numbers, n)
		}
	}

	return letters, numbers
}

// secret returns the numbers of the letters that are to go, in order: those of secrets, and of codes that are known to
// say one.
func (p pageLetters) secret(s redactionTerms, meaningful map[int]bool) []int {
	gone := s.find(p.Text)
	for n, codes := range p.Codes {
		if slices.ContainsFunc(codes, func(code int) bool { return meaningful[code] }) {
			gone = append(gone, n)
		}
	}

	letters, numbers := p.standing()
	gone = append(gone, chosen(s.find(letters), numbers)...)
	if slices.ContainsFunc(p.Text, isRightToLeft) {
		// Many documents have such lines from the left, as they are seen.
		letters, numbers = p.backwards(letters, numbers)
		gone = append(gone, chosen(s.find(letters), numbers)...)
	}

	gone = p.whole(gone)
	slices.Sort(gone)
	return slices.Compact(gone)
}

// chosen returns the numbers at some places; negative ones are left out.
func chosen(places, numbers []int) (some []int) {
	for _, at := range places {
		if numbers[at] >= 0 {
			some = append(some, numbers[at])
		}
	}
	return some
}

func isRightToLeft(letter string) bool {
	for _, r := range letter {
		class, _ := bidi.LookupRune(r)
		return class.Class() == bidi.R || class.Class() == bidi.AL
	}
	return false
}

// backwards returns letters from the last to the first. The letters of one code stay in their order.
func (p pageLetters) backwards(letters []string, numbers []int) (reversed []string, reversedNumbers []int) {
	for end := len(letters); end > 0; {
		start := end - 1
		for start > 0 && numbers[start] >= 0 && numbers[start-1] >= 0 && p.sameCode(numbers[start-1], numbers[start]) {
			start--
		}
		reversed, reversedNumbers = append(reversed, letters[start:end]...), append(reversedNumbers, numbers[start:end]...)
		end = start
	}
	return reversed, reversedNumbers
}

// sameCode reports whether one code shows two letters.
func (p pageLetters) sameCode(a, b int) bool {
	return len(p.Codes) > 0 && len(p.Codes[a]) > 0 && len(p.Codes[b]) > 0 && p.Codes[a][0] == p.Codes[b][0]
}

// whole adds letters that are drawn together with the given ones: redacting a part of a ligature redacts all of it.
func (p pageLetters) whole(numbers []int) []int {
	for _, n := range numbers {
		for next := n + 1; next < len(p.Text) && p.sameCode(n, next); next++ {
			numbers = append(numbers, next)
		}
		for before := n - 1; before >= 0 && p.sameCode(n, before); before-- {
			numbers = append(numbers, before)
		}
	}
	return numbers
}

// codes returns the codes that show some letters.
func (p pageLetters) codes(numbers []int) map[int]bool {
	codes := map[int]bool{}
	for _, n := range numbers {
		if n < len(p.Codes) {
			for _, code := range p.Codes[n] {
				codes[code] = true
			}
		}
	}
	return codes
}

// found returns the corners of letters.
func (p pageLetters) found(numbers []int) (f foundPage) {
	before := math.MinInt
	inWord := false

	for _, n := range numbers {
		quad := p.quad(n)
		next := (n == before+1 || n == before+2 && p.between(before+1)) && follows(f.covers[len(f.covers)-1], quad)
		f.covers = addQuad(f.covers, quad, next)

		space := p.Text[n] == " "
		if !space {
			inWord = inWord && next && straight(quad)
			f.letters = addQuad(f.letters, quad, inWord)
		}
		before = n
		inWord = !space
	}

	return f
}

// between reports whether a letter is a space that only readers see.
func (p pageLetters) between(n int) bool {
	return n < len(p.Codes) && p.Text[n] == " " && len(p.Codes[n]) == 0
}

// addQuad adds corners to others, or to the last of them.
func addQuad(quads [][]float64, quad []float64, join bool) [][]float64 {
	if !join {
		return append(quads, quad)
	}
	last := quads[len(quads)-1]
	quads[len(quads)-1] = []float64{last[0], last[1], quad[2], quad[3], last[4], last[5], quad[6], quad[7]}
	return quads
}

// straight reports whether corners form a rectangle with edges parallel to those of the page.
func straight(q []float64) bool {
	return q[0] == q[4] && q[2] == q[6] && q[1] == q[3] && q[5] == q[7] || q[0] == q[2] && q[4] == q[6] && q[1] == q[5] && q[3] == q[7]
}

// follows reports whether a letter comes after others on the same line.
func follows(row, letter []float64) bool {
	along := func(q []float64) (x, y float64) { return q[2] - q[0], q[3] - q[1] }
	x, y := along(row)
	length := math.Hypot(x, y)
	if length == 0 {
		return false
	}
	x, y = x/length, y/length

	// Its end is further along the row, and its corners are on the row's edges.
	ahead := (letter[2]-row[2])*x + (letter[3]-row[3])*y
	const slack = 1
	top := math.Abs((letter[2]-row[0])*y - (letter[3]-row[1])*x)
	bottom := math.Abs((letter[6]-row[4])*y - (letter[7]-row[5])*x)

	return ahead > 0 && top < slack && bottom < slack
}

// without returns the letters but those of some codes.
func (p pageLetters) without(gone map[int]bool) (left pageLetters) {
	for n, text := range p.Text {
		if slices.ContainsFunc(p.Codes[n], func(code int) bool { return gone[code] }) {
			continue
		}
		if text != " " && text != "\n" {
			left.Text, left.Quads = append(left.Text, text), append(left.Quads, p.quad(n)...)
		}
	}
	return left
}

// allIn reports whether each letter is among others, in its place.
func (p pageLetters) allIn(others pageLetters) bool {
	type place struct {
		text string
		x, y int
	}

	at := func(l pageLetters, n int) place {
		q := l.quad(n)
		return place{l.Text[n], int(math.Round((q[0] + q[6]) / 2)), int(math.Round((q[1] + q[7]) / 2))}
	}

	known := map[place]bool{}
	for n := range others.Text {
		known[at(others, n)] = true
	}

	for n := range p.Text {
		here := at(p, n)
		near := false
		for dx := -1; dx <= 1; dx++ {
			for dy := -1; dy <= 1; dy++ {
				near = near || known[place{here.text, here.x + dx, here.y + dy}]
			}
		}
		if !near {
			return false
		}
	}
	return true
}
