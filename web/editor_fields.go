package web

import (
	"fmt"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/service/operation"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/views"
)

// editorFields returns the fields of the editor for the options of a preview.
func editorFields(table *schema.Table[*operation.Deps]) []views.OptionField {
	preview := table.Lookup("templates.preview")
	if preview == nil {
		return nil
	}
	options, ok := preview.Schema.Properties.Get("options")
	if !ok {
		return nil
	}
	return optionFields(options, "")
}

// optionFields returns the options of documents that have their own field in the editor: options with one value,
// and the members of objects.
func optionFields(schema *jsonschema.Schema, prefix string) []views.OptionField {
	var fields []views.OptionField
	for pair := schema.Properties.Oldest(); pair != nil; pair = pair.Next() {
		name := prefix + pair.Key
		option := pair.Value
		f := views.OptionField{Name: name, Type: "text", Hint: option.Description}
		if option.Default != nil {
			f.Default = fmt.Sprint(option.Default)
		}

		switch {
		case option.Properties != nil && option.Properties.Len() > 0:
			fields = append(fields, optionFields(option, name+".")...)
			continue
		case option.Type == "array" || option.Type == "object" || strings.HasSuffix(name, "Template"):
			continue // they are written as JSON, or have a pane of their own
		case option.Type == "boolean":
			f.Type = "check"
		case len(option.Enum) > 0:
			f.Type = "select"
			for _, choice := range option.Enum {
				f.Choices = append(f.Choices, fmt.Sprint(choice))
			}
		case option.Type == "number" || option.Type == "integer":
			f.Type = "number"
		case len(option.OneOf) > 0 || option.Type == "":
			f.Type = "length" // a number, or a text with a unit
		}

		fields = append(fields, f)
	}
	return fields
}
