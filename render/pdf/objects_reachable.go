package pdf

import (
	"errors"
	"fmt"
	"os"
)

// reachable returns the objects that an update leaves reachable from the catalog,
// but by some of its entries, of a document that has none in streams. The error is
// errUnread where one cannot be read.
func (o *objects) reachable(u *update, but ...string) (kept map[int]place, err error) {
	kept = map[int]place{}
	catalog := o.plainValue(o.root())
	if catalog == nil {
		return nil, errUnread
	}
	number, _, _ := splitReference(o.root())
	kept[number] = o.places[number]
	next := references(without(catalog, but...), nil)
	for len(next) > 0 {
		ref := next[len(next)-1]
		next = next[:len(next)-1]
		number, generation, _ := splitReference(ref)
		at, there := o.places[number]
		if _, seen := kept[number]; seen || !there || at.generation != generation {
			continue
		}
		value, changed := u.changed[ref]
		if !changed {
			if at.stream != 0 {
				return nil, errUnread
			}
			if value, _, err = o.read(ref); err != nil {
				return nil, err
			}
		}
		kept[number] = at
		next = references(value, next)
	}
	return kept, nil
}

// references adds all references in a value to a list.
func references(v any, list []string) []string {
	switch v := v.(type) {
	case string:
		if ref := reference(v); ref != "" {
			list = append(list, ref)
		}
	case []any:
		for _, item := range v {
			list = references(item, list)
		}
	case dict:
		for _, item := range v {
			list = references(item, list)
		}
	}
	return list
}

// replaceTable is appendTo for an update after which nothing of the document
// counts but the objects kept. qpdf takes longer to read a large table than to
// copy the pages of most documents.
func (u *update) replaceTable(d *document, o *objects, kept map[int]place) (err error) {
	f, err := os.OpenFile(d.work.Path(d.name), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	u.next = 0
	for number := range kept {
		u.next = max(u.next, number+1)
	}
	for ref := range u.changed {
		number, _, _ := splitReference(ref)
		u.next = max(u.next, number+1)
	}
	u.kept = kept
	_, err = f.Write(u.section(len(o.content)-o.origin, dict{"/Root": o.trailer["/Root"]}))
	return err
}
