package pdffile

import "math"

// OutlineItem is one entry of a document's outline, as qpdf's JSON has it too.
type OutlineItem struct {
	Object string        `json:"object"`
	Title  string        `json:"title"` // read by qpdf only
	Dest   any           `json:"dest"`
	Page   *int          `json:"destpageposfrom1"`
	Open   bool          `json:"open"`
	Kids   []OutlineItem `json:"kids"`
}

// Outline reads the document's outline, whose entries lead to these pages.
func (f *File) Outline(pages []Page) ([]OutlineItem, error) {
	top := f.Catalog()["/Outlines"]
	if top == nil {
		return nil, nil
	}

	entries := f.plainDict(Reference(top))
	if entries == nil {
		return nil, ErrUnread
	}

	numbers := make(map[string]int, len(pages))
	for i, page := range pages {
		numbers[page.Ref] = i + 1
	}

	r := &outlineReader{File: f, numbers: numbers, seen: map[string]bool{}}
	return r.items(entries["/First"], 1)
}

// maxReadOutline is the maximum number of entries of an outline. All of them are in memory at a time.
const maxReadOutline = 50_000

type outlineReader struct {
	*File
	numbers map[string]int  // of pages, from 1
	seen    map[string]bool // entries, which may not be there twice
}

// items reads an entry and those that follow it, with those below.
func (r *outlineReader) items(first any, depth int) (items []OutlineItem, err error) {
	for next := first; next != nil; {
		ref := Reference(next)
		entry := r.plainDict(ref)
		if entry == nil || r.seen[ref] || depth > MaxDepth || len(r.seen) >= maxReadOutline {
			return nil, ErrUnread
		}
		r.seen[ref] = true

		item := OutlineItem{Object: ref}
		if item.Open, err = isOpen(entry["/Count"]); err != nil {
			return nil, err
		}
		if item.Dest, item.Page, err = r.dest(entry); err != nil {
			return nil, err
		}
		if item.Kids, err = r.items(entry["/First"], depth+1); err != nil {
			return nil, err
		}

		items = append(items, item)
		next = entry["/Next"]
	}
	return items, nil
}

// isOpen reports, by an entry's count, whether the entries below it are shown.
func isOpen(count any) (bool, error) {
	if count == nil {
		return true, nil
	}
	n, ok := count.(float64)
	if !ok || n != math.Trunc(n) {
		return false, ErrUnread
	}
	return n >= 0, nil
}

// dest returns the destination of an entry, and the number of its page; nil if it has none. Names of destinations
// are left to qpdf.
func (r *outlineReader) dest(entry Dict) (dest any, page *int, err error) {
	dest = entry["/Dest"]
	if dest == nil {
		if action := r.Entry(entry["/A"]); action["/S"] == "/GoTo" {
			dest = action["/D"]
		}
	}

	if ref := Reference(dest); ref != "" {
		if dest, _, err = r.Object(ref); err != nil {
			return nil, nil, err
		}
	}
	if dest == nil {
		return nil, nil, nil
	}

	view, ok := dest.([]any)
	if !ok {
		return nil, nil, ErrUnread
	}
	if len(view) > 0 {
		if number, known := r.numbers[Reference(view[0])]; known {
			page = &number
		}
	}

	return view, page, nil
}
