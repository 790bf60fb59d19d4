package pdfsign

import (
	"fmt"
	"slices"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// assignElementRoles notes the elements of the structure, which may get more children.
func (d *differ) assignElementRoles(v any, depth int) {
	ref := pdffile.Reference(v)
	if list, ok := d.old.Target(v).([]any); ok && depth <= maxDepth && !d.once("list", ref) {
		for _, item := range list {
			d.assignElementRoles(item, depth+1)
		}
		return
	}

	entries := d.plainDict(v)
	if entries == nil || d.roles[ref] != 0 || depth > maxDepth || entries["/S"] == nil && depth > 0 {
		return
	}

	d.roles[ref] = structureRole
	d.elements[ref] = true
	if entries["/K"] != nil {
		d.assignElementRoles(entries["/K"], depth+1)
	}
}

// once reports whether something was done to an object before.
func (d *differ) once(what, ref string) bool {
	pair := [2]string{what, ref}
	before := d.memo[pair]
	if ref != "" {
		d.memo[pair] = true
	}
	return before
}

// grown reports whether an entry is the same, or has more items. The items of structure elements are compared in the
// same way.
func (d *differ) grown(a, b any, key string, depth int) bool {
	if result, done := d.settled(a, b, key, depth); done {
		return result
	}

	was, isStream, ok1 := target(d.old, a)
	is, isToo, ok2 := target(d.new, b)
	if !ok1 || !ok2 || isStream || isToo {
		return false
	}

	entries, isDict := was.(pdffile.Dict)
	now, nowDict := is.(pdffile.Dict)
	if isDict && nowDict {
		return !slices.ContainsFunc(keys(entries, now), func(key string) bool {
			return entries[key] != nil && !d.grown(entries[key], now[key], key, depth+1) ||
				entries[key] == nil && !d.mayAdd(key, now[key])
		})
	}

	if _, isList := was.([]any); key == "/K" && was != nil && !isList {
		was = []any{a} // the only child
	}
	return d.grownList(was, is, key, depth)
}

// mayAdd reports whether a dictionary may have an entry since.
func (d *differ) mayAdd(key string, value any) bool {
	switch key {
	case "/K":
		list, isList := d.new.Target(value).([]any)
		if !isList {
			list = []any{value}
		}
		return !slices.ContainsFunc(list, func(item any) bool { return !d.addedElement(item) })
	case "/ParentTree", "/ParentTreeNextKey", "/Nums", "/Kids":
		return true
	}
	return d.open
}

// addedElement reports whether an element of the structure is new, and has nothing but a new annotation.
func (d *differ) addedElement(item any) bool {
	entries := d.new.Dict(pdffile.Reference(item))
	content := d.new.Entry(entries["/K"])
	for _, ref := range []string{pdffile.Reference(item), pdffile.Reference(content["/Obj"])} {
		if old, _, err := d.old.Object(ref); ref == "" || old != nil || err != nil {
			return false
		}
	}
	return content["/Type"] == "/OBJR" && entries["/ActualText"] == nil && entries["/Alt"] == nil &&
		entries["/E"] == nil
}

// settled returns the result of grown if that needs no look at items.
func (d *differ) settled(a, b any, key string, depth int) (result, done bool) {
	ref := pdffile.Reference(a)
	_, isList := d.old.Target(a).([]any)

	switch {
	case key == "/ParentTreeNextKey" || key == "/Limits":
		return true, true
	case depth > maxDepth:
		return false, true
	case !d.elements[ref] && (key != "/K" || !isList) && d.same(a, b, key, 0):
		return true, true
	case d.elements[ref] && backward(structureRole, key) && (key != inList || a != b):
		return a == b, true
	case ref != "" && d.once("grown", fmt.Sprint(a, b, d.open)): // in a loop, or compared
		return true, true
	}

	return false, false
}

// grownList reports whether a list begins with the items of another.
func (d *differ) grownList(a, b any, key string, depth int) bool {
	before, ok1 := a.([]any)
	after, ok2 := b.([]any)
	if !ok1 || !ok2 || len(after) < len(before) {
		return false
	}

	for i := range before {
		if !d.grown(before[i], after[i], inList, depth+1) {
			return false
		}
	}

	switch added := after[len(before):]; {
	case len(added) == 0, d.open, key == "/Nums", key == "/Kids":
		return true
	case key == "/K":
		return !slices.ContainsFunc(added, func(item any) bool { return !d.addedElement(item) })
	}
	return false
}
