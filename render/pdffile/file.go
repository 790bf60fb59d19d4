package pdffile

import (
	"bytes"
	"slices"
	"strings"
)

// File holds the objects of a file. Strings and streams of encrypted files are as in the file before Decrypt. The
// tables of the file hold their positions; an object is read on demand.
type File struct {
	content []byte
	origin  int // offset of the file's header, from which offsets count
	xref    map[int]xrefEntry
	numbers []int // of them, as the table has them: mostly in the order of the file
	trailer Dict
	highest int   // the highest number of an object
	tables  []int // offsets of the tables, the latest first
	// streams holds the object streams that have been read, each with its objects in order.
	streams  map[int][]packedObject
	unpacked int // bytes in them
	// checked means that they were found sound.
	checked bool
	// bounded means that only the next unread bytes of objects are read.
	bounded bool
	unread  int
	cipher  *Cipher // see Decrypt
}

// Read reads a file whose tables are as they should be.
func Read(content []byte) (*File, error) {
	f, err := ReadTable(content)
	if err != nil || !f.Sound() {
		return nil, ErrUnread
	}
	return f, nil
}

func newFile(content []byte) *File {
	return &File{content: content, xref: map[int]xrefEntry{}, streams: map[int][]packedObject{}}
}

func (f *File) add(number int, at xrefEntry) {
	f.xref[number] = at
	f.numbers = append(f.numbers, number)
	f.highest = max(f.highest, number)
}

// xrefEntry is the position of an object: an offset of the file, or an index in an object stream.
type xrefEntry struct {
	generation int
	offset     int
	stream     int // number of the stream; 0 is none
	index      int
}

// maxObjects is more than any document has.
const maxObjects = 1 << 30

// Sound reports whether the objects can be read: they are at the positions in the table, and not encrypted, unless
// Decrypt has been called.
func (f *File) Sound() bool {
	f.checked = f.checked || f.check()
	return f.checked
}

func (f *File) check() bool {
	if f.trailer["/Encrypt"] != nil && f.cipher == nil {
		return false
	}
	if wrong := f.misplaced(); len(wrong) > 0 && !f.forget(wrong) {
		return false
	}
	catalog, _, err := f.Object(f.Root())
	entries, _ := catalog.(Dict)
	return err == nil && entries != nil
}

// misplaced returns the objects that are not at their positions.
func (f *File) misplaced() (numbers []int) {
	for _, number := range f.numbers {
		if at := f.xref[number]; at.stream == 0 && !f.at(number, at) {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// forget removes objects that are not at their positions, and reports whether nothing refers to them. Other readers
// do not see them either.
func (f *File) forget(numbers []int) bool {
	wrong := map[int]bool{}
	for _, number := range numbers {
		wrong[number] = true
	}

	seen := map[string]bool{}
	for next := references(f.trailer, nil); len(next) > 0; {
		ref := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[ref] {
			continue
		}
		seen[ref] = true
		number, _, _ := splitReference(ref)
		value, _, err := f.Object(ref)
		if err != nil || wrong[number] || wrong[f.xref[number].stream] {
			return false
		}
		next = references(value, next)
	}

	for number := range wrong {
		delete(f.xref, number)
	}
	f.numbers = slices.DeleteFunc(f.numbers, func(number int) bool { return wrong[number] })
	return true
}

// at reports whether an object is at its position, if that is in the file.
func (f *File) at(number int, at xrefEntry) bool {
	_, ok := f.open(number, at)
	return ok
}

// open returns a parser at an object's value: after "4 0 obj", or at its entry in a stream.
func (f *File) open(number int, at xrefEntry) (*parser, bool) {
	if at.stream != 0 {
		packed, err := f.unpack(at.stream)
		if err != nil || at.index >= len(packed) || packed[at.index].number != number {
			return nil, false
		}
		return &parser{data: packed[at.index].content}, true
	}

	start := f.origin + at.offset
	if at.offset <= 0 || start >= len(f.content) {
		return nil, false
	}

	p := &parser{data: f.content, at: start}
	ok := p.opens(number, at.generation)
	return p, ok
}

// Object returns the value of an object; nil means that it does not exist. If the value is the dictionary of a
// stream, body is the start of the stream's content, otherwise 0. The error is ErrUnread if the file contradicts
// its table.
func (f *File) Object(ref string) (value any, body int, err error) {
	number, generation, ok := splitReference(ref)
	at, there := f.xref[number]
	if !ok || !there || at.generation != generation {
		return nil, 0, nil
	}
	return f.readAt(number, at)
}

// Bound limits the bytes of objects that are read from now on, each time that one is read. Objects are unreadable
// afterwards.
func (f *File) Bound(limit int) { f.bounded, f.unread = true, limit }

// Exhausted reports whether the limit of Bound is reached, so that objects are missing.
func (f *File) Exhausted() bool { return f.bounded && f.unread < 0 }

func (f *File) readAt(number int, at xrefEntry) (value any, body int, err error) {
	p, ok := f.open(number, at)
	if !ok || f.Exhausted() {
		return nil, 0, ErrUnread
	}

	start := p.at
	if p.keyword("endobj") {
		return nil, 0, nil
	}
	value, err = p.value(0)
	if f.unread -= p.at - start; err != nil {
		return nil, 0, ErrUnread
	}

	value = f.decrypted(number, at, value)
	if at.stream != 0 || !p.keyword("stream") {
		return value, 0, nil
	}

	if p.at < len(p.data) && p.data[p.at] == '\r' {
		p.at++
	}
	if p.at < len(p.data) && p.data[p.at] == '\n' {
		p.at++
	}
	return value, p.at, nil
}

// Dict returns an object that is a dictionary, or a stream's; nil if it is something else, or cannot be read.
func (f *File) Dict(ref string) Dict {
	value, _, err := f.Object(ref)
	if err != nil {
		return nil
	}
	entries, _ := value.(Dict)
	return entries
}

// Entry returns the dictionary that a value is or refers to.
func (f *File) Entry(v any) Dict {
	entries, _ := f.Target(v).(Dict)
	return entries
}

// Target returns a value, or the object that it refers to; nil if that cannot be read.
func (f *File) Target(v any) any {
	ref := Reference(v)
	if ref == "" {
		return v
	}
	value, _, err := f.Object(ref)
	if err != nil {
		return nil
	}
	return value
}

// plainDict is Dict for an object that is complete in the file, or in a stream.
func (f *File) plainDict(ref string) Dict {
	number, generation, ok := splitReference(ref)
	at, there := f.xref[number]
	if !ok || !there || at.generation != generation {
		return nil
	}

	p, ok := f.open(number, at)
	if !ok {
		return nil
	}

	value, err := p.value(0)
	if at.stream == 0 {
		ok = p.closed()
	} else {
		ok = p.ended()
	}
	if err != nil || !ok {
		return nil
	}

	entries, _ := f.decrypted(number, at, value).(Dict)
	return entries
}

// References returns all objects of the tables.
func (f *File) References() []string {
	all := make([]string, 0, len(f.numbers))
	for _, number := range f.numbers {
		all = append(all, Refer(number, f.xref[number].generation))
	}
	return all
}

// Span returns the offsets of an object in the content: of its number, and of the end of its value. It returns false if
// the object is in a stream or cannot be read.
func (f *File) Span(ref string) (start, end int, ok bool) {
	number, generation, ok := splitReference(ref)
	at, there := f.xref[number]
	if !ok || !there || at.generation != generation || at.stream != 0 {
		return 0, 0, false
	}

	p, ok := f.open(number, at)
	if !ok {
		return 0, 0, false
	}
	if _, err := p.value(0); err != nil {
		return 0, 0, false
	}
	return f.origin + at.offset, p.at, true
}

// Tables returns the offsets of the file's tables, the latest first.
func (f *File) Tables() []int { return f.tables }

// Trailer returns an entry of the file's trailer.
func (f *File) Trailer(key string) any { return f.trailer[key] }

// Root returns the reference of the document's catalog.
func (f *File) Root() string { return Reference(f.trailer["/Root"]) }

// Catalog returns the document's catalog; nil if it has none.
func (f *File) Catalog() Dict { return f.Dict(f.Root()) }

// Version is the one in the header, unless the catalog names a later one.
func (f *File) Version() string {
	header := f.content[min(f.origin+len("%PDF-"), len(f.content)):]
	version := string(header[:min(len("1.7"), len(header))])
	if name, _ := f.Catalog()["/Version"].(string); strings.TrimPrefix(name, "/") > version {
		return strings.TrimPrefix(name, "/")
	}
	return version
}

// Containing returns the references of all objects whose text contains one of the words, without reading the
// objects.
func (f *File) Containing(words ...string) (references []string) {
	has := func(object []byte) bool {
		return slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(object, []byte(word)) })
	}

	var offsets []int
	byOffset := map[int]string{}
	for _, number := range f.numbers {
		at := f.xref[number]
		if at.stream == 0 {
			offsets = append(offsets, f.origin+at.offset)
			byOffset[f.origin+at.offset] = Refer(number, at.generation)
			continue
		}
		if p, ok := f.open(number, at); ok && has(p.data) {
			references = append(references, Refer(number, 0))
		}
	}

	slices.Sort(offsets)
	for i, start := range offsets {
		end := len(f.content)
		if i+1 < len(offsets) {
			end = offsets[i+1]
		}
		if has(f.content[start:end]) {
			references = append(references, byOffset[start])
		}
	}

	slices.Sort(references)
	return references
}
