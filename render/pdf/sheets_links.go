package pdf

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// placement is a page on a sheet.
type placement struct {
	sheet string // reference
	// move leads from points of the page as displayed, from its bottom left, to those of the sheet.
	move job.Affine
}

// placements returns where the sheets of a document draw pages, in the order of their places.
func placements(f *pdffile.File, sheets []pdffile.Page) (placed []placement, err error) {
	for _, sheet := range sheets {
		content, err := sheetContent(f, sheet.Entries["/Contents"])
		if err != nil {
			return nil, err
		}

		state := job.Affine{1, 0, 0, 1, 0, 0}
		var saved []job.Affine
		pdffile.ReadContent(content, func(op pdffile.Operation) {
			switch numbers := job.NumbersOf(op.Operands); {
			case op.Operator == "q":
				saved = append(saved, state)
			case op.Operator == "Q" && len(saved) > 0:
				state, saved = saved[len(saved)-1], saved[:len(saved)-1]
			case op.Operator == "cm" && len(numbers) == len(state):
				state = job.Affine(numbers).Then(state)
			case op.Operator == "Do":
				placed = append(placed, placement{sheet.Ref, state})
			}
		})
	}

	return placed, nil
}

// sheetContent returns the content of a page that pdfcpu has written.
func sheetContent(f *pdffile.File, v any) (content []byte, err error) {
	list, several := f.Target(v).([]any)
	if !several {
		list = []any{v}
	}

	for _, item := range list {
		stream, ok := f.Stream(pdffile.Reference(item))
		if !ok {
			return nil, errContent
		}
		plain, err := f.Plain(stream)
		if err != nil {
			return nil, err
		}
		content = append(append(content, plain...), '\n')
	}

	return content, nil
}

// sheetLinks carries links, bookmarks and named destinations of pages to the sheets that they are on.
type sheetLinks struct {
	source  *job.Structure
	dests   *dests
	changes *pdffile.Update
	graft   *pdffile.Graft
	// places are the placements of each page, by its number from 0.
	places map[int][]placement
	// lost is the number of links that lead nowhere on the sheets.
	lost int
}

// carryLinks adds the links of the source's pages to the sheets. places are the numbers of the placed pages, from 1,
// where 0 is an empty page. It returns the number of links that are lost.
func carryLinks(s *job.Structure, f *pdffile.File, sheets []pdffile.Page, changes *pdffile.Update, places []int) (lost int, err error) {
	placed, err := placements(f, sheets)
	if err != nil {
		return 0, err
	}

	if len(placed) < len(places) { // Empty pages are not drawn.
		places = slices.DeleteFunc(slices.Clone(places), func(n int) bool { return n == 0 })
	}
	if len(placed) != len(places) {
		return 0, fmt.Errorf("%d pages on sheets, want %d", len(placed), len(places))
	}

	c := &sheetLinks{source: s, dests: destsOf(s), changes: changes, graft: changes.NewGraft(s.File), places: map[int][]placement{}}
	for i, n := range places {
		if n > 0 {
			c.places[n-1] = append(c.places[n-1], placed[i])
		}
	}

	added := map[string][]any{}
	for i := range s.Pages {
		c.addLinks(i, added)
	}
	for sheet, links := range added {
		entries, _ := changes.Value(sheet).(pdffile.Dict)
		entries = pdffile.Without(entries)
		own, _ := f.Target(entries["/Annots"]).([]any)
		entries["/Annots"] = slices.Concat(own, links)
		changes.Set(sheet, entries)
	}

	catalog := pdffile.Without(f.Catalog())
	c.addNames(catalog)
	setOutline(changes, f.Root(), catalog, c.outline(outlineNodes(s, s.Outlines)))
	return c.lost, nil
}

// addLinks adds the links of a page, by the sheets that they are on.
func (c *sheetLinks) addLinks(page int, added map[string][]any) {
	entries := c.source.Dict(c.source.Pages[page].Object)
	shown := c.source.Paper(entries)
	list, _ := c.source.Target(entries["/Annots"]).([]any)

	for _, item := range list {
		link := c.source.Entry(item)
		rect, ok := c.source.Box(link["/Rect"])
		flags, _ := c.source.Target(link["/F"]).(float64)
		if _, seen := rect.And(shown.Box); c.source.Target(link["/Subtype"]) != "/Link" || !ok || !seen || int(flags)&pdffile.FlagHidden != 0 {
			continue
		}

		target := c.target(link)
		if target == nil {
			c.lost++
			continue
		}

		for _, key := range []string{"/C", "/BS", "/Border", "/H", "/Contents"} {
			if v := link[key]; v != nil {
				target[key] = c.graft.Copy(v)
			}
		}
		if target["/Border"] == nil && target["/BS"] == nil {
			target["/Border"] = []any{0, 0, 0}
		}

		for _, place := range c.places[page] {
			moved := pdffile.Without(target)
			at := job.Box(shown.Upright().Then(place.move).Around(rect[0], rect[1], rect[2], rect[3]))
			moved["/Type"], moved["/Subtype"], moved["/F"], moved["/Rect"] = "/Annot", "/Link", pdffile.FlagPrint, at.Array()
			ref := c.changes.Reserve()
			c.changes.Set(ref, moved)
			added[place.sheet] = append(added[place.sheet], ref)
		}
	}
}

// target returns where a link or a bookmark leads on the sheets, as entries of its dictionary; nil is nowhere.
func (c *sheetLinks) target(entries pdffile.Dict) pdffile.Dict {
	dest := entries["/Dest"]
	if action := c.source.Entry(entries["/A"]); dest == nil && action != nil {
		switch c.source.Target(action["/S"]) {
		case "/GoTo":
			dest = action["/D"]
		case "/URI", "/GoToR":
			return pdffile.Dict{"/A": c.graft.Copy(pdffile.Without(action, "/Next"))}
		}
	}

	if view := c.view(dest); view != nil {
		return pdffile.Dict{"/Dest": view}
	}
	return nil
}

// view returns a destination on the sheets; nil if its page is on none.
func (c *sheetLinks) view(dest any) []any {
	view := c.dests.array(dest)
	if name, ok := c.source.Target(dest).(string); ok && view == nil {
		view = c.dests.byName[name]
	}
	if len(view) == 0 {
		return nil
	}

	number, known := c.dests.numbers[pdffile.Reference(view[0])]
	if !known || len(c.places[number]) == 0 {
		return nil
	}

	shown := c.source.Paper(c.source.Dict(c.source.Pages[number].Object))
	left := shown.Box[0]
	top := shown.Box[3]
	numbers := job.Floats(c.source.Resolved(view[1:]))

	switch kind, _ := c.source.Target(view[1%len(view)]).(string); {
	case kind == "/XYZ" && len(numbers) > 2:
		if n, ok := c.source.Target(view[2]).(float64); ok {
			left = n
		}
		if n, ok := c.source.Target(view[3]).(float64); ok {
			top = n
		}
	case (kind == "/FitH" || kind == "/FitBH") && len(numbers) > 1:
		if n, ok := c.source.Target(view[2]).(float64); ok {
			top = n
		}
	case kind == "/FitR" && len(numbers) > 4:
		left = numbers[1]
		top = numbers[4]
	}

	place := c.places[number][0]
	x, y := shown.Upright().Then(place.move).At(left, top)
	return []any{place.sheet, "/XYZ", x, y, nil}
}

// outline returns bookmarks that lead to sheets.
func (c *sheetLinks) outline(nodes []outlineNode) (carried []outlineNode) {
	for _, node := range nodes {
		entry := c.target(node.entry)
		kids := c.outline(node.kids)
		if entry == nil && len(kids) == 0 {
			continue
		}
		if entry == nil {
			entry = pdffile.Dict{}
		}

		for _, key := range []string{"/Title", "/C", "/F"} {
			if v := node.entry[key]; v != nil {
				entry[key] = c.graft.Copy(v)
			}
		}

		carried = append(carried, outlineNode{entry: entry, open: node.open, kids: kids})
	}
	return carried
}

// addNames gives a catalog the named destinations: strings in a tree, and names in a dictionary.
func (c *sheetLinks) addNames(catalog pdffile.Dict) {
	names := pdffile.Dict{}
	tree := []any{}

	for _, name := range slices.Sorted(maps.Keys(c.dests.byName)) {
		view := c.view(c.dests.byName[name])
		switch {
		case view == nil:
		case strings.HasPrefix(name, "/"):
			names[name] = view
		default:
			tree = append(tree, name, view)
		}
	}

	if len(names) > 0 {
		catalog["/Dests"] = names
	}
	if len(tree) > 0 {
		catalog["/Names"] = pdffile.Dict{"/Dests": pdffile.Dict{"/Names": tree}}
	}
}
