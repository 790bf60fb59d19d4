package pdf

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"relaypdf/render/engine"
)

// FieldType is the type of a form field.
type FieldType string

// The types of fields.
const (
	TextField      FieldType = "text"
	CheckboxField  FieldType = "checkbox"
	RadioField     FieldType = "radio"
	ChoiceField    FieldType = "choice" // one of a list that opens
	ListField      FieldType = "list"   // a list that is always open
	ButtonField    FieldType = "button"
	SignatureField FieldType = "signature"
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

	// undrawn is true if a value has no appearance.
	undrawn          bool
	values, defaults []string // as the file has them
	signed           bool
}

// Form is the result of a FormFieldsJob.
type Form struct {
	Fields []Field `json:"fields" jsonschema:"required" jsonschema_description:"Fields in form order; empty if the PDF has no form."`
}

// FormFieldsArgs are the arguments of a FormFieldsJob.
type FormFieldsArgs struct{ Input Input }

// formFields lists the fields of a form.
func formFields(ctx context.Context, w *engine.Work, args FormFieldsArgs) (Form, error) {
	doc, err := openOne(ctx, w, args.Input)
	if err != nil {
		return Form{}, err
	}
	if err := checkPages(doc.pages); err != nil {
		return Form{}, err
	}
	if _, err := decrypt(ctx, doc); err != nil {
		return Form{}, err
	}
	fields, err := askFields(ctx, doc)
	return Form{Fields: fields}, err
}

// fieldsScript prints the widgets of a form; MuPDF runs it.
//
//go:embed form_fields.js
var fieldsScript []byte

// rawField is a widget, or a field without one, as the script prints it.
type rawField struct {
	Name      string
	Kind      string // Tx, Btn, Ch or Sig
	Flags     float64
	Values    []string
	Defaults  []string
	States    []string    // states of a button's appearance, besides Off
	Options   [][2]string // values and labels
	MaxLength float64
	Page      int
	Rect      []float64
	Signed    bool
	Drawn     bool
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

// askFields reads the form of a document that opens without a password.
func askFields(ctx context.Context, d *document) ([]Field, error) {
	const script = "form_fields.js"
	raw, err := runScript[[]rawField](ctx, d, script, fieldsScript, struct {
		Input string `json:"input"`
	}{d.name})
	if err != nil {
		return nil, err
	}
	fields := []Field{}
	numbers := make(map[string]int)
	for _, r := range raw {
		i, known := numbers[r.Name]
		if !known {
			numbers[r.Name] = len(fields)
			fields = append(fields, r.field())
			continue
		}
		fields[i].join(r)
	}
	for i := range fields {
		fields[i].settle()
	}
	return fields, nil
}

// runScript runs a script of MuPDF in the job's folder, under a name that no other has at
// the same time. The script finds its arguments in args and prints its result as JSON.
func runScript[Result any](ctx context.Context, d *document, name string, script []byte, args any) (result Result, err error) {
	text, err := json.Marshal(args)
	if err != nil {
		return result, err
	}
	argsFile := name + "on"
	begin := fmt.Appendf(nil, "var args = JSON.parse(read(%q));\n", argsFile)
	for file, content := range map[string][]byte{name: append(begin, script...), argsFile: text} {
		if err := os.WriteFile(d.work.Path(file), content, 0o600); err != nil {
			return result, fmt.Errorf("script: %w", err)
		}
	}
	out, err := d.drawPages(ctx, d.pages, engine.Program{Name: "mutool", Args: []string{"run", engine.PathArg(name)}})
	if errors.Is(err, engine.ErrNoProgram) {
		return result, &Error{Kind: NoProgram, Text: "MuPDF", cause: err}
	}
	if err != nil {
		return result, d.damaged(err)
	}
	if err := json.Unmarshal(out, &result); err != nil {
		return result, d.fail(Damaged, fmt.Errorf("%s printed no result: %w", name, err))
	}
	return result, nil
}

// field makes a Field of the first widget of a name.
func (r rawField) field() Field {
	flags := int(r.Flags)
	f := Field{
		Name: r.Name, Type: r.fieldType(), Options: []string{}, Rect: normalize(r.Rect),
		Required: flags&flagRequired != 0, ReadOnly: flags&flagReadOnly != 0,
		undrawn: !r.Drawn, values: r.Values, defaults: r.Defaults, signed: r.Signed,
	}
	if r.Page > 0 {
		f.Page = &r.Page
	}
	switch f.Type {
	case TextField:
		f.Multiline = flags&flagMultiline != 0
		if longest := int(r.MaxLength); longest > 0 {
			f.MaxLength = &longest
		}
	case ChoiceField:
		f.Editable = flags&flagEdit != 0
	case ListField:
		f.Multiple = flags&flagMultiSelect != 0
	case CheckboxField, RadioField:
		f.addStates(r)
	}
	if f.Type == ChoiceField || f.Type == ListField {
		for _, option := range r.Options {
			f.Options = append(f.Options, option[0])
			f.Labels = append(f.Labels, option[1])
		}
	}
	return f
}

// addStates adds the states of a button's appearance. If the field lists texts, states are numbers in that list
// (ISO 32000-1, 12.7.4.2.3).
func (f *Field) addStates(r rawField) {
	for _, state := range r.States {
		if slices.Contains(f.Options, state) {
			continue
		}
		label := state
		if i, err := strconv.Atoi(state); err == nil && i >= 0 && i < len(r.Options) {
			label = r.Options[i][1]
		}
		f.Options, f.Labels = append(f.Options, state), append(f.Labels, label)
	}
}

func (r rawField) fieldType() FieldType {
	flags := int(r.Flags)
	switch {
	case r.Kind == "Sig":
		return SignatureField
	case r.Kind == "Ch" && flags&flagCombo != 0:
		return ChoiceField
	case r.Kind == "Ch":
		return ListField
	case r.Kind == "Btn" && flags&flagPushButton != 0:
		return ButtonField
	case r.Kind == "Btn" && flags&flagRadio != 0:
		return RadioField
	case r.Kind == "Btn":
		return CheckboxField
	}
	return TextField
}

// read returns the value that a field has, or has by default.
func (f *Field) read(values []string) any {
	first := ""
	if len(values) > 0 {
		first = values[0]
	}
	switch f.Type {
	case TextField:
		return strings.ReplaceAll(strings.ReplaceAll(first, "\r\n", "\n"), "\r", "\n")
	case CheckboxField:
		return first != "" && first != "Off"
	case RadioField, ChoiceField:
		if first != "" && first != "Off" {
			return first
		}
	case ListField:
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
	if f.Type == RadioField || f.Type == CheckboxField {
		f.addStates(r)
	}
	if f.Page == nil && r.Page > 0 {
		f.Page, f.Rect = &r.Page, normalize(r.Rect)
	}
	f.undrawn = f.undrawn || !r.Drawn
}

// settle finishes a field whose widgets have all been read.
func (f *Field) settle() {
	if slices.Equal(f.Labels, f.Options) {
		f.Labels = nil
	}
	if f.Type == CheckboxField && len(f.Options) > 1 {
		// Boxes of one name that show different values are radio buttons that
		// can be cleared.
		f.Type = RadioField
	}
	f.Value, f.DefaultValue = f.read(f.values), f.read(f.defaults)
	if f.Type == SignatureField {
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
