package officefile

import (
	"bytes"
	"io"
	"slices"
)

// openFields are the fields of OpenDocument texts whose stored results are shown.
var openFields = []string{
	"author-initials", "author-name", "character-count", "conditional-text", "creation-date", "creation-time", "creator", "database-display",
	"database-name", "database-row-number", "date", "dde-connection", "description", "editing-cycles", "editing-duration", "expression", "file-name",
	"image-count", "initial-creator", "keywords", "modification-date", "modification-time", "object-count", "paragraph-count", "print-date",
	"print-time", "printed-by", "sender-city", "sender-company", "sender-country", "sender-email", "sender-fax", "sender-firstname",
	"sender-initials", "sender-lastname", "sender-phone-private", "sender-phone-work", "sender-position", "sender-postal-code",
	"sender-state-or-province", "sender-street", "sender-title", "subject", "table-count", "template-name", "time", "title", "user-defined",
	"user-field-get", "user-field-input", "variable-get", "variable-input", "variable-set", "word-count",
}

// openReferences are the fields that refer to another place. LibreOffice determines their results, unless the place is
// missing.
var openReferences = []string{"bookmark-ref", "note-ref", "reference-ref", "sequence-ref"}

// KeepODT writes an OpenDocument text as LibreOffice is to read it: fields with stored results become text. It writes
// no file if there is nothing to change.
func KeepODT(from, to string) (written bool, err error) {
	a, err := openArchive(from)
	if err != nil {
		return false, err
	}
	defer a.Close()

	changes := map[string]change{}
	for _, name := range []string{odfContent, "styles.xml"} {
		content, err := a.read(name)
		if err != nil {
			continue // It may have no styles.
		}
		edits, err := openEdits(content)
		if err != nil {
			return false, err
		}
		if len(edits) > 0 {
			changes[name] = func(_ io.Reader, out io.Writer) error {
				_, err := out.Write(apply(content, edits))
				return err
			}
		}
	}
	if len(changes) == 0 {
		return false, nil
	}
	return true, a.rewrite(to, changes)
}

// openEdits returns the edits that make text of the fields of a part.
func openEdits(content []byte) (map[int]edit, error) {
	places := map[string]bool{}
	err := eachToken(content, func(_ int, t token) {
		if !t.tag() || t.closes() {
			return
		}
		switch string(t.name()) {
		case "bookmark", "bookmark-start", "reference-mark", "reference-mark-start":
			places[t.attribute("name")] = true
		case "note":
			places[t.attribute("id")] = true
		case "sequence":
			places[t.attribute("ref-name")] = true
		}
	})
	if err != nil {
		return nil, err
	}

	edits := map[int]edit{}
	var start, end *edit // of the tags of the current field
	filled := false
	err = eachToken(content, func(at int, t token) {
		place := edit{from: at, to: at + len(t)}
		switch {
		case !t.tag():
			filled = filled || len(bytes.TrimSpace(t)) > 0
		case !bytes.HasPrefix(bytes.TrimLeft(t, "</"), []byte("text:")) || t.empty():
		case t.closes() && start != nil && filled && isOpenField(t, nil):
			end = &place
			edits[start.from], edits[end.from] = *start, *end
			start = nil
		case t.closes():
		case isOpenField(t, places):
			start, filled = &place, false
		case slices.Contains(openReferences, string(t.name())):
			start = nil
		}
	})
	return edits, err
}

// isOpenField reports whether a tag is of a field whose stored result is shown. places are the targets of references;
// nil means that it is an end tag.
func isOpenField(t token, places map[string]bool) bool {
	name := string(t.name())
	if slices.Contains(openReferences, name) {
		return places == nil || !places[t.attribute("ref-name")]
	}
	return slices.Contains(openFields, name) && (places == nil || t.attribute("display") != "none")
}
