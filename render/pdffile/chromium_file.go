package pdffile

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// ChromiumFile is a file as Chromium prints it: one table at its end, as text, that lists every object. Only the
// requested objects of such a file are read, a few kilobytes even of a large file.
type ChromiumFile struct {
	r       io.ReadSeeker
	size    int64
	start   int64 // of the table
	rows    int64 // where its first row is
	objects int64 // how many rows it has
	trailer Dict
}

const (
	// trailerWithin is the number of bytes at a file's end in which the trailer is searched. Chromium's takes about
	// 100.
	trailerWithin = 1024
	// rowSize is the length of an object's entry in a table.
	rowSize = 20
	// objectSize is the number of bytes of an object that are read at first, and maxObjectSize the maximum. Nodes
	// of page trees have about a dozen entries; only the document's title and names of destinations can be longer.
	objectSize, maxObjectSize = 4 << 10, 1 << 20
)

var (
	endPattern  = regexp.MustCompile(`startxref\s+(\d{1,15})\s+%%EOF\s*$`)
	headPattern = regexp.MustCompile(`^xref\s+0\s+(\d{1,9})[ \r]?\n`)
)

// ReadChromium reads the end of a file of that size. The error is ErrUnread if it is not as Chromium prints them, or
// encrypted, or that of reading.
func ReadChromium(r io.ReadSeeker, size int64) (*ChromiumFile, error) {
	f := &ChromiumFile{r: r, size: size}
	tail, err := f.read(max(0, size-trailerWithin), trailerWithin)
	if err != nil {
		return nil, err
	}

	end := endPattern.FindSubmatchIndex(tail)
	begin := bytes.LastIndex(tail, []byte("trailer"))
	if end == nil || begin < 0 || begin > end[0] {
		return nil, ErrUnread
	}

	p := &parser{data: tail[:end[0]], at: begin}
	p.keyword("trailer")
	value, err := p.value(0)
	f.trailer, _ = value.(Dict)
	if err != nil || f.trailer == nil || !p.ended() || f.trailer["/Encrypt"] != nil {
		return nil, ErrUnread
	}

	err = f.readHead(string(tail[end[2]:end[3]]))
	return f, err
}

// readHead reads the first line of the table, which has one section.
func (f *ChromiumFile) readHead(start string) (err error) {
	const longest = 64
	if f.start, err = strconv.ParseInt(start, 10, 64); err != nil {
		return ErrUnread
	}

	head, err := f.read(f.start, longest)
	if err != nil {
		return err
	}

	found := headPattern.FindSubmatch(head)
	if found == nil {
		return ErrUnread
	}
	if f.objects, err = strconv.ParseInt(string(found[1]), 10, 64); err != nil || f.trailer["/Size"] != float64(f.objects) {
		return ErrUnread
	}

	f.rows = f.start + int64(len(found[0]))
	return nil
}

// dict reads an object that is a dictionary.
func (f *ChromiumFile) dict(ref string) (Dict, error) {
	number, generation, ok := splitReference(ref)
	if !ok || int64(number) >= f.objects {
		return nil, ErrUnread
	}

	row, err := f.read(f.rows+int64(number)*rowSize, rowSize)
	if err != nil {
		return nil, err
	}

	p := &parser{data: row}
	offset, err1 := p.integer()
	used, err2 := p.integer()
	if err1 != nil || err2 != nil || used != generation || !p.keyword("n") {
		return nil, ErrUnread
	}

	for window := int64(objectSize); ; window *= 4 {
		text, err := f.read(int64(offset), min(window, maxObjectSize))
		if err != nil {
			return nil, err
		}
		p := &parser{data: text}
		if !p.opens(number, generation) {
			return nil, ErrUnread
		}

		value, err := p.value(0)
		entries, ok := value.(Dict)
		switch {
		case err == nil && ok && p.keyword("endobj"):
			return entries, nil
		case window >= maxObjectSize || int64(len(text)) < window:
			return nil, ErrUnread
		}
	}
}

// Pages returns the number of pages of the document.
func (f *ChromiumFile) Pages() (int, error) {
	catalog, err := f.dict(Reference(f.trailer["/Root"]))
	if err != nil {
		return 0, err
	}

	tree, err := f.dict(Reference(catalog["/Pages"]))
	if err != nil {
		return 0, err
	}

	count, ok := tree["/Count"].(float64)
	if !ok || count < 1 || count > maxObjects || count != float64(int(count)) {
		return 0, ErrUnread
	}
	return int(count), nil
}

// Info reads the document information, which has nothing but strings in it.
func (f *ChromiumFile) Info() (Dict, error) {
	entries, err := f.dict(Reference(f.trailer["/Info"]))
	if err != nil {
		return nil, err
	}
	for _, v := range entries {
		if text, _ := v.(string); len(text) < 2 || text[:2] != "b:" {
			return nil, ErrUnread
		}
	}
	return entries, nil
}

// setInfo returns the bytes to append to the file so that it has this information.
func (f *ChromiumFile) setInfo(entries Dict) []byte {
	info := Reference(f.trailer["/Info"])
	u := &Update{changed: map[string]any{info: entries}, next: int(f.objects)}
	return u.section(int(f.size), Dict{"/Root": f.trailer["/Root"], "/Info": info, "/Prev": int(f.start)})
}

// read returns the bytes from an offset on, at most n of them.
func (f *ChromiumFile) read(offset, n int64) ([]byte, error) {
	if offset < 0 || offset >= f.size {
		return nil, ErrUnread
	}
	if _, err := f.r.Seek(offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("pdffile: %w", err)
	}
	data := make([]byte, min(n, f.size-offset))
	if _, err := io.ReadFull(f.r, data); err != nil {
		return nil, fmt.Errorf("pdffile: %w", err)
	}
	return data, nil
}

// NewUpdate returns an update of the file without changes, for Append.
func (f *ChromiumFile) NewUpdate() *Update {
	return &Update{changed: map[string]any{}, next: int(f.objects)}
}

// root returns the reference of the catalog.
func (f *ChromiumFile) root() string { return Reference(f.trailer["/Root"]) }

// Append returns the bytes to append to the file for an update. The whole table is among them, so that the file is
// again as Chromium prints them.
func (f *ChromiumFile) Append(u *Update) ([]byte, error) {
	table, err := f.read(f.rows, f.objects*rowSize)
	if err != nil {
		return nil, err
	}
	if int64(len(table)) != f.objects*rowSize {
		return nil, ErrUnread
	}

	table = append(table, make([]byte, (u.next-int(f.objects))*rowSize)...)
	out := []byte("\n")
	for _, ref := range slices.SortedFunc(maps.Keys(u.changed), compareReferences) {
		number, generation, ok := splitReference(ref)
		if !ok || number >= u.next {
			return nil, ErrUnread
		}
		copy(table[number*rowSize:], fmt.Appendf(nil, "%010d %05d n \n", f.size+int64(len(out)), generation))
		out = fmt.Appendf(out, "%d %d obj\n", number, generation)
		out = append(appendValue(out, u.changed[ref]), "\nendobj\n"...)
	}

	trailer := maps.Clone(f.trailer)
	trailer["/Size"] = u.next
	start := f.size + int64(len(out))
	out = append(fmt.Appendf(out, "xref\n0 %d\n", u.next), table...)
	out = appendValue(append(out, "trailer "...), trailer)
	return fmt.Appendf(out, "\nstartxref\n%d\n%%%%EOF\n", start), nil
}
