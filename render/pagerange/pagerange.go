// Package pagerange reads page selections such as "1-3,5", "7-", "-3", "even", "odd" and "last". All parameters
// with pages use this grammar.
package pagerange

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Syntax describes the grammar in a few words, for messages.
const Syntax = "pages and ranges separated by commas, such as 1-3,5, 7- (to the end), " +
	"-3 (the first three), even, odd or last"

// Pattern is the grammar as a regular expression. It accepts reversed ranges, which Parse does not.
const Pattern = `^\s*` + partPattern + `(\s*,\s*` + partPattern + `)*\s*$`

const (
	pagePattern = `0*([1-9][0-9]{0,5}|1000000)`
	partPattern = `(even|odd|last|` + pagePattern + `(\s*-(\s*` + pagePattern + `)?)?|-\s*` + pagePattern + `)`
)

// maxLength bounds an expression in bytes: two thousand page numbers, which a
// request may list, fit in. Its schema allows less to a text, since each part of
// one may mean a whole document.
const maxLength = 16_000

// maxPage is the largest page number an expression may name; it only keeps
// arithmetic far from overflow.
const maxPage = 1_000_000

// errSyntax is the error of every expression that Parse refuses. The error that wraps it
// gives the reason, in words fit for the expression's author.
var errSyntax = errors.New("not a page selection")

// BeyondError means that a selection names pages that the document lacks, or
// selects none of those it has.
type BeyondError struct {
	Pages int // how many pages the document has
}

func (e *BeyondError) Error() string {
	if e.Pages == 1 {
		return "the document has only 1 page"
	}
	return fmt.Sprintf("the document has %d pages", e.Pages)
}

// Selection is a parsed expression.
type Selection []span

// span is every step-th page from first to last, counted from 1. Zero means the document's last page.
type span struct{ first, last, step int }

// Parse reads an expression. Its error wraps ErrSyntax.
func Parse(expr string) (Selection, error) {
	if strings.TrimSpace(expr) == "" {
		return nil, syntaxError("is empty")
	}
	if len(expr) > maxLength {
		return nil, syntaxError("is longer than %d characters", maxLength)
	}

	var selection Selection
	for part := range strings.SplitSeq(expr, ",") {
		s, err := parsePart(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		selection = append(selection, s)
	}

	return selection, nil
}

func parsePart(part string) (span, error) {
	switch part {
	case "":
		return span{}, syntaxError("has an empty part between commas")
	case "even":
		return span{2, 0, 2}, nil
	case "odd":
		return span{1, 0, 2}, nil
	case "last":
		return span{0, 0, 1}, nil
	}

	low, high, isRange := strings.Cut(part, "-")
	if !isRange {
		page, err := parsePage(part)
		return span{page, page, 1}, err
	}
	return parseRange(strings.TrimSpace(low), strings.TrimSpace(high))
}

func parseRange(low, high string) (span, error) {
	s := span{first: 1, step: 1}
	var err error
	if low == "" && high == "" {
		return s, syntaxError(`has a "-" without a page`)
	}

	if low != "" {
		if s.first, err = parsePage(low); err != nil {
			return s, err
		}
	}

	if high != "" {
		if s.last, err = parsePage(high); err != nil {
			return s, err
		}
		if s.last < s.first {
			return s, syntaxError("has the range %d-%d, which is reversed", s.first, s.last)
		}
	}
	return s, nil
}

func parsePage(text string) (int, error) {
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, syntaxError("has a part that is not a page: %.20q", text)
		}
	}

	page, err := strconv.Atoi(text)
	switch {
	case err != nil || page > maxPage:
		return 0, syntaxError("has a page above %d", maxPage)
	case page == 0:
		return 0, syntaxError("has page 0, but pages start at 1")
	}
	return page, nil
}

func syntaxError(format string, args ...any) error {
	return &invalid{fmt.Sprintf(format, args...)}
}

// invalid is an errSyntax whose text continues the field's name.
type invalid struct{ text string }

func (e *invalid) Error() string        { return e.text }
func (e *invalid) Is(target error) bool { return target == errSyntax }

// Resolve returns the selected page numbers, from 1, in a document with a number of pages: in the order written,
// with duplicates. The error is a *BeyondError if the document is too short.
func (s Selection) Resolve(pages int) ([]int, error) {
	var numbers []int
	for _, part := range s {
		first, last := part.first, part.last
		if first == 0 {
			first = pages
		}
		if last == 0 {
			last = pages
		}

		// "even" of a one-page document starts beyond its end, which is allowed next to
		// other parts; every other step is 1.
		if last > pages || (first > pages && part.step == 1) || pages < 1 {
			return nil, &BeyondError{Pages: pages}
		}
		for page := first; page <= last; page += part.step {
			numbers = append(numbers, page)
		}
	}

	if len(numbers) == 0 {
		return nil, &BeyondError{Pages: pages}
	}
	return numbers, nil
}

// Last returns the highest page that the selection names. named is false when
// a part of it depends on how many pages the document has.
func (s Selection) Last() (page int, named bool) {
	for _, part := range s {
		if part.first == 0 || part.last == 0 {
			return 0, false
		}
		page = max(page, part.last)
	}
	return page, true
}
