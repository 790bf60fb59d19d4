package pdf

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// cornerNumbers is the number of values of a letter's corners: x and y of its top left, top right, bottom left and
// bottom right.
const cornerNumbers = 8

// pageLetters are the letters of a page. Quads are their corners in points.
type pageLetters struct {
	Text  []string
	Quads []float64
}

// saidLetters holds the letters of a page as the script writes them. Quads are in hundredths of a point, separated
// by spaces.
type saidLetters struct {
	Text  []string `json:"text"`
	Quads string   `json:"quads"`
}

func (s saidLetters) page() (pageLetters, error) {
	p := pageLetters{Text: s.Text, Quads: make([]float64, 0, cornerNumbers*len(s.Text))}
	for number := range strings.FieldsSeq(s.Quads) {
		n, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return p, err
		}
		if math.IsNaN(n) || math.IsInf(n, 0) {
			n = 0
		}
		p.Quads = append(p.Quads, n/100)
	}
	if len(p.Quads) != cornerNumbers*len(p.Text) {
		return p, fmt.Errorf("%d corners of %d letters", len(p.Quads), len(p.Text))
	}
	return p, nil
}

// foundPage holds the content to remove from a page, by corners.
type foundPage struct {
	// letters has one entry for each letter, or one for all letters of a word that is upright or sideways: MuPDF
	// compares all letters of a page with each entry.
	letters [][]float64
	// cores are the same without their edges, which may touch their neighbours.
	cores [][]float64
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

// secret returns the numbers of the letters that are to go, in order.
func (p pageLetters) secret(s secrets) []int {
	gone := s.find(p.Text)
	letters, numbers := p.standing()
	for _, at := range s.find(letters) {
		if numbers[at] >= 0 {
			gone = append(gone, numbers[at])
		}
	}
	gone = p.whole(gone)
	slices.Sort(gone)
	return slices.Compact(gone)
}

// thin reports whether a letter has no width, like all letters of a ligature except the first.
func (p pageLetters) thin(n int) bool {
	q := p.quad(n)
	return p.Text[n] != "\n" && math.Hypot(q[2]-q[0], q[3]-q[1]) < 0.01
}

// whole adds letters that are drawn together with the given ones: redacting a part of a ligature redacts all of it.
func (p pageLetters) whole(numbers []int) []int {
	const most = 3 // letters after the first
	for _, n := range numbers {
		first := n
		for first > 0 && n-first < most && p.thin(first) {
			first--
		}
		if p.Text[first] == "\n" || p.thin(first) {
			continue
		}
		numbers = append(numbers, first)
		for next := first + 1; next < len(p.Text) && next-first <= most && p.thin(next); next++ {
			numbers = append(numbers, next)
		}
	}
	return numbers
}

// found returns the corners of letters.
func (p pageLetters) found(numbers []int) (f foundPage) {
	before, inWord := math.MinInt, false
	for _, n := range numbers {
		quad := p.quad(n)
		next := n == before+1 && follows(f.covers[len(f.covers)-1], quad)
		f.covers = addQuad(f.covers, quad, next)
		space := p.Text[n] == " "
		if !space {
			inWord = inWord && next && straight(quad)
			f.letters, f.cores = addQuad(f.letters, quad, inWord), addQuad(f.cores, core(quad), inWord)
		}
		before, inWord = n, !space
	}
	return f
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

// core is a letter without its edges.
func core(quad []float64) []float64 {
	const share = 0.4
	var x, y float64
	for i := 0; i < cornerNumbers; i += 2 {
		x, y = x+quad[i]/4, y+quad[i+1]/4
	}
	var c []float64
	for i := 0; i < cornerNumbers; i += 2 {
		c = append(c, x+(quad[i]-x)*share, y+(quad[i+1]-y)*share)
	}
	return c
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

// without returns the letters but some.
func (p pageLetters) without(numbers []int) (left pageLetters) {
	for n, text := range p.Text {
		if len(numbers) > 0 && numbers[0] == n {
			numbers = numbers[1:]
			continue
		}
		if text != " " && text != "\n" {
			left.Text, left.Quads = append(left.Text, text), append(left.Quads, p.quad(n)...)
		}
	}
	return left
}

// moved reports whether there are letters that were not in their places before.
func (p pageLetters) moved(before pageLetters) bool {
	type place struct {
		text string
		x, y int
	}
	at := func(l pageLetters, n int) place {
		q := l.quad(n)
		return place{l.Text[n], int(math.Round((q[0] + q[6]) / 2)), int(math.Round((q[1] + q[7]) / 2))}
	}
	known := map[place]bool{}
	for n := range before.Text {
		known[at(before, n)] = true
	}
	for n := range p.Text {
		here, near := at(p, n), false
		for dx := -1; dx <= 1; dx++ {
			for dy := -1; dy <= 1; dy++ {
				near = near || known[place{here.text, here.x + dx, here.y + dy}]
			}
		}
		if !near {
			return true
		}
	}
	return false
}
