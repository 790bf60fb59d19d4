package chrome

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
)

var errNotSkia = errors.New("chrome: the printed file is not laid out as Chromium writes it")

// The parts of a file as Skia writes it: one classic cross-reference table, and
// the catalog and the page tree as plain objects. Only Chromium's own output is
// read with these, never a file that somebody else made.
var (
	startXref = regexp.MustCompile(`startxref\s+(\d+)\s+%%EOF\s*$`)
	rootRef   = regexp.MustCompile(`/Root\s+(\d+)\s+0\s+R`)
	pagesRef  = regexp.MustCompile(`/Pages\s+(\d+)\s+0\s+R`)
	pageCount = regexp.MustCompile(`/Count\s+(\d+)`)
	xrefHead  = regexp.MustCompile(`^xref\s+0\s+(\d+)\s*?\n`)
)

// skiaFile reads the few objects that lead to the number of pages.
type skiaFile struct {
	r     io.ReadSeeker
	size  int64
	table int64 // offset of the first entry of the cross-reference table
}

// countPages returns the number of pages of a PDF printed by Chromium.
func countPages(r io.ReadSeeker, size int64) (int, error) {
	f := skiaFile{r: r, size: size}
	tail, err := f.read(max(0, size-1024), 1024)
	if err != nil {
		return 0, err
	}
	start, err := number(startXref, tail)
	if err != nil {
		return 0, err
	}
	head, err := f.read(start, 64)
	if err != nil {
		return 0, err
	}
	loc := xrefHead.FindIndex(head)
	if loc == nil {
		return 0, errNotSkia
	}
	f.table = start + int64(loc[1])
	root, err := number(rootRef, tail)
	if err != nil {
		return 0, err
	}
	pages, err := f.numberIn(root, pagesRef)
	if err != nil {
		return 0, err
	}
	count, err := f.numberIn(pages, pageCount)
	return int(count), err
}

// numberIn finds an object and returns the number that re captures in it.
func (f skiaFile) numberIn(object int64, re *regexp.Regexp) (int64, error) {
	const entrySize = 20
	entry, err := f.read(f.table+object*entrySize, entrySize)
	if err != nil {
		return 0, err
	}
	if len(entry) < 10 {
		return 0, errNotSkia
	}
	offset, err := strconv.ParseInt(string(entry[:10]), 10, 64)
	if err != nil {
		return 0, errNotSkia
	}
	// A page tree's node lists its children, at most a few dozen, before or
	// after the count; a catalog may hold an outline and viewer settings.
	body, err := f.read(offset, 4096)
	if err != nil {
		return 0, err
	}
	return number(re, body)
}

// read returns up to n bytes from an offset.
func (f skiaFile) read(offset, n int64) ([]byte, error) {
	if offset < 0 || offset >= f.size {
		return nil, errNotSkia
	}
	if _, err := f.r.Seek(offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("chrome: count pages: %w", err)
	}
	buf := make([]byte, min(n, f.size-offset))
	if _, err := io.ReadFull(f.r, buf); err != nil {
		return nil, fmt.Errorf("chrome: count pages: %w", err)
	}
	return buf, nil
}

func number(re *regexp.Regexp, data []byte) (int64, error) {
	m := re.FindSubmatch(data)
	if m == nil {
		return 0, errNotSkia
	}
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		return 0, errNotSkia
	}
	return n, nil
}
