package cli

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/service/schema"
)

// catalog is the API as the command line knows it. On Linux it comes from the operation table; elsewhere it is read from
// catalog.json, because the table is part of the server.
type catalog struct {
	Operations operationList
	Events     []string                      // of webhooks
	Tools      func() ([]schema.Tool, error) // of agents
}

// operationList is the operations that commands call, in order.
type operationList []*schema.Spec

// lookup returns the operation of that name, or nil.
func (l operationList) lookup(name string) *schema.Spec {
	at := slices.IndexFunc(l, func(o *schema.Spec) bool { return o.Name == name })
	if at < 0 {
		return nil
	}
	return l[at]
}

// encode writes the catalog as JSON, with an operation or a tool in each line. The tool of an operation has only its
// name.
func (c catalog) encode() ([]byte, error) {
	tools, err := c.Tools()
	if err != nil {
		return nil, err
	}

	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)

	write := func(before string, v any) error {
		text.WriteString(before)
		err := enc.Encode(v)
		text.Truncate(len(bytes.TrimRight(text.Bytes(), "\n")))
		return err
	}

	before := "{\"Operations\":[\n"
	for _, o := range c.Operations {
		short := *o
		short.Details = ""
		if short.Answer != nil {
			short.Answer = true
		}
		if err := write(before, short); err != nil {
			return nil, err
		}
		before = ",\n"
	}

	before = "\n],\"Tools\":[\n"
	for _, t := range tools {
		if t.Operation != nil {
			t.Operation = &schema.Spec{Info: schema.Info{Name: t.Operation.Name}}
			t.Body = nil
		}
		if err := write(before, t); err != nil {
			return nil, err
		}
		before = ",\n"
	}

	err = write("\n],\"Events\":\n", c.Events)
	text.WriteString("}\n")
	return text.Bytes(), err
}

// decodeCatalog reads what encode wrote.
func decodeCatalog(text []byte) (catalog, error) {
	var file struct {
		Operations []struct {
			schema.Spec
			Schema  parsedSchema
			Example json.RawMessage // whose members keep their order
		}
		Tools []struct {
			schema.Tool
			Params []struct {
				schema.Param
				Schema parsedSchema
			}
			Body parsedSchema
		}
		Events []string
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return catalog{}, err
	}

	var tools []schema.Tool
	c := catalog{Events: file.Events, Tools: func() ([]schema.Tool, error) { return tools, nil }}
	for _, o := range file.Operations {
		o.Spec.Schema = o.Schema.Schema
		o.Spec.Example = o.Example
		c.Operations = append(c.Operations, &o.Spec)
	}

	for _, t := range file.Tools {
		t.Tool.Body = t.Body.Schema
		for _, p := range t.Params {
			p.Param.Schema = p.Schema.Schema
			t.Tool.Params = append(t.Tool.Params, p.Param)
		}
		if t.Operation != nil {
			t.Operation = c.Operations.lookup(t.Operation.Name)
			t.Tool.Body = t.Operation.Schema
		}
		tools = append(tools, t.Tool)
	}
	return c, nil
}

// parsedSchema is a schema with its extension keywords, which jsonschema writes but does not read.
type parsedSchema struct{ *jsonschema.Schema }

// UnmarshalJSON reads a schema. null is none.
func (p *parsedSchema) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &p.Schema); err != nil {
		return err
	}
	var source any
	if err := json.Unmarshal(text, &source); err != nil {
		return err
	}
	addExtras(p.Schema, source)
	return nil
}

// addExtras sets the extension keywords of a schema and of those inside it, from the JSON that it was read from.
func addExtras(doc *jsonschema.Schema, source any) {
	keywords, _ := source.(map[string]any)
	if doc == nil || keywords == nil {
		return
	}

	for name, value := range keywords {
		if strings.HasPrefix(name, "x-") {
			if doc.Extras == nil {
				doc.Extras = map[string]any{}
			}
			doc.Extras[name] = value
		}
	}

	properties, _ := keywords["properties"].(map[string]any)
	if doc.Properties != nil {
		for pair := doc.Properties.Oldest(); pair != nil; pair = pair.Next() {
			addExtras(pair.Value, properties[pair.Key])
		}
	}
	addExtras(doc.Items, keywords["items"])
	addExtras(doc.AdditionalProperties, keywords["additionalProperties"])
	for name, variants := range map[string][]*jsonschema.Schema{
		"anyOf": doc.AnyOf, "oneOf": doc.OneOf, "allOf": doc.AllOf,
	} {
		sources, _ := keywords[name].([]any)
		for i, variant := range variants {
			addExtras(variant, sources[i])
		}
	}
}
