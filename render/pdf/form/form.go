// Package form reads and fills in the forms of PDFs, and draws fields and comments that have no appearance.
package form

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// FieldType is the type of a form field.
type FieldType string

// The types of fields.
const (
	textField      FieldType = "text"
	checkboxField  FieldType = "checkbox"
	radioField     FieldType = "radio"
	choiceField    FieldType = "choice" // one of a list that opens
	listField      FieldType = "list"   // a list that is always open
	buttonField    FieldType = "button"
	signatureField FieldType = "signature"
)

// Field is one field of a form.
type Field struct {
	Name         string    `json:"name" jsonschema:"required" jsonschema_description:"Full name: the names of the field and its parents, joined by dots."`
	Type         FieldType `json:"type" jsonschema:"required,enum=text,enum=checkbox,enum=radio,enum=choice,enum=list,enum=button,enum=signature" jsonschema_description:"Type of the field. choice: a drop-down list. list: a list that is always open."`
	Value        any       `json:"value" jsonschema:"required,oneof_type=string;array;boolean;null" jsonschema_description:"Value of the field; null if nothing is chosen. String: text, radio button, choice. Array of strings: a list with multiple selection. Boolean: checkbox; for a signature, true if it is signed."`
	DefaultValue any       `json:"defaultValue" jsonschema:"required,oneof_type=string;array;boolean;null" jsonschema_description:"Value after the form is reset, of the same type as value."`
	Options      []string  `json:"options" jsonschema:"required" jsonschema_description:"Allowed values of a radio button, choice or list. For a checkbox, the value that means true."`
	Labels       []string  `json:"labels,omitempty" jsonschema_description:"Labels of the options, if they differ from the values."`
	Required     bool      `json:"required" jsonschema:"required" jsonschema_description:"If true, the form requires a value."`
	ReadOnly     bool      `json:"readOnly" jsonschema:"required" jsonschema_description:"If true, the form does not allow changes to the field."`
	Multiline    bool      `json:"multiline" jsonschema:"required" jsonschema_description:"If true, a text can have several lines."`
	Multiple     bool      `json:"multiple" jsonschema:"required" jsonschema_description:"If true, a list accepts several options at once."`
	Editable     bool      `json:"editable" jsonschema:"required" jsonschema_description:"If true, a choice accepts text other than its options."`
	MaxLength    *int      `json:"maxLength" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"Maximum number of characters of a text; null for no limit."`
	Page         *int      `json:"page" jsonschema:"required,oneof_type=integer;null" jsonschema_description:"Number of the first page with the field, from 1; null if it is on no page."`
	Rect         []float64 `json:"rect" jsonschema:"required" jsonschema_description:"Position on that page in points, in the page's own coordinates: left, bottom, right, top. Empty if the field is on no page."`

	values, defaults []string // as the file has them
	signed           bool
	widgets          []rawField
}

// JSONSchemaExtend adds the type of the items to values that are arrays.
func (Field) JSONSchemaExtend(doc *jsonschema.Schema) {
	for _, name := range []string{"value", "defaultValue"} {
		for _, alternative := range doc.Properties.Value(name).OneOf {
			if alternative.Type == "array" {
				alternative.Items = &jsonschema.Schema{Type: "string"}
			}
		}
	}
}

// Form is the result of a FieldsJob.
type Form struct {
	Fields []Field `json:"fields" jsonschema:"required" jsonschema_description:"Fields in form order; empty if the PDF has no form."`
}

// FieldsArgs are the arguments of a FieldsJob.
type FieldsArgs struct{ Input job.Input }

// FieldsJob lists the fields of a PDF's form. The list is empty if the PDF has no form.
var FieldsJob = job.Define("pdf.form.fields", engine.ReadTime, formFields)

// formFields lists the fields of a form.
func formFields(ctx context.Context, w *engine.Work, args FieldsArgs) (Form, error) {
	doc, err := job.OpenOne(ctx, w, args.Input)
	if err != nil {
		return Form{}, err
	}
	if err := job.CheckPages(doc.Pages); err != nil {
		return Form{}, err
	}
	if _, err := job.Decrypt(ctx, doc); err != nil {
		return Form{}, err
	}
	_, fields, err := askFields(ctx, doc)
	return Form{Fields: fields}, err
}

// Flags of fields, as ISO 32000-1 numbers their bits in 12.7.3 and 12.7.4.
const (
	flagReadOnly    = 1 << 0
	flagRequired    = 1 << 1
	flagMultiline   = 1 << 12
	flagRadio       = 1 << 15
	flagPushButton  = 1 << 16
	flagCombo       = 1 << 17
	flagEdit        = 1 << 18
	flagMultiSelect = 1 << 21
)

// newField makes a Field of the first widget of a name.
func (r rawField) newField() Field {
	f := Field{
		Name: r.name, Type: r.fieldType(), Options: []string{}, Rect: normalize(r.rect),
		Required: r.flags&flagRequired != 0, ReadOnly: r.flags&flagReadOnly != 0,
		values: r.values, defaults: r.defaults, signed: r.signed, widgets: []rawField{r},
	}

	if r.page > 0 {
		f.Page = &r.page
	}

	switch f.Type {
	case textField:
		f.Multiline = r.flags&flagMultiline != 0
		if r.maxLength > 0 {
			f.MaxLength = &r.maxLength
		}
	case choiceField:
		f.Editable = r.flags&flagEdit != 0
	case listField:
		f.Multiple = r.flags&flagMultiSelect != 0
	case checkboxField, radioField:
		f.addStates(r)
	}

	if f.Type == choiceField || f.Type == listField {
		for _, option := range r.options {
			f.Options = append(f.Options, option[0])
			f.Labels = append(f.Labels, option[1])
		}
	}

	return f
}

// addStates adds the states of a button's appearance. If the field lists texts, states are numbers in that list
// (ISO 32000-1, 12.7.4.2.3).
func (f *Field) addStates(r rawField) {
	for _, name := range r.states {
		state := nameText(name)
		if slices.Contains(f.Options, state) {
			continue
		}
		label := state
		if i, err := strconv.Atoi(state); err == nil && i >= 0 && i < len(r.options) {
			label = r.options[i][1]
		}
		f.Options = append(f.Options, state)
		f.Labels = append(f.Labels, label)
	}
}

func (r rawField) fieldType() FieldType {
	switch {
	case r.kind == "/Sig":
		return signatureField
	case r.kind == "/Ch" && r.flags&flagCombo != 0:
		return choiceField
	case r.kind == "/Ch":
		return listField
	case r.kind == "/Btn" && r.flags&flagPushButton != 0:
		return buttonField
	case r.kind == "/Btn" && r.flags&flagRadio != 0:
		return radioField
	case r.kind == "/Btn":
		return checkboxField
	}
	return textField
}

// read returns the value that a field has, or has by default.
func (f *Field) read(values []string) any {
	first := ""
	if len(values) > 0 {
		first = values[0]
	}

	switch f.Type {
	case textField:
		return strings.ReplaceAll(strings.ReplaceAll(first, "\r\n", "\n"), "\r", "\n")
	case checkboxField:
		return first != "" && first != "Off"
	case radioField, choiceField:
		if first != "" && first != "Off" {
			return first
		}
	case listField:
		if f.Multiple {
			return append([]string{}, values...)
		}
		if first != "" {
			return first
		}
	}

	return nil
}

// join adds another widget of the same name: a radio button's next one, or the
// same field in another place.
func (f *Field) join(r rawField) {
	if f.Type == radioField || f.Type == checkboxField {
		f.addStates(r)
	}
	if f.Page == nil && r.page > 0 {
		f.Page = &r.page
		f.Rect = normalize(r.rect)
	}
	f.widgets = append(f.widgets, r)
}

// finish finishes a field whose widgets have all been read.
func (f *Field) finish() {
	if slices.Equal(f.Labels, f.Options) {
		f.Labels = nil
	}
	if f.Type == checkboxField && len(f.Options) > 1 {
		// Boxes of one name that show different values are radio buttons that
		// can be cleared.
		f.Type = radioField
	}
	f.Value = f.read(f.values)
	f.DefaultValue = f.read(f.defaults)
	if f.Type == signatureField {
		f.Value = f.signed
	}
}

// normalize orders the corners of a rectangle.
func normalize(rect []float64) []float64 {
	if len(rect) != 4 {
		return []float64{}
	}
	return []float64{min(rect[0], rect[2]), min(rect[1], rect[3]), max(rect[0], rect[2]), max(rect[1], rect[3])}
}
