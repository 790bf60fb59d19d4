package op

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/invopop/jsonschema"
)

// Table is the checked list of operations, in the order of the rows.
type Table[Env any] struct {
	rows   []*Operation[Env]
	byName map[string]*Operation[Env]
}

// NewTable compiles and checks rows: names are well-formed and unique, every
// field is documented, every example is valid and nothing is free.
func NewTable[Env any](rows []Row[Env]) (*Table[Env], error) {
	table := &Table[Env]{byName: map[string]*Operation[Env]{}}
	var faults []error
	for _, row := range rows {
		operation, err := row.compile()
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if table.byName[operation.Name] != nil {
			faults = append(faults, fmt.Errorf("operation %s stands twice in the table", operation.Name))
		}
		table.byName[operation.Name] = operation
		table.rows = append(table.rows, operation)
	}
	return table, errors.Join(faults...)
}

// All returns the operations in order.
func (t *Table[Env]) All() []*Operation[Env] { return t.rows }

// Lookup returns the operation of that name, or nil.
func (t *Table[Env]) Lookup(name string) *Operation[Env] { return t.byName[name] }

// commonFields is what an input gets by embedding Common.
type commonFields interface{ common() *Common }

// checked is an input with rules that a schema can't state, such as fields
// that exclude each other. Validate returns Faults or a *SizeError.
type checked interface{ Validate() error }

// admitted is an input whose run needs something that can be fully taken. Its
// method returns the error with which the run would fail for that at once.
type admitted[Env any] interface{ Admit(Env) error }

// jsonValue is a field that takes more than one JSON type. It is set from a
// value that its own schema has passed.
type jsonValue interface{ SetJSON(v any) error }

// SizeError means that a part of the input is over its own limit.
type SizeError struct {
	Field string
	Limit int64 // in bytes
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s is larger than %d bytes.", e.Field, e.Limit)
}

func (s Spec[Env, In]) compile() (*Operation[Env], error) {
	input := reflect.TypeFor[In]()
	shape, err := reflectSchema(input)
	if err != nil {
		return nil, err
	}
	operation := &Operation[Env]{Info: s.Info, Schema: shape.doc, Example: s.Example}
	operation.bind = func(body io.Reader, files Files) (*Call[Env], error) {
		in, source := new(In), newInliner(body, shape.files, files)
		tree, digest, err := shape.bind(s.Name, source, in)
		if err != nil {
			return nil, errors.Join(err, source.close())
		}
		return &Call[Env]{
			Common: commonOf(in),
			Digest: digest,
			schema: shape.doc,
			input:  tree,
			close:  source.close,
			run:    func(ctx context.Context, env Env) (Result, error) { return s.Run(ctx, env, in) },
			admit: func(env Env) error {
				if in, ok := any(in).(admitted[Env]); ok {
					return in.Admit(env)
				}
				return nil
			},
		}, nil
	}
	return operation, s.check(operation)
}

// commonOf returns the common fields of an input, which embeds them.
func commonOf(in any) Common {
	if in, ok := in.(commonFields); ok {
		return *in.common()
	}
	return Common{}
}

// bind reads a body into the struct that in points to, and returns what was
// read and its digest.
func (s *schema) bind(name string, body *inliner, in any) (tree any, digest [32]byte, err error) {
	if tree, err = decode(body); err != nil {
		return nil, digest, err
	}
	tree = normalize(s.doc, tree)
	faults := s.check(tree)
	if tree, err = body.resolve(tree, nil, &faults); err != nil {
		return nil, digest, err
	}
	if err := assign(tree, in); err != nil && len(faults) == 0 {
		return nil, digest, err
	}
	if in, ok := in.(checked); ok {
		if err := merge(&faults, in.Validate()); err != nil {
			return nil, digest, err
		}
	}
	if len(faults) > 0 {
		return nil, digest, faults
	}
	canonical, err := json.Marshal([]any{name, tree})
	return tree, sha256.Sum256(canonical), err
}

// merge adds the faults that the input's own rules found, except in fields
// whose shape is wrong anyway. Any other error is returned.
func merge(faults *Faults, err error) error {
	var more Faults
	if !errors.As(err, &more) {
		return err
	}
	known := len(*faults)
	for _, fault := range more {
		if !(*faults)[:known].has(fault.Field) {
			*faults = append(*faults, fault)
		}
	}
	return nil
}

// assign sets the fields of the struct that in points to from a decoded input,
// without copying its strings. Fields of a wrong type are left alone.
func assign(tree, in any) error {
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: in, TagName: "json", Squash: true, DecodeHook: setJSON,
	})
	if err != nil {
		return err
	}
	return decoder.Decode(tree)
}

// setJSON lets fields of several JSON types set themselves.
func setJSON(_, to reflect.Type, v any) (any, error) {
	target := reflect.New(to)
	field, ok := target.Interface().(jsonValue)
	if !ok {
		return v, nil
	}
	if err := field.SetJSON(v); err != nil {
		return nil, err
	}
	return target.Elem().Interface(), nil
}

var wellFormed = regexp.MustCompile(`^[a-z]+(\.[a-z]+(-[a-z]+)*)+$`)

// check holds the row to the table's rules.
func (s Spec[Env, In]) check(operation *Operation[Env]) error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("operation "+s.Name+": "+format, args...))
	}
	if !wellFormed.MatchString(s.Name) {
		fault("its name is not words joined by dots")
	}
	if s.Summary == "" || s.Run == nil || len(s.Produces) == 0 {
		fault("it lacks a summary, a run or what it produces")
	}
	if s.Price <= 0 {
		fault("it is free")
	}
	if _, ok := any(new(In)).(commonFields); !ok {
		fault("its input does not embed op.Common")
		return errors.Join(faults...)
	}
	for _, path := range undocumented(operation.Schema, "") {
		fault("field %s has no description", path)
	}
	example, err := json.Marshal(s.Example)
	if err == nil {
		_, err = operation.Bind(bytes.NewReader(example), Files{})
	}
	if err != nil {
		fault("its example is invalid: %w", err)
	}
	return errors.Join(faults...)
}

// undocumented lists the fields without a description, those in arrays too.
func undocumented(doc *jsonschema.Schema, prefix string) []string {
	var paths []string
	for name, member := range members(doc) {
		if strings.TrimSpace(member.Description) == "" {
			paths = append(paths, prefix+name)
		}
		paths = append(paths, undocumented(member, prefix+name+".")...)
		paths = append(paths, undocumented(member.Items, prefix+name+"[].")...)
	}
	return paths
}
