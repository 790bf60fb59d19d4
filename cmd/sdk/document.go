package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	orderedmap "github.com/pb33f/ordered-map/v2"
)

// Description is the API as the languages see it.
type Description struct {
	// Schemas are the named types, sorted by name.
	Schemas []Schema
	// Groups are the operations by the first word of their names, sorted by name.
	Groups []Group
}

// Schema is a named type.
type Schema struct {
	Name string
	Doc  string
	Type Type
	// Default is the value that the server takes for a field of this type that is not sent, or nil.
	Default any
}

// EventType returns the value of type of a webhook event, and nothing for any other schema.
func (s Schema) EventType() string {
	if !strings.HasSuffix(s.Name, "Event") {
		return ""
	}
	for _, field := range s.Type.Fields {
		if field.Name == "type" && field.Type.Kind == Enum && len(field.Type.Values) == 1 {
			return fmt.Sprint(field.Type.Values[0])
		}
	}

	return ""
}

// Kind says which members of a Type have a value.
type Kind int

const (
	// Any is a value of any JSON type.
	Any Kind = iota
	Null
	Boolean
	Integer
	Number
	// String is a text. Format says more: date-time, uri, binary, base64.
	String
	// Enum is one of Values.
	Enum
	// List has items of the type Item.
	List
	// Map is an object with any names, whose values have the type Item.
	Map
	// Object has Fields.
	Object
	// Union is one of Options.
	Union
	// Reference is the schema with the name Ref.
	Reference
)

// Type is the type of a value in JSON.
type Type struct {
	Kind    Kind
	Format  string
	Values  []any
	Item    *Type
	Fields  []Field
	Options []Type
	Ref     string
	// NotZero says that 0 is not a value of this Integer or Number.
	NotZero bool
}

// Field is a member of an object, in the order of the documentation.
type Field struct {
	Name string
	// Doc may be empty if Type is a Reference: then the Doc of the schema holds.
	Doc      string
	Required bool
	Type     Type
	// Default is the value that the server takes for a field that is not sent, or nil. The Default of the schema of
	// a Reference holds too.
	Default any
}

// Group is the operations whose names begin with the same word.
type Group struct {
	Name       string
	Operations []Operation
}

// Operation is a method of an API path.
type Operation struct {
	// ID is the name in the OpenAPI document, such as pdf_form_fill.
	ID string
	// Words are the ID without its group, such as form, fill.
	Words   []string
	Method  string
	Path    string
	Summary string
	Doc     string
	// Arguments are the parameters of the path, in its order.
	Arguments []Field
	// Query are the parameters of the query string.
	Query []Field
	// Input is the type of the JSON body, or nil.
	Input *Type
	// Upload says that the body is the bytes of a file.
	Upload bool
	// Paid says that the operation is a row of the price list: it takes response, and can run as a job.
	Paid bool
	// File says that the result is the bytes of a file.
	File bool
	// StartsJob says that a paid operation returns no result, but always a job. JSON is then the type of a response
	// that starts none.
	StartsJob bool
	// JSON is the type of a result in JSON, or nil. A paid operation may have File and JSON, for different inputs.
	JSON *Type
	// Entries is the list of a page of results that has a nextCursor, or empty.
	Entries string
	// IfMatch says that the header If-Match refuses a change of another state than the one with this ETag.
	IfMatch bool
	// Example is an input of the documentation, or nil.
	Example json.RawMessage
}

// Name is the name of a paid operation in the price list, such as pdf.form.fill.
func (o Operation) Name() string {
	name := strings.ReplaceAll(strings.TrimPrefix(o.Path, "/v1/"), "/", ".")
	if o.Words[len(o.Words)-1] == "create" {
		name += ".create"
	}

	return name
}

// source is the part of an OpenAPI document that Parse reads.
type source struct {
	Paths      map[string]map[string]sourceOperation `json:"paths"`
	Components struct {
		Schemas    map[string]*sourceSchema   `json:"schemas"`
		Parameters map[string]sourceParameter `json:"parameters"`
		Responses  map[string]sourceResponse  `json:"responses"`
		Examples   map[string]sourceExample   `json:"examples"`
	} `json:"components"`
}

type sourceOperation struct {
	OperationID string            `json:"operationId"`
	Summary     string            `json:"summary"`
	Description string            `json:"description"`
	Tags        []string          `json:"tags"`
	Parameters  []sourceParameter `json:"parameters"`
	RequestBody *struct {
		Content map[string]sourceContent `json:"content"`
	} `json:"requestBody"`
	Responses map[string]sourceResponse `json:"responses"`
	Price     *int64                    `json:"x-relaypdf-price-microdollars"`
}

type sourceParameter struct {
	Ref         string        `json:"$ref"`
	Name        string        `json:"name"`
	In          string        `json:"in"`
	Description string        `json:"description"`
	Required    bool          `json:"required"`
	Schema      *sourceSchema `json:"schema"`
}

type sourceResponse struct {
	Ref     string                   `json:"$ref"`
	Content map[string]sourceContent `json:"content"`
}

type sourceContent struct {
	Schema   *sourceSchema            `json:"schema"`
	Example  json.RawMessage          `json:"example"`
	Examples map[string]sourceExample `json:"examples"`
}

type sourceExample struct {
	Ref   string          `json:"$ref"`
	Value json.RawMessage `json:"value"`
}

type sourceSchema struct {
	Ref                  string                                        `json:"$ref"`
	Description          string                                        `json:"description"`
	Type                 string                                        `json:"type"`
	Format               string                                        `json:"format"`
	ContentEncoding      string                                        `json:"contentEncoding"`
	Const                any                                           `json:"const"`
	Enum                 []any                                         `json:"enum"`
	Items                *sourceSchema                                 `json:"items"`
	Properties           *orderedmap.OrderedMap[string, *sourceSchema] `json:"properties"`
	AdditionalProperties *sourceSchema                                 `json:"additionalProperties"`
	Required             []string                                      `json:"required"`
	OneOf                []*sourceSchema                               `json:"oneOf"`
	AnyOf                []*sourceSchema                               `json:"anyOf"`
	Minimum              *float64                                      `json:"minimum"`
	ExclusiveMinimum     *float64                                      `json:"exclusiveMinimum"`
	Default              any                                           `json:"x-default"`
}

// UnmarshalJSON reads a schema. The schemas true and false are read as {}.
func (s *sourceSchema) UnmarshalJSON(text []byte) error {
	if string(text) == "true" || string(text) == "false" {
		return nil
	}
	type plain sourceSchema

	return json.Unmarshal(text, (*plain)(s))
}

// Parse reads an OpenAPI document of the server.
func Parse(text []byte) (Description, error) {
	var from source
	if err := json.Unmarshal(text, &from); err != nil {
		return Description{}, fmt.Errorf("the OpenAPI document: %w", err)
	}

	var doc Description
	for _, name := range slices.Sorted(maps.Keys(from.Components.Schemas)) {
		schema := from.Components.Schemas[name]
		doc.Schemas = append(doc.Schemas, Schema{
			Name: name, Doc: schema.Description, Type: typeOf(schema), Default: schema.Default,
		})
	}

	doc.nameTypesOnce()

	groups := map[string][]Operation{}
	for path, methods := range from.Paths {
		for method, operation := range methods {
			if operation.OperationID == "mcp_send" {
				continue // The MCP endpoint has clients of its own.
			}
			group, parsed, err := from.operation(strings.ToUpper(method), path, operation)
			if err != nil {
				return Description{}, fmt.Errorf("%s: %w", operation.OperationID, err)
			}
			groups[group] = append(groups[group], parsed)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		operations := groups[name]
		slices.SortFunc(operations, func(a, b Operation) int { return cmp.Compare(a.ID, b.ID) })
		doc.Groups = append(doc.Groups, Group{Name: name, Operations: operations})
	}

	return doc, nil
}

// nameTypesOnce makes references to a second name of a type refer to the type, and takes the second names out. Such a
// name has the documentation and the default of a field that many inputs have. Without documentation of its own, it
// stays as a copy of the type.
func (d *Description) nameTypesOnce() {
	named := map[string]Schema{}
	for _, schema := range d.Schemas {
		named[schema.Name] = schema
	}
	for i, schema := range d.Schemas {
		if schema.Type.Kind == Reference && schema.Doc == "" {
			d.Schemas[i].Type = named[schema.Type.Ref].Type
		}
	}
	d.Schemas = slices.DeleteFunc(d.Schemas, func(s Schema) bool { return s.Type.Kind == Reference })
	for i := range d.Schemas {
		d.Schemas[i].Type = firstName(d.Schemas[i].Type, named)
	}
}

func firstName(t Type, named map[string]Schema) Type {
	t.Fields = slices.Clone(t.Fields)
	for i, field := range t.Fields {
		if second, ok := named[field.Type.Ref]; ok && second.Type.Kind == Reference && second.Doc != "" {
			field.Doc = cmp.Or(field.Doc, second.Doc)
			if field.Default == nil {
				field.Default = second.Default
			}
			field.Type = second.Type
		}
		field.Type = firstName(field.Type, named)
		t.Fields[i] = field
	}
	if t.Item != nil {
		t.Item = new(firstName(*t.Item, named))
	}
	t.Options = slices.Clone(t.Options)
	for i, option := range t.Options {
		if scalar := named[option.Ref].Type; option.Kind == Reference && scalar.Kind == String {
			option = scalar
		}
		t.Options[i] = option
	}

	return t
}

// operation returns an operation and the name of its group: the tag of the document, with _ between words.
func (s source) operation(method, path string, from sourceOperation) (string, Operation, error) {
	if len(from.Tags) != 1 {
		return "", Operation{}, fmt.Errorf("has %d tags, not one", len(from.Tags))
	}
	group := strings.ReplaceAll(from.Tags[0], "-", "_")
	words := strings.TrimPrefix(from.OperationID, group+"_")
	if group == "service" {
		words = strings.TrimSuffix(words, "_get")
	}

	parsed := Operation{
		ID: from.OperationID, Words: strings.Split(words, "_"), Method: method, Path: path,
		Summary: from.Summary, Doc: from.Description, Paid: from.Price != nil,
	}
	for _, parameter := range from.Parameters {
		if parameter.Ref != "" {
			parameter = s.Components.Parameters[lastWord(parameter.Ref)]
		}
		field := Field{
			Name: parameter.Name, Doc: parameter.Description, Required: parameter.Required, Type: typeOf(parameter.Schema),
		}
		switch parameter.In {
		case "path":
			parsed.Arguments = append(parsed.Arguments, field)
		case "query":
			parsed.Query = append(parsed.Query, field)
		case "header":
			parsed.IfMatch = parsed.IfMatch || parameter.Name == "If-Match"
		}
	}
	s.body(&parsed, from)
	s.result(&parsed, from)

	return group, parsed, nil
}

func (s source) body(parsed *Operation, from sourceOperation) {
	if from.RequestBody == nil {
		return
	}

	content, isJSON := from.RequestBody.Content["application/json"]
	if !isJSON {
		parsed.Upload = true

		return
	}
	parsed.Input = pointerTo(typeOf(content.Schema))
	parsed.Example = content.Example
	for _, name := range slices.Sorted(maps.Keys(content.Examples)) {
		parsed.Example = s.example(content.Examples[name])

		break
	}
}

func (s source) example(from sourceExample) json.RawMessage {
	if from.Ref != "" {
		return s.Components.Examples[lastWord(from.Ref)].Value
	}

	return from.Value
}

// result sets what a success returns. The URL of a stored result is not told apart: each paid operation has it.
func (s source) result(parsed *Operation, from sourceOperation) {
	storedFile := false
	for _, status := range []string{"200", "201"} {
		response, ok := from.Responses[status]
		if !ok {
			continue
		}
		if response.Ref != "" {
			response = s.Components.Responses[lastWord(response.Ref)]
		}

		for mediaType, content := range response.Content {
			if mediaType != "application/json" {
				parsed.File = true

				continue
			}
			result := typeOf(content.Schema)
			storedFile = storedFile || isStoredFile(result) || slices.ContainsFunc(result.Options, isStoredFile)
			if result.Kind == Union {
				result.Options = slices.DeleteFunc(result.Options, isStoredFile)
				if len(result.Options) == 1 {
					result = result.Options[0]
				}
			}
			if !isStoredFile(result) {
				parsed.JSON = &result
			}
		}
	}

	parsed.StartsJob = parsed.Paid && !storedFile

	if parsed.JSON != nil && parsed.JSON.Kind == Reference {
		parsed.Entries = s.entries(parsed.JSON.Ref)
	}
}

func isStoredFile(t Type) bool { return t.Kind == Reference && t.Ref == "FileUrlResponse" }

// entries returns the name of the list of a schema that has a nextCursor, or nothing.
func (s source) entries(schema string) string {
	page := typeOf(s.Components.Schemas[schema])
	if !slices.ContainsFunc(page.Fields, func(f Field) bool { return f.Name == "nextCursor" }) {
		return ""
	}
	for _, field := range page.Fields {
		if field.Type.Kind == List {
			return field.Name
		}
	}

	return ""
}

// typeOf returns the type of a schema. The rules that no type system knows (lengths, patterns, which fields
// exclude each other) are the server's.
func typeOf(schema *sourceSchema) Type {
	switch {
	case schema == nil:
		return Type{}
	case schema.Ref != "":
		return Type{Kind: Reference, Ref: lastWord(schema.Ref)}
	case schema.Const != nil:
		return Type{Kind: Enum, Values: []any{schema.Const}}
	case len(schema.Enum) > 0:
		return Type{Kind: Enum, Values: schema.Enum}
	}

	switch schema.Type {
	case "null":
		return Type{Kind: Null}
	case "boolean":
		return Type{Kind: Boolean}
	case "integer":
		return Type{Kind: Integer, NotZero: schema.notZero()}
	case "number":
		return Type{Kind: Number, NotZero: schema.notZero()}
	case "string":
		return Type{Kind: String, Format: cmp.Or(schema.Format, schema.ContentEncoding)}
	case "array":
		return Type{Kind: List, Item: pointerTo(typeOf(schema.Items))}
	case "object":
		if schema.Properties == nil {
			return Type{Kind: Map, Item: pointerTo(typeOf(schema.AdditionalProperties))}
		}

		return Type{Kind: Object, Fields: fieldsOf(schema)}
	}

	return unionOf(slices.Concat(schema.OneOf, schema.AnyOf))
}

func (s *sourceSchema) notZero() bool {
	return s.Minimum != nil && *s.Minimum > 0 || s.ExclusiveMinimum != nil && *s.ExclusiveMinimum >= 0
}

func unionOf(schemas []*sourceSchema) Type {
	if len(schemas) == 0 {
		return Type{}
	}

	union := Type{Kind: Union}
	for _, option := range schemas {
		union.Options = append(union.Options, typeOf(option))
	}

	return union
}

func fieldsOf(schema *sourceSchema) []Field {
	var fields []Field
	for pair := schema.Properties.Oldest(); pair != nil; pair = pair.Next() {
		fields = append(fields, Field{
			Name: pair.Key, Doc: pair.Value.Description, Required: slices.Contains(schema.Required, pair.Key),
			Type: typeOf(pair.Value), Default: pair.Value.Default,
		})
	}

	return fields
}

func lastWord(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

func pointerTo[T any](value T) *T { return &value }
