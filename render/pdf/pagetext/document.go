package pagetext

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// learn finds the size of the text, those of headings, and the words that there are.
func (d *document) learn() {
	sizes := map[float64]int{}
	all, bold, mono := 0, 0, 0
	each := func(r *run) {
		for i, w := range r.words {
			n := len(w.Text)
			sizes[math.Round(w.Size*2)/2] += n
			all += n
			if w.Bold {
				bold += n
			}
			if w.Mono {
				mono += n
			}
			if i+1 < len(r.words) && !w.Joined && !r.words[i+1].Joined && len(d.known) < mostKnown {
				d.known[strings.ToLower(strings.Trim(w.Text, ".,;:!?()[]\"'“”„‘’«»"))] = true
			}
		}
	}
	for _, p := range d.pages {
		for _, r := range p.runs {
			each(r)
		}
		for _, t := range p.tables {
			for _, row := range t.rows {
				for _, c := range row {
					for _, r := range c {
						each(r)
					}
				}
			}
		}
	}
	d.body = usualSize(sizes)
	d.bold, d.mono = bold*2 > all, mono*5 > all*2
	d.learnHeadings()
}

// usualSize is the size of most letters, as many of which are some hundredths smaller
// or larger: scans that were read by others say so of each line.
func usualSize(sizes map[float64]int) float64 {
	var sorted []float64
	for size := range sizes {
		sorted = append(sorted, size)
	}
	slices.Sort(sorted)
	usual, most, from, to, sum := 0.0, 0, 0, 0, 0
	const near = 1.15 // the largest of them to the smallest
	for ; to < len(sorted); to++ {
		sum += sizes[sorted[to]]
		for sorted[to] > sorted[from]*near {
			sum -= sizes[sorted[from]]
			from++
		}
		if sum > most {
			most, usual = sum, sorted[from]
			for _, size := range sorted[from : to+1] {
				if sizes[size] > sizes[usual] {
					usual = size
				}
			}
		}
	}
	return usual
}

// mostKnown bounds the words that are kept.
const mostKnown = 200_000

// learnHeadings finds the sizes that are larger than the text's, of lines that are
// short enough.
func (d *document) learnHeadings() {
	sizes := map[float64]bool{}
	for _, p := range d.pages {
		for _, r := range p.runs {
			if r.size >= d.body*larger && len(r.text()) <= longestHeading {
				sizes[math.Round(r.size*2)/2] = true
			}
		}
	}
	var sorted []float64
	for size := range sizes {
		sorted = append(sorted, size)
	}
	slices.SortFunc(sorted, func(a, b float64) int { return cmp.Compare(b, a) })
	for _, size := range sorted {
		if n := len(d.headings); n == 0 || d.headings[n-1]-size > 0.06*size {
			d.headings = append(d.headings, size)
		}
	}
}

// edge is the part of a page, at its top and bottom, in which lines may run through
// the document.
const edge = 0.08

// running is a line that many pages have.
type running struct {
	text string
	y    int
}

var (
	digits     = regexp.MustCompile(`[0-9]+|^\W*[ivxlc]+\W*$`)
	pageNumber = regexp.MustCompile(`(?i)^(?:[-–—|(\s]*(?:page|seite|p\.|pg\.?|s\.|página|pagina|blatt|стр\.?)?\s*)([0-9]{1,4}|[ivxlc]{1,6})(?:\s*(?:of|von|de|sur|/|di|van|из|\|)\s*[0-9]{1,4})?[-–—|).\s]*$`)
)

// dropRunning takes out lines that run through the document: all but the first of
// each, and the numbers of pages.
func (d *document) dropRunning() {
	seen := map[running]int{}
	key := func(p *page, row []*run) running {
		var text strings.Builder
		for _, r := range row {
			text.WriteString(r.text() + " ")
		}
		y := row[0].base
		if y > p.height/2 {
			y -= p.height // from the bottom
		}
		return running{digits.ReplaceAllString(text.String(), "#"), int(math.Round(y / 4))}
	}
	edges := make([][][]*run, len(d.pages))
	for i, p := range d.pages {
		edges[i] = p.edges()
		for _, row := range edges[i] {
			seen[key(p, row)]++
		}
	}
	kept := map[string]bool{}
	for i, p := range d.pages {
		drop := map[*run]bool{}
		for _, row := range edges[i] {
			k := key(p, row)
			count := seen[k] + seen[running{k.text, k.y - 1}] + seen[running{k.text, k.y + 1}]
			through := len(d.pages) > 1 && count >= max(2, min(3, len(d.pages))) && count*4 >= len(d.pages)
			number := d.numbers(row, i, through)
			if number || through && kept[k.text] {
				for _, r := range row {
					drop[r] = true
				}
				continue
			}
			kept[k.text] = kept[k.text] || through
			if through {
				d.dropNumbers(row, i, drop)
			}
		}
		if len(drop) > 0 {
			p.runs = slices.DeleteFunc(p.runs, func(r *run) bool { return drop[r] })
		}
	}
}

// edges are the rows at the top and the bottom of a page.
func (p *page) edges() (rows [][]*run) {
	var outer []*run
	for _, r := range p.runs {
		if r.Bottom < edge*p.height || r.Top > (1-edge)*p.height {
			outer = append(outer, r)
		}
	}
	return rowsOf(outer, runBox)
}

// numbers tells whether a row is nothing but the number of its page.
func (d *document) numbers(row []*run, page int, through bool) bool {
	var text strings.Builder
	for _, r := range row {
		text.WriteString(r.text() + " ")
	}
	found := pageNumber.FindStringSubmatch(strings.TrimSpace(text.String()))
	if found == nil {
		return false
	}
	n, err := strconv.Atoi(found[1])
	return through || err == nil && n == page+1 && len(strings.TrimSpace(text.String())) > 0 && (len(d.pages) > 1 || strings.TrimSpace(text.String()) != fmt.Sprint(n) || row[0].Top > d.pages[page].height/2)
}

// dropNumbers drops the runs of a running line that are numbers of pages.
func (d *document) dropNumbers(row []*run, page int, drop map[*run]bool) {
	for _, r := range row {
		if len(row) > 1 && d.numbers([]*run{r}, page, false) {
			drop[r] = true
		}
	}
}
