package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// objects are the objects of a document that is not encrypted. qpdf says where
// each of them is, in a hundredth of the time that it takes to describe all of
// them; those that are of interest are read here.
type objects struct {
	content []byte
	origin  int // where the file's header is, from which offsets count
	places  map[int]place
	numbers []int // of them, as the table has them: mostly in the order of the file
	trailer dict
	highest int // the highest number of an object
	// streams are those of the object streams that have been read: their
	// objects in order.
	streams  map[int][]packedObject
	unpacked int // bytes in them
	// checked means that they were found sound.
	checked bool
}

func newObjects(content []byte) *objects {
	return &objects{content: content, places: map[int]place{}, streams: map[int][]packedObject{}}
}

func (o *objects) add(number int, at place) {
	o.places[number] = at
	o.numbers = append(o.numbers, number)
	o.highest = max(o.highest, number)
}

// place is where an object is: at an offset of the file, or in a stream, as the
// index-th object.
type place struct {
	generation int
	offset     int
	stream     int // number of the stream; 0 is none
	index      int
}

// maxObjects is more than any document has.
const maxObjects = 1 << 30

var errUnread = errors.New("pdf: object cannot be read as it stands")

// readObjects reads where the document's objects are. qpdf tells that of every
// file; the table of a plain one can be read in a fraction of its time.
func (d *document) readObjects(ctx context.Context) (*objects, error) {
	content, err := d.content()
	if err != nil {
		return nil, err
	}
	if o, err := readWhole(content); err == nil {
		return o, nil
	}
	return d.askObjects(ctx, content)
}

// askObjects asks qpdf where the objects are in the document's file.
func (d *document) askObjects(ctx context.Context, content []byte) (*objects, error) {
	out, err := d.ask(ctx, qpdfJob{"inputFile": d.name, "password": d.password, "showXref": "", "showObject": "trailer"})
	if err != nil {
		return nil, err
	}
	o, err := parseObjects(out, content)
	if err != nil {
		return nil, d.fail(Damaged, err)
	}
	return o, nil
}

// parseObjects takes what qpdf says of a file: where its objects are, one a
// line, and its trailer.
func parseObjects(said, content []byte) (*objects, error) {
	o := newObjects(content)
	for line := range bytes.Lines(said) {
		number, at, ok := parsePlace(string(line))
		if !ok {
			break
		}
		o.add(number, at)
		said = said[len(line):]
	}
	trailer, err := (&parser{data: said}).value(0)
	if err != nil {
		return nil, fmt.Errorf("trailer: %w", err)
	}
	o.trailer, _ = trailer.(dict)
	if size, ok := o.trailer["/Size"].(float64); ok {
		o.highest = max(o.highest, int(min(size, maxObjects))-1)
	}
	o.origin = max(0, bytes.Index(content[:min(len(content), headerWithin)], []byte("%PDF-")))
	return o, nil
}

// parsePlace reads a line of qpdf's cross-reference table, such as
// "3/0: uncompressed; offset = 15" or "4/0: compressed; stream = 7, index = 2".
func parsePlace(line string) (number int, p place, ok bool) {
	id, where, _ := strings.Cut(strings.TrimSpace(line), ": ")
	first, second, _ := strings.Cut(id, "/")
	number, err := strconv.Atoi(first)
	if err != nil {
		return 0, p, false
	}
	if p.generation, err = strconv.Atoi(second); err != nil {
		return 0, p, false
	}
	if offset, found := strings.CutPrefix(where, "uncompressed; offset = "); found {
		p.offset, err = strconv.Atoi(offset)
		return number, p, err == nil
	}
	stream, index, _ := strings.Cut(strings.TrimPrefix(where, "compressed; stream = "), ", index = ")
	if p.stream, err = strconv.Atoi(stream); err != nil {
		return 0, p, false
	}
	p.index, err = strconv.Atoi(index)
	return number, p, err == nil
}

// soundObjects is readObjects for a document that is rewritten where it must be.
func (d *document) soundObjects(ctx context.Context) (*objects, error) {
	return readSound(ctx, d, d.readObjects)
}

// readSound reads something of a document, which is rewritten first where it
// cannot be read as it stands.
func readSound[T interface{ sound() bool }](ctx context.Context, d *document, read func(context.Context) (T, error)) (T, error) {
	found, err := read(ctx)
	if err != nil || found.sound() {
		return found, err
	}
	if err := d.rewrite(ctx); err != nil {
		return found, err
	}
	return read(ctx)
}

// sound tells whether the objects can be read as they stand. qpdf looks for
// objects that are not where the table has them, and decrypts.
func (o *objects) sound() bool {
	o.checked = o.checked || o.check()
	return o.checked
}

func (o *objects) check() bool {
	if o.trailer["/Encrypt"] != nil {
		return false
	}
	for _, number := range o.numbers {
		if at := o.places[number]; at.stream == 0 && !o.at(number, at) {
			return false
		}
	}
	catalog, _, err := o.read(reference(o.trailer["/Root"]))
	entries, _ := catalog.(dict)
	return err == nil && entries != nil
}

// at tells whether an object is at its place, where that is in the file.
func (o *objects) at(number int, at place) bool {
	_, ok := o.open(number, at)
	return ok
}

// open returns a parser for what an object is: what stands behind "4 0 obj", or
// all that a stream has of it.
func (o *objects) open(number int, at place) (*parser, bool) {
	if at.stream != 0 {
		packed, err := o.unpack(at.stream)
		if err != nil || at.index >= len(packed) || packed[at.index].number != number {
			return nil, false
		}
		return &parser{data: packed[at.index].content}, true
	}
	start := o.origin + at.offset
	if at.offset <= 0 || start >= len(o.content) {
		return nil, false
	}
	p := &parser{data: o.content, at: start}
	for _, want := range []int{number, at.generation} {
		if got, err := p.integer(); err != nil || got != want {
			return nil, false
		}
	}
	ok := p.keyword("obj")
	return p, ok
}

// read returns the value of an object, which is nil where there is none. body
// is where the content of a stream begins, whose dictionary is the value; 0 is
// no stream. The error is errUnread where the file does not say the same as its
// table.
func (o *objects) read(ref string) (value any, body int, err error) {
	number, generation, ok := splitReference(ref)
	at, there := o.places[number]
	if !ok || !there || at.generation != generation {
		return nil, 0, nil
	}
	return o.readAt(number, at)
}

func (o *objects) readAt(number int, at place) (value any, body int, err error) {
	p, ok := o.open(number, at)
	if !ok {
		return nil, 0, errUnread
	}
	if p.keyword("endobj") {
		return nil, 0, nil
	}
	if value, err = p.value(0); err != nil {
		return nil, 0, errUnread
	}
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

// value returns an object that is a dictionary, or a stream's. "trailer" is the
// document's trailer. An object that is none is none that anybody looks for.
func (o *objects) value(ref string) dict {
	if ref == "trailer" {
		return o.trailer
	}
	value, _, err := o.read(ref)
	if err != nil {
		return nil
	}
	entries, _ := value.(dict)
	return entries
}

// entry returns the dictionary that a value is or refers to.
func (o *objects) entry(v any) dict {
	entries, _ := o.target(v).(dict)
	return entries
}

// target returns a value, or the object that it refers to; nil where that cannot
// be read.
func (o *objects) target(v any) any {
	ref := reference(v)
	if ref == "" {
		return v
	}
	value, _, err := o.read(ref)
	if err != nil {
		return nil
	}
	return value
}

// root returns the reference of the document's catalog.
func (o *objects) root() string { return reference(o.trailer["/Root"]) }

// version is the one in the header, unless the catalog names a later one.
func (o *objects) version() string {
	header := o.content[o.origin+len("%PDF-"):]
	version := string(header[:min(len("1.7"), len(header))])
	if name, _ := o.value(o.root())["/Version"].(string); strings.TrimPrefix(name, "/") > version {
		return strings.TrimPrefix(name, "/")
	}
	return version
}

// mayLink tells objects that cannot hold a destination without parsing them.
func mayLink(object []byte) bool {
	return bytes.Contains(object, []byte("/Dest")) || bytes.Contains(object, []byte("/GoTo"))
}

// linking returns the references of all objects that may hold a destination.
func (o *objects) linking() (references []string) {
	var offsets []int
	byOffset := map[int]string{}
	for _, number := range o.numbers {
		at := o.places[number]
		if at.stream == 0 {
			offsets = append(offsets, o.origin+at.offset)
			byOffset[o.origin+at.offset] = refer(number, at.generation)
			continue
		}
		if p, ok := o.open(number, at); ok && mayLink(p.data) {
			references = append(references, refer(number, 0))
		}
	}
	slices.Sort(offsets)
	for i, start := range offsets {
		end := len(o.content)
		if i+1 < len(offsets) {
			end = offsets[i+1]
		}
		if mayLink(o.content[start:end]) {
			references = append(references, byOffset[start])
		}
	}
	slices.Sort(references)
	return references
}
