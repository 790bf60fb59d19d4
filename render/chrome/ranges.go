package chrome

import (
	"slices"
	"strconv"
	"strings"
)

// maxPageNumber is above any document's length; it keeps sums from overflowing.
const maxPageNumber = 1_000_000

// pageRange is one part of a selection: first to last, both included. A zero
// first or last means the document's end; step 2 selects every other page.
type pageRange struct{ first, last, step int }

// pageRanges is a parsed selection such as "1-3,5,last".
type pageRanges []pageRange

// parsePageRanges returns nil for the empty selection, which means all pages,
// and a *PageRangeError for a malformed one.
func parsePageRanges(s string) (pageRanges, error) {
	if s == "" {
		return nil, nil
	}
	var ranges pageRanges
	for part := range strings.SplitSeq(s, ",") {
		r, ok := parsePageRange(strings.TrimSpace(part))
		if !ok {
			return nil, &PageRangeError{Ranges: s}
		}
		ranges = append(ranges, r)
	}
	return ranges, nil
}

func parsePageRange(s string) (r pageRange, ok bool) {
	switch s {
	case "odd":
		return pageRange{1, 0, 2}, true
	case "even":
		return pageRange{2, 0, 2}, true
	case "last":
		return pageRange{0, 0, 1}, true
	}
	first, last, isRange := strings.Cut(s, "-")
	r = pageRange{1, 0, 1}
	if first != "" {
		if r.first, ok = pageNumber(first); !ok {
			return r, false
		}
	}
	if !isRange {
		r.last = r.first
		return r, first != ""
	}
	if last != "" {
		if r.last, ok = pageNumber(last); !ok {
			return r, false
		}
	}
	return r, (first != "" || last != "") && (r.last == 0 || r.first <= r.last)
}

func pageNumber(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n > 0 && n <= maxPageNumber && s[0] != '+'
}

// closed reports that the selection names every page by number, so that it can
// be printed without knowing the document's length.
func (rs pageRanges) closed() bool {
	return !slices.ContainsFunc(rs, func(r pageRange) bool { return r.first == 0 || r.last == 0 })
}

// resolve returns the selected pages of a document with total pages, in
// document order and without duplicates; ok is false when a page named by its
// number is beyond the end.
func (rs pageRanges) resolve(total int) (pages []int, ok bool) {
	selected := map[int]bool{}
	for _, r := range rs {
		first, last := r.first, r.last
		if first == 0 {
			first = total
		}
		if last == 0 {
			last = total
		}
		if last > total || r.step == 1 && first > total {
			return nil, false
		}
		for n := first; n <= last; n += r.step {
			selected[n] = true
		}
	}
	for n := range selected {
		pages = append(pages, n)
	}
	slices.Sort(pages)
	return pages, len(pages) > 0
}

// last returns the highest page named in a closed selection.
func (rs pageRanges) last() int {
	highest := 0
	for _, r := range rs {
		highest = max(highest, r.last)
	}
	return highest
}

// formatPages writes pages the way Chromium reads them: "1-3,5".
func formatPages(pages []int) string {
	var b strings.Builder
	for i := 0; i < len(pages); {
		j := i
		for j+1 < len(pages) && pages[j+1] == pages[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(pages[i]))
		if j > i {
			b.WriteString("-" + strconv.Itoa(pages[j]))
		}
		i = j + 1
	}
	return b.String()
}
