package pagetext

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// edge is the part of a page, at its top and bottom, in which lines may run through
// the document.
const edge = 0.08

// edgeRow is a row at the top or the bottom of a page.
type edgeRow struct {
	runs []*run
	// text is the text of the row without page numbers. y is its position from the top or the bottom, in steps of 4
	// points.
	text string
	y    int
	// numbers are the runs that may be page numbers or may hold one.
	numbers []pageNumber
}

// pageNumber is a candidate for the number of a page.
type pageNumber struct {
	run *run
	n   int
	// form is the text around the number, which is equal on all pages.
	form string
	// bare means that no word such as "Page" precedes the number.
	bare bool
	// alone means that the run holds nothing else.
	alone bool
}

const pageWords = `page|seite|p\.|pg\.?|s\.|página|pagina|blatt|стр\.?`

var (
	// wholeNumber is a run that is nothing but the number of a page: the word, the
	// number, and of how many it is one.
	wholeNumber = regexp.MustCompile(`(?i)^[-–—|(\s]*(` + pageWords + `)?\s*([0-9]{1,5}|[ivxlc]{1,8})(?:\s*(?:of|von|de|sur|/|di|van|из|\|)\s*([0-9]{1,5}))?[-–—|).\s]*$`)
	// innerNumber is such a number at the end or the start of a line that has more.
	innerNumber = regexp.MustCompile(`(?i)(?:^|[-–—|·•,;(\s])(?:page|seite|página|pagina|blatt)\s+([0-9]{1,5})\s*(?:of|von|de|sur|/|di|van|из)\s*([0-9]{1,5})(?:$|[-–—|·•,;)\s])`)
)

// findNumber reads a run as the number of a page.
func (p *pageLayout) findNumber(r *run, alone bool) (found pageNumber, ok bool) {
	text := r.text()
	if m := wholeNumber.FindStringSubmatch(text); m != nil {
		found = pageNumber{run: r, form: strings.ToLower(m[1]) + "#", bare: m[1] == "", alone: true}
		found.n = ordinal(m[2])
		of := ordinal(m[3])

		switch {
		case found.n == 0, m[3] != "" && found.n > of:
			return found, false // such as a date
		case !found.bare:
			return found, true
		case m[3] != "":
			return found, of == p.of
		}
		return found, alone
	}

	if m := innerNumber.FindStringSubmatchIndex(text); m != nil {
		n := ordinal(text[m[2]:m[3]])
		of := ordinal(text[m[4]:m[5]])
		return pageNumber{run: r, n: n, form: text[:m[2]] + "#" + text[m[3]:]}, n > 0 && n <= of
	}

	return found, false
}

// ordinal reads a number from 1 as pages have it, in digits or in Roman ones; 0 is no
// such number.
func ordinal(text string) int {
	if text == "" || text[0] == '0' {
		return 0
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}

	text = strings.ToLower(text)
	n := 0
	rest := text
	for _, digit := range romans {
		for strings.HasPrefix(rest, digit.text) {
			n, rest = n+digit.n, rest[len(digit.text):]
		}
	}

	if rest != "" || roman(n) != text {
		return 0
	}
	return n
}

var romans = []struct {
	text string
	n    int
}{{"c", 100}, {"xc", 90}, {"l", 50}, {"xl", 40}, {"x", 10}, {"ix", 9}, {"v", 5}, {"iv", 4}, {"i", 1}}

func roman(n int) string {
	var b strings.Builder
	for _, digit := range romans {
		for ; n >= digit.n; n -= digit.n {
			b.WriteString(digit.text)
		}
	}
	return b.String()
}

// edgeRows are the rows at the top and the bottom of a page.
func (p *pageLayout) edgeRows() (rows []*edgeRow) {
	var outer []*run
	for _, r := range p.runs {
		if r.Bottom < edge*p.height || r.Top > (1-edge)*p.height {
			outer = append(outer, r)
		}
	}

	for _, runs := range rowsOf(outer, runBox) {
		row := &edgeRow{runs: runs}
		y := runs[0].base
		if y > p.height/2 {
			y -= p.height // from the bottom
		}
		row.y = int(math.Round(y / 4))

		for _, r := range runs {
			if number, ok := p.findNumber(r, len(runs) == 1); ok {
				row.numbers = append(row.numbers, number)
			}
		}
		rows = append(rows, row)
	}

	return rows
}

// counting finds the numbers that count with the pages.
type counting map[counted]int

// counted is a form whose numbers differ from the page numbers by a constant.
type counted struct {
	form   string
	offset int
}

// isPage reports whether a number is the number of its page.
func (c counting) isPage(number pageNumber, p *pageLayout, pages int) bool {
	const (
		furthest = 99 // a number alone may be an amount or a year
		often    = 3
	)

	offset := number.n - p.number
	pagesAlike := c[counted{number.form, offset}]
	switch {
	case !number.bare:
		return offset == 0 && number.alone || pagesAlike > 1
	case offset == 0:
		return pages > 1 || number.run.Top > p.height/2
	}
	return pagesAlike >= often && offset >= -furthest && offset <= furthest
}

// running is a line that many pages have.
type running struct {
	text string
	y    int
}

// dropRunning takes out lines that run through the document: all but the first of
// those that are equal, and the numbers of pages.
func (d *textFacts) dropRunning() {
	edges := make([][]*edgeRow, len(d.pages))
	count := counting{}
	for i, p := range d.pages {
		edges[i] = p.edgeRows()
		for _, row := range edges[i] {
			for _, n := range row.numbers {
				count[counted{n.form, n.n - p.number}]++
			}
		}
	}

	seen := map[running]int{}
	for i, p := range d.pages {
		for _, row := range edges[i] {
			row.settle(func(n pageNumber) bool { return count.isPage(n, p, len(d.pages)) })
			seen[running{row.text, row.y}]++
		}
	}

	known := map[string]bool{}
	for i, p := range d.pages {
		drop := map[*run]bool{}
		for _, row := range edges[i] {
			n := seen[running{row.text, row.y}] + seen[running{row.text, row.y - 1}] + seen[running{row.text, row.y + 1}]
			through := n > 1 && n >= min(3, len(d.pages)) && n*4 >= len(d.pages)
			row.drop(drop, through, known)
		}

		if len(drop) == len(p.runs) && len(p.tables) == 0 && len(p.askew) == 0 {
			continue // It would have no meaning.
		}
		if len(drop) > 0 {
			p.runs = slices.DeleteFunc(p.runs, func(r *run) bool { return drop[r] })
		}
	}
}

// settle keeps the numbers that are page numbers, and finds the other text of the row.
func (r *edgeRow) settle(isPage func(pageNumber) bool) {
	r.numbers = slices.DeleteFunc(r.numbers, func(n pageNumber) bool { return !isPage(n) })
	var text []string
	for _, part := range r.runs {
		i := slices.IndexFunc(r.numbers, func(n pageNumber) bool { return n.run == part })
		switch {
		case i < 0:
			text = append(text, part.text())
		case !r.numbers[i].alone:
			text = append(text, r.numbers[i].form)
		}
	}
	r.text = strings.Join(text, " ")
}

// drop marks the lines of a row to leave out: all of them where another page has had the
// same, else only page numbers. known are the lines that stay on an earlier page.
func (r *edgeRow) drop(drop map[*run]bool, through bool, known map[string]bool) {
	if r.text == "" || through && known[r.text] {
		for _, part := range r.runs {
			drop[part] = true
		}
		return
	}
	known[r.text] = known[r.text] || through
	for _, n := range r.numbers {
		if n.alone && through {
			drop[n.run] = true
		}
	}
}
