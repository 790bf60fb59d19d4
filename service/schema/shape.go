package schema

import (
	"bytes"
	"context"
	"errors"
	"io"
	"reflect"
	"sync"

	"github.com/go-viper/mapstructure/v2"
	"github.com/invopop/jsonschema"
)

// Shape binds inputs to the struct In, whose tags are their documentation and
// rules: of operations, and of any other route.
type Shape[In any] struct{ *shape }

// shape is a Shape without the type parameter, for which code would be compiled once for each type.
type shape struct {
	// Schema describes the input, in JSON Schema 2020-12, without references.
	Schema *jsonschema.Schema
	rule   *rule
	input  reflect.Type
}

// NewShape compiles the schema of a struct type, once in a process. The schema is read-only.
func NewShape[In any]() (*Shape[In], error) {
	compiled, err := shapes.of(reflect.TypeFor[In]())
	if err != nil {
		return nil, err
	}
	return &Shape[In]{compiled}, nil
}

func compileShape(input reflect.Type) (*shape, error) {
	doc := InputSchema(input)
	rules, err := newRule(doc)
	return &shape{Schema: doc, rule: rules, input: input}, err
}

// cache holds the compiled forms of types. The commands, the routes and their descriptions use the same types.
type cache[T any] struct {
	compile func(reflect.Type) (*T, error)
	made    sync.Map // reflect.Type → *T
}

var (
	shapes   = cache[shape]{compile: compileShape}
	requests = cache[request]{compile: compileRequest}
)

// of returns the compiled form from the cache, or compiles and stores it.
func (c *cache[T]) of(input reflect.Type) (*T, error) {
	if kept, ok := c.made.Load(input); ok {
		if made, ok := kept.(*T); ok {
			return made, nil
		}
	}

	made, err := c.compile(input)
	if err != nil {
		return nil, err
	}
	c.made.Store(input, made)
	return made, nil
}

// Bind reads one JSON object without files. Its errors are those of Operation.Bind. Null is an absent member, unless
// the member's type sets itself (SetJSON) and its schema has null as an alternative: the member is set then, so a
// PATCH can distinguish the two.
func (s *Shape[In]) Bind(ctx context.Context, body io.Reader) (*In, error) {
	bound, err := s.bind(ctx, body, Files{}, nil)
	if err != nil {
		return nil, err
	}
	in, _ := bound.in.(*In)
	return in, nil
}

// Check returns the Faults of a JSON text as Bind does, but reads nothing from it and applies no rules besides the
// schema. It returns nil if there are none.
func (s *shape) Check(text []byte) error {
	d := newDecoder(context.Background(), bytes.NewReader(text), s.rule, Files{})
	_, err := d.read()
	if err == nil {
		d.faults.sort()
		err = d.faults.OrNil()
	}
	return errors.Join(err, d.close())
}

// bound is an input that was read.
type bound struct {
	in    any // a pointer to the input's type
	tree  any // as decoded, with its files in place
	close func() error
}

// bind reads an input. The errors of bindSteps, which binds the inputs of its steps, are listed with the others.
func (s *shape) bind(
	ctx context.Context, body io.Reader, files Files, bindSteps func(in, tree any) error,
) (_ *bound, err error) {
	d := newDecoder(ctx, body, s.rule, files)
	done := func() error {
		files.Share.Close()
		return d.close()
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, done())
		}
	}()

	tree, err := d.read()
	if err != nil {
		return nil, err
	}

	if files.steps != nil {
		files.steps.follow(s.rule, tree)
		refuseInSteps(&d.faults, tree)
	}
	signLast(&d.faults, tree)
	d.faults.sort()

	in := reflect.New(s.input).Interface()
	if tree != nil {
		if err := fill(&d.faults, in, tree); err != nil {
			return nil, err
		}
	}

	if of, ok := in.(commonFields); ok {
		if err := merge(&d.faults, of.common().validate()); err != nil {
			return nil, err
		}
	}
	if tree != nil && bindSteps != nil {
		if err := merge(&d.faults, bindSteps(in, tree)); err != nil {
			return nil, err
		}
	}

	if tree != nil && files.Check != nil {
		if beside := files.Check(files.place, in); len(d.faults) > 0 {
			_ = merge(&d.faults, beside) // which are faults, all of them
		}
	}
	if len(d.faults) > 0 {
		return nil, d.faults
	}
	return &bound{in: in, tree: tree, close: done}, nil
}

// fill sets the fields of the struct that in points to from a decoded input, and adds the faults of its own rules.
func fill(faults *FieldErrors, in, tree any) error {
	if err := assign(tree, in); err != nil && len(*faults) == 0 {
		return err
	}
	if in, ok := in.(checker); ok {
		return merge(faults, in.Validate())
	}
	return nil
}

// merge adds the faults that the input's own rules found, except in fields
// whose shape is wrong anyway. Any other error is returned.
func merge(faults *FieldErrors, err error) error {
	var more FieldErrors
	if !errors.As(err, &more) {
		return err
	}

	found := *faults
	for _, fault := range more {
		if !found.has(fault.Field) {
			faults.AddAll(fault)
		}
	}
	return nil
}

// assign sets the fields of the struct that in points to from a decoded input,
// without copying its strings. Fields of a wrong type are left alone.
func assign(tree, in any) error {
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: in, TagName: "json", Squash: true, DecodeHook: setJSON, DecodeNil: true,
	})
	if err != nil {
		return err
	}
	return decoder.Decode(tree)
}

// setJSON lets fields of several JSON types set themselves.
func setJSON(from, to reflect.Value) (any, error) {
	var v any
	// The library shows null to a struct as a map that is nil.
	if from.IsValid() && (from.Kind() != reflect.Map || !from.IsNil()) {
		v = from.Interface()
	}

	target := reflect.New(to.Type())
	field, ok := target.Interface().(jsonValue)
	if !ok {
		return v, nil
	}
	if err := field.SetJSON(v); err != nil {
		return nil, err
	}
	return target.Elem().Interface(), nil
}
