package pdffile

import "iter"

// Page is a page as it hangs in the tree of pages.
type Page struct {
	Ref string
	// Entries are the page's own and those that it inherits.
	Entries Dict
}

// inherited returns the entries of a page that may be inherited in the tree.
func inherited() []string { return []string{"/MediaBox", "/CropBox", "/Rotate"} }

// Pages reads the tree of pages, in their order. Every page is in it once. More
// than most of them are ErrUnread.
func (f *File) Pages(maximum int) ([]Page, error) {
	root := Reference(f.plainDict(f.Root())["/Pages"])
	r := &pageReader{File: f, maximum: maximum, seen: map[string]bool{}}
	top := f.plainDict(root)
	if top["/Parent"] != nil || top["/Kids"] == nil {
		return nil, ErrUnread
	}

	if err := r.add(root, Dict{}, 0); err != nil {
		return nil, err
	}
	if count, _ := top["/Count"].(float64); int(count) != len(r.pages) || len(r.pages) == 0 {
		return nil, ErrUnread
	}

	return r.pages, nil
}

type pageReader struct {
	*File
	pages   []Page
	maximum int
	seen    map[string]bool // nodes and pages, which may not be there twice
}

// add adds the pages at and below a node, which inherit entries of its ancestors.
func (r *pageReader) add(ref string, above Dict, depth int) error {
	node := r.plainDict(ref)
	if node == nil || r.seen[ref] || depth > MaxDepth || len(r.pages) > r.maximum {
		return ErrUnread
	}

	r.seen[ref] = true
	for _, key := range inherited() {
		if node[key] == nil && above[key] != nil {
			node[key] = above[key]
		}
	}

	if node["/Kids"] == nil {
		if node["/Type"] != "/Page" {
			return ErrUnread
		}
		r.pages = append(r.pages, Page{ref, node})
		return nil
	}

	kids, ok := node["/Kids"].([]any)
	if !ok || node["/Type"] != "/Pages" {
		return ErrUnread
	}
	for _, kid := range kids {
		if err := r.add(Reference(kid), node, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// DeclaredPages returns the number of pages that the document declares, without counting them; 0 if it declares
// none.
func (f *File) DeclaredPages() int {
	count, _ := f.Entry(f.Catalog()["/Pages"])["/Count"].(float64)
	if count < 1 || count > maxObjects {
		return 0
	}
	return int(count)
}

// FlatPages returns the references of the pages of a document whose tree has no
// branches, as qpdf writes them.
func (f *File) FlatPages() ([]string, error) {
	tree := f.Entry(f.Catalog()["/Pages"])
	kids, _ := tree["/Kids"].([]any)
	if count, ok := tree["/Count"].(float64); !ok || int(count) != len(kids) {
		return nil, ErrUnread
	}
	pages := make([]string, len(kids))
	for i, kid := range kids {
		pages[i] = Reference(kid)
	}
	return pages, nil
}

// TreeEntries returns the keys and values of a tree of names ("/Names") or numbers ("/Nums"), in the order of its
// nodes. A node that is there twice is read once.
func (f *File) TreeEntries(root any, list string) iter.Seq2[any, any] {
	return func(yield func(any, any) bool) {
		(&treeReader{f, list, map[string]bool{}, yield}).read(root, 0)
	}
}

type treeReader struct {
	*File

	list  string
	seen  map[string]bool // nodes
	yield func(key, value any) bool
}

// read returns false when no more entries are wanted.
func (r *treeReader) read(node any, depth int) bool {
	ref := Reference(node)
	if node == nil || depth > MaxDepth || r.seen[ref] {
		return true
	}
	r.seen[ref] = ref != ""

	entries := r.Entry(node)
	pairs, _ := r.Target(entries[r.list]).([]any)
	for i := 0; i+1 < len(pairs); i += 2 {
		if !r.yield(pairs[i], pairs[i+1]) {
			return false
		}
	}

	kids, _ := r.Target(entries["/Kids"]).([]any)
	for _, kid := range kids {
		if !r.read(kid, depth+1) {
			return false
		}
	}
	return true
}
