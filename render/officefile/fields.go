package officefile

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// FieldUpdate selects the fields of a text whose results are determined again.
type FieldUpdate string

// The choices for fields. By default, they show the results that the document has stored.
const (
	FieldsStored FieldUpdate = "stored"
	FieldsUpdate FieldUpdate = "update"
)

// storedFields are the fields of Word whose stored results are shown. All others depend on the pages, such as PAGE, or
// have results that are no text, such as TOC.
var storedFields = []string{
	"=", "ADDRESSBLOCK", "ASK", "AUTHOR", "AUTOTEXT", "AUTOTEXTLIST", "BIBLIOGRAPHY", "CITATION", "COMMENTS",
	"COMPARE", "CREATEDATE", "DATABASE", "DATE", "DOCPROPERTY", "DOCVARIABLE", "EDITTIME", "FILENAME", "FILESIZE",
	"FILLIN", "FORMULA", "GREETINGLINE", "IF", "INCLUDETEXT", "INFO", "KEYWORDS", "LASTSAVEDBY", "MERGEFIELD",
	"MERGEREC", "MERGESEQ", "NOTEREF", "NUMCHARS", "NUMWORDS", "PRINTDATE", "QUOTE", "REF", "REVNUM", "SAVEDATE",
	"SECTION", "SECTIONPAGES", "SEQ", "STYLEREF", "SUBJECT", "TEMPLATE", "TIME", "TITLE", "USERADDRESS",
	"USERINITIALS", "USERNAME",
}

// fieldCode is the text of a field of Word, such as: REF chapter1 \h.
type fieldCode struct {
	name, argument string // the name in capitals
	link           bool   // it has the switch \h: the result is a link
}

func parseFieldCode(text string) (c fieldCode) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return c
	}

	c.name = strings.ToUpper(words[0])
	if strings.HasPrefix(c.name, "=") {
		c.name = "="
	}

	for _, word := range words[1:] {
		switch {
		case strings.EqualFold(word, `\h`):
			c.link = true
		case c.argument == "" && !strings.HasPrefix(word, `\`):
			c.argument = strings.Trim(word, `"`)
		}
	}
	return c
}

// fieldFate is what becomes of a field.
type fieldFate int

const (
	fieldLives  fieldFate = iota // LibreOffice determines its result
	fieldStored                  // its stored result becomes text
	fieldLinks                   // its stored result becomes a link to its bookmark
)

// bookmarks are the names of a document's bookmarks, by themselves in small letters: for Word, these are the same.
type bookmarks map[string]string

func (b bookmarks) add(name string) { b[strings.ToLower(name)] = name }

// find returns the bookmark with a name, or "".
func (b bookmarks) find(name string) string { return b[strings.ToLower(name)] }

// fate returns what becomes of a field with a stored result.
func (c fieldCode) fate(marks bookmarks) fieldFate {
	exists := marks.find(c.argument) != ""
	switch c.name {
	case "PAGEREF":
		if exists && marks.find(c.argument) == c.argument { // LibreOffice distinguishes capitals.
			return fieldLives
		}
		return fieldStored
	case "REF", "NOTEREF":
		if c.link && exists {
			return fieldLinks
		}
		return fieldStored
	}

	switch {
	case slices.Contains(storedFields, c.name):
		return fieldStored
	case c.name != "" && marks.find(c.name) != "": // a REF without its name
		return fieldStored
	}
	return fieldLives
}

// edit replaces the bytes of a part from one position to another by a text.
type edit struct {
	from, to int
	text     string
}

// apply returns content with the edits, of which none overlaps another.
func apply(content []byte, edits map[int]edit) []byte {
	var out []byte
	at := 0
	for _, from := range slices.Sorted(maps.Keys(edits)) {
		out = append(append(out, content[at:from]...), edits[from].text...)
		at = edits[from].to
	}
	return append(out, content[at:]...)
}

// KeepDOCX writes a document of Word as LibreOffice is to read it: fields with stored results become text. It writes no
// file if there is nothing to change, or if the document wants its fields to be updated.
func KeepDOCX(from, to string) (written bool, err error) {
	a, err := openArchive(from)
	if err != nil {
		return false, err
	}
	defer a.Close()

	parts, marks, outdated, err := a.fieldParts()
	if err != nil || outdated {
		return false, err
	}

	changes := map[string]change{}
	for name, content := range parts {
		_, file := path.Split(name)
		r := wordReader{
			bookmarks: marks, edits: map[int]edit{},
			repeated: strings.HasPrefix(file, "header") || strings.HasPrefix(file, "footer"),
		}
		if err := eachToken(content, r.visit); err != nil {
			return false, err
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

// fieldParts returns the parts of a document of Word that have fields, the bookmarks of all parts, and whether the
// document wants its fields to be updated.
func (a *archive) fieldParts() (parts map[string][]byte, marks bookmarks, outdated bool, err error) {
	parts = map[string][]byte{}
	marks = bookmarks{}
	for name := range a.parts {
		folder, file := path.Split(name)
		if folder != "word/" || path.Ext(file) != ".xml" {
			continue
		}
		content, err := a.read(name)
		if err != nil {
			return nil, nil, false, err
		}

		fields := false
		err = eachToken(content, func(_ int, t token) {
			if !t.tag() || t.closes() {
				return
			}
			switch string(t.name()) {
			case "fldChar", "fldSimple":
				fields = true
			case "bookmarkStart":
				marks.add(t.attribute("name"))
			case "updateFields":
				value := t.attribute("val")
				outdated = outdated || value == "" || isOn(value)
			}
		})

		if err != nil {
			return nil, nil, false, err
		}
		if fields {
			parts[name] = content
		}
	}
	return parts, marks, outdated, nil
}

// isOn reports whether a value of Office Open XML means yes.
func isOn(value string) bool { return isTrue(value) || value == "on" }

// eachToken visits the tokens of a part with their positions.
func eachToken(content []byte, visit func(at int, t token)) error {
	source := newTokens(bytes.NewReader(content))
	at := 0
	for {
		t, err := source.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		visit(at, t)
		at += len(t)
	}
}

// wordField is a field of Word that is being read.
type wordField struct {
	text     strings.Builder
	inResult bool // its code has ended
	// hasResult means that there is something after its code.
	hasResult, dirty bool
	// marks are its own marks, code the elements of its code, and texts those of them with its own text.
	marks, code, texts []edit
	// prefix is that of an element that is the whole field.
	prefix string
}

// wordReader collects the edits that make text of the fields of a part.
type wordReader struct {
	bookmarks bookmarks
	edits     map[int]edit
	open      []*wordField
	// repeated means that the part is on several pages.
	repeated bool
	// element is the start tag of the element that is being read, and from its position.
	element token
	from    int
}

// visit reads a token.
func (r *wordReader) visit(at int, t token) {
	switch {
	case r.element != nil && t.closes() && bytes.Equal(t.name(), r.element.name()):
		r.read(at + len(t))
	case r.element != nil && !t.tag():
		r.content(t)
	case r.element != nil || !t.tag():
	case string(t.name()) == "fldSimple":
		r.simple(at, t)
	case t.closes():
	default:
		switch string(t.name()) {
		case "drawing", "pict", "object":
			r.result()
		case "t", "delText", "instrText", "delInstrText", "sym", "fldChar":
			r.element = slices.Clone(t)
			r.from = at
			if t.empty() {
				r.read(at + len(t))
			}
		}
	}
}

// top returns the innermost field, or nil.
func (r *wordReader) top() *wordField {
	if len(r.open) == 0 {
		return nil
	}
	return r.open[len(r.open)-1]
}

// content reads the text of an element.
func (r *wordReader) content(t token) {
	f := r.top()
	switch name := string(r.element.name()); {
	case name == "instrText" && f != nil && !f.inResult:
		f.text.WriteString(t.text())
	case name == "t":
		r.result()
	}
}

// result notes that the open fields have a result.
func (r *wordReader) result() {
	for _, f := range r.open {
		f.hasResult = f.hasResult || f.inResult
	}
}

// read notes an element, which ends at a position.
func (r *wordReader) read(end int) {
	name := string(r.element.name())
	kind := ""
	f := r.top()
	place := edit{from: r.from, to: end}
	if name == "fldChar" {
		kind = r.element.attribute("fldCharType")
	}

	for _, o := range r.open {
		if own := o == f && (kind == "separate" || kind == "end"); !o.inResult && !own {
			o.code = append(o.code, place)
		}
	}

	switch {
	case name == "sym":
		r.result()
	case name == "instrText" && f != nil && !f.inResult:
		f.texts = append(f.texts, place)
	case kind == "begin":
		r.open = append(r.open, &wordField{dirty: isOn(r.element.attribute("dirty")), marks: []edit{place}})
	case f != nil && kind == "separate":
		f.inResult = true
		f.marks = append(f.marks, place)
	case f != nil && kind == "end":
		f.marks = append(f.marks, place)
		r.end(f)
	}
	r.element = nil
}

// simple reads a tag of a field that is one element.
func (r *wordReader) simple(at int, t token) {
	place := edit{from: at, to: at + len(t)}
	switch f := r.top(); {
	case t.empty():
	case !t.closes():
		prefix, _, _ := strings.Cut(string(t[1:]), "fldSimple")
		f := &wordField{inResult: true, dirty: isOn(t.attribute("dirty")), marks: []edit{place}, prefix: prefix}
		f.text.WriteString(t.attribute("instr"))
		r.open = append(r.open, f)
	case f != nil:
		f.marks = append(f.marks, place)
		r.end(f)
	}
}

// end decides what becomes of a field.
func (r *wordReader) end(f *wordField) {
	r.open = r.open[:len(r.open)-1]
	if !f.inResult || !f.hasResult || f.dirty {
		return
	}

	code := parseFieldCode(f.text.String())
	fate := code.fate(r.bookmarks)
	if fate == fieldLives || r.repeated && code.name == "STYLEREF" {
		return
	}

	bookmark := escape(r.bookmarks.find(code.argument))
	switch {
	case fate == fieldLinks && len(f.texts) == 0: // one element
		f.marks[0].text = "<" + f.prefix + "hyperlink " + f.prefix + `anchor="` + bookmark + `">`
		f.marks[1].text = "</" + f.prefix + "hyperlink>"
	case fate == fieldLinks:
		f.marks = nil
	}

	for _, e := range slices.Concat(f.marks, f.code) {
		r.edits[e.from] = e
	}
	if fate == fieldLinks && len(f.texts) > 0 {
		first := f.texts[0]
		first.text = `<w:instrText xml:space="preserve"> HYPERLINK \l "` + bookmark + `" </w:instrText>`
		r.edits[first.from] = first
	}
}
