package pdffile

import (
	"slices"
)

// reachable returns the objects that remain reachable from the catalog after the update, other than through some of
// its entries. The document must have no objects in streams. The error is ErrUnread if an object cannot be read.
func (u *Update) reachable(but ...string) (kept map[int]xrefEntry, err error) {
	f := u.file
	kept = map[int]xrefEntry{}

	catalog := f.plainDict(f.Root())
	if catalog == nil {
		return nil, ErrUnread
	}

	number, _, _ := splitReference(f.Root())
	kept[number] = f.xref[number]
	next := references(Without(catalog, but...), nil)
	for len(next) > 0 {
		ref := next[len(next)-1]
		next = next[:len(next)-1]
		number, generation, _ := splitReference(ref)
		at, there := f.xref[number]
		if _, seen := kept[number]; seen || !there || at.generation != generation {
			continue
		}

		value, changed := u.changed[ref]
		if !changed {
			if at.stream != 0 {
				return nil, ErrUnread
			}
			if value, _, err = f.Object(ref); err != nil {
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
		if ref := Reference(v); ref != "" {
			list = append(list, ref)
		}
	case []any:
		for _, item := range v {
			list = references(item, list)
		}
	case Dict:
		for _, item := range v {
			list = references(item, list)
		}
	}
	return list
}

// Without returns a copy of a dictionary that lacks some keys. It is never nil.
func Without(entries Dict, keys ...string) Dict {
	rest := Dict{}
	for key, value := range entries {
		if !slices.Contains(keys, key) {
			rest[key] = value
		}
	}
	return rest
}
