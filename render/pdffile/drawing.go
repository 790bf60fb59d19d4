package pdffile

// MaxDrawn is the number of operators above which Drawn stops to count. A map of a city has some hundred thousand.
const MaxDrawn = 20_000_000

// Drawn returns the number of operators that a viewer carries out to draw a page, with each form counted as often as it
// is drawn: ten forms that draw ten forms each, twenty deep, are 10^20 in a file of 5 KB. It counts to MaxDrawn at
// most. Content without forms and patterns draws no more than its own length and counts as nothing, as does what cannot
// be read: a program that draws the page must have a limit of its own.
func (f *File) Drawn(page Page) int64 {
	d := drawing{File: f, forms: map[string]int64{}, open: map[string]bool{}}

	resources := f.resources(page)
	var total int64
	if d.repeats(resources) {
		for _, ref := range d.references(page.Entries["/Contents"]) {
			total = d.sum(total, d.stream(ref, resources))
		}
	}

	for _, ref := range d.references(page.Entries["/Annots"]) {
		states := d.Entry(d.Dict(ref)["/AP"])["/N"]
		total = d.sum(total, d.appearance(states))
	}
	return total
}

// resources returns the resources of a page, which it may inherit.
func (f *File) resources(page Page) Dict {
	node := page.Entries
	for range MaxDepth {
		if node["/Resources"] != nil || node["/Parent"] == nil {
			break
		}
		node = f.Dict(Reference(node["/Parent"]))
	}
	return f.Entry(node["/Resources"])
}

// drawing counts what one page draws.
type drawing struct {
	*File

	forms map[string]int64 // the counts of forms, patterns and glyphs, by reference
	open  map[string]bool  // those that are being counted: a form in itself is drawn once
}

// sum adds two counts, up to MaxDrawn.
func (d *drawing) sum(a, b int64) int64 { return min(a+b, MaxDrawn) }

// references returns the references of a list, or of a single one.
func (d *drawing) references(v any) []string {
	list, ok := d.Target(v).([]any)
	if !ok {
		if ref := Reference(v); ref != "" {
			return []string{ref}
		}
		return nil
	}

	var all []string
	for _, item := range list {
		if ref := Reference(item); ref != "" {
			all = append(all, ref)
		}
	}
	return all
}

// appearance counts an annotation's appearance, or the largest of its states.
func (d *drawing) appearance(v any) int64 {
	if ref := Reference(v); ref != "" {
		if _, isStream := d.Stream(ref); isStream {
			return d.form(ref)
		}
	}

	var maximum int64
	for _, state := range d.Entry(v) {
		if ref := Reference(state); ref != "" {
			maximum = max(maximum, d.form(ref))
		}
	}
	return maximum
}

// form counts a form, a tiling pattern or a glyph of a Type 3 font.
func (d *drawing) form(ref string) int64 {
	if n, known := d.forms[ref]; known {
		return n
	}
	if d.open[ref] || len(d.open) > MaxDepth {
		return 1
	}
	d.open[ref] = true
	defer delete(d.open, ref)

	n := int64(1)
	if s, ok := d.Stream(ref); ok && s.Entries["/Subtype"] != "/Image" {
		n = d.sum(n, d.stream(ref, d.Entry(s.Entries["/Resources"])))
	}
	d.forms[ref] = n
	return n
}

// stream counts the operators of a content stream.
func (d *drawing) stream(ref string, resources Dict) int64 {
	s, ok := d.Stream(ref)
	if !ok {
		return 0
	}
	content, err := d.Plain(s)
	if err != nil {
		return 0
	}

	objects := d.Entry(resources["/XObject"])
	patterns := d.Entry(resources["/Pattern"])
	var total int64
	ReadContent(content, func(op Operation) {
		total = d.sum(total, 1)
		if len(op.Operands) == 0 {
			return
		}
		name, _ := op.Operands[len(op.Operands)-1].(string)
		switch op.Operator {
		case "Do":
			total = d.sum(total, d.form(Reference(objects[name])))
		case "scn", "SCN":
			total = d.sum(total, d.form(Reference(patterns[name])))
		}
	})

	return total
}

// repeats reports whether resources have something that content can draw any number of times.
func (d *drawing) repeats(resources Dict) bool {
	if len(d.Entry(resources["/Pattern"])) > 0 {
		return true
	}
	for _, object := range d.Entry(resources["/XObject"]) {
		if d.Dict(Reference(object))["/Subtype"] != "/Image" {
			return true
		}
	}
	return false
}
