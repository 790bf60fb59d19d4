package schema

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
)

// Table is the checked list of operations, in the order of the rows.
type Table[Env any] struct {
	rows   []*Operation[Env]
	byName map[string]*Operation[Env]
}

// NewTable compiles and checks rows: names are well-formed and unique, every
// field is documented, every example is valid and nothing is free.
func NewTable[Env any](rows []Definition[Env]) (*Table[Env], error) {
	table := &Table[Env]{byName: map[string]*Operation[Env]{}}
	var faults []error
	for _, row := range rows {
		operation, err := row.compile(table)
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

// Specs returns the specifications of the operations, in order.
func (t *Table[Env]) Specs() []*Spec {
	var all []*Spec
	for _, operation := range t.rows {
		all = append(all, &operation.Spec)
	}
	return all
}

// Without turns operations off whose engine is one of those.
func (t *Table[Env]) Without(engines []string) {
	for _, operation := range t.rows {
		operation.Off = operation.Engine != "" && slices.Contains(engines, operation.Engine)
	}
}

// Lookup returns the operation of that name, or nil.
func (t *Table[Env]) Lookup(name string) *Operation[Env] { return t.byName[name] }

// commonFields is implemented by inputs that embed Common.
type commonFields interface{ common() *Common }

// checker is an input with rules that a schema can't state, such as fields
// that exclude each other. Validate returns Faults or a *SizeError.
type checker interface{ Validate() error }

// admitter is an input whose run needs something that can be fully taken. Its
// method returns the error with which the run would fail for that at once.
type admitter[Env any] interface{ Admit(Env) error }

// pricer is an input whose price depends on its fields.
type pricer[Env any] interface {
	Price(ctx context.Context, env Env) (Price, error)
}

// jsonValue is a field that accepts more than one JSON type. It is set from a value that its own schema has
// validated.
type jsonValue interface{ SetJSON(v any) error }

// SizeError means that a part of the input is over its own limit.
type SizeError struct {
	Field string
	Limit int64 // in bytes
	// The limit is for the input without its long texts and files.
	ExcludesFiles bool
}

func (e *SizeError) Error() string {
	beside := ""
	if e.ExcludesFiles {
		beside = ", not counting long texts and files"
	}
	return fmt.Sprintf("%s is larger than %d bytes%s.", e.Field, e.Limit, beside)
}

// row is a Spec without the type parameter of its input.
type row[Env any] struct {
	Info

	example any
	input   reflect.Type
	run     func(context.Context, Env, any) (Result, error)
}

func (s TypedDefinition[Env, In]) compile(table *Table[Env]) (*Operation[Env], error) {
	r := row[Env]{Info: s.Info, example: s.Example, input: reflect.TypeFor[In]()}
	if s.Run != nil {
		r.run = func(ctx context.Context, env Env, in any) (Result, error) {
			input, _ := in.(*In)
			return s.Run(ctx, env, input)
		}
	}

	return r.compile(table)
}

// shape returns the shape of the input, with the fields for steps that the operation accepts.
func (r row[Env]) shape(varies bool) (*shape, error) {
	s, err := shapes.of(r.input)
	switch {
	case err != nil:
		return nil, err
	case r.Flow || varies || slices.Equal(r.Produces, []string{mediaJSON}):
		s = s.without(thenField)
	case slices.Contains(r.Produces, mediaPDF) && !r.Signs:
		s, err = s.signing()
	}

	if err == nil && r.Bulk {
		s = s.asJob()
	}
	return s, err
}

func (r row[Env]) compile(table *Table[Env]) (*Operation[Env], error) {
	_, varies := reflect.New(r.input).Interface().(pricer[Env])
	shape, err := r.shape(varies)
	if err != nil {
		return nil, fmt.Errorf("operation %s: %w", r.Name, err)
	}

	if r.Flow {
		r.Produces = table.products()
	}

	operation := &Operation[Env]{
		Spec:  Spec{Info: r.Info, Schema: shape.Schema, Example: r.example},
		Input: r.input, Varies: varies || r.Bulk,
	}

	operation.bind = func(ctx context.Context, body io.Reader, files Files) (*Call[Env], error) {
		var steps []Step[Env]
		bound, err := shape.bind(ctx, body, files, func(in, tree any) (err error) {
			steps, err = table.bindSteps(ctx, r.Info, in, tree, files)
			return err
		})
		if err != nil {
			return nil, errors.Join(err, closeSteps(steps))
		}
		return r.call(shape, bound, steps), nil
	}
	return operation, r.check(operation, table)
}

// call is the call of an input.
func (r row[Env]) call(shape *shape, bound *bound, steps []Step[Env]) *Call[Env] {
	call := &Call[Env]{
		Common: commonOf(bound.in),
		schema: shape.Schema,
		name:   r.Name,
		input:  bound.tree,
		in:     bound.in,
		close:  func() error { return errors.Join(bound.close(), closeSteps(steps)) },
		Steps:  steps,
		Flow:   r.Flow,
		media:  r.Produces[0],
		run:    func(ctx context.Context, env Env) (Result, error) { return r.run(ctx, env, bound.in) },
		pin:    func(ctx context.Context, env Env) error { return pin(ctx, env, bound) },
		admit: func(env Env) error {
			if in, ok := bound.in.(admitter[Env]); ok {
				return in.Admit(env)
			}
			return nil
		},
	}

	if in, ok := bound.in.(pricer[Env]); ok {
		call.price = in.Price
	}
	if in, ok := bound.in.(producer); ok {
		call.media = in.Produces()
	}
	return call
}

// pin fixes the meaning of names in an input, and reads the changed input into the same struct.
func pin[Env any](ctx context.Context, env Env, bound *bound) error {
	in, ok := bound.in.(pinned[Env])
	if !ok {
		return nil
	}

	input, err := tree(bound.tree)
	if err != nil {
		return err
	}
	if changed, err := in.Pin(ctx, env, input); err != nil || !changed {
		return err
	}

	place := reflect.ValueOf(bound.in).Elem()
	fixed := reflect.New(place.Type())
	var faults FieldErrors
	if err := fill(&faults, fixed.Interface(), input); err != nil {
		return err
	}
	if len(faults) > 0 {
		return faults
	}
	place.Set(fixed.Elem())
	return nil
}

// mediaJSON is the content type of results that are no files.
const mediaJSON = "application/json"

// mediaPDF is the content type of results that may be signed.
const mediaPDF = "application/pdf"

// producer is an input whose fields determine the content type of the result.
type producer interface{ Produces() string }

// products are the content types of the results of all operations.
func (t *Table[Env]) products() (types []string) {
	for _, operation := range t.rows {
		for _, media := range operation.Produces {
			if !slices.Contains(types, media) {
				types = append(types, media)
			}
		}
	}
	return types
}

// commonOf returns the common fields of an input, which embeds them.
func commonOf(in any) Common {
	if in, ok := in.(commonFields); ok {
		return *in.common()
	}
	return Common{}
}

var wellFormed = regexp.MustCompile(`^[a-z]+(\.[a-z]+(-[a-z]+)*)+$`)

// check holds the row to the table's rules.
func (r row[Env]) check(operation *Operation[Env], table *Table[Env]) error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("operation "+r.Name+": "+format, args...))
	}

	if !wellFormed.MatchString(r.Name) {
		fault("its name is not words joined by dots")
	}
	if r.Summary == "" || r.run == nil || len(r.Produces) == 0 && !r.Flow {
		fault("it lacks a summary, a run or what it produces")
	}

	switch {
	case r.Price < 0, r.Price == 0 && !r.Unbilled:
		fault("it is free, and not marked as unbilled")
	case r.Price > 0 && r.Unbilled:
		fault("it is marked as unbilled, and has a price")
	}

	if _, ok := reflect.New(r.input).Interface().(commonFields); !ok {
		fault("its input does not embed op.Common")
		return errors.Join(faults...)
	}

	for _, path := range undocumented(operation.Schema, "") {
		fault("field %s has no description", path)
	}

	example, err := json.Marshal(r.example)
	if alone := r.Flow && len(table.rows) == 0; err == nil && !alone { // The steps of an example need their operations.
		_, err = operation.Bind(context.Background(), bytes.NewReader(example), Files{})
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
