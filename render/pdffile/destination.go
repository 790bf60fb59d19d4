package pdffile

import "strings"

// Destination is a place in a document that has a name.
type Destination struct {
	Name string
	Page int // from 1
	// X and Y are the distance from the left and from the top, where the page's sides are 1.
	X, Y float64
}

// Destinations returns the destinations on the first pages whose names have the prefix.
// Others, and invalid ones, are left out.
func (f *Printed) Destinations(prefix string, pages int) ([]Destination, error) {
	catalog, err := f.Dict(Reference(f.trailer["/Root"]))
	if err != nil {
		return nil, err
	}
	if catalog["/Dests"] == nil {
		return nil, nil
	}
	names, err := f.Dict(Reference(catalog["/Dests"]))
	if err != nil {
		return nil, err
	}
	tree := &printedPages{Printed: f, most: pages, number: map[string]int{}}
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
		list = append(list, Destination{Name: name, Page: number, X: (x - box[0]) / (box[2] - box[0]), Y: (box[3] - y) / (box[3] - box[1])})
	}
	return list, nil
}

// printedPages are the first pages of a document, and how large they are.
type printedPages struct {
	*Printed
	most   int
	number map[string]int // by reference, from 1
	boxes  [][4]float64
}

// add adds the pages at and below a node, which inherit its box.
func (r *printedPages) add(ref string, box any, depth int) error {
	if len(r.boxes) >= r.most {
		return nil
	}
	node, err := r.Dict(ref)
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
