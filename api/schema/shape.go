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
type Shape[In any] struct {
	// Schema describes the input, in JSON Schema 2020-12, without references.
	Schema *jsonschema.Schema
	rule   *rule
}

// NewShape compiles the schema of a struct type, once in a process. The schema is read-only.
func NewShape[In any]() (*Shape[In], error) { return once(compileShape[In]) }

func compileShape[In any]() (*Shape[In], error) {
	doc := InputSchema(reflect.TypeFor[In]())
	rules, err := newRule(doc)
	if err != nil {
		return nil, err
	}
	return &Shape[In]{Schema: doc, rule: rules}, nil
}

// compiled caches the compiled form of types, by the type of the outcome. The commands, the routes and their
// descriptions use the same types.
var compiled sync.Map

// once returns the compiled form from the cache, or compiles and stores it.
func once[T any](compile func() (*T, error)) (*T, error) {
	key := reflect.TypeFor[T]()
	if kept, ok := compiled.Load(key); ok {
		if made, ok := kept.(*T); ok {
			return made, nil
		}
	}
	made, err := compile()
	if err != nil {
		return nil, err
	}
	compiled.Store(key, made)
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
	return bound.in, nil
}

// Check returns the Faults of a JSON text as Bind does, but reads nothing from it and applies no rules besides the
// schema. It returns nil if there are none.
func (s *Shape[In]) Check(text []byte) error {
	d := newDecoder(context.Background(), bytes.NewReader(text), s.rule, Files{})
	_, err := d.read()
	if err == nil {
		d.faults.sort()
		err = d.faults.OrNil()
	}
	return errors.Join(err, d.close())
}

// bound is an input that was read.
type bound[In any] struct {
	in    *In
	tree  any // as decoded, with its files in place
	close func() error
}

// bind reads an input. The errors of bindSteps, which binds the inputs of its steps, are listed with the others.
func (s *Shape[In]) bind(ctx context.Context, body io.Reader, files Files, bindSteps func(in *In, tree any) error) (_ *bound[In], err error) {
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
	in := new(In)
	if tree != nil {
		if err := assign(tree, in); err != nil && len(d.faults) == 0 {
			return nil, err
		}
		if in, ok := any(in).(checked); ok {
			if err := merge(&d.faults, in.Validate()); err != nil {
				return nil, err
			}
		}
	}
	if of, ok := any(in).(interface{ common() *Common }); ok {
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
	return &bound[In]{in: in, tree: tree, close: done}, nil
}

// merge adds the faults that the input's own rules found, except in fields
// whose shape is wrong anyway. Any other error is returned.
func merge(faults *Faults, err error) error {
	var more Faults
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
