package operation

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/service/schema"
)

// formFillInput is the input of pdf.form.fill.
type formFillInput struct {
	schema.Common
	Described
	PDFSource

	Fields  formValues `json:"fields" jsonschema:"required" jsonschema_description:"Values by field name, as POST /v1/pdf/form/fields lists them. Text: a string or number. Checkbox: true or false. Radio button, choice or list: an option. List with multiple selection: an array. null clears a field."`
	Flatten bool       `json:"flatten,omitempty" jsonschema:"default=false" jsonschema_description:"If true, draw the values on the pages and remove the form. If false, the fields stay editable."`
}

// maxFields bounds the values of one request.
const maxFields = 5000

// formValues are the values of a form by the names of its fields.
type formValues map[string]any

// JSONSchema limits the number of values. Each field has its own rules for its value.
func (formValues) JSONSchema() *jsonschema.Schema {
	maximum := uint64(maxFields)
	return &jsonschema.Schema{Type: "object", MaxProperties: &maximum}
}

// Validate checks the rules that the schema cannot express. The names and types of form fields are known only after
// the PDF has been read.
func (in *formFillInput) Validate() error {
	var faults schema.FieldErrors
	in.validate(&faults)
	if len(in.Fields) == 0 && !in.Flatten && in.Metadata == (Metadata{}) {
		const send = "Send at least one value in fields, or flatten: true"
		faults.AddSentence(
			"Nothing to do: fields is empty. "+send, "fields",
			"must not be empty unless flatten is true. "+send,
		)
	}
	return failures(faults)
}

func runFormFields(ctx context.Context, deps *Deps, in *PDFFileInput) (schema.Result, error) {
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		formValue, err := render.RunValue(
			ctx, deps.Render, form.FieldsJob, form.FieldsArgs{Input: file.Input()}, file.File(),
		)
		return schema.Result{Stem: "fields", JSON: formValue}, err
	})
}

func runFormFill(ctx context.Context, deps *Deps, in *formFillInput) (schema.Result, error) {
	values := make(map[string]any, len(in.Fields))
	for name, value := range in.Fields {
		values[name] = withDigits(value)
	}
	return withPDF(ctx, deps, &in.PDFSource, func(ctx context.Context, file render.PDFFile) (schema.Result, error) {
		filled, err := deps.Render.FillPDFForm(ctx, file, values, in.Flatten)
		return pdfResult("filled")(filled, formFault(err))
	})
}

// withDigits returns a value of a form with its numbers as texts, which keep their digits.
func withDigits(value any) any {
	switch v := value.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case json.Number:
		return v.String()
	case []any:
		items := make([]any, 0, len(v))
		for _, item := range v {
			items = append(items, withDigits(item))
		}
		return items
	}
	return value
}

// formFault returns an error of filling with the fields of the request that caused it, if any.
func formFault(err error) error {
	var form *render.FormError
	if !errors.As(err, &form) {
		return err
	}

	var faults schema.FieldErrors
	for _, name := range slices.Sorted(maps.Keys(form.Faults)) {
		field := "fields"
		if name != "" {
			field += "." + name
		}
		faults = append(faults, schema.FieldError{Field: field, Message: form.Faults[name]})
	}

	return faults
}
