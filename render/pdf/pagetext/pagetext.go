// Package pagetext makes Markdown of the content of pages: words with their positions and fonts, and ruled lines.
// It reads columns one after the other, and recognises headings, paragraphs, lists and tables by their formatting.
// Its input is untrusted: no algorithm grows faster than n log n.
package pagetext

import (
	"cmp"
	"slices"
	"strings"
)

// Box is a rectangle in points, y being down.
type Box struct{ Left, Top, Right, Bottom float64 }

func (b Box) width() float64   { return b.Right - b.Left }
func (b Box) height() float64  { return b.Bottom - b.Top }
func (b Box) middleX() float64 { return (b.Left + b.Right) / 2 }
func (b Box) middleY() float64 { return (b.Top + b.Bottom) / 2 }

// and is the box around two.
func (b Box) and(other Box) Box {
	return Box{min(b.Left, other.Left), min(b.Top, other.Top), max(b.Right, other.Right), max(b.Bottom, other.Bottom)}
}

// sideBySide reports whether two boxes share some of their height.
func (b Box) sideBySide(other Box) bool {
	return min(b.Bottom, other.Bottom)-max(b.Top, other.Top) > 0.3*min(b.height(), other.height())
}

// holds reports whether a point is in a box.
func (b Box) holds(x, y float64) bool {
	return x >= b.Left && x <= b.Right && y >= b.Top && y <= b.Bottom
}

// Page holds the content of a page as it is shown.
type Page struct {
	// Number is the page's number in its document, from 1; 0 is its place among the
	// pages that are given. Of is how many pages the document has; 0 is how many are given.
	Number, Of    int
	Width, Height float64
	Words         []Word
	// Rules are horizontal and vertical lines. Dots are small spots: bullets of lists may be drawn.
	Rules, Dots []Box
	Links       []Link
}

// Word is a word, or the part of one that is set alike.
type Word struct {
	Box

	Text               string
	Size               float64 // of its font
	Base               float64 // the y of its base line
	Bold, Italic, Mono bool
	// Joined means that no space separates the word before and this one.
	Joined bool
	// Line numbers the lines of the source: words with the same number are next to each
	// other.
	Line int
	// Turn is by how many quarters the word is turned clockwise. Askew is none of them.
	Turn int

	url    string
	raised bool
}

// askew is the turn of a word that is neither level nor upright.
const askew = 4

// Link is a place of a page that leads elsewhere.
type Link struct {
	Box

	URL string
}

// Markdown returns the text of each page as GitHub's Markdown. A line at the top or the
// bottom that is equal on many pages is there once, and the numbers of pages are not.
// No page loses all of its text that way.
func Markdown(pages []Page) []string {
	d := &textFacts{pages: make([]*pageLayout, len(pages)), known: map[string]bool{}}
	for i := range pages {
		d.pages[i] = newPage(&pages[i])
		d.pages[i].number, d.pages[i].of = cmp.Or(pages[i].Number, i+1), cmp.Or(pages[i].Of, len(pages))
	}

	d.learn()
	d.dropRunning()

	texts := make([]string, len(pages))
	for i, p := range d.pages {
		blocks := d.blocks(p)
		texts[i] = write(d, blocks)
	}
	return texts
}

// textFacts holds the facts about all pages.
type textFacts struct {
	pages []*pageLayout
	// body is the size of most letters; headings are the sizes above it, the largest
	// first. bold means that most letters are, mono that many are equally wide.
	body     float64
	headings []float64
	bold     bool
	mono     bool
	// known are the words of the document that occur within lines.
	known map[string]bool
}

// pageLayout is a page, its words put together.
type pageLayout struct {
	number, of    int
	width, height float64
	runs          []*run
	tables        []*table
	askew         []Word
	rules         []Box
	rtl           bool
}

// run is a row of words without a wide gap.
type run struct {
	Box

	words []Word
	size  float64
	base  float64
	// bullet means that a spot precedes it.
	bullet bool
}

// newPage puts the words of a page together.
func newPage(in *Page) *pageLayout {
	in.upright()
	in.link()
	p := &pageLayout{width: in.Width, height: in.Height}

	level := in.Words[:0:0]
	right := 0
	all := 0

	for _, w := range in.Words {
		w.Text = plain(w.Text)
		if w.Text == "" || w.Size <= 0 {
			continue
		}
		if r, l := directions(w.Text); r+l > 0 {
			right += r
			all += r + l
		}
		if w.Turn != 0 {
			p.askew = append(p.askew, w)
			continue
		}
		level = append(level, w)
	}

	p.rtl = right*2 > all
	p.rules = joinRules(in.Rules)
	p.tables, level = ruledTables(p, level)
	p.runs = makeRuns(level)
	addBullets(p.runs, in.Dots)
	return p
}

// upright turns a page on which most words are turned.
func (in *Page) upright() {
	var letters [askew + 1]int
	for i := range in.Words {
		in.Words[i].Turn = min(max(in.Words[i].Turn, 0), askew)
		letters[in.Words[i].Turn] += len(in.Words[i].Text)
	}

	maximum := 0
	for turn := 1; turn < askew; turn++ {
		if letters[turn] > letters[maximum] {
			maximum = turn
		}
	}

	for ; maximum > 0 && maximum < askew; maximum-- {
		in.rotateBack()
	}
}

// rotateBack rotates a page counter-clockwise by a quarter.
func (in *Page) rotateBack() {
	width := in.Width
	rotate := func(b Box) Box { return Box{b.Top, width - b.Right, b.Bottom, width - b.Left} }

	for i := range in.Words {
		w := &in.Words[i]
		w.Box = rotate(w.Box)
		if w.Turn == 1 || w.Turn == 3 {
			w.Base = width - w.Base // which was an x
		}
		if w.Turn < askew {
			w.Turn = (w.Turn + 3) % 4
		}
	}

	for _, boxes := range [][]Box{in.Rules, in.Dots} {
		for i := range boxes {
			boxes[i] = rotate(boxes[i])
		}
	}
	for i := range in.Links {
		in.Links[i].Box = rotate(in.Links[i].Box)
	}

	in.Width, in.Height = in.Height, in.Width
}

// linkBand is the height of the bands in which links are looked for.
const linkBand = 20

// link finds the words that lead elsewhere.
func (in *Page) link() {
	bands := map[int][]*Link{}
	for i := range in.Links {
		l := &in.Links[i]
		if l.height() > in.Height {
			continue
		}
		for band := int(l.Top / linkBand); band <= int(l.Bottom/linkBand) && len(bands[band]) < 100; band++ {
			bands[band] = append(bands[band], l)
		}
	}

	if len(bands) == 0 {
		return
	}

	words := make([]Word, 0, len(in.Words))
	for _, w := range in.Words {
		for _, l := range bands[int(w.middleY()/linkBand)] {
			if l.holds(w.middleX(), w.middleY()) {
				head, tail := w.part(l.Right)
				head.url = l.URL
				words = append(words, head)
				if tail.Text != "" {
					words = append(words, tail)
				}
				w.Text = ""
				break
			}
		}
		if w.Text != "" {
			words = append(words, w)
		}
	}

	in.Words = words
}

// part parts the sign that ends a sentence from a link before it.
func (w Word) part(right float64) (head, tail Word) {
	text := strings.TrimRight(w.Text, ".,;:!?)")
	if text == "" || text == w.Text || w.Right-right < 0.1*w.Size {
		return w, tail
	}
	tail = w
	tail.Text = w.Text[len(text):]
	tail.Left = right
	tail.Joined = true
	w.Text = text
	w.Right = right
	return w, tail
}

// wideGap is the minimum width of a gap within a row that separates columns or cells, in parts of the font's size.
const wideGap = 1.0

// makeRuns joins words in a row.
func makeRuns(words []Word) []*run {
	slices.SortStableFunc(words, func(a, b Word) int { return cmp.Compare(a.Line, b.Line) })
	var runs []*run
	for from := 0; from < len(words); {
		to := from + 1
		for to < len(words) && words[to].Line == words[from].Line {
			to++
		}
		runs = append(runs, splitRuns(words[from:to])...)
		from = to
	}
	return mergeRuns(runs)
}

// widest returns the maximum width of a gap between two words that does not separate them. Code is set with wide
// ones.
func widest(a, b Word) float64 {
	if a.Mono && b.Mono {
		return 5 * max(a.Size, b.Size)
	}
	return wideGap * max(a.Size, b.Size)
}

// splitRuns divides the words of a line at wide gaps.
func splitRuns(words []Word) (runs []*run) {
	// Parts of a word stay behind one another, wherever they are.
	slices.SortStableFunc(words, func(a, b Word) int { return cmp.Compare(a.Left, b.Left) })
	from := 0
	for i := 1; i <= len(words); i++ {
		if i == len(words) || words[i].Left-words[i-1].Right > widest(words[i-1], words[i]) {
			runs = append(runs, newRun(words[from:i]))
			from = i
		}
	}
	return runs
}

// newRun makes a run of words from left to right.
func newRun(words []Word) *run {
	r := &run{words: words}
	r.measure()
	return r
}

// measure finds the box, the size and the base line of a run, by most of its letters.
func (r *run) measure() {
	letters := map[[2]float64]int{}
	best := 0
	r.Box = r.words[0].Box
	for _, w := range r.words {
		r.Box = r.and(w.Box)
		key := [2]float64{w.Size, w.Base}
		letters[key] += len(w.Text)
		if letters[key] > best {
			best = letters[key]
			r.size = w.Size
			r.base = w.Base
		}
	}

	for i := range r.words {
		w := &r.words[i]
		w.raised = w.Size < 0.85*r.size && w.Base < r.base-0.15*r.size && w.Base > r.base-r.size
	}

	// Superscripts do not make a line higher.
	r.Top, r.Bottom = max(r.Top, r.base-1.5*r.size), min(r.Bottom, r.base+0.6*r.size)
	if r.Bottom <= r.Top {
		r.Top, r.Bottom = r.words[0].Top, max(r.words[0].Bottom, r.words[0].Top+0.1)
	}
}

// rowsOf parts boxes into rows, from the top, each from left to right.
func rowsOf[T any](items []T, box func(T) Box) [][]T {
	sorted := slices.Clone(items)
	slices.SortStableFunc(sorted, func(a, b T) int { return cmp.Compare(box(a).middleY(), box(b).middleY()) })

	var rows [][]T
	var first Box
	for _, item := range sorted {
		b := box(item)
		if n := len(rows); n > 0 && b.middleY() < first.Top+0.75*first.height() && b.Top < first.middleY() {
			rows[n-1] = append(rows[n-1], item)
			continue
		}
		rows = append(rows, []T{item})
		first = b
	}

	for _, row := range rows {
		slices.SortStableFunc(row, func(a, b T) int { return cmp.Compare(box(a).Left, box(b).Left) })
	}
	return rows
}

func runBox(r *run) Box { return r.Box }

// mergeRuns joins runs of several lines of the source that are on one line, and the numbers and bullets of lists
// with the text after them.
func mergeRuns(runs []*run) (merged []*run) {
	for _, row := range rowsOf(runs, runBox) {
		last := row[0]
		for _, r := range row[1:] {
			gap, size := r.Left-last.Right, max(last.size, r.size)
			near := gap < 0.6*widest(last.words[len(last.words)-1], r.words[0]) && gap > -0.5*size && (r.base-last.base < 0.5*size && last.base-r.base < 0.5*size)
			if near || gap > 0 && gap < 4*size && marker(last.text()) != "" && r.base-last.base < 0.3*size && last.base-r.base < 0.3*size {
				last.words = append(slices.Clone(last.words), r.words...)
				last.measure()
				continue
			}
			merged = append(merged, last)
			last = r
		}
		merged = append(merged, last)
	}

	return merged
}

// text returns the text of a run, without its formatting.
func (r *run) text() string {
	var b strings.Builder
	for i, w := range r.words {
		if i > 0 && !w.Joined {
			b.WriteByte(' ')
		}
		b.WriteString(w.Text)
	}
	return b.String()
}

// addBullets finds the runs after spots.
func addBullets(runs []*run, dots []Box) {
	const band = 10
	bands := map[int][]*run{}
	for _, r := range runs {
		bands[int(r.middleY()/band)] = append(bands[int(r.middleY()/band)], r)
	}

	for _, d := range dots {
		var nearest *run
		at := int(d.middleY() / band)
		for b := at - 1; b <= at+1; b++ {
			for _, r := range bands[b][:min(len(bands[b]), 50)] {
				if r.Left >= d.Right && (nearest == nil || r.Left < nearest.Left) && r.Top < d.middleY() && r.Bottom > d.middleY() {
					nearest = r
				}
			}
		}

		if nearest != nil && nearest.Left-d.Right < 2.5*nearest.size && d.height() < 0.7*nearest.size {
			nearest.bullet = true
		}
	}
}
