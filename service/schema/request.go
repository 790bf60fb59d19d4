package schema

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/invopop/jsonschema"
)

// Request binds a request to the struct In: members with a tag such as in:"query" come from the path, query or
// header, and the others are the members of a JSON body.
type Request[In any] struct{ *request }

// request is a Request without the type parameter.
type request struct {
	// Params are the members that the body does not hold, in their order.
	Params []Param
	// Body describes the body; nil if the route has none.
	Body *jsonschema.Schema

	params, body *rule
	input        reflect.Type
}

// Param is a member of a request that its body does not hold.
type Param struct {
	Name string
	// In is path, query or header.
	In       string
	Required bool
	Schema   *jsonschema.Schema
}

// Value is a parameter as a request gives it.
type Value struct{ Name, Text string }

// NewRequest compiles the schema of a struct type, once in a process. The schemas are read-only.
func NewRequest[In any]() (*Request[In], error) {
	compiled, err := requests.of(reflect.TypeFor[In]())
	if err != nil {
		return nil, err
	}
	return &Request[In]{compiled}, nil
}

// Patch is embedded in the inputs that change a resource. In their bodies, null in a member that it does not clear is
// an error instead of the same as an absent member: a change would get lost.
type Patch struct{}

func (Patch) patches() {}

func compileRequest(input reflect.Type) (*request, error) {
	doc := describe(input, false)
	places := map[string]string{}
	ignored := map[string]bool{}
	collectPlaces(input, places, ignored)

	r := &request{input: input}
	params := part(doc)
	body := part(doc)
	for name, member := range members(doc) {
		to := body
		if place := places[name]; place != "" {
			to = params
			r.Params = append(r.Params, Param{name, place, slices.Contains(doc.Required, name), member})
		}
		to.Properties.Set(name, member)
		if slices.Contains(doc.Required, name) {
			to.Required = append(to.Required, name)
		}
	}

	for name := range ignored {
		body.Properties.Set(name, &jsonschema.Schema{Description: "Ignored; taken from the path."})
	}

	var err, bodyErr error
	r.params, err = newRule(params)
	if body.Properties.Len() > 0 {
		r.Body = body
		r.body, bodyErr = newRule(body)
	}

	if _, patches := reflect.Zero(input).Interface().(interface{ patches() }); patches && bodyErr == nil {
		r.body.changes = true
	}
	return r, errors.Join(err, bodyErr)
}

// part returns an object's schema without its members.
func part(doc *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema,
		Description: doc.Description,
	}
}

// collectPlaces finds the members that are outside the body, and those of them that a body may repeat without effect:
// clients may send a record back with its ID.
func collectPlaces(shape reflect.Type, found map[string]string, ignored map[string]bool) {
	for field := range shape.Fields() {
		if field.Anonymous && field.Type.Kind() == reflect.Struct {
			collectPlaces(field.Type, found, ignored)
			continue
		}

		if place := field.Tag.Get("in"); place != "" {
			name := jsonName(field)
			found[name] = place
			if field.Tag.Get("body") == "ignored" {
				ignored[name] = true
			}
		}
	}
}

// jsonName returns the name of a field in JSON.
func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// jsonNames returns the names of the fields of a struct.
func jsonNames(shape reflect.Type) (names []string) {
	for field := range shape.Fields() {
		names = append(names, jsonName(field))
	}
	return names
}

// Bind reads the parameters, including unknown ones, and the body, unless the route has none. Its error lists the
// validation errors of both.
func (r *Request[In]) Bind(ctx context.Context, params []Value, body io.Reader) (*In, error) {
	bound, err := r.bind(ctx, params, body)
	if err != nil {
		return nil, err
	}
	in, _ := bound.(*In)
	return in, nil
}

func (r *request) bind(ctx context.Context, params []Value, body io.Reader) (any, error) {
	params, faults := r.readable(params)
	text, err := r.encode(params)
	if err != nil {
		return nil, err
	}

	tree := map[string]any{}
	if err := readPart(ctx, bytes.NewReader(text), r.params, tree, &faults); err != nil {
		return nil, err
	}
	if r.body != nil {
		if err := readPart(ctx, body, r.body, tree, &faults); err != nil {
			return nil, err
		}
	}

	faults.sort()
	in := reflect.New(r.input).Interface()
	if err := fill(&faults, in, tree); err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return in, nil
}

// readable returns the parameters with errors for those that are no text, which databases refuse. In a path such a
// value names nothing that exists.
func (r *request) readable(params []Value) (readable []Value, faults FieldErrors) {
	for _, given := range params {
		i := slices.IndexFunc(r.Params, func(p Param) bool { return p.Name == given.Name })
		switch {
		case i >= 0 && r.Params[i].In == "path":
			given.Text = strings.ToValidUTF8(given.Text, "\uFFFD")
			readable = append(readable, given)
		case !utf8.ValidString(given.Text):
			faults.Add(strings.ToValidUTF8(given.Name, "\uFFFD"), "must be text in UTF-8")
		case strings.ContainsRune(given.Text, 0):
			faults.Add(given.Name, "must not contain the character NUL")
		default:
			readable = append(readable, given)
		}
	}
	return readable, faults
}

// readPart reads one JSON object into the tree.
func readPart(ctx context.Context, text io.Reader, rule *rule, tree map[string]any, faults *FieldErrors) error {
	d := newDecoder(ctx, text, rule, Files{})
	v, err := d.read()
	var broken FieldErrors
	if err != nil && !errors.As(err, &broken) {
		return err
	}

	faults.AddAll(append(d.faults, broken...)...)
	object, _ := v.(map[string]any)
	for name, member := range object {
		if _, taken := tree[name]; !taken { // a parameter is not the body's to change
			tree[name] = member
		}
	}
	return nil
}

// encode writes parameters as a JSON object, numbers where their schema asks
// for them.
func (r *request) encode(params []Value) ([]byte, error) {
	var b bytes.Buffer
	for i, p := range params {
		b.WriteByte("{,"[min(i, 1)])
		name, err := json.Marshal(p.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(p.Text)
		if err != nil {
			return nil, err
		}
		if _, isInt := strconv.ParseInt(p.Text, 10, 64); isInt == nil && r.numeric(p.Name) {
			value = []byte(strings.TrimPrefix(p.Text, "+"))
		}

		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}

	if len(params) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (r *request) numeric(name string) bool {
	i := slices.IndexFunc(r.Params, func(p Param) bool { return p.Name == name })
	return i >= 0 && r.Params[i].Schema.Type == "integer"
}
