package chrome

import (
	"slices"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/render/pagerange"
)

// pageRanges is a parsed selection such as "1-3,5,last".
type pageRanges pagerange.Selection

// parsePageRanges returns nil for the empty selection, which means all pages,
// and a *PageRangeError for a malformed one.
func parsePageRanges(s string) (pageRanges, error) {
	if s == "" {
		return nil, nil
	}
	selection, err := pagerange.Parse(s)
	if err != nil {
		return nil, &PageRangeError{Ranges: s}
	}
	return pageRanges(selection), nil
}

// resolve returns the selected pages of a document with total pages, in
// document order and without duplicates, which is how Chromium prints them; ok
// is false when a page named by its number is beyond the end.
func (rs pageRanges) resolve(total int) (pages []int, ok bool) {
	pages, err := pagerange.Selection(rs).Resolve(total)
	slices.Sort(pages)
	return slices.Compact(pages), err == nil
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
