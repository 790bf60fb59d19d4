package pdffile

import (
	"maps"
	"slices"
	"strings"
)

// Destination is a place in a document that has a name.
type Destination struct {
	Name string
	Page int // from 1
	// X and Y are the distance from the left and from the top, where the page's sides are 1.
	X, Y float64
	// View is the destination in the file's own form, as the entry /Dest of a bookmark has it.
	View any
}

// Destinations returns the destinations on the first pages whose names have the prefix.
// Others, and invalid ones, are left out.
func (f *ChromiumFile) Destinations(prefix string, pages int) ([]Destination, error) {
	catalog, err := f.dict(Reference(f.trailer["/Root"]))
	if err != nil {
		return nil, err
	}
	if catalog["/Dests"] == nil {
		return nil, nil
	}

	names, err := f.dict(Reference(catalog["/Dests"]))
	if err != nil {
		return nil, err
	}

	tree := &chromiumPages{ChromiumFile: f, maximum: pages, number: map[string]int{}}
	if err := tree.add(Reference(catalog["/Pages"]), nil, 0); err != nil {
		return nil, err
	}

	var list []Destination
	for name, value := range names {
		name = strings.TrimPrefix(name, "/")
		place, _ := value.([]any)
		if !strings.HasPrefix(name, prefix) || len(place) < 4 || place[1] != "/XYZ" {
			continue
		}
		number := tree.number[Reference(place[0])]
		x, isX := place[2].(float64)
		y, isY := place[3].(float64)
		if number == 0 || !isX || !isY {
			continue
		}

		box := tree.boxes[number-1]
		list = append(list, Destination{
			Name: name, Page: number, View: place,
			X: (x - box[0]) / (box[2] - box[0]), Y: (box[3] - y) / (box[3] - box[1]),
		})
	}

	return list, nil
}

// chromiumPages are the first pages of a document, and how large they are.
type chromiumPages struct {
	*ChromiumFile
	maximum int
	number  map[string]int // by reference, from 1
	boxes   [][4]float64
}

// add adds the pages at and below a node, which inherit its box.
func (r *chromiumPages) add(ref string, box any, depth int) error {
	if len(r.boxes) >= r.maximum {
		return nil
	}

	node, err := r.dict(ref)
	if err != nil || depth > MaxDepth {
		return ErrUnread
	}
	if node["/MediaBox"] != nil {
		box = node["/MediaBox"]
	}

	kids, isNode := node["/Kids"].([]any)
	if !isNode {
		sides := [4]float64{}
		list, _ := box.([]any)
		for i := range sides {
			if len(list) == len(sides) {
				sides[i], _ = list[i].(float64)
			}
		}
		if sides[2] <= sides[0] || sides[3] <= sides[1] {
			return ErrUnread
		}
		r.boxes = append(r.boxes, sides)
		r.number[ref] = len(r.boxes)
		return nil
	}

	for _, kid := range kids {
		if err := r.add(Reference(kid), box, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// Bookmark is an entry of a document's outline.
type Bookmark struct {
	Title  string
	Level  int // from 1; an entry below those of a lower level that precede it
	Closed bool
	View   any // of a Destination
}

// SetBookmarks gives the document an outline instead of the one that it has, and removes the names of destinations with
// the prefix. It returns the bytes to append to the file.
func (f *ChromiumFile) SetBookmarks(list []Bookmark, prefix string) ([]byte, error) {
	catalog, err := f.dict(f.root())
	if err != nil {
		return nil, err
	}

	u := f.NewUpdate()
	if ref := Reference(catalog["/Dests"]); ref != "" {
		names, err := f.dict(ref)
		if err != nil {
			return nil, err
		}
		maps.DeleteFunc(names, func(name string, _ any) bool { return strings.HasPrefix(name, "/"+prefix) })
		u.Set(ref, names)
	}

	if len(list) > 0 {
		catalog["/Outlines"] = u.outline(list)
		u.Set(f.root(), catalog)
	}
	return f.Append(u)
}

// bookmarkNode is an entry of an outline while it is made.
type bookmarkNode struct {
	ref     string
	level   int
	closed  bool
	shown   int // number of entries below that a reader shows at first
	entries Dict
	kids    []*bookmarkNode
}

// outline adds an outline, and returns its reference.
func (u *Update) outline(list []Bookmark) string {
	top := &bookmarkNode{ref: u.Reserve(), entries: Dict{"/Type": "/Outlines"}}
	path := []*bookmarkNode{top}
	all := []*bookmarkNode{top}

	for _, b := range list {
		for len(path) > 1 && (path[len(path)-1].level >= b.Level || len(path) > MaxDepth/2) {
			path = path[:len(path)-1]
		}
		node := &bookmarkNode{ref: u.Reserve(), level: b.Level, closed: b.Closed, entries: Dict{"/Title": "u:" + b.Title, "/Dest": b.View}}
		above := path[len(path)-1]
		above.kids = append(above.kids, node)
		path, all = append(path, node), append(all, node)
	}

	// Those below come after those above.
	for _, node := range slices.Backward(all) {
		node.shown = len(node.kids)
		for i, kid := range node.kids {
			kid.entries["/Parent"] = node.ref
			if i > 0 {
				kid.entries["/Prev"] = node.kids[i-1].ref
				node.kids[i-1].entries["/Next"] = kid.ref
			}
			if !kid.closed {
				node.shown += kid.shown
			}
		}
		if len(node.kids) > 0 {
			node.entries["/First"], node.entries["/Last"] = node.kids[0].ref, node.kids[len(node.kids)-1].ref
			node.entries["/Count"] = node.shown
			if node.closed {
				node.entries["/Count"] = -node.shown
			}
		}
	}

	for _, node := range all {
		u.Set(node.ref, node.entries)
	}
	return top.ref
}
