package pagetext

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// learn finds the size of the text, the sizes of headings, and the words of the document.
func (d *textFacts) learn() {
	sizes := map[float64]int{}
	all := 0
	bold := 0
	mono := 0

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
			if i+1 < len(r.words) && !w.Joined && !r.words[i+1].Joined && len(d.known) < maxKnown {
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

// usualSize returns the size of most letters. Sizes that differ by a few hundredths count together, because OCR by
// other applications gives each line its own size.
func usualSize(sizes map[float64]int) float64 {
	var sorted []float64
	for size := range sizes {
		sorted = append(sorted, size)
	}
	slices.Sort(sorted)

	usual := 0.0
	maximum := 0
	from := 0
	to := 0
	sum := 0
	const near = 1.15 // the largest of them to the smallest

	for ; to < len(sorted); to++ {
		sum += sizes[sorted[to]]
		for sorted[to] > sorted[from]*near {
			sum -= sizes[sorted[from]]
			from++
		}
		if sum > maximum {
			maximum = sum
			usual = sorted[from]
			for _, size := range sorted[from : to+1] {
				if sizes[size] > sizes[usual] {
					usual = size
				}
			}
		}
	}

	return usual
}

// maxKnown is the maximum number of stored words.
const maxKnown = 200_000

// learnHeadings finds the sizes that are larger than the text's, of lines that are
// short enough.
func (d *textFacts) learnHeadings() {
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
