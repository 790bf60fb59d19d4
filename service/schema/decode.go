package schema

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/relaypdf/relaypdf/service/schema/scan"
)

const (
	// maxDepth bounds how deep an input may nest. No operation needs a tenth of
	// it, and every later walk over the input may recurse without a check.
	maxDepth = 64
	// maxStructure limits the JSON of an input without its long texts and files, in bytes.
	maxStructure = 1 << 20
	// maxWeight is the maximum memory of this structure, which is many times its text if it is made of small parts.
	// It is an estimate, in bytes.
	maxWeight = 16 << 20
)

// Approximate memory of the parts of a decoded input.
const (
	objectWeight = 350
	memberWeight = 40
	arrayWeight  = 64
	itemWeight   = 32
)

// decoder reads one JSON text and checks it against a rule while it streams: it stores only the values that the
// rule accepts. It refuses everything that JSON parsers disagree about: duplicate names, invalid UTF-8, lone
// surrogates, trailing data, numbers beyond a double. Values are nil, bool, int64, float64, string, []any,
// map[string]any and *Inline; in free-form data also json.Number, for a number that is no int64.
type decoder struct {
	*scan.Scanner

	keep   Files
	files  []*Inline
	faults FieldErrors
	path   []string
	depth  int
	weight int64
	// seen are the names of all objects that are open, one after the other.
	seen    []string
	buffers *buffers
	scratch []byte // of buffers
	root    *rule
	listed  bool // the known fields are in an error already
}

// contextReader ends with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (w contextReader) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.r.Read(p)
}

func newDecoder(ctx context.Context, body io.Reader, root *rule, keep Files) *decoder {
	if keep.Open == nil {
		keep.Open = func() Sink { return new(memory) }
		keep.Limit = math.MaxInt64 - 1
	}
	b := spareBuffers.Get().(*buffers) //nolint:errcheck // Nothing else is in there.
	b.reader.Reset(contextReader{ctx, body})
	return &decoder{
		Scanner: scan.New(b.reader, maxStructure), root: root, keep: keep, buffers: b, scratch: b.scratch[:],
	}
}

// buffers are the read buffers of a text.
type buffers struct {
	reader  *bufio.Reader
	scratch [4 << 10]byte
	long    [scan.BufferSize]byte // the first part of a long text
}

var spareBuffers = sync.Pool{New: func() any { return &buffers{reader: bufio.NewReaderSize(nil, scan.BufferSize)} }}

// release gives the buffers back: nothing is read any more.
func (d *decoder) release() {
	d.buffers.reader.Reset(nil)
	spareBuffers.Put(d.buffers)
	d.buffers = nil
	d.scratch = nil
	d.Scanner = nil
}

// read reads the whole text, once. Its error is a Faults for invalid JSON, a *SizeError, a *BusyError, or the error
// of the reader or of a file's sink. Violations of the rule are in d.faults.
func (d *decoder) read() (any, error) {
	defer d.release()
	v, err := d.value(d.root, true)
	if err == nil {
		if _, err = d.Peek(); err == nil {
			err = FieldErrors{{Message: "must be exactly one JSON object; remove the text after it"}}
		} else if errors.Is(err, scan.ErrCut) {
			err = nil
		}
	}

	var busy *BusyError
	switch syntax := (*scan.SyntaxError)(nil); {
	case d.faults.full() && (errors.Is(err, scan.ErrStructure) || errors.As(err, &busy)):
		d.faults.markIncomplete()
		return nil, nil
	case errors.Is(err, scan.ErrCut):
		return nil, FieldErrors{{Message: err.Error()}}
	case errors.Is(err, scan.ErrStructure):
		return nil, &SizeError{Field: "request", Limit: maxStructure, ExcludesFiles: true}
	case errors.As(err, &syntax):
		d.Locate(syntax)
		return nil, FieldErrors{{Field: d.field(), Message: err.Error()}}
	}

	return v, err
}

// field is the path of the value that is being read.
func (d *decoder) field() string { return joinField(d.path) }

// fault records that the value breaks the rule, and returns no error: reading continues.
func (d *decoder) fault(format string, args ...any) error {
	return d.faultAt(d.field(), format, args...)
}

func (d *decoder) faultAt(field, format string, args ...any) error {
	d.faults.Add(field, format, args...)
	return nil
}

func (d *decoder) misfit(r *rule, got any) error {
	if r.doc.Format == passwordFormat {
		return d.fault("must be %s", expectation(r.doc))
	}
	return d.fault("must be %s; got %s", expectation(r.doc), preview(got))
}

// weigh counts the memory of a stored value.
func (d *decoder) weigh(n int) error {
	if d.weight += int64(n); d.weight > maxWeight {
		return scan.ErrStructure
	}
	return d.keep.Share.take(int64(n))
}

// value reads one value. A wrong value of the right type is stored all the same, so rules about several fields know
// that it was given. A value that is not stored is read for its syntax only.
func (d *decoder) value(whole *rule, keep bool) (any, error) {
	c, err := d.Peek()
	if err != nil {
		return nil, err
	}

	kind := kindOf(c)
	r, taken := whole.meant(kind)
	if !keep {
		r = nil
		taken = true
	}

	switch {
	case kind == 0:
		return nil, d.Invalid()
	case kind == '[' && keep && !taken && r.kind == "object":
		return d.emptyArray(whole)
	case !taken:
		got, err := d.value(nil, false)
		if err != nil {
			return nil, err
		}
		return nil, d.misfit(whole, got)
	}

	switch kind {
	case '{':
		return d.anyObject(r, keep)
	case '[':
		return d.array(whole, r, keep)
	case '"':
		if r != nil && r.file {
			return d.file()
		}
		return d.text(whole, r, keep)
	}

	v, err := d.scalar(r, kind, c)
	if err != nil || r.fits(v) {
		return v, err
	}
	if r.beyond(v) {
		return v, d.fault("must be%s; got %s", bounds(r.doc), preview(v))
	}
	return v, d.misfit(whole, v)
}

// anyObject reads an object, in the form that its rule stores.
func (d *decoder) anyObject(r *rule, keep bool) (any, error) {
	switch {
	case r != nil && r.verbatim:
		return d.verbatim()
	case r != nil && r.deferred:
		return d.operationInput()
	}
	return d.object(r, keep)
}

// kindOf returns the kind of the value that starts with c, 0 for none.
func kindOf(c byte) byte {
	switch {
	case c == '{' || c == '[' || c == '"' || c == 't' || c == 'n':
		return c
	case c == 'f':
		return 't'
	case c == '-' || c >= '0' && c <= '9':
		return '0'
	}
	return 0
}

func (d *decoder) scalar(r *rule, kind, c byte) (any, error) {
	switch {
	case kind == 'n':
		return nil, d.Literal("null")
	case c == 't':
		return true, d.Literal("true")
	case c == 'f':
		return false, d.Literal("false")
	}

	text, err := d.Number(d.scratch)
	if err != nil {
		return nil, err
	}

	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil && (r != nil || string(text) != "-0") {
		return n, nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, FieldErrors{{Field: d.field(), Message: "must be a number within the range of a 64-bit float"}}
	}

	if r == nil {
		return json.Number(text), nil // free-form data keeps its digits: 1.10 is not 1.1
	}
	return f, nil
}

// open consumes the first byte of an object or array.
func (d *decoder) open() error {
	if d.depth++; d.depth > maxDepth {
		return FieldErrors{{Message: fmt.Sprintf("is nested too deeply: at most %d levels", maxDepth)}}
	}
	return d.Skip(1)
}

func (d *decoder) object(r *rule, keep bool) (any, error) {
	if err := d.open(); err != nil {
		return nil, err
	}

	var object map[string]any
	if keep {
		object = map[string]any{}
		if err := d.weigh(objectWeight); err != nil {
			return nil, err
		}
	}

	names := newNames(d)
	for first := true; ; first = false {
		more, err := d.more('}', first)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		if err := d.readMember(r, object, names); err != nil {
			return nil, err
		}
	}

	d.depth--
	names.close()
	if !keep {
		return map[string]any(nil), nil
	}
	return object, d.checkObject(r, object, names.count)
}

// more reports whether an object or array continues, and consumes the separator.
func (d *decoder) more(end byte, first bool) (bool, error) {
	c, err := d.Peek()
	switch {
	case err != nil:
		return false, err
	case c == end:
		return false, d.Skip(1)
	case first:
		return true, nil
	case c != ',':
		return false, d.Invalid()
	}
	return true, d.Skip(1)
}

// readMember reads a name and its value into an object, which is nil if nothing is stored.
func (d *decoder) readMember(r *rule, object map[string]any, names *names) error {
	if err := d.Expect('"'); err != nil {
		return err
	}
	name, err := d.short()
	if err != nil {
		return err
	}

	d.path = append(d.path, name)
	refers := name == stepField && d.keep.steps != nil && r.refers()
	if refers {
		name = storedField
	}

	if !names.add(name) {
		return FieldErrors{{Field: d.field(), Message: "is given more than once"}}
	}
	if err := d.Expect(':'); err != nil {
		return err
	}
	if err := d.memberValue(r, object, name); err != nil {
		return err
	}

	if name == storedField && object != nil && r != nil && r.members[storedField] != nil {
		d.reference(object, refers)
	}
	d.path = d.path[:len(d.path)-1]
	return nil
}

// meant suggests the field that an unknown field probably stands for or, once for each input, lists the known fields
// next to it.
func (d *decoder) meant(name string) string {
	if d.faults.full() {
		return "" // Computing a suggestion takes long, and it would not be shown.
	}

	at := d.path[:len(d.path)-1]
	near := hint(d.root.doc, at, name)
	if near == "" && !d.listed {
		near = listed(d.root.doc, at)
		d.listed = true
	}
	return near
}

func (d *decoder) memberValue(r *rule, object map[string]any, name string) error {
	c, err := d.Peek()
	if err != nil {
		return err
	}

	member, taken := r.member(name)
	if object != nil && r.strict() && c == 'n' && !member.clears() {
		if err := d.Literal("null"); err != nil || !r.changes || member.takes('n') {
			return err // It is absent.
		}
		return d.misfit(member, nil)
	}

	keep := object != nil && taken
	if maximum := maxMembers(r); keep && maximum > 0 && len(object) >= maximum {
		keep = false // which is faulted as a whole
	}
	if object != nil && !taken {
		if err := d.fault("is not a known field%s", d.meant(name)); err != nil {
			return err
		}
	}

	before := len(d.faults)
	v, err := d.value(member, keep)
	if err != nil || !keep || len(d.faults) > before && v == nil {
		return err
	}
	object[name] = v
	return d.weigh(memberWeight + len(name))
}

func maxMembers(r *rule) int {
	if r == nil || r.doc.MaxProperties == nil {
		return 0
	}
	return int(*r.doc.MaxProperties)
}

// checkObject adds validation errors for missing and surplus members of an object.
func (d *decoder) checkObject(r *rule, object map[string]any, count int) error {
	if r == nil {
		return nil
	}

	for _, name := range r.doc.Required {
		if _, ok := object[name]; ok {
			continue
		}
		field := joinField(append(slices.Clone(d.path), name))
		if !d.faults.has(field) {
			if err := d.faultAt(field, "is required"); err != nil {
				return err
			}
		}
	}

	if maximum := maxMembers(r); maximum > 0 && count > maximum {
		return d.fault("must have at most %d members; got %d", maximum, count)
	}
	return nil
}

// emptyArray accepts [] for an empty object, as PHP encodes one.
func (d *decoder) emptyArray(whole *rule) (any, error) {
	got, err := d.value(nil, false)
	if err != nil {
		return nil, err
	}
	if got != itemCount(0) {
		return nil, d.misfit(whole, got)
	}

	object := map[string]any{}
	r, _ := whole.meant('{')
	return object, d.checkObject(r, object, 0)
}

// itemCount replaces an array that was not stored.
type itemCount int

func (d *decoder) array(whole, r *rule, keep bool) (any, error) {
	if err := d.open(); err != nil {
		return nil, err
	}

	array := []any{}
	count := 0
	maximum := math.MaxInt
	if r != nil && r.doc.MaxItems != nil {
		maximum = int(*r.doc.MaxItems)
	}
	if keep {
		if err := d.weigh(arrayWeight); err != nil {
			return nil, err
		}
	}

	var items *rule
	if r != nil {
		items = r.items
	}

	for {
		more, err := d.more(']', count == 0)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}

		d.path = append(d.path, strconv.Itoa(count))
		count++
		v, err := d.value(items, keep && count <= maximum)
		if err != nil {
			return nil, err
		}
		d.path = d.path[:len(d.path)-1]
		if keep && count <= maximum {
			array = append(array, v)
			if err := d.weigh(itemWeight); err != nil {
				return nil, err
			}
		}
	}

	d.depth--
	switch {
	case !keep:
		return itemCount(count), nil
	case count > maximum || r != nil && r.doc.MinItems != nil && count < int(*r.doc.MinItems):
		return array, d.misfit(whole, itemCount(count))
	}
	return array, nil
}

// close frees the files.
func (d *decoder) close() error {
	var errs []error
	for _, file := range d.files {
		errs = append(errs, file.Close())
	}
	return errors.Join(errs...)
}

// names holds the field names of one object, to detect duplicates.
type names struct {
	d     *decoder
	start int
	many  map[string]struct{}
	count int
}

// fewNames is the maximum number of names that are compared one by one.
const fewNames = 8

func newNames(d *decoder) *names { return &names{d: d, start: len(d.seen)} }

// add reports whether the name is new.
func (n *names) add(name string) bool {
	n.count++
	own := n.d.seen[n.start:]

	if n.many == nil && len(own) < fewNames {
		if slices.Contains(own, name) {
			return false
		}
		n.d.seen = append(n.d.seen, name)
		return true
	}

	if n.many == nil {
		n.many = map[string]struct{}{}
		for _, earlier := range own {
			n.many[earlier] = struct{}{}
		}
	}

	_, there := n.many[name]
	n.many[name] = struct{}{}
	return !there
}

func (n *names) close() { n.d.seen = n.d.seen[:n.start] }

// joinField spells a place the way faults name fields: files[2].url.
func joinField(names []string) string {
	return joinPath(names, func(index string) string { return "[" + index + "]" })
}

// joinPath joins names with dots, and writes array indices with spell.
func joinPath(names []string, spell func(index string) string) string {
	var b strings.Builder
	for _, name := range names {
		if name == "" {
			name = `""`
		}
		if _, err := strconv.Atoi(name); err == nil {
			b.WriteString(spell(name))
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(name)
	}

	return b.String()
}

// DecodeObject reads one JSON object with the same strictness as Bind, for inputs that distinguish an absent member
// from null, such as a PATCH. An empty array is an empty object.
func DecodeObject(r io.Reader) (map[string]any, error) {
	d := newDecoder(context.Background(), r, anyObject, Files{})
	v, err := d.read()
	if err != nil {
		return nil, err
	}

	object, ok := v.(map[string]any)
	if !ok {
		return nil, d.faults
	}
	return object, nil
}
