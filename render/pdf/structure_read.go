package pdf

import "math"

// What qpdf says of a document's pages and its outline, the document often says
// itself: where its table is right and its trees are as the standard has them,
// they are read here, in a tenth of the time. Whatever is out of the ordinary is
// errUnread, and left to qpdf, which knows how to mend it.

// readSelf reads where the document's objects are from the document alone.
func (d *document) readSelf() (*objects, error) {
	content, err := d.content()
	if err != nil {
		return nil, err
	}
	return readWhole(content)
}

// readWhole reads a file's tables, if they are right.
func readWhole(content []byte) (*objects, error) {
	o, err := readTable(content)
	if err != nil || !o.whole() || !o.sound() {
		return nil, errUnread
	}
	return o, nil
}

// plainValue returns an object that is a dictionary and stands in the file, or in
// a stream, as it should, up to its end; nil where it does not, or is something
// else.
func (o *objects) plainValue(ref string) dict {
	number, generation, ok := splitReference(ref)
	at, there := o.places[number]
	if !ok || !there || at.generation != generation {
		return nil
	}
	p, ok := o.open(number, at)
	if !ok {
		return nil
	}
	value, err := p.value(0)
	if at.stream == 0 {
		ok = p.keyword("endobj")
	} else {
		ok = p.ended()
	}
	if err != nil || !ok {
		return nil
	}
	entries, _ := value.(dict)
	return entries
}

// structure reads the pages and the outline.
func (o *objects) structure() (*structure, error) {
	pages, err := o.pages()
	if err != nil {
		return nil, err
	}
	s := &structure{Pages: make([]pageObject, len(pages)), objects: o}
	numbers := make(map[string]int, len(pages))
	for i, page := range pages {
		s.Pages[i].Object = page.reference
		numbers[page.reference] = i + 1
	}
	top := o.value(o.root())["/Outlines"]
	if top == nil {
		return s, nil
	}
	entries := o.plainValue(reference(top))
	if entries == nil {
		return nil, errUnread
	}
	r := &outlineReader{objects: o, numbers: numbers, seen: map[string]bool{}}
	s.Outlines, err = r.items(entries["/First"], 1)
	return s, err
}

// treePage is a page as it hangs in the tree of pages.
type treePage struct {
	reference string
	// entries are the page's own and those that it inherits.
	entries dict
}

// inherited are the entries of a page that may stand above it in the tree.
func inherited() []string { return []string{"/MediaBox", "/CropBox", "/Rotate"} }

// pages reads the tree of pages, in their order. Every page is in it once.
func (o *objects) pages() ([]treePage, error) {
	root := reference(o.plainValue(o.root())["/Pages"])
	r := &pageReader{objects: o, seen: map[string]bool{}}
	top := o.plainValue(root)
	if top["/Parent"] != nil || top["/Kids"] == nil {
		return nil, errUnread
	}
	if err := r.add(root, dict{}, 0); err != nil {
		return nil, err
	}
	if count, _ := top["/Count"].(float64); int(count) != len(r.pages) || len(r.pages) == 0 {
		return nil, errUnread
	}
	return r.pages, nil
}

type pageReader struct {
	*objects
	pages []treePage
	seen  map[string]bool // nodes and pages, which may not be there twice
}

// add adds the pages at and below a node, which inherit what is above it.
func (r *pageReader) add(ref string, above dict, depth int) error {
	node := r.plainValue(ref)
	if node == nil || r.seen[ref] || depth > maxTreeDepth || len(r.pages) > maxInputPages {
		return errUnread
	}
	r.seen[ref] = true
	for _, key := range inherited() {
		if node[key] == nil && above[key] != nil {
			node[key] = above[key]
		}
	}
	if node["/Kids"] == nil {
		if node["/Type"] != "/Page" {
			return errUnread
		}
		r.pages = append(r.pages, treePage{ref, node})
		return nil
	}
	kids, ok := node["/Kids"].([]any)
	if !ok || node["/Type"] != "/Pages" {
		return errUnread
	}
	for _, kid := range kids {
		if err := r.add(reference(kid), node, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// maxReadOutline is how many entries of an outline are read here. All of them
// are in memory at a time.
const maxReadOutline = 50_000

type outlineReader struct {
	*objects
	numbers map[string]int  // of pages, from 1
	seen    map[string]bool // entries, which may not be there twice
}

// items reads an entry and those that follow it, with those below.
func (r *outlineReader) items(first any, depth int) (items []outlineItem, err error) {
	for next := first; next != nil; {
		ref := reference(next)
		entry := r.plainValue(ref)
		if entry == nil || r.seen[ref] || depth > maxTreeDepth || len(r.seen) >= maxReadOutline {
			return nil, errUnread
		}
		r.seen[ref] = true
		item := outlineItem{Object: ref}
		if item.Open, err = isOpen(entry["/Count"]); err != nil {
			return nil, err
		}
		if item.Dest, item.Page, err = r.dest(entry); err != nil {
			return nil, err
		}
		if item.Kids, err = r.items(entry["/First"], depth+1); err != nil {
			return nil, err
		}
		items, next = append(items, item), entry["/Next"]
	}
	return items, nil
}

// isOpen tells by an entry's count whether the entries below it show.
func isOpen(count any) (bool, error) {
	if count == nil {
		return true, nil
	}
	n, ok := count.(float64)
	if !ok || n != math.Trunc(n) {
		return false, errUnread
	}
	return n >= 0, nil
}

// dest returns where an entry leads, and the number of that page; nil where it
// leads to none. Names of destinations are left to qpdf.
func (r *outlineReader) dest(entry dict) (dest any, page *int, err error) {
	dest = entry["/Dest"]
	if dest == nil {
		if action := r.entry(entry["/A"]); action["/S"] == "/GoTo" {
			dest = action["/D"]
		}
	}
	if ref := reference(dest); ref != "" {
		if dest, _, err = r.read(ref); err != nil {
			return nil, nil, err
		}
	}
	if dest == nil {
		return nil, nil, nil
	}
	view, ok := dest.([]any)
	if !ok {
		return nil, nil, errUnread
	}
	if len(view) > 0 {
		if number, known := r.numbers[reference(view[0])]; known {
			page = &number
		}
	}
	return view, page, nil
}
