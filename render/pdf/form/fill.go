package form

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdffile"
)

// FillArgs are the arguments of a FillJob. Values are by the names of
// fields: a string, number, bool, list of strings, or nil, which clears a
// field. Flatten draws them on the pages and removes the form. The output is
// the PDF, unless the result has faults.
type FillArgs struct {
	Input   job.Input
	Values  map[string]any
	Flatten bool
}

// FillErrors is the result of a FillJob: the errors of values by the names of their fields. Each continues a
// sentence that begins with the name. An empty name is an error of the whole form.
type FillErrors map[string]string

// FillJob fills the form of a PDF. There is no output if values do not fit.
var FillJob = job.Define("pdf.form.fill", engine.ChangeTime, formFill)

// formFill fills a form. Only pdftk draws accents, other scripts, texts of
// several lines and choices right.
func formFill(ctx context.Context, w *engine.Work, args FillArgs) (FillErrors, error) {
	doc, err := job.OpenOne(ctx, w, args.Input)
	if err != nil {
		return nil, err
	}
	if err := job.CheckPages(doc.Pages); err != nil {
		return nil, err
	}

	original := *doc
	encrypted, err := job.Decrypt(ctx, doc)
	if err != nil {
		return nil, err
	}

	var incomplete []string
	if args.Flatten {
		if doc, incomplete, err = WithAppearances(ctx, doc); err != nil {
			return nil, err
		}
	}

	s, fields, err := askFields(ctx, doc)
	if err != nil {
		return nil, err
	}
	entries, faults := matchValues(fields, args.Values)
	for _, name := range incomplete {
		if _, given := args.Values[name]; !given {
			faults[name] = "has characters that no font for form fields contains"
		}
	}

	undrawable, err := makeFont(ctx, w, entries)
	maps.Copy(faults, undrawable)
	if err != nil || len(faults) > 0 {
		return faults, err
	}

	prepared, texts, faults, err := prepareForm(s, doc, fields, entries, args.Flatten)
	if err != nil || len(faults) > 0 {
		return faults, err
	}
	name, err := fillFields(ctx, prepared, texts, args.Flatten)
	if err != nil {
		return nil, err
	}
	if name, err = tidyFormCatalog(ctx, doc, name, args.Flatten); err != nil {
		return nil, err
	}
	return nil, job.Finish(ctx, &original, encrypted, name)
}

// prepareForm does what pdftk cannot do: it lists the fields that are only on pages, sets buttons, whose states are
// bytes, and, for a form that is to be flattened, marks all visible fields as printed, because pdftk drops others. It
// returns the document for pdftk, and the entries that are left for it.
func prepareForm(
	s *job.Structure, doc *job.Document, fields []Field, entries []entry, flatten bool,
) (prepared *job.Document, texts []entry, faults FillErrors, err error) {
	changes := s.NewUpdate()
	edit := func(ref string, change func(pdffile.Dict)) {
		value, _ := changes.Value(ref).(pdffile.Dict)
		entries := pdffile.Without(value)
		change(entries)
		changes.Set(ref, entries)
	}

	var unlisted []any
	byName := map[string]*Field{}
	for i, f := range fields {
		byName[f.Name] = &fields[i]
		for _, w := range f.widgets {
			top := any(topField(s, w.ref))
			if w.orphan && !slices.Contains(unlisted, top) {
				unlisted = append(unlisted, top)
			}

			flags, _ := s.Target(s.Dict(w.ref)["/F"]).(float64)
			if flatten && w.ref != "" && int(flags)&(pdffile.FlagHidden|pdffile.FlagNoView|pdffile.FlagPrint) == 0 {
				edit(w.ref, func(widget pdffile.Dict) { widget["/F"] = int(flags) | pdffile.FlagPrint })
			}
		}
	}
	if len(unlisted) > 0 {
		form := pdffile.Without(s.Entry(s.Catalog()["/AcroForm"]))
		listed, _ := s.Target(form["/Fields"]).([]any)
		form["/Fields"] = slices.Concat(listed, unlisted)
		edit(s.Root(), func(catalog pdffile.Dict) { catalog["/AcroForm"] = form })
	}

	for _, e := range entries {
		field := byName[e.name]
		if field.Type != checkboxField && field.Type != radioField {
			texts = append(texts, e)
			continue
		}
		if !field.setState(edit, e.values[0]) {
			return nil, nil, FillErrors{e.name: fmt.Sprintf("has no state %s in its appearance", list(e.values))}, nil
		}
	}

	if changes.Empty() {
		return doc, texts, nil, nil
	}
	copied := *doc
	prepared = &copied
	prepared.Name = "prepared-" + doc.Name
	if err := copyFrom(prepared, doc); err != nil {
		return nil, nil, nil, err
	}
	err = prepared.Change(changes)
	return prepared, texts, nil, err
}

// setState sets a checkbox or radio buttons to a state, or to Off, in the spelling of each widget. It returns false if
// no widget has an appearance of that state.
func (f *Field) setState(edit func(ref string, change func(pdffile.Dict)), state string) bool {
	const off = "/Off"
	value := off
	for _, w := range f.widgets {
		own := off
		for _, name := range w.states {
			if state != off[1:] && nameText(name) == state {
				own = name
				value = name
			}
		}

		if w.ref != "" {
			edit(w.ref, func(widget pdffile.Dict) { widget["/AS"] = own })
		}
	}

	for _, w := range f.widgets {
		if w.field != "" {
			edit(w.field, func(field pdffile.Dict) { field["/V"] = value })
		}
	}

	return value != off || state == off[1:]
}

// tidyFormCatalog removes useless entries from the catalog after filling, and returns the name of the result. It
// removes Adobe's signature that lets its free reader save a form: filling breaks it, and the reader then complains
// at every opening. From a flattened document, it also removes the empty form.
func tidyFormCatalog(ctx context.Context, d *job.Document, name string, flattened bool) (string, error) {
	const rights, form = "/UR3", "/AcroForm"
	signed, err := job.FileContains(d.Work.Path(name), rights)
	if err != nil || !signed && !flattened {
		return name, err
	}

	filled := &job.Document{Work: d.Work, Name: name}
	f, err := filled.SoundFile(ctx)
	if err != nil {
		return name, err
	}

	catalog := f.Catalog()
	tidy := pdffile.Without(catalog)
	if permissions := f.Entry(catalog["/Perms"]); permissions[rights] != nil {
		delete(tidy, "/Perms")
		if left := pdffile.Without(permissions, rights); len(left) > 0 {
			tidy["/Perms"] = left
		}
	}

	if fields, read := f.Target(f.Entry(catalog[form])["/Fields"]).([]any); flattened && read && len(fields) == 0 {
		delete(tidy, form)
	}
	if reflect.DeepEqual(tidy, catalog) {
		return filled.Name, nil
	}

	changes := f.NewUpdate()
	changes.Set(f.Root(), tidy)
	return filled.Name, filled.Change(changes)
}

// entry is one field to be filled.
type entry struct {
	name   string
	values []string // several for a list
	// appearanceText is all text that the field's appearance then shows; empty for buttons, which have their own.
	appearanceText string
}

// matchValues converts values to the types of their fields, and reports those that do not fit.
func matchValues(fields []Field, values map[string]any) ([]entry, FillErrors) {
	faults := FillErrors{}
	if len(fields) == 0 {
		faults[""] = "requires a PDF with a form; the PDF has none"
		return nil, faults
	}

	byName := make(map[string]*Field, len(fields))
	for i := range fields {
		byName[fields[i].Name] = &fields[i]
	}

	var entries []entry
	for name, value := range values {
		field, known := byName[name]
		if !known {
			faults[name] = "is not a field of this form. Fields: " + list(fillable(fields))
			continue
		}

		entry, fault := field.match(value)
		if fault != "" {
			faults[name] = fault
			continue
		}
		entries = append(entries, entry)
	}

	// Sorted, so that the same request always gives the same result.
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return entries, faults
}

// fillable returns the names of the fields that take values.
func fillable(fields []Field) []string {
	var names []string
	for _, f := range fields {
		if f.Type != buttonField && f.Type != signatureField {
			names = append(names, f.Name)
		}
	}
	return names
}

// list formats names or values for a message, only the first if there are many.
func list(names []string) string {
	const maxListed = 50
	var quoted []string
	for _, name := range names[:min(len(names), maxListed)] {
		quoted = append(quoted, fmt.Sprintf("%.100q", name))
	}

	text := strings.Join(quoted, ", ")
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > maxListed:
		text += fmt.Sprintf(" and %d more", len(names)-maxListed)
	}

	return text
}

// fillFields runs pdftk and returns the name of its result.
func fillFields(ctx context.Context, d *job.Document, entries []entry, flatten bool) (string, error) {
	const values, filled = "values.xfdf", "filled.pdf"
	if err := os.WriteFile(d.Work.Path(values), xfdf(entries), 0o600); err != nil {
		return "", fmt.Errorf("values: %w", err)
	}

	args := []string{
		engine.PathArg(d.Name), "fill_form", engine.PathArg(values), "output", engine.PathArg(filled),
		// An XFA form alongside the fields would still show its old values.
		"drop_xfa", "replacement_font", engine.PathArg(textFont),
	}
	if flatten {
		args = append(args, "flatten")
	}

	if _, err := d.Work.Exec(ctx, engine.Program{Name: "pdftk", Args: args, Env: JavaEnv()}); err != nil {
		return "", d.Damaged(err)
	}
	if _, err := os.Lstat(d.Work.Path(filled)); err != nil {
		return "", d.Fail(job.Damaged, errors.Join(errors.New("pdftk wrote nothing"), err))
	}

	return filled, nil
}

// JavaEnv limits the memory of Java below the job's, and makes it start fast, which matters more than speed in a
// run of half a second.
func JavaEnv() []string {
	return []string{"JAVA_TOOL_OPTIONS=-Xmx384m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"}
}
