package pdffile

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// ReadListed reads a file that qpdf had to repair in memory. said is qpdf's output for the
// options showXref and showObject=trailer: the places of its objects, one a line, and its
// trailer.
func ReadListed(said, content []byte) (*File, error) {
	f := newFile(content)
	for line := range bytes.Lines(said) {
		number, at, ok := parseXrefEntry(string(line))
		if !ok {
			break
		}
		f.add(number, at)
		said = said[len(line):]
	}

	trailer, err := (&parser{data: said}).value(0)
	if err != nil {
		return nil, fmt.Errorf("trailer: %w", err)
	}
	f.trailer, _ = trailer.(Dict)
	if size, ok := f.trailer["/Size"].(float64); ok {
		f.highest = max(f.highest, int(min(size, maxObjects))-1)
	}

	f.origin = headerOf(content)
	return f, nil
}

// parseXrefEntry reads a line of qpdf's cross-reference table, such as
// "3/0: uncompressed; offset = 15" or "4/0: compressed; stream = 7, index = 2".
func parseXrefEntry(line string) (number int, p xrefEntry, ok bool) {
	id, where, _ := strings.Cut(strings.TrimSpace(line), ": ")
	first, second, _ := strings.Cut(id, "/")
	number, err := strconv.Atoi(first)
	if err != nil {
		return 0, p, false
	}
	if p.generation, err = strconv.Atoi(second); err != nil {
		return 0, p, false
	}

	if offset, found := strings.CutPrefix(where, "uncompressed; offset = "); found {
		p.offset, err = strconv.Atoi(offset)
		return number, p, err == nil
	}

	stream, index, _ := strings.Cut(strings.TrimPrefix(where, "compressed; stream = "), ", index = ")
	if p.stream, err = strconv.Atoi(stream); err != nil {
		return 0, p, false
	}
	p.index, err = strconv.Atoi(index)
	return number, p, err == nil
}
