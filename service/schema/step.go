package schema

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/service/schema/scan"
)

// A call may have steps: calls of other operations, whose sources may be results of earlier steps. The input of a step
// is stored as its text, and bound by the row of its operation when the whole input was read.

// operationFormat marks an OperationInput in its schema.
const operationFormat = "operation-input"

const (
	// stepField is the member of a source that names an earlier step. The decoded input has it as a storedField that
	// begins with stepPrefix, which no ID of a file does.
	stepField, stepPrefix = "step", "step:"
	// thenField is the common field with the steps after a call.
	thenField = "then"
	// optionsField has signField, the input of signOperation as the last step, in operations that make PDFs. Their path
	// is signPlace.
	optionsField, signField, signOperation = "options", "sign", "pdf.sign"
	signPlace                              = optionsField + "." + signField
	// maxThen is the maximum number of steps after a call.
	maxThen = 20
	// responseField is the common field with the form of the response.
	responseField = "response"
	// previous is the name of the result before a step of thenField.
	previous = "previous"
	// inputPlace is the path between a step and the fields of its input.
	inputPlace = ".input."
)

// OperationInput is a field that holds the input of another operation.
type OperationInput struct{ *Inline }

// NewOperationInput returns an input with a text, for an example.
func NewOperationInput(text string) OperationInput {
	return OperationInput{NewFile([]byte(text)).Inline}
}

// JSONSchema returns the schema of an OperationInput: any object.
func (OperationInput) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Format: operationFormat}
}

// SetJSON stores the text, or an empty object in another spelling.
func (i *OperationInput) SetJSON(v any) error {
	*i = NewOperationInput("{}")
	if text, ok := v.(*Inline); ok {
		i.Inline = text
	}
	return nil
}

// MarshalJSON writes the text.
func (i OperationInput) MarshalJSON() ([]byte, error) { return io.ReadAll(i.Open()) }

// operationInput reads an object for its syntax, and stores its text.
func (d *decoder) operationInput() (any, error) {
	text := &Inline{d.keep.Open()}
	d.files = append(d.files, text)
	d.Record(&scan.Tape{To: text})
	_, err := d.value(nil, false)
	d.Record(nil)
	return text, err
}

// ThenStep is an operation on the result of a call.
type ThenStep struct {
	Op    string         `json:"op" jsonschema:"required,maxLength=64" jsonschema_description:"Name of the operation, such as pdf.stamp."`
	Input OperationInput `json:"input" jsonschema:"required" jsonschema_description:"Input of the operation, without a source."`
}

// StepInput is a step of an input.
type StepInput struct {
	ID, Op string
	Input  OperationInput
}

// Flow is the part of an input that is steps.
type Flow struct {
	// Field is the name of the array of steps.
	Field string
	Steps []StepInput
	// Outputs are the IDs of steps whose results are in the response. Steps without IDs have none: the last result is
	// the response.
	Outputs []string
}

// Flow returns the steps after a call.
func (c *Common) Flow() Flow {
	flow := Flow{Field: thenField}
	for _, step := range c.Then {
		flow.Steps = append(flow.Steps, StepInput{Op: step.Op, Input: step.Input})
	}
	return flow
}

// Step is a call as a part of another.
type Step[Env any] struct {
	// Place is the path of the step, such as steps[2]; empty for the call that the steps follow.
	Place, ID string
	Operation *Operation[Env]
	*Call[Env]
}

// Calls returns the calls to run, in order: the call itself unless it is only a flow, and its steps. The Operation of
// the call itself is nil.
func (c *Call[Env]) Calls() []Step[Env] {
	if c.Flow {
		return c.Steps
	}
	return append([]Step[Env]{{Call: c}}, c.Steps...)
}

// Uses returns the IDs of the earlier steps whose results the step reads.
func (s Step[Env]) Uses() (ids []string) {
	for _, file := range s.sources() {
		if id, ok := strings.CutPrefix(file.ID, stepPrefix); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// StepOf returns the ID of the earlier step that a source names instead of a stored file.
func StepOf(fileID string) (id string, ok bool) { return strings.CutPrefix(fileID, stepPrefix) }

// Previous is the ID of the result before a step that has no ID.
const Previous = previous

// earlier are the results that a step can refer to.
type earlier struct {
	ids  []string
	then bool // the step gets the previous result as its source
}

// refers reports whether an object with that rule is a source, which may be an earlier result.
func (r *rule) refers() bool {
	return r != nil && r.members[storedField] != nil && r.members[stepField] == nil
}

// reference makes a reference to an earlier step of the member that was read, and checks it. Outside of a step there
// are none to refer to.
func (d *decoder) reference(object map[string]any, refers bool) {
	id, ok := object[storedField].(string)
	if refers && ok {
		id = stepPrefix + id
		object[storedField] = id
	}

	id, named := strings.CutPrefix(id, stepPrefix)
	var ids []string
	if d.keep.steps != nil {
		ids = d.keep.steps.ids
	}
	if !named || slices.Contains(ids, id) {
		return
	}

	among := "there are none"
	if len(ids) > 0 {
		among = "valid: " + strings.Join(ids, ", ")
	}
	d.faults.Add(d.field(), "must be the id of an earlier step (%s); got %s", among, preview(id))
}

// follow makes the previous result the source of a step after a call, unless its input has another.
func (e *earlier) follow(r *rule, input any) {
	object, ok := input.(map[string]any)
	if !ok || !e.then || !r.refers() {
		return
	}

	for _, source := range []string{"url", "file", storedField, "html", "markdown", "templateId"} {
		if _, given := object[source]; given {
			return
		}
	}
	object[storedField] = stepPrefix + previous
}

// notInSteps are the common fields that only the call as a whole has: all but the name of the result.
var notInSteps = slices.DeleteFunc(jsonNames(reflect.TypeFor[Common]()),
	func(name string) bool { return name == "filename" })

// refuseInSteps faults those fields in the input of a step.
func refuseInSteps(faults *FieldErrors, input any) {
	object, _ := input.(map[string]any)
	for _, name := range notInSteps {
		if _, given := object[name]; given && !faults.has(name) {
			faults.Add(name, "is not allowed in a step")
		}
	}

	options, _ := object[optionsField].(map[string]any)
	if _, given := options[signField]; given {
		faults.Add(signPlace, "is not allowed in a step. Send %s as a step instead", signOperation)
	}
}

// bindSteps binds the inputs of an input's steps, and replaces their texts in the decoded input. Its Faults are those
// of all steps.
func (t *Table[Env]) bindSteps(
	ctx context.Context, first Info, in, decoded any, files Files,
) (steps []Step[Env], err error) {
	flowing, ok := in.(interface{ Flow() Flow })
	if !ok || files.steps != nil {
		return nil, nil
	}

	flow := flowing.Flow()
	root, _ := decoded.(map[string]any)
	items, _ := root[flow.Field].([]any)
	chain := flow.Field == thenField

	var faults FieldErrors
	var ids []string
	if chain {
		ids = []string{previous}
	}

	for i, input := range flow.Steps[:min(len(flow.Steps), len(items))] {
		place := fmt.Sprintf("%s[%d]", flow.Field, i)
		item, _ := items[i].(map[string]any)
		if _, signs := item[signField]; signs {
			place = signPlace
			delete(item, signField)
		}

		operation := t.byName[input.Op]
		switch {
		case item["op"] != nil && (operation == nil || operation.Composite()):
			faults.Add(place+".op", "must be the name of an operation that makes or reads a file%s", t.Near(input.Op))
		case operation != nil && operation.Varies:
			faults.Add(place+".op",
				"must be an operation with a fixed price; the price of %s depends on its result. Send it in a call of its own",
				input.Op)
		case operation != nil && item["input"] != nil:
			files := files
			files.steps = &earlier{ids: slices.Clone(ids), then: chain}
			files.place = place
			call, err := operation.bind(ctx, input.Input.Open(), files)
			_ = input.Input.Close() // the call has its own copy
			if err := merge(&faults, At(place, err)); err != nil {
				return steps, err
			}
			if err != nil {
				break
			}
			steps = append(steps, Step[Env]{Place: place, ID: input.ID, Operation: operation, Call: call})
			if chain && call.ContentType() == mediaJSON {
				faults.Add(place+".op",
					"must be an operation that makes a file; %s returns JSON. Use POST /v1/pipelines for JSON results",
					input.Op)
			}
			item["input"] = call.input
		}

		if input.ID != "" {
			ids = append(ids, input.ID)
		}
	}

	if len(faults) == 0 {
		faults = append(unused(steps, flow.Outputs), breaking(first, steps)...)
	}
	return steps, faults.OrNil()
}

// unused faults steps whose result nobody gets, but everybody would pay for.
func unused[Env any](steps []Step[Env], outputs []string) (faults FieldErrors) {
	used := slices.Clone(outputs)
	for _, step := range steps {
		uses := step.Uses()
		if used = append(used, uses...); step.ID == "" && len(uses) == 0 {
			faults.Add(step.Place+".input",
				`must use the previous result: send {"step":"previous"} as one of its sources`)
		}
	}

	for _, step := range steps {
		if step.ID != "" && !slices.Contains(used, step.ID) {
			faults.Add(step.Place+".id", "is not used: no later step refers to it, and it is not in output")
		}
	}
	return faults
}

// breaking faults steps that make another PDF of a signed one, which breaks its signature.
func breaking[Env any](first Info, steps []Step[Env]) (faults FieldErrors) {
	signedBy := map[string]string{}
	if first.Signs {
		signedBy[previous] = first.Name
	}

	for _, step := range steps {
		for _, id := range step.Uses() {
			if signer := signedBy[id]; signer != "" && !step.Operation.Signs && step.ContentType() == mediaPDF {
				faults.Add(step.Place+".op",
					"must not be %s, because it would break the signature of %s. Move %s to the end",
					step.Operation.Name, signer, signer)
			}
		}

		signedBy[cmp.Or(step.ID, previous)] = ""
		if step.Operation.Signs {
			signedBy[cmp.Or(step.ID, previous)] = step.Operation.Name
		}
	}
	return faults
}

// Near returns the continuation of a message that suggests the operation that a name probably stands for; empty if none
// is similar.
func (t *Table[Env]) Near(name string) string {
	properties := jsonschema.NewProperties()
	for _, operation := range t.rows {
		properties.Set(operation.Name, &jsonschema.Schema{})
	}
	return hint(&jsonschema.Schema{Type: "object", Properties: properties}, nil, name)
}

func closeSteps[Env any](steps []Step[Env]) error {
	var errs []error
	for _, step := range steps {
		errs = append(errs, step.Close())
	}
	return errors.Join(errs...)
}

// At returns an error of the input of a step with the path of its fields in the input as a whole.
func At(place string, err error) error {
	var faults FieldErrors
	var size *SizeError

	switch {
	case place == "" || err == nil:
		return err
	case errors.As(err, &faults):
		var moved FieldErrors
		for _, fault := range faults {
			fault = fault.Inside(InputPath(place))
			if fault.sentence != "" {
				fault.sentence = place + ": " + fault.sentence
			}
			moved.AddAll(fault)
		}
		return moved
	case errors.As(err, &size):
		return &SizeError{Field: InputPath(place) + size.Field, Limit: size.Limit, ExcludesFiles: size.ExcludesFiles}
	}
	return err
}

// InputPath returns the start of the paths of the fields of a step's input.
func InputPath(place string) string {
	if place == signPlace {
		return place + "."
	}
	return place + inputPlace
}

// signLast makes the last step of options.sign in a decoded input.
func signLast(faults *FieldErrors, tree any) {
	root, _ := tree.(map[string]any)
	options, _ := root[optionsField].(map[string]any)
	input, given := options[signField].(*Inline)
	if !given {
		return
	}

	delete(options, signField)
	steps, _ := root[thenField].([]any)
	if len(steps) >= maxThen {
		faults.Add(signPlace, "is not allowed after %d steps", maxThen)
		return
	}
	root[thenField] = append(steps, map[string]any{"op": signOperation, "input": input, signField: true})
}

// signing returns the shape with the field options.sign.
func (s *shape) signing() (*shape, error) {
	advanced := map[string]any{"x-advanced": true}
	sign, err := newRule(&jsonschema.Schema{
		Type: "object", Format: operationFormat, Extras: advanced,
		Description: "Input of pdf.sign, without a source. It signs the PDF as the last step of the call, which costs the sum of the prices.",
	})

	options := s.rule.members[optionsField]
	if options == nil && err == nil {
		options, err = newRule(&jsonschema.Schema{
			Type: "object", Description: "Options of the result.", AdditionalProperties: jsonschema.FalseSchema,
			Extras: advanced,
		})
	}
	if err != nil {
		return nil, err
	}

	rule := s.rule.withMember(optionsField, options.withMember(signField, sign))
	return &shape{Schema: rule.doc, rule: rule, input: s.input}, nil
}

// without returns the shape without one of its members.
func (s *shape) without(name string) *shape {
	if s.rule.members[name] == nil {
		return s
	}
	changed := s.with(name, nil)
	changed.rule.members = maps.Clone(s.rule.members)
	delete(changed.rule.members, name)
	return changed
}

// with returns the shape with another schema of a field; nil leaves the field out of the schema.
func (s *shape) with(name string, field *jsonschema.Schema) *shape {
	rule := *s.rule
	rule.doc = withMember(s.Schema, name, field)
	return &shape{Schema: rule.doc, rule: &rule, input: s.input}
}

// withMember returns a copy of a rule with another rule of a member.
func (r *rule) withMember(name string, member *rule) *rule {
	changed := *r
	changed.doc = withMember(r.doc, name, member.doc)
	changed.members = maps.Clone(r.members)
	changed.members[name] = member
	return &changed
}

// withMember returns a copy of a schema with another schema of a member, which is the last if it is new; nil leaves it
// out.
func withMember(of *jsonschema.Schema, name string, member *jsonschema.Schema) *jsonschema.Schema {
	doc := *of
	doc.Properties = jsonschema.NewProperties()
	for other, described := range members(of) {
		doc.Properties.Set(other, described)
	}

	if member == nil {
		doc.Properties.Delete(name)
	} else {
		doc.Properties.Set(name, member)
	}
	return &doc
}

// asJob returns the shape of the input of a call that is always a job.
func (s *shape) asJob() *shape {
	field, _ := s.Schema.Properties.Get(responseField)
	response := *field
	response.Default = Async
	response.Description = "Form of the response: async. The call is always a job to poll."
	return s.with(responseField, &response)
}
