package pdffile

import (
	"fmt"
	"maps"
	"slices"
)

// Update collects objects that are to be replaced or added.
type Update struct {
	file    *File // nil for a new document
	changed map[string]any
	kept    map[int]xrefEntry // that are to be in the table besides; see Replace
	next    int               // the number of the next new object
	info    string            // the document information; empty is as the file has it
	id      []any             // see SetID
	omitted func(reference string) bool
	cipher  *Cipher
}

// NewUpdate returns an update of the file without changes.
func (f *File) NewUpdate() *Update {
	u := &Update{file: f, changed: map[string]any{}, next: f.highest + 1}
	// A declared object that is missing may have references, which must not lead to a new one.
	if size, ok := f.trailer["/Size"].(float64); ok && size <= maxNumber {
		u.next = max(u.next, int(size))
	}
	return u
}

// maxNumber is the highest number of an object that all readers support (ISO 32000-1, C.2).
const maxNumber = 8_388_607

// Reserve returns the reference of a new object.
func (u *Update) Reserve() string {
	u.next++
	return Refer(u.next-1, 0)
}

// Set gives an object its value.
func (u *Update) Set(reference string, value any) { u.changed[reference] = value }

// Omit leaves objects out of Compact and Plain: references to them are null. Objects with a new value stay.
func (u *Update) Omit(omitted func(reference string) bool) { u.omitted = omitted }

// Value returns an object's value after the update.
func (u *Update) Value(reference string) any {
	if value, ok := u.changed[reference]; ok {
		return value
	}
	value, body, err := u.file.Object(reference)
	if err != nil || body != 0 {
		return nil
	}
	return value
}

// SetInfo gives the document its information.
func (u *Update) SetInfo(entries Dict) {
	u.info = u.Reserve()
	u.Set(u.info, entries)
}

// SetID gives a new file the two strings that name it.
func (u *Update) SetID(first, second string) { u.id = []any{first, second} }

// Encrypt makes Compact encrypt the file. Append encrypts what it adds to a file after Decrypt without this.
func (u *Update) Encrypt(c *Cipher) { u.cipher = c }

// Empty reports whether nothing was set.
func (u *Update) Empty() bool { return len(u.changed) == 0 }

// Append returns the bytes to append to the file, an incremental update of the standard. Its table has the form of the
// file's latest one.
func (u *Update) Append() ([]byte, error) {
	f := u.file
	trailer := Dict{"/Root": f.trailer["/Root"]}
	for _, key := range []string{"/Info", "/ID", "/Encrypt"} {
		if v := f.trailer[key]; v != nil {
			trailer[key] = v
		}
	}

	if before, ok := startOf(f.content); ok {
		trailer["/Prev"] = before
	}

	if f.trailer["/Type"] == "/XRef" {
		return u.streamSection(len(f.content)-f.origin, trailer), nil
	}
	return u.section(len(f.content)-f.origin, trailer), nil
}

// streamSection is section with a table that is a stream.
func (u *Update) streamSection(offset int, trailer Dict) []byte {
	const width = 4 // bytes of an offset
	out := []byte("\n")
	table := u.Reserve()
	var index []any
	var rows []byte

	row := func(number, generation int) {
		at := offset + len(out)
		index = append(index, number, 1)
		rows = append(rows, rowPlain, byte(at>>24), byte(at>>16), byte(at>>8), byte(at), byte(generation>>8), byte(generation))
	}

	for _, ref := range slices.SortedFunc(maps.Keys(u.changed), compareReferences) {
		number, generation, _ := splitReference(ref)
		row(number, generation)
		out = appendObject(out, ref, u.encrypted(ref))
	}

	u.finish(trailer)
	number, _, _ := splitReference(table)
	start := offset + len(out)
	row(number, 0)
	trailer["/Type"], trailer["/W"], trailer["/Index"] = "/XRef", []any{1, width, 2}, index
	out = appendObject(out, table, Stream{trailer, rows})
	return fmt.Appendf(out, "startxref\n%d\n%%%%EOF\n", start)
}

// encrypted returns the new value of an object as the file is to have it.
func (u *Update) encrypted(ref string) any {
	if u.file == nil || u.file.cipher == nil {
		return u.changed[ref]
	}
	number, generation, _ := splitReference(ref)
	return u.file.cipher.encrypted(number, generation, u.changed[ref])
}

func appendObject(out []byte, ref string, value any) []byte {
	number, generation, _ := splitReference(ref)
	out = fmt.Appendf(out, "%d %d obj\n", number, generation)
	return append(appendValue(out, value), "\nendobj\n"...)
}

// finish completes a trailer.
func (u *Update) finish(trailer Dict) {
	trailer["/Size"] = u.next
	if u.id != nil {
		trailer["/ID"] = u.id
	}
	if u.info != "" {
		trailer["/Info"] = u.info
	}
}

// Replace is Append for an update after which only objects that are reachable from the catalog remain, other than
// through some of its entries. The error is ErrUnread if an object on the way cannot be read, or is in a stream.
// Programs take longer to read a large table than to copy the pages of most documents.
func (u *Update) Replace(but ...string) ([]byte, error) {
	kept, err := u.reachable(but...)
	if err != nil {
		return nil, err
	}

	u.next = 0
	for number := range kept {
		u.next = max(u.next, number+1)
	}
	for ref := range u.changed {
		number, _, _ := splitReference(ref)
		u.next = max(u.next, number+1)
	}

	u.kept = kept
	return u.section(len(u.file.content)-u.file.origin, Dict{"/Root": u.file.trailer["/Root"]}), nil
}

// NewDocument returns an update that makes a whole document, with the reference
// of the catalog that it is to set.
func NewDocument() (u *Update, root string) {
	u = &Update{changed: map[string]any{}, next: 1}
	root = u.Reserve()
	return u, root
}

// Document returns a document of nothing but the update.
func (u *Update) Document(root string) []byte {
	header := []byte("%PDF-1.3\n")
	return append(header, u.section(len(header), Dict{"/Root": root})...)
}

// section writes the objects of the update, their table and the trailer, for an offset of the file.
func (u *Update) section(offset int, trailer Dict) []byte {
	out := []byte("\n")
	table := []byte("xref\n")
	for _, ref := range slices.SortedFunc(maps.Keys(u.changed), compareReferences) {
		number, generation, _ := splitReference(ref)
		table = fmt.Appendf(table, "%d 1\n%010d %05d n \n", number, offset+len(out), generation)
		out = appendObject(out, ref, u.encrypted(ref))
	}

	for _, number := range slices.Sorted(maps.Keys(u.kept)) {
		at := u.kept[number]
		if u.changed[Refer(number, at.generation)] == nil {
			table = fmt.Appendf(table, "%d 1\n%010d %05d n \n", number, at.offset, at.generation)
		}
	}

	u.finish(trailer)
	start := offset + len(out)
	out = append(append(out, table...), "trailer "...)
	return fmt.Appendf(appendValue(out, trailer), "\nstartxref\n%d\n%%%%EOF\n", start)
}
