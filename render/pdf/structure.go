package pdf

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"relaypdf/render/engine"
)

// dict is a PDF dictionary.
type dict = map[string]any

// structure is what qpdf says of a document, its pages and its outline, and its
// objects.
type structure struct {
	Pages    []pageObject  `json:"pages"`
	Outlines []outlineItem `json:"outlines"`

	*objects
}

type pageObject struct {
	Object string `json:"object"`
}

// outlineItem is one entry of a document's outline.
type outlineItem struct {
	Object string        `json:"object"`
	Title  string        `json:"title"`
	Dest   any           `json:"dest"`
	Page   *int          `json:"destpageposfrom1"`
	Open   bool          `json:"open"`
	Kids   []outlineItem `json:"kids"`
}

// readStructure reads the pages, the outline and the objects of a document, and
// counts its pages. A document that cannot be read as it stands, such as one
// that is encrypted, is rewritten first.
func (d *document) readStructure(ctx context.Context) (*structure, error) {
	return readSound(ctx, d, d.describeAsIs)
}

func (d *document) describeAsIs(ctx context.Context) (*structure, error) {
	content, err := d.content()
	if err != nil {
		return nil, err
	}
	o, err := readWhole(content)
	if err == nil {
		if s, err := o.structure(); err == nil {
			d.pages = len(s.Pages)
			return s, nil
		}
	}
	var s *structure
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		s, err = d.describe(groupCtx, "pages", "outlines")
		return err
	})
	if o == nil {
		group.Go(func() (err error) {
			o, err = d.askObjects(groupCtx, content)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	s.objects, d.pages = o, len(s.Pages)
	return s, nil
}

// rewrite makes a document one whose objects can be read: not encrypted, and
// with a table that is right.
func (d *document) rewrite(ctx context.Context) error {
	original := *d
	packed, err := contains(d.work.Path(d.name), "/ObjStm")
	if err != nil {
		return err
	}
	encrypted, err := contains(d.work.Path(d.name), "/Encrypt")
	if err != nil {
		return err
	}
	name := strconv.Itoa(d.number) + "rewritten.pdf"
	if err := d.writeTo(ctx, name, qpdfJob{"decrypt": "", "objectStreams": "disable", "streamData": "preserve"}); err != nil {
		return err
	}
	d.name, d.password, d.packed = name, "", packed
	if encrypted {
		d.sealed = &original
	}
	return nil
}

// What qpdf may take to describe a document: more than the largest of honest
// documents need, with fifty thousand pages, and so little that several at a
// time fit into a job. qpdf never gets to the end of an outline whose entries
// follow themselves, nor soon to that of a million pages that are all the same.
const (
	describeTime   = 15 * time.Second
	describeMemory = 320 << 20
	// outOfMemory is how qpdf, which is written in C++, says that it got none.
	outOfMemory = "std::bad_alloc"
)

// describe reads parts of qpdf's description of the document. That of its
// objects is not one of them: qpdf looks at each of them for it.
func (d *document) describe(ctx context.Context, keys ...string) (*structure, error) {
	out, err := d.ask(ctx, qpdfJob{"inputFile": d.name, "password": d.password, "json": "2", "jsonKey": keys})
	if err != nil {
		return nil, err
	}
	var s structure
	if err := json.Unmarshal(out, &s); err != nil {
		return nil, d.fail(Damaged, fmt.Errorf("structure: %w", err))
	}
	return &s, nil
}

// ask runs a qpdf job that describes the document, in bounds of its own.
func (d *document) ask(ctx context.Context, job qpdfJob) ([]byte, error) {
	bounded, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	out, err := qpdfWithin(bounded, d.work, job, describeMemory)
	var exit *engine.ExitError
	switch {
	case err != nil && ctx.Err() == nil && bounded.Err() != nil:
		return nil, d.fail(Exhausted, err)
	case errors.As(err, &exit) && strings.Contains(exit.Stderr, outOfMemory):
		return nil, d.fail(Exhausted, err)
	}
	return out, d.damaged(err)
}

// update collects objects that are to be replaced or added.
type update struct {
	changed map[string]any
	kept    map[int]place // that are to be in the table besides; see replaceTable
	next    int           // the number of the next new object
}

func (o *objects) newUpdate() *update {
	return &update{changed: map[string]any{}, next: o.highest + 1}
}

// reserve returns the reference of a new object.
func (u *update) reserve() string {
	u.next++
	return refer(u.next-1, 0)
}

// set gives an object its value.
func (u *update) set(reference string, value any) { u.changed[reference] = value }

// appendTo adds the update to the end of the document's file, as the standard
// has it for changes.
func (u *update) appendTo(d *document, o *objects) (err error) {
	if len(u.changed) == 0 {
		return nil
	}
	f, err := os.OpenFile(d.work.Path(d.name), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	trailer := dict{"/Root": o.trailer["/Root"]}
	for _, key := range []string{"/Info", "/ID"} {
		if v := o.trailer[key]; v != nil {
			trailer[key] = v
		}
	}
	tail := o.content[max(0, len(o.content)-headerWithin):]
	if all := startPattern.FindAllSubmatch(tail, -1); len(all) > 0 {
		trailer["/Prev"], err = strconv.Atoi(string(all[len(all)-1][1]))
		if err != nil {
			return d.fail(Damaged, err)
		}
	}
	_, err = f.Write(u.section(len(o.content)-o.origin, trailer))
	return err
}

// section writes the objects of the update, their table and the trailer, which
// will stand at an offset of the file.
func (u *update) section(offset int, trailer dict) []byte {
	out, table := []byte("\n"), []byte("xref\n")
	for _, ref := range slices.SortedFunc(maps.Keys(u.changed), compareReferences) {
		number, generation, _ := splitReference(ref)
		table = fmt.Appendf(table, "%d 1\n%010d %05d n \n", number, offset+len(out), generation)
		out = fmt.Appendf(out, "%d %d obj\n", number, generation)
		out = append(appendValue(out, u.changed[ref]), "\nendobj\n"...)
	}
	for _, number := range slices.Sorted(maps.Keys(u.kept)) {
		at := u.kept[number]
		if u.changed[refer(number, at.generation)] == nil {
			table = fmt.Appendf(table, "%d 1\n%010d %05d n \n", number, at.offset, at.generation)
		}
	}
	trailer["/Size"] = u.next
	start := offset + len(out)
	out = append(append(out, table...), "trailer "...)
	return fmt.Appendf(appendValue(out, trailer), "\nstartxref\n%d\n%%%%EOF\n", start)
}

func compareReferences(a, b string) int {
	first, _, _ := splitReference(a)
	second, _, _ := splitReference(b)
	return cmp.Compare(first, second)
}

// without returns a copy of a dictionary that lacks some keys.
func without(entries dict, keys ...string) dict {
	rest := maps.Clone(entries)
	maps.DeleteFunc(rest, func(key string, _ any) bool { return slices.Contains(keys, key) })
	return rest
}
