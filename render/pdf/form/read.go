package form

import (
	"context"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// formReader reads the form of a document.
type formReader struct {
	*job.Structure

	pages   map[string]int  // of annotations, by their references
	seen    map[string]bool // fields
	widgets []rawField
}

// rawField is a widget, or a field without one, as the document has it.
type rawField struct {
	name      string
	kind      string // /Tx, /Btn, /Ch or /Sig
	flags     int
	values    []string
	defaults  []string
	states    []string    // names of a button's appearances, except Off
	options   [][2]string // values and labels
	maxLength int
	page      int
	rect      []float64
	signed    bool

	ref   string // of the widget
	field string // reference of the field that has the value
	// orphan is true if the catalog's form does not lead to the field.
	orphan bool
}

// Limits of a form that is read.
const (
	maxFieldDepth = 32
	maxWidgets    = 20_000
)

// askFields reads the form of a document that opens without a password: the fields that its catalog lists, and those
// that are only on its pages.
func askFields(ctx context.Context, d *job.Document) (*job.Structure, []Field, error) {
	s, err := d.ReadStructure(ctx)
	if err != nil {
		return nil, nil, err
	}

	fields := []Field{}
	numbers := make(map[string]int)
	for _, r := range widgetsOf(s) {
		i, known := numbers[r.name]
		if !known {
			numbers[r.name] = len(fields)
			fields = append(fields, r.newField())
			continue
		}
		fields[i].join(r)
	}

	for i := range fields {
		fields[i].finish()
	}
	return s, fields, nil
}

// widgetsOf returns the widgets of a document's form, in its order.
func widgetsOf(s *job.Structure) []rawField {
	r := &formReader{Structure: s, pages: map[string]int{}, seen: map[string]bool{}}
	var onPages []string
	for i, page := range s.Pages {
		list, _ := s.Target(s.Dict(page.Object)["/Annots"]).([]any)
		for _, item := range list {
			ref := pdffile.Reference(item)
			if ref == "" || r.pages[ref] != 0 {
				continue
			}
			r.pages[ref] = i + 1
			if s.Target(s.Dict(ref)["/Subtype"]) == "/Widget" {
				onPages = append(onPages, ref)
			}
		}
	}

	listed, _ := s.Target(s.Entry(s.Catalog()["/AcroForm"])["/Fields"]).([]any)
	for _, field := range listed {
		r.visit(field, nil, rawField{})
	}
	for _, ref := range onPages {
		if !r.seen[ref] {
			r.visit(topField(s, ref), nil, rawField{orphan: true})
		}
	}
	return r.widgets
}

// topField returns the topmost field above a widget.
func topField(s *job.Structure, ref string) string {
	for range maxFieldDepth {
		above := pdffile.Reference(s.Dict(ref)["/Parent"])
		if above == "" || s.Dict(above) == nil {
			break
		}
		ref = above
	}
	return ref
}

// lineageOf returns a field's entries, and those of the fields that it is in, the closest first.
func lineageOf(s *job.Structure, field pdffile.Dict) (nodes []pdffile.Dict) {
	for field != nil && len(nodes) < pdffile.MaxDepth {
		nodes = append(nodes, field)
		field = s.Entry(field["/Parent"])
	}
	return nodes
}

// inherit returns an entry of the closest field that has it, as it is there.
func inherit(s *job.Structure, lineage []pdffile.Dict, key string) any {
	for _, node := range lineage {
		if s.Target(node[key]) != nil {
			return node[key]
		}
	}
	return nil
}

// visit adds the widgets of a field and of those below it. above are the fields that it is in, the closest first, and r
// is what they have in common.
func (r *formReader) visit(v any, above []pdffile.Dict, known rawField) {
	ref := pdffile.Reference(v)
	entries := r.Entry(v)
	if len(above) > maxFieldDepth || len(r.widgets) >= maxWidgets || entries == nil || ref != "" && r.seen[ref] {
		return
	}

	r.seen[ref] = ref != ""
	chain := slices.Concat([]pdffile.Dict{entries}, above)
	if name := entries["/T"]; r.Target(name) != nil {
		known.name = strings.TrimPrefix(known.name+"."+fieldText(r.Structure, name), ".")
		known.field = ref
	}

	if kids, _ := r.Target(entries["/Kids"]).([]any); len(kids) > 0 {
		for _, kid := range kids {
			r.visit(kid, chain, known)
		}
		return
	}

	find := func(key string) any { return inherit(r.Structure, chain, key) }
	known.kind, _ = r.Target(find("/FT")).(string)
	if known.orphan && (known.kind == "" || known.name == "") {
		return
	}

	flags, _ := r.Target(find("/Ff")).(float64)
	longest, _ := r.Target(find("/MaxLen")).(float64)
	known.ref = ref
	known.flags = int(flags)
	known.maxLength = int(longest)
	known.values = fieldTexts(r.Structure, find("/V"))
	known.defaults = fieldTexts(r.Structure, find("/DV"))
	known.options = fieldOptions(r.Structure, find("/Opt"))
	known.states = statesOf(r.Structure, entries)
	known.page = r.pages[ref]
	known.rect = job.Floats(r.Resolved(r.Target(entries["/Rect"])))
	known.signed = r.Entry(find("/V")) != nil
	r.widgets = append(r.widgets, known)
}

// fieldText returns the text of a string, a name, a number or a stream; anything else has none.
func fieldText(s *job.Structure, v any) string {
	if stream, ok := s.Stream(pdffile.Reference(v)); ok {
		plain, err := s.Plain(stream)
		if err != nil {
			return ""
		}
		return pdffile.Text("b:" + hex.EncodeToString(plain))
	}

	switch v := s.Target(v).(type) {
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case string:
		if strings.HasPrefix(v, "/") {
			return nameText(v)
		}
		return pdffile.Text(v)
	}
	return ""
}

// fieldTexts returns the texts of a string, or of a list of them.
func fieldTexts(s *job.Structure, v any) (texts []string) {
	list, several := s.Target(v).([]any)
	if !several {
		list = []any{v}
	}
	for _, item := range list {
		if s.Target(item) != nil {
			texts = append(texts, fieldText(s, item))
		}
	}
	return texts
}

// fieldOptions returns the values and labels that a choice offers.
func fieldOptions(s *job.Structure, v any) (options [][2]string) {
	list, _ := s.Target(v).([]any)
	for _, item := range list {
		pair, isPair := s.Target(item).([]any)
		switch {
		case isPair && len(pair) == 2:
			options = append(options, [2]string{fieldText(s, pair[0]), fieldText(s, pair[1])})
		case !isPair:
			options = append(options, [2]string{fieldText(s, item), fieldText(s, item)})
		}
	}
	return options
}

// statesOf returns the names of what a button's appearance can show, in order, except Off.
func statesOf(s *job.Structure, widget pdffile.Dict) (names []string) {
	look := s.Entry(widget["/AP"])["/N"]
	if _, isStream := s.Stream(pdffile.Reference(look)); isStream {
		return nil
	}
	for name := range s.Entry(look) {
		if name != "/Off" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// nameText returns the text of a name. Its bytes are those of no certain encoding: most are UTF-8, others of the Latin
// alphabet.
func nameText(name string) string {
	name = strings.TrimPrefix(name, "/")
	if utf8.ValidString(name) {
		return name
	}
	runes := make([]rune, len(name))
	for i, b := range []byte(name) {
		runes[i] = rune(b)
	}
	return string(runes)
}
