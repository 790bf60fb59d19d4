package pdf

import "math"

// cornerNumbers is how many numbers the corners of a letter are: x and y of its top
// left, top right, bottom left and bottom right.
const cornerNumbers = 8

// pageLetters are the letters of a page, as the script writes them.
type pageLetters struct {
	Text  []string  `json:"text"`
	Quads []float64 `json:"quads"`
}

// foundPage is what goes of a page: the corners of letters, and of rows of them.
type foundPage struct{ letters, covers [][]float64 }

// quad is the corners of a letter.
func (p pageLetters) quad(n int) []float64 { return p.Quads[n*cornerNumbers : (n+1)*cornerNumbers] }

// found returns the corners of letters.
func (p pageLetters) found(numbers []int) (f foundPage) {
	before := math.MinInt
	for _, n := range numbers {
		quad := p.quad(n)
		if p.Text[n] != " " {
			f.letters = append(f.letters, quad)
		}
		if last := len(f.covers) - 1; n == before+1 && follows(f.covers[last], quad) {
			f.covers[last] = []float64{f.covers[last][0], f.covers[last][1], quad[2], quad[3], f.covers[last][4], f.covers[last][5], quad[6], quad[7]}
		} else {
			f.covers = append(f.covers, quad)
		}
		before = n
	}
	return f
}

// follows tells whether a letter stands behind others on the same line.
func follows(row, letter []float64) bool {
	along := func(q []float64) (x, y float64) { return q[2] - q[0], q[3] - q[1] }
	x, y := along(row)
	length := math.Hypot(x, y)
	if length == 0 {
		return false
	}
	x, y = x/length, y/length
	// Its end lies further along the row, and its corners on the row's edges.
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

// moved tells whether there are letters that were not in their places before.
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
