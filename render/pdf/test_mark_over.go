package pdf

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdf/redact"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// marker draws the test mark on pages so that nothing hides it. Content that a page does not close becomes a form,
// which readers carry out by itself, before the mark. Annotations are drawn above the content, in an order that
// differs between readers, so each one where the mark is has the mark in its appearance as well.
type marker struct {
	*job.Structure

	changes *pdffile.Update
	streams map[string]string // references of streams, by their content
}

// markPages draws the test mark on each page.
func markPages(ctx context.Context, d *job.Document) error {
	s, err := d.OpenStructure(ctx)
	if err != nil {
		return err
	}
	if err := job.CheckPages(d.Pages); err != nil {
		return err
	}
	return drawMarks(ctx, d, s)
}

// drawMarks draws the test mark on each page of a document with that structure.
func drawMarks(ctx context.Context, d *job.Document, s *job.Structure) error {
	if undrawnAtMark(s) {
		drawn, _, err := form.WithAppearances(ctx, d)
		if err != nil {
			return err
		}
		*d = *drawn
		if s, err = d.ReadStructure(ctx); err != nil {
			return err
		}
	}

	m := &marker{Structure: s, changes: s.NewUpdate(), streams: map[string]string{}}
	done := map[string]bool{}
	for i, at := range s.Pages {
		if done[at.Object] {
			continue // a page that occurs twice in the document
		}
		done[at.Object] = true
		page := s.Dict(at.Object)
		if page == nil {
			return d.Fail(job.Damaged, fmt.Errorf("page %d cannot be read", i+1))
		}

		mark, place := pageMark(s.Paper(page))
		m.markContent(at.Object, mark)
		m.markAnnotations(at.Object, mark, place)
	}
	return d.Change(m.changes)
}

// markContent draws the mark behind the content of a page.
func (m *marker) markContent(ref, mark string) {
	page := pdffile.Without(m.Dict(ref))
	streams := m.unmarked(page["/Contents"])
	if content, ok := m.joined(streams); !ok || !pdffile.Closed(content, m.knownOn(page)) {
		streams = m.asForm(ref, page, streams)
	}
	page["/Contents"] = slices.Concat([]any{m.stream(beforeContent)}, streams, []any{m.stream(behindContent + mark)})
	m.changes.Set(ref, page)
}

// The content around that of the page.
const (
	beforeContent = "q\n"
	behindContent = "\nQ\n"
)

// stream returns the reference of a stream.
func (m *marker) stream(content string) any {
	if m.streams[content] == "" {
		m.streams[content] = m.changes.Reserve()
		m.changes.Set(m.streams[content], pdffile.Stream{Entries: pdffile.Dict{}, Content: []byte(content)})
	}
	return m.streams[content]
}

// unmarked returns the streams of a page's content, without a mark that it has already.
func (m *marker) unmarked(contents any) []any {
	streams, isList := m.Target(contents).([]any)
	if !isList && pdffile.Reference(contents) != "" {
		streams = []any{contents}
	}

	for len(streams) > 1 {
		last := len(streams) - 1
		first, _ := m.joined(streams[:1])
		end, _ := m.joined(streams[last:])
		if string(first) != beforeContent || !bytes.HasPrefix(end, []byte(behindContent+markStart)) || !bytes.HasSuffix(end, []byte(markEnd())) {
			break
		}
		streams = streams[1:last]
	}
	return streams
}

// maxContent is the maximum size of a page's content that is read, in bytes. A stream can be in it any number of times.
const maxContent = 64 << 20

// joined returns the content of streams; false if one cannot be read, or if it is too large.
func (m *marker) joined(streams []any) (content []byte, ok bool) {
	for _, at := range streams {
		s, ok := m.Stream(pdffile.Reference(at))
		if !ok {
			return nil, false
		}
		plain, err := m.Plain(s)
		if err != nil || len(content)+len(plain) > maxContent {
			return nil, false
		}
		content = append(append(content, plain...), '\n')
	}
	return bytes.TrimSuffix(content, []byte("\n")), true
}

// knownOn returns whether an operator is one of a page's content, and uses a name that the page's resources have.
// Images in content and compatibility sections are none: readers may skip what is in them.
func (m *marker) knownOn(page pdffile.Dict) func(operator, name string) bool {
	resources, _ := m.Inherited(page, "/Resources").(pdffile.Dict)
	names := map[string]pdffile.Dict{}
	for _, operator := range []string{"Do", "gs", "Tf", "sh"} {
		names[operator] = m.Entry(resources[redact.Categories[operator]])
	}

	return func(operator, name string) bool {
		switch operator {
		case "BX", "EX", "d0", "d1":
			return false
		}
		if _, defined := redact.Operators[operator]; !defined {
			return false
		}
		known, uses := names[operator]
		return !uses || known[name] != nil
	}
}

// unmarkedName is the resource that is what a page or an annotation shows without the mark.
const unmarkedName = "/Unmarked"

// asForm makes streams a form of a page, and returns the content that draws it. Streams that cannot be read stay, if
// they are several.
func (m *marker) asForm(ref string, page pdffile.Dict, streams []any) []any {
	body := pdffile.Stream{Entries: pdffile.Dict{}}
	if content, ok := m.joined(streams); ok {
		body = pdffile.Deflated(body.Entries, content)
	} else if raw, ok := m.Stream(pdffile.Reference(streams[0])); ok && len(streams) == 1 {
		body = pdffile.Stream{Entries: pdffile.Without(raw.Entries), Content: raw.Content}
	} else {
		return streams
	}

	media, ok := m.Box(m.Inherited(page, "/MediaBox"))
	if !ok {
		media = m.Paper(page).Box
	}
	resources, _ := m.Inherited(page, "/Resources").(pdffile.Dict)
	if resources == nil {
		resources = pdffile.Dict{}
	}

	formEntries := m.changes.Reserve()
	body.Entries["/Type"], body.Entries["/Subtype"] = "/XObject", "/Form"
	body.Entries["/BBox"], body.Entries["/Resources"] = media.Array(), resources
	if key := page["/StructParents"]; key != nil {
		body.Entries["/StructParents"] = key
		delete(page, "/StructParents")
		m.moveTags(m.Target(key), ref, formEntries)
	}

	m.changes.Set(formEntries, body)
	page["/Resources"] = pdffile.Dict{"/XObject": pdffile.Dict{unmarkedName: formEntries}}

	// In some readers, marked content that a form opens is still open behind it, such as that of a hidden layer.
	open := m.openMarks(body)
	return []any{m.stream(strings.Repeat(unmarkedName+" BMC\n", open) + unmarkedName + " Do\n" + strings.Repeat("EMC\n", open))}
}

// openMarks returns the number of marked contents that content opens and does not close.
func (m *marker) openMarks(s pdffile.Stream) (open int) {
	content, err := m.Plain(s)
	if err != nil {
		return 0
	}

	pdffile.ReadContent(content, func(op pdffile.Operation) {
		switch op.Operator {
		case "BMC", "BDC":
			open++
		case "EMC":
			open = max(0, open-1)
		}
	})
	return min(open, maxMarks)
}

// maxMarks bounds the marked contents that a page closes.
const maxMarks = 1000

// moveTags makes the elements of marked content of a page, which have that key, refer to the form that has the content.
func (m *marker) moveTags(key any, page, formEntries string) {
	for number, elements := range m.TreeEntries(m.Entry(m.Catalog()["/StructTreeRoot"])["/ParentTree"], "/Nums") {
		if number != key {
			continue
		}
		list, _ := m.Target(elements).([]any)
		for _, element := range list {
			if ref := pdffile.Reference(element); ref != "" {
				m.moveTagsOf(ref, page, formEntries)
			}
		}
		return
	}
}

// moveTagsOf moves the marked content of one element.
func (m *marker) moveTagsOf(ref, page, formEntries string) {
	value, _ := m.changes.Value(ref).(pdffile.Dict)
	if value["/K"] == nil {
		return
	}

	element := pdffile.Without(value)
	kids, isList := m.Target(element["/K"]).([]any)
	if !isList {
		kids = []any{element["/K"]}
	}

	moved := make([]any, len(kids))
	for i, kid := range kids {
		moved[i] = kid
		entries := m.Entry(kid)
		number, isNumber := m.Target(kid).(float64)
		on := entries["/Pg"]
		switch {
		case isNumber:
			entries = pdffile.Dict{"/Type": "/MCR", "/MCID": number}
		case entries["/MCID"] == nil || entries["/Stm"] != nil:
			continue
		}

		if on == nil {
			on = element["/Pg"]
		}
		if pdffile.Reference(on) == page {
			entries = pdffile.Without(entries)
			entries["/Pg"], entries["/Stm"] = page, formEntries
			moved[i] = entries
		}
	}
	element["/K"] = moved
	m.changes.Set(ref, element)
}

// undrawnAtMark reports whether readers draw the appearance of an annotation where the mark is.
func undrawnAtMark(s *job.Structure) bool {
	formEntries := s.Entry(s.Catalog()["/AcroForm"])
	anew := s.Target(formEntries["/NeedAppearances"]) == true

	for _, at := range s.Pages {
		page := s.Dict(at.Object)
		list, _ := s.Target(page["/Annots"]).([]any)
		if len(list) == 0 {
			continue
		}
		_, place := pageMark(s.Paper(page))

		for _, item := range list {
			a := form.Annotation{Structure: s, Entries: s.Entry(item)}
			kind := s.Target(a.Entries["/Subtype"])
			if annotationAt(&a, place) && kind != "/Link" && kind != "/Popup" && (!a.HasAppearance() || anew && kind == "/Widget") {
				return true
			}
		}
	}
	return false
}

// markAnnotations draws the mark in the annotations of a page that are at its place.
func (m *marker) markAnnotations(ref, mark string, place job.Box) {
	list, _ := m.Target(m.Dict(ref)["/Annots"]).([]any)
	for i, item := range list {
		a := &form.Annotation{Structure: m.Structure, Page: ref, Index: i, Entries: m.Entry(item)}
		if !annotationAt(a, place) {
			continue
		}

		switch kind := m.Target(a.Entries["/Subtype"]); {
		case a.HasAppearance() || kind == "/Widget":
			m.markAnnotation(a, mark)
		case kind == "/Link":
			m.thin(a)
		}
	}
}

// annotationAt reports whether an annotation may be drawn at a place.
func annotationAt(a *form.Annotation, place job.Box) bool {
	rect, ok := a.Box(a.Entries["/Rect"])
	if !ok {
		return false
	}
	if flags, _ := a.Target(a.Entries["/F"]).(float64); int(flags)&unturned != 0 {
		reach := math.Hypot(rect[2]-rect[0], rect[3]-rect[1])
		rect = job.Box{rect[0] - reach, rect[3] - reach, rect[0] + reach, rect[3] + reach}
	}
	return rect.Touches(place)
}

// unturned are the flags of annotations that keep their size and direction, and thus leave their rectangle.
const unturned = pdffile.FlagNoZoom | pdffile.FlagNoRotate

// markAnnotation draws the mark in each state of an annotation's appearance. A field without a state that can be shown
// gets one, which readers would draw otherwise.
func (m *marker) markAnnotation(a *form.Annotation, mark string) {
	entries := pdffile.Without(a.Entries)
	rect, _ := a.Box(entries["/Rect"])
	if flags, ok := m.Target(entries["/F"]).(float64); ok {
		entries["/F"] = int(flags) &^ unturned
	}

	looks := pdffile.Without(m.Entry(entries["/AP"]))
	normal := looks["/N"]
	states := m.Entry(normal)
	if _, isStream := m.Stream(pdffile.Reference(normal)); isStream || states == nil {
		looks["/N"] = m.marked(normal, rect, mark)
	} else {
		all := pdffile.Dict{}
		for state, look := range states {
			all[state] = m.marked(look, rect, mark)
		}
		state, ok := m.Target(entries["/AS"]).(string)
		if !ok {
			state = "/Off"
		}
		if all[state] == nil {
			all[state] = m.marked(nil, rect, mark)
		}
		looks["/N"] = all
	}

	entries["/AP"] = looks
	a.Set(m.changes, entries)
}

// marked returns an appearance that draws another one, which may be none, in a rectangle of the page, and the mark
// above it.
func (m *marker) marked(look any, rect job.Box, mark string) string {
	entries := pdffile.Dict{"/Type": "/XObject", "/Subtype": "/Form", "/BBox": rect.Array(), "/Resources": pdffile.Dict{}}
	content := mark

	ref := pdffile.Reference(look)
	stream, ok := m.Stream(ref)
	if before := pdffile.Reference(m.Entry(m.Entry(stream.Entries["/Resources"])["/XObject"])[unmarkedName]); before != "" {
		ref = before
		stream, ok = m.Stream(ref) // It has a mark already.
	}

	if ok {
		if stream.Entries["/Subtype"] != "/Form" {
			stream.Entries = pdffile.Without(stream.Entries)
			stream.Entries["/Subtype"] = "/Form"
			m.changes.Set(ref, stream)
		}
		entries["/Resources"] = pdffile.Dict{"/XObject": pdffile.Dict{unmarkedName: ref}}
		content = "q " + numbers5(m.fitted(stream.Entries, rect)) + " cm " + unmarkedName + " Do Q\n" + mark
	}

	made := m.changes.Reserve()
	m.changes.Set(made, pdffile.Stream{Entries: entries, Content: []byte(content)})
	return made
}

// fitted returns the matrix with which readers fit an appearance into the rectangle of its annotation.
func (m *marker) fitted(look pdffile.Dict, rect job.Box) job.Affine {
	from, ok := m.Box(look["/BBox"])
	if !ok {
		return job.Affine{1, 0, 0, 1, 0, 0}
	}
	matrix := job.Affine{1, 0, 0, 1, 0, 0}
	if list := job.Floats(m.Resolved(m.Target(look["/Matrix"]))); len(list) == len(matrix) {
		matrix = job.Affine(list)
	}

	drawn := matrix.Around(from[0], from[1], from[2], from[3])
	across := 1.0
	up := 1.0
	if drawn[2] > drawn[0] {
		across = (rect[2] - rect[0]) / (drawn[2] - drawn[0])
	}
	if drawn[3] > drawn[1] {
		up = (rect[3] - rect[1]) / (drawn[3] - drawn[1])
	}
	return job.Affine{across, 0, 0, up, rect[0] - across*drawn[0], rect[1] - up*drawn[1]}
}

// numbers5 writes a matrix.
func numbers5(m job.Affine) string {
	parts := make([]string, len(m))
	for i, n := range m {
		parts[i] = job.FormatNumber(n)
	}
	return strings.Join(parts, " ")
}

// thin makes the border of a link one that does not hide the mark.
func (m *marker) thin(a *form.Annotation) {
	border := job.Floats(m.Resolved(m.Target(a.Entries["/Border"])))
	width, _ := m.Target(m.Entry(a.Entries["/BS"])["/W"]).(float64)
	if len(border) > 2 { //nolint:mnd // its width is the third
		width = max(width, border[2])
	}
	if width > 1 {
		entries := pdffile.Without(a.Entries, "/BS")
		entries["/Border"] = []any{0, 0, 1}
		a.Set(m.changes, entries)
	}
}
