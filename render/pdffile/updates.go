package pdffile

import (
	"bytes"
	"maps"
	"regexp"
)

// UpdateOf reports whether all that follows an earlier state of the file is incremental updates that readers of all
// kinds read in the same way. It is stricter than ReadTable: some readers search a file for objects if they do not
// like its tables, or decide otherwise on what is there twice.
func (f *File) UpdateOf(earlier *File) bool {
	if f.origin != earlier.origin || !f.enough() {
		return false
	}

	r := &updateReader{File: f, earlier: earlier, since: map[int]xrefEntry{}, parser: &parser{data: f.content, at: len(earlier.content), strict: true}}
	for {
		if r.comments(); r.parser.refused {
			return false
		}
		if r.parser.at == len(f.content) {
			return len(r.objects) == 0
		}
		if !r.update() {
			return false
		}
	}
}

// updateReader reads updates, each of which is objects, their table, and the end of the file.
type updateReader struct {
	*File

	earlier *File
	parser  *parser
	objects map[int]xrefEntry // of the update so far
	since   map[int]xrefEntry // of the updates before it
}

// comments skips white space and comments between objects.
func (r *updateReader) comments() {
	p := r.parser
	for p.at < len(p.data) && (isSpace(p.data[p.at]) || p.data[p.at] == '%') {
		end := p.at + 1
		for p.data[p.at] == '%' && end < len(p.data) && p.data[end] != '\n' && p.data[end] != '\r' {
			end++
		}
		p.refused = p.refused || commentPattern.Match(p.data[p.at:end])
		p.at = end
	}
}

var (
	// commentPattern matches comments that readers may confuse with parts of a file.
	commentPattern = regexp.MustCompile(`obj|xref|trailer|stream`)
	// tablePattern matches a table up to its trailer, with entries of 20 bytes.
	tablePattern = regexp.MustCompile(`^xref *(?:\r\n|\r|\n)(?:\d+ \d+ *(?:\r\n|\r|\n)(?:\d{10} \d{5} [nf](?: \r| \n|\r\n))*)*[\r\n ]*trailer`)
)

// update reads one update.
func (r *updateReader) update() bool {
	r.objects = map[int]xrefEntry{}
	for {
		r.comments()
		start := r.parser.at
		known := len(r.objects)

		if table := tablePattern.FindIndex(r.content[start:]); table != nil {
			r.parser.at += table[1]
			trailer, err := r.parser.value(0)
			_, isDict := trailer.(Dict)
			return err == nil && isDict && r.end(start)
		}

		if !r.object() || len(r.objects) == known {
			return false
		}
		if r.comments(); r.parser.keyword("startxref") {
			r.parser.at -= len("startxref")
			return r.end(start)
		}
	}
}

// object reads an object.
func (r *updateReader) object() bool {
	p := r.parser
	start := p.at
	number, err1 := p.integer()
	generation, err2 := p.integer()
	if err1 != nil || err2 != nil || !p.keyword("obj") {
		return false
	}

	r.objects[number] = xrefEntry{offset: start - r.origin, generation: generation}
	if p.keyword("endobj") {
		return !p.refused
	}

	value, err := p.value(0)
	if err != nil {
		return false
	}
	if p.keyword("stream") {
		entries, _ := value.(Dict)
		body := p.at + len("\n")
		if bytes.HasPrefix(p.data[p.at:], []byte("\r\n")) {
			body++
		} else if !bytes.HasPrefix(p.data[p.at:], []byte("\n")) {
			return false
		}

		content, err := filtered(r.File, entries, body)
		if p.at = body + len(content); err != nil || !p.keyword("endstream") {
			return false
		}
	}

	return p.keyword("endobj") && !p.refused
}

// end reads the end of an update after its table, which must have exactly its objects.
func (r *updateReader) end(table int) bool {
	r.comments()
	p := r.parser
	if !p.keyword("startxref") {
		return false
	}

	start, err := p.integer()
	for p.at < len(p.data) && isSpace(p.data[p.at]) {
		p.at++
	}
	if err != nil || start > table-r.origin || p.refused || !bytes.HasPrefix(p.data[p.at:], []byte("%%EOF")) {
		return false
	}
	if between := p.data[r.origin+start : table]; len(between) > len("\r\n") || len(bytes.Trim(between, "\r\n")) > 0 { // It may point to the end of the line before.
		return false
	}

	p.at += len("%%EOF")
	if !r.listed(table) {
		return false
	}
	r.objects = nil
	return true
}

// listed reports whether the table at an offset has the objects of the update, each once, and no others.
func (r *updateReader) listed(table int) bool {
	t := newTableReader(r.content, r.origin)
	trailer, err := t.read(table - r.origin)
	if err != nil || t.irregular || trailer["/XRefStm"] != nil {
		return false
	}

	for number, at := range r.objects {
		_, before := r.earlier.xref[number]
		if listed, known := t.xref[number]; known && listed != at || !known && (before || at.offset != table-r.origin) {
			return false
		}
	}

	for number, at := range t.xref {
		holder := number
		if at.stream != 0 {
			holder = at.stream
		}
		if _, own := r.objects[holder]; !own && at != r.earlier.xref[number] && at != r.since[number] {
			return false
		}
	}

	maps.Copy(r.since, t.xref)
	return true
}

// Unmoved reports whether an object number is at the same position as in an earlier state of the file, whatever its
// generation. Some readers ignore generations.
func (f *File) Unmoved(earlier *File, ref string) bool {
	number, _, _ := splitReference(ref)
	at := f.xref[number]
	return at == earlier.xref[number] && (at.stream == 0 || f.xref[at.stream] == earlier.xref[at.stream])
}
