package pdfsign

import (
	"slices"

	"github.com/relaypdf/relaypdf/render/pdffile"
)

// form compares the forms.
func (d *differ) form(a, b any) {
	was := d.old.Entry(a)
	is := d.new.Entry(b)
	before, _ := d.old.Target(was["/Fields"]).([]any)
	after, _ := d.new.Target(is["/Fields"]).([]any)

	d.names(before, "", 0)
	for _, item := range before {
		if !slices.Contains(after, item) {
			d.other("a field was removed")
			continue
		}
		d.field(pdffile.Reference(item), false, 0)
	}

	d.addedFields(before, after)
	for _, key := range keys(was, is) {
		if key != "/Fields" && key != "/SigFlags" {
			d.formEntry(key, was[key], is[key])
		}
	}
}

// formEntry compares an entry of the form. Programs that sign add defaults for fields without own ones, which show
// nothing unless viewers make the appearances of fields.
func (d *differ) formEntry(key string, a, b any) {
	switch key {
	case "/DR":
		d.open = true
		grown := a == nil || d.grown(a, b, inList, 0)
		d.open = false

		switch {
		case !grown:
			d.other("the resources of the form")
		case d.generated() && !d.same(a, b, key, 0):
			d.add(ChangeForm, "the resources of the form")
		}
	case "/DA", "/Q":
		if !d.same(a, b, key, 0) && (d.generated() || !empty(d.old, a)) {
			d.add(ChangeForm, "the appearances of the form")
		}
	case "/NeedAppearances":
		if (d.old.Target(a) == true) != (d.new.Target(b) == true) && d.hasValues() {
			d.add(ChangeForm, "the appearances of the form")
		}
	default:
		if !d.same(a, b, key, 0) && (!empty(d.old, a) || !empty(d.new, b)) {
			d.other("the entry " + key[1:] + " of the form")
		}
	}
}

// empty reports whether a value is none, a text without characters, or a list without items.
func empty(f *pdffile.File, v any) bool {
	switch value := f.Target(v).(type) {
	case nil:
		return true
	case string:
		return value == "u:" || value == "b:"
	case []any:
		return len(value) == 0
	}
	return false
}

// widgets returns the widgets of the fields of the earlier document that have values, as they are now.
func (d *differ) widgets() (list []pdffile.Dict) {
	for ref := range d.fields {
		if entries := d.new.Dict(ref); entries["/Subtype"] == "/Widget" && d.inheritedType(ref) != "/Sig" {
			list = append(list, entries)
		}
	}
	return list
}

// hasValues reports whether the form shows values.
func (d *differ) hasValues() bool { return len(d.widgets()) > 0 }

// generated reports whether viewers make the appearance of a field with the defaults of the form.
func (d *differ) generated() bool {
	always := d.new.Target(d.new.Entry(d.new.Catalog()["/AcroForm"])["/NeedAppearances"]) == true
	return slices.ContainsFunc(d.widgets(), func(widget pdffile.Dict) bool { return always || widget["/AP"] == nil })
}

// addedFields explains the fields that a form has since: those for signatures, in new objects.
func (d *differ) addedFields(before, after []any) {
	for _, item := range after {
		if slices.Contains(before, item) {
			continue
		}

		ref := pdffile.Reference(item)
		entries := d.new.Dict(ref)
		if ref == "" || d.roles[ref] != 0 || d.new.Target(entries["/FT"]) != "/Sig" || entries["/Kids"] != nil {
			d.other("a field was added")
			continue
		}
		if entries["/A"] != nil || entries["/AA"] != nil || entries["/Parent"] != nil {
			d.other("a field with an action or a parent was added")
			continue
		}

		if value, _, err := d.old.Object(ref); value != nil || err != nil {
			d.other("a field replaces another object")
			continue
		}
		d.signed[ref] = true
	}
}
