package pdf

import (
	"context"
	"fmt"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// ResizeArgs are the arguments of ResizeJob.
type ResizeArgs struct {
	Selection
	// Width and Height are the size of the pages as they are shown, in points.
	Width, Height float64
	// Fit is Contain, or Fill.
	Fit images.Fit
}

// ResizeJob changes the size of pages and scales their content.
var ResizeJob = job.DefineFile("pdf.resize", engine.ChangeTime, resize)

// resize gives pages another size, and moves all that has a place on them along.
func resize(ctx context.Context, w *engine.Work, args ResizeArgs) error {
	doc, s, numbers, err := openSelection(ctx, w, args.Selection)
	if err != nil {
		return err
	}

	r := &resizer{
		Structure: s, args: args, changes: s.NewUpdate(), changed: map[string]any{},
		moves: map[string]move{}, done: map[string]bool{}, made: map[string]string{},
	}

	for _, n := range numbers {
		ref := s.Pages[n-1].Object
		if _, again := r.moves[ref]; again {
			continue // a page that occurs twice in the document
		}
		page := s.Dict(ref)
		if page == nil {
			return doc.Fail(job.Damaged, fmt.Errorf("page %d cannot be read", n))
		}
		r.page(ref, page)
	}

	r.destinations()
	if err := doc.Change(r.changes); err != nil {
		return err
	}
	return doc.Write(ctx, job.QPDFJob{})
}

// move maps a point of a page to its new position: both axes are stretched, and then shifted.
type move struct{ scaleX, scaleY, x, y float64 }

func (m move) across(x float64) float64 { return m.scaleX*x + m.x }
func (m move) up(y float64) float64     { return m.scaleY*y + m.y }

// scale returns the factor for values that have one measure for both axes, such as the size of a font.
func (m move) scale() float64 { return min(m.scaleX, m.scaleY) }

func (m move) box(b job.Box) job.Box {
	return job.Box{m.across(b[0]), m.up(b[1]), m.across(b[2]), m.up(b[3])}
}

// after is the matrix that does another and then this.
func (m move) after(matrix [6]float64) []any {
	return []any{
		matrix[0] * m.scaleX, matrix[1] * m.scaleY, matrix[2] * m.scaleX, matrix[3] * m.scaleY, m.across(matrix[4]), m.up(matrix[5]),
	}
}

// move returns the move of a page's visible content to a paper of the requested size, and that paper, which is
// turned like the page.
func (a ResizeArgs) move(p job.Paper) (move, job.Box) {
	width := a.Width
	height := a.Height
	if p.Turn%180 != 0 {
		width, height = height, width
	}

	across := width / (p.Box[2] - p.Box[0])
	down := height / (p.Box[3] - p.Box[1])
	if a.Fit != images.Fill {
		across = min(across, down)
		down = across
	}

	return move{
		across, down,
		width/2 - across*(p.Box[0]+p.Box[2])/2, height/2 - down*(p.Box[1]+p.Box[3])/2,
	}, job.Box{0, 0, width, height}
}

// resizer moves the content of pages.
type resizer struct {
	*job.Structure

	args    ResizeArgs
	changes *pdffile.Update
	// changed are the objects that have another value by now.
	changed map[string]any
	// moves holds the moves of the pages.
	moves map[string]move
	// done are the objects that were moved, however many pages have them.
	done map[string]bool
	// made maps original objects to the new ones.
	made map[string]string
}

func (r *resizer) set(ref string, value any) {
	r.changed[ref] = value
	r.changes.Set(ref, value)
}

// make adds an object, unless there is one that was made of the same.
func (r *resizer) make(of string, value any) string {
	if ref := r.made[of]; ref != "" {
		return ref
	}
	ref := r.changes.Reserve()
	r.changes.Set(ref, value)
	r.made[of] = ref
	return ref
}

// page moves a page.
func (r *resizer) page(ref string, page pdffile.Dict) {
	p := r.Paper(page)
	m, sheet := r.args.move(p)
	r.moves[ref] = m

	for _, key := range []string{"/BleedBox", "/TrimBox", "/ArtBox"} {
		if part, ok := r.Box(page[key]); ok {
			delete(page, key)
			if part, ok = m.box(part).And(sheet); ok {
				page[key] = part.Array()
			}
		}
	}

	page["/MediaBox"], page["/CropBox"] = sheet.Array(), sheet.Array()
	delete(page, "/UserUnit")
	delete(page, "/Thumb") // which shows the page as it was
	r.content(page, m, p.Box)
	r.patterns(page, m)
	r.annotations(page, m, p.Box)

	beads, _ := r.Target(page["/B"]).([]any)
	for _, bead := range beads {
		r.each(bead, func(entries pdffile.Dict) { r.rectangle(entries, "/R", m) })
	}
	views, _ := r.Target(page["/VP"]).([]any)
	for _, view := range views {
		r.each(view, func(entries pdffile.Dict) { r.rectangle(entries, "/BBox", m) })
	}

	r.set(ref, page)
}

// content moves the page's content. Its state is not restored at the end: a page whose own
// content restores more states than it has saved would restore it too early. Content
// outside the page stays out of sight.
func (r *resizer) content(page pdffile.Dict, m move, shown job.Box) {
	streams, isList := r.Target(page["/Contents"]).([]any)
	if !isList {
		if pdffile.Reference(page["/Contents"]) == "" {
			return
		}
		streams = []any{page["/Contents"]}
	}
	start := fmt.Sprintf("%s 0 0 %s %s %s cm %s %s %s %s re W n\n", job.FormatNumber(m.scaleX), job.FormatNumber(m.scaleY), job.FormatNumber(m.x), job.FormatNumber(m.y),
		job.FormatNumber(shown[0]), job.FormatNumber(shown[1]), job.FormatNumber(shown[2]-shown[0]), job.FormatNumber(shown[3]-shown[1]))
	before := r.make(start, pdffile.Stream{Entries: pdffile.Dict{}, Content: []byte(start)})
	page["/Contents"] = append([]any{before}, streams...)
}

// patterns moves the patterns of the page itself: they are positioned on the page, independent of the
// transformation of its content.
func (r *resizer) patterns(page pdffile.Dict, m move) {
	resources, _ := r.Inherited(page, "/Resources").(pdffile.Dict)
	patterns := r.Entry(resources["/Pattern"])
	if len(patterns) == 0 {
		return
	}

	moved := pdffile.Dict{}
	for name, value := range patterns {
		moved[name] = value
		ref := pdffile.Reference(value)
		entries := r.Entry(value)
		if entries == nil {
			continue
		}

		entries["/Matrix"] = m.after(r.matrix(entries["/Matrix"]))
		var pattern any = entries
		if stream, ok := r.Stream(ref); ok {
			pattern = pdffile.Stream{Entries: entries, Content: stream.Content}
		}
		moved[name] = pattern
		if ref != "" {
			moved[name] = r.make(fmt.Sprint(ref, m), pattern)
		}
	}

	own := pdffile.Without(resources)
	own["/Pattern"] = moved
	page["/Resources"] = own
}

// matrix reads a matrix; an invalid one changes nothing.
func (r *resizer) matrix(v any) [6]float64 {
	list, ok := numberList(r.Structure, v)
	if !ok || len(list) != len([6]float64{}) {
		return [6]float64{1, 0, 0, 1, 0, 0}
	}
	return [6]float64(list)
}

func (r *resizer) rectangle(entries pdffile.Dict, key string, m move) {
	if b, ok := r.Box(entries[key]); ok {
		entries[key] = m.box(b).Array()
	}
}

// each changes a dictionary, once if it is an object.
func (r *resizer) each(v any, change func(pdffile.Dict)) {
	ref := pdffile.Reference(v)
	entries, known := r.changed[ref].(pdffile.Dict)
	if !known {
		entries = r.Entry(v)
	}
	if entries == nil || r.done[ref] {
		return
	}

	change(entries)
	if ref != "" {
		r.done[ref] = true
		r.set(ref, entries)
	}
}

// annotations moves links, fields, notes and the like.
func (r *resizer) annotations(page pdffile.Dict, m move, shown job.Box) {
	list, _ := r.Target(page["/Annots"]).([]any)
	for _, annotation := range list {
		r.each(annotation, func(entries pdffile.Dict) { r.annotation(entries, m, shown) })
	}
	if list != nil {
		page["/Annots"] = list
	}
}

// hidden is the flag of invisible annotations.
const hidden = 1 << 1

func (r *resizer) annotation(entries pdffile.Dict, m move, shown job.Box) {
	if at, ok := r.Box(entries["/Rect"]); ok {
		if _, seen := at.And(shown); !seen && at[0] < at[2] && at[1] < at[3] {
			flags, _ := r.Target(entries["/F"]).(float64)
			entries["/F"] = float64(int(flags) | hidden) // it was off the page
		}
	}

	if list, ok := numberList(r.Structure, entries["/Rect"]); ok {
		entries["/Rect"] = m.points(list)
	}
	for _, key := range []string{"/QuadPoints", "/Vertices", "/L", "/CL"} {
		if list, ok := numberList(r.Structure, entries[key]); ok {
			entries[key] = m.points(list)
		}
	}

	for _, key := range []string{"/InkList", "/Path"} {
		lines, _ := r.Target(entries[key]).([]any)
		for i, line := range lines {
			if list, ok := numberList(r.Structure, line); ok {
				lines[i] = m.points(list)
			}
		}
		if lines != nil {
			entries[key] = lines
		}
	}

	if list, ok := numberList(r.Structure, entries["/RD"]); ok {
		entries["/RD"] = move{scaleX: m.scaleX, scaleY: m.scaleY}.points(list)
	}
	if border, ok := r.Resolved(r.Target(entries["/Border"])).([]any); ok {
		for i := range border {
			if n, ok := border[i].(float64); ok {
				border[i] = n * m.scale()
			}
		}
		entries["/Border"] = border
	}

	style := r.Entry(entries["/BS"])
	if width, ok := r.Target(style["/W"]).(float64); ok {
		style = pdffile.Without(style)
		style["/W"] = width * m.scale()
		entries["/BS"] = style
	}
	r.font(entries, m.scale())
}

// points moves points that are written as x, y, x, y and so on.
func (m move) points(list []float64) []any {
	moved := make([]any, len(list))
	for i, n := range list {
		moved[i] = m.across(n)
		if i%2 == 1 {
			moved[i] = m.up(n)
		}
	}
	return moved
}

// numberList returns a list of nothing but numbers.
func numberList(s *job.Structure, v any) ([]float64, bool) {
	list, _ := s.Resolved(s.Target(v)).([]any)
	numbers := make([]float64, len(list))
	for i, item := range list {
		var ok bool
		if numbers[i], ok = item.(float64); !ok {
			return nil, false
		}
	}
	return numbers, len(list) > 0
}

// destinations moves the places on pages that bookmarks, links, names and actions
// lead to. Whatever they are part of, they begin with a page and a word.
func (r *resizer) destinations() {
	for _, ref := range r.Containing("/XYZ", "/FitH", "/FitV", "/FitR", "/FitBH", "/FitBV") {
		value, known := r.changed[ref]
		if !known {
			var body int
			var err error
			if value, body, err = r.Object(ref); err != nil || body != 0 {
				continue
			}
		}

		if r.destinationsIn(value, 0) {
			r.set(ref, value)
		}
	}
}

func (r *resizer) destinationsIn(v any, depth int) (moved bool) {
	if depth > pdffile.MaxDepth {
		return false
	}

	switch v := v.(type) {
	case []any:
		if r.destination(v) {
			return true
		}
		for _, item := range v {
			moved = r.destinationsIn(item, depth+1) || moved
		}
	case pdffile.Dict:
		for _, item := range v {
			moved = r.destinationsIn(item, depth+1) || moved
		}
	}

	return moved
}

// destination moves a list that is one.
func (r *resizer) destination(list []any) bool {
	const first = 2
	if len(list) <= first {
		return false
	}

	m, on := r.moves[pdffile.Reference(list[0])]
	name, _ := list[1].(string)
	axes := map[string]string{"/XYZ": "xy", "/FitH": "y", "/FitBH": "y", "/FitV": "x", "/FitBV": "x", "/FitR": "xyxy"}[name]
	if !on || axes == "" {
		return false
	}

	for i, axis := range axes {
		if first+i >= len(list) {
			break
		}
		at, ok := r.Target(list[first+i]).(float64)
		switch {
		case !ok: // position of the reader
		case axis == 'x':
			list[first+i] = m.across(at)
		default:
			list[first+i] = m.up(at)
		}
	}

	return true
}
