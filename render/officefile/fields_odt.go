package officefile

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
)

// openFields are the fields of OpenDocument texts whose stored results are shown.
var openFields = []string{
	"author-initials", "author-name", "bibliography-mark", "character-count", "conditional-text", "creation-date",
	"creation-time", "creator", "database-display", "database-name", "database-row-number", "date", "dde-connection",
	"description", "editing-cycles", "editing-duration", "expression", "file-name", "image-count", "initial-creator",
	"keywords", "modification-date", "modification-time", "object-count", "paragraph-count", "print-date",
	"print-time", "printed-by", "sender-city", "sender-company", "sender-country", "sender-email", "sender-fax",
	"sender-firstname", "sender-initials", "sender-lastname", "sender-phone-private", "sender-phone-work",
	"sender-position", "sender-postal-code", "sender-state-or-province", "sender-street", "sender-title", "subject",
	"table-count", "template-name", "time", "title", "user-defined", "user-field-get", "user-field-input",
	"variable-get", "variable-input", "variable-set", "word-count",
}

// openReferences are the fields that refer to another place, by the elements that mark such places.
var openReferences = map[string]string{
	"bookmark": "bookmark-ref", "bookmark-start": "bookmark-ref", "note": "note-ref", "reference-mark": "reference-ref",
	"reference-mark-start": "reference-ref", "sequence": "sequence-ref",
}

// odfStyles is the part with the styles of an OpenDocument file, and its headers and footers.
const odfStyles = "styles.xml"

// referenceStyle is the style of links that were references. It changes nothing, so that they look like the text around
// them.
const referenceStyle = "RelayReference"

// KeepODT writes an OpenDocument text or presentation as LibreOffice is to read it: fields with stored results become
// text, and references links. It writes no file if there is nothing to change.
func KeepODT(from, to string) (written bool, err error) {
	a, err := openArchive(from)
	if err != nil {
		return false, err
	}
	defer a.Close()

	styles, err := a.read(odfStyles)
	if err != nil {
		styles = nil // It may have none.
	}
	place, linkable, err := stylesPlace(styles)
	if err != nil {
		return false, err
	}

	changes := map[string]change{}
	linked := false
	for _, name := range []string{odfContent, odfStyles} {
		content, err := a.read(name)
		if err != nil {
			continue
		}

		r := openReader{
			places: map[openPlace]int{}, paged: map[openPlace]bool{}, edits: map[int]edit{}, linkable: linkable,
		}
		if err := errors.Join(eachToken(content, r.find), eachToken(content, r.visit)); err != nil {
			return false, err
		}
		if linked = linked || r.linked; linked && name == odfStyles {
			r.edits[place.from] = place
		}
		if len(r.edits) > 0 {
			changes[name] = replaceBy(apply(content, r.edits))
		}
	}
	if len(changes) == 0 {
		return false, nil
	}
	return true, a.rewrite(to, changes)
}

// stylesPlace returns the edit of the styles that adds referenceStyle. False means that they have no place for it.
func stylesPlace(styles []byte) (place edit, found bool, err error) {
	const style = `<style:style xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" style:name="` +
		referenceStyle + `" style:family="text"/>`

	err = eachToken(styles, func(at int, t token) {
		if found || !t.starts("styles") {
			return
		}
		found = true
		end := at + len(t)
		place = edit{from: end, to: end, text: style}
		if t.empty() {
			place = edit{from: at, to: end, text: string(t[:len(t)-2]) + ">" + style + closing(t)}
		}
	})

	return place, found, err
}

// openPlace is a place that fields refer to: the name of such fields, and that of the place.
type openPlace struct{ reference, name string }

// openReader collects the edits that make text of the fields of a part.
type openReader struct {
	// places are the positions of the places, and paged those whose page a field shows.
	places map[openPlace]int
	paged  map[openPlace]bool
	edits  map[int]edit
	// start is the start tag of the current field, as it will be, end what its end tag will be, and filled means that
	// it has a text.
	start  *edit
	end    string
	filled bool
	// links is the number of links around the current position. linkable means that references can become links, and
	// linked that one did.
	links            int
	linkable, linked bool
}

// find notes the places.
func (r *openReader) find(at int, t token) {
	if !t.tag() || t.closes() {
		return
	}

	name := string(t.name())
	switch reference := openReferences[name]; {
	case reference == "":
		if place := (openPlace{name, t.attribute("ref-name")}); t.attribute("reference-format") == "page" {
			r.paged[place] = true
		}
	case name == "note":
		r.places[openPlace{reference, t.attribute("id")}] = at
	case name == "sequence":
		r.places[openPlace{reference, t.attribute("ref-name")}] = at
	default:
		r.places[openPlace{reference, t.attribute("name")}] = at
	}
}

// visit reads a token.
func (r *openReader) visit(at int, t token) {
	switch {
	case !t.tag():
		r.filled = r.filled || len(bytes.TrimSpace(t)) > 0
	case !bytes.HasPrefix(bytes.TrimLeft(t, "</"), []byte("text:")) || t.empty():
	case string(t.name()) == "a" && t.closes():
		r.links--
	case string(t.name()) == "a":
		r.links++
	case !t.closes():
		r.open(edit{from: at, to: at + len(t)}, t)
	case r.start != nil && r.filled && isOpenField(t):
		r.change(*r.start)
		r.change(edit{from: at, to: at + len(t), text: r.end})
		r.start = nil
	}
}

// change adds an edit. The place that it changes may have got a bookmark.
func (r *openReader) change(e edit) {
	e.text = r.edits[e.from].text + e.text
	r.edits[e.from] = e
}

// isOpenField reports whether a tag is of a field whose stored result may be shown.
func isOpenField(t token) bool {
	name := string(t.name())
	return name == "sequence" || slices.Contains(openFields, name) ||
		slices.Contains(slices.Collect(maps.Values(openReferences)), name)
}

// open reads the start tag of a field.
func (r *openReader) open(place edit, t token) {
	if !isOpenField(t) {
		return
	}

	r.start = nil
	r.end = ""
	r.filled = false
	name := string(t.name())
	target := openPlace{name, t.attribute("ref-name")}
	position, exists := r.places[target]

	switch {
	case slices.Contains(openFields, name):
		if t.attribute("display") == "none" {
			return
		}
	case name == "sequence":
		if r.paged[openPlace{"sequence-ref", target.name}] {
			return
		}
	case exists && t.attribute("reference-format") == "page":
		return // It depends on the pages.
	case exists && r.links == 0 && r.linkable:
		place.text = r.link(target, position)
		r.end = "</text:a>"
	}

	r.start = &place
}

// link returns the start tag of a link to a place. Only bookmarks can be linked to: other places get one.
func (r *openReader) link(target openPlace, position int) string {
	name := target.name
	if target.reference != "bookmark-ref" {
		name = "relay-" + target.reference + "-" + target.name
		mark := `<text:bookmark text:name="` + escape(name) + `"/>`
		if e := r.edits[position]; !strings.Contains(e.text, mark) {
			e.from = position
			e.to = max(position, e.to)
			e.text = mark + e.text
			r.edits[position] = e
		}
	}
	r.linked = true
	return `<text:a xmlns:xlink="http://www.w3.org/1999/xlink" xlink:type="simple" text:style-name="` + referenceStyle +
		`" text:visited-style-name="` + referenceStyle + `" xlink:href="#` + escape(name) + `">`
}
