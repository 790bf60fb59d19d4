package operation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
)

// maxSteps is the maximum number of steps of one call. Common.Then has the same.
const maxSteps = 20

// flowTimeout bounds all steps of a call together. The limits of each operation apply within it.
const flowTimeout = 5 * time.Minute

// pipelineInput is the input of pipelines.create.
type pipelineInput struct {
	schema.Common

	Steps  []PipelineStep `json:"steps" jsonschema:"required,minItems=1,maxItems=20" jsonschema_description:"Operations to run, in order, 1 to 20."`
	Output stepIDs        `json:"output,omitzero" jsonschema_description:"ID of the step whose result is returned, or an array of IDs. Several results are returned as a ZIP archive. Default: the last step."`
}

// PipelineStep is one step of a pipeline.
type PipelineStep struct {
	ID    string                `json:"id" jsonschema:"required,maxLength=64,pattern=^[A-Za-z0-9_-]+$" jsonschema_description:"ID of the step within the pipeline: letters, digits, _ and -."`
	Op    string                `json:"op" jsonschema:"required,maxLength=64" jsonschema_description:"Name of the operation, such as pdf.stamp."`
	Input schema.OperationInput `json:"input" jsonschema:"required" jsonschema_description:"Input of the operation. A source {\"step\":\"id\"} is the result of an earlier step; several are {\"files\":[{\"step\":\"a\"},{\"step\":\"b\"}]}."`
}

// stepIDs are IDs of steps: a string or an array of strings.
type stepIDs []string

// JSONSchema returns the schema of StepIDs.
func (stepIDs) JSONSchema() *jsonschema.Schema {
	long := uint64(64)
	few := uint64(1)
	many := uint64(maxSteps)
	id := &jsonschema.Schema{Type: "string", MinLength: &few, MaxLength: &long}
	return &jsonschema.Schema{
		OneOf: []*jsonschema.Schema{id, {Type: "array", Items: id, MinItems: &few, MaxItems: &many}},
	}
}

// SetJSON stores the IDs.
func (s *stepIDs) SetJSON(v any) error {
	one, ok := v.(string)
	if ok {
		*s = stepIDs{one}
	}
	many, _ := v.([]any)
	for _, id := range many {
		id, _ := id.(string) // Anything else has an error already.
		*s = append(*s, id)
	}
	return nil
}

// MarshalJSON writes one ID as a string.
func (s stepIDs) MarshalJSON() ([]byte, error) {
	if len(s) == 1 {
		return json.Marshal(s[0])
	}
	return json.Marshal([]string(s))
}

// Validate checks the rules that the schema cannot express.
func (in *pipelineInput) Validate() error {
	var faults schema.FieldErrors
	var ids []string

	for i, step := range in.Steps {
		if slices.Contains(ids, step.ID) {
			faults.Add(fmt.Sprintf("steps[%d].id", i), "must be unique; an earlier step has it")
		}
		ids = append(ids, step.ID)
	}

	for i, id := range in.Output {
		field := "output"
		if len(in.Output) > 1 {
			field = fmt.Sprintf("output[%d]", i)
		}

		if !slices.Contains(ids, id) {
			faults.Add(field, "must be the id of a step; got %.64q", id)
		}
		if slices.Contains(in.Output[:i], id) {
			faults.Add(field, "is given more than once")
		}
	}
	return failures(faults)
}

// outputs are the IDs of the steps whose results are returned.
func (in *pipelineInput) outputs() []string {
	if len(in.Output) == 0 && len(in.Steps) > 0 {
		return []string{in.Steps[len(in.Steps)-1].ID}
	}
	return in.Output
}

// Flow returns the steps.
func (in *pipelineInput) Flow() schema.Flow {
	stepRunner := schema.Flow{Field: "steps", Outputs: in.outputs()}
	for _, step := range in.Steps {
		stepRunner.Steps = append(stepRunner.Steps, schema.StepInput(step))
	}
	return stepRunner
}

// runPipeline returns the results of the steps that are the output.
func runPipeline(ctx context.Context, deps *Deps, in *pipelineInput) (schema.Result, error) {
	ids := in.outputs()
	if len(ids) == 1 {
		result := deps.Results[ids[0]].Result
		delete(deps.Results, ids[0]) // It is the caller's now.
		return result, nil
	}

	var entries []render.ZipEntry
	for _, id := range ids {
		result := deps.Results[id]
		entries = append(entries, render.ZipEntry{Name: result.Stem + result.Extension, Content: result.Body})
	}

	archive, err := render.Zip(ctx, entries)
	if err != nil {
		return schema.Result{}, err
	}
	return zipResult("pipeline", archive), nil
}

// Call is a call of an operation.
type Call = schema.Call[*Deps]

// Step is a call as a part of another.
type Step = schema.Step[*Deps]

// StepResult is the result of a step, for the steps after it.
type StepResult struct {
	schema.Result
	Step
}

// PriceOf returns the price of a call with its steps: the maximum, if it depends on the result. The prices of steps
// do not.
func PriceOf(ctx context.Context, deps *Deps, name string, call *Call) (schema.Price, error) {
	if bulk, ok := call.Input().(*BulkInput); ok {
		each, count, err := bulk.bulkPrice(ctx, deps, call)
		if bulk.Quote {
			count = 0
		}
		return schema.Price{Amount: each * credit.Amount(count), Records: count}, err
	}

	price := schema.Price{Amount: deps.Prices[name]}
	if own, err := call.Price(ctx, deps); err != nil {
		return price, err
	} else if own != nil {
		price = *own
	}

	for _, step := range call.Steps {
		price.Amount += deps.Prices[step.Operation.Name]
	}
	return price, nil
}

// RetryFunc does work, and repeats it if everything is busy and the caller can wait.
type RetryFunc func(ctx context.Context, work func() (schema.Result, error)) (schema.Result, error)

// Run runs a call and its steps, in order. The result is the last one's, or the output of a pipeline.
func Run(ctx context.Context, deps *Deps, call *Call, patiently RetryFunc) (schema.Result, error) {
	if bulk, ok := call.Input().(*BulkInput); ok {
		return quoteBulk(ctx, deps, call, bulk)
	}

	f := &stepRunner{deps: *deps, patiently: patiently, calls: call.Calls(), lastUse: map[string]int{}}
	f.deps.Results = map[string]StepResult{}
	ctx, f.engines = render.Warned(ctx)
	if len(call.Steps) == 0 {
		result, err := f.do(ctx, call)
		if err != nil {
			return schema.Result{}, err
		}
		return f.finalResult(ctx, StepResult{result, f.calls[0]})
	}

	for i, step := range f.calls {
		for _, id := range step.Uses() {
			f.lastUse[id] = i
		}
	}

	var outputs []string
	if in, ok := call.Input().(*pipelineInput); ok {
		outputs = in.outputs()
	}
	for _, id := range outputs {
		f.lastUse[id] = len(f.calls)
	}

	bounded, cancel := context.WithTimeout(ctx, flowTimeout)
	defer cancel()
	result, err := f.run(bounded, call, outputs)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = &wire.Error{Code: wire.ProcessingFailed, Cause: err, Message: fmt.Sprintf(
			"%s: the steps did not finish within %d minutes in total. Send fewer steps, or smaller files.",
			f.at,
			int(flowTimeout.Minutes()),
		)}
	}

	return result, errors.Join(err, f.free(slices.Collect(maps.Keys(f.deps.Results))...))
}

// stepRunner is a call that runs.
type stepRunner struct {
	deps      Deps // with the results that later steps use
	patiently RetryFunc
	calls     []Step
	lastUse   map[string]int   // of a result, by the number of the step
	warnings  []schema.Warning // of the steps and the test mark
	at        string           // the step
	engines   *render.Warnings
	taken     int // of these, by results
}

func (f *stepRunner) do(ctx context.Context, call *Call) (schema.Result, error) {
	return f.warned(f.patiently(ctx, func() (schema.Result, error) { return call.Run(ctx, &f.deps) }))
}

// warned adds the warnings of the engines to a result, except those of earlier results.
func (f *stepRunner) warned(result schema.Result, err error) (schema.Result, error) {
	found := f.engines.All()
	result.Warnings = append(slices.Clip(result.Warnings), warnings(found[f.taken:])...)
	f.taken = len(found)
	return result, err
}

func (f *stepRunner) run(ctx context.Context, call *Call, outputs []string) (result schema.Result, err error) {
	for i, step := range f.calls {
		f.at = title(step)
		f.deps.Inner = i < len(f.calls)-1
		if call.Flow {
			f.deps.Inner = !slices.Contains(outputs, step.ID)
		}
		if result, err = f.do(ctx, step.Call); err != nil {
			return schema.Result{}, StepFailure(step, err)
		}

		spent := slices.DeleteFunc(step.Uses(), func(id string) bool { return f.lastUse[id] != i })
		if err := errors.Join(f.free(spent...), f.keep(step, result)); err != nil {
			return schema.Result{}, err
		}
	}

	if !call.Flow {
		outputs = []string{schema.Previous}
	}
	for _, id := range outputs {
		last := f.deps.Results[id]
		delete(f.deps.Results, id) // finalResult closes it.
		if last.Result, err = f.finalResult(ctx, last); err != nil {
			return schema.Result{}, StepFailure(last.Step, err)
		}
		f.deps.Results[id] = last
	}

	if call.Flow {
		result, err = call.Run(ctx, &f.deps)
	} else {
		result = f.deps.Results[schema.Previous].Result
		delete(f.deps.Results, schema.Previous) // It is the caller's now.
	}

	result.Warnings = f.warnings
	return result, err
}

// finalResult returns a result as the call's, with the test mark that calls with a test key have. It closes the result
// without the mark.
func (f *stepRunner) finalResult(ctx context.Context, last StepResult) (schema.Result, error) {
	if !f.deps.Test || marked(last.Result) {
		return last.Result, nil
	}
	result, err := f.warned(f.patiently(ctx, func() (result schema.Result, err error) {
		result = last.Result
		result.Body, err = f.deps.mark(ctx, last.Input(), last.Result)
		return result, err
	}))
	if err == nil {
		f.warnings = append(f.warnings, result.Warnings[len(last.Warnings):]...)
	}
	return result, errors.Join(err, last.Body.Close())
}

// keep stores the result of a step for those after it.
func (f *stepRunner) keep(step Step, result schema.Result) error {
	if result.Body == nil {
		text, err := json.Marshal(result.JSON)
		if err != nil {
			return err
		}
		result.Body = jsonBody(text)
		result.JSON = nil
		result.ContentType = "application/json"
		result.Extension = ".json"
	}

	for _, warning := range result.Warnings {
		if step.Place != "" {
			warning.Message = title(step) + ": " + warning.Message
		}
		f.warnings = append(f.warnings, warning)
	}

	name := Filename(step.Filename, cmp.Or(step.ID, result.Stem), result.Extension)
	result.Stem = strings.TrimSuffix(name, path.Ext(name))
	id := cmp.Or(step.ID, schema.Previous)
	err := f.free(id)
	f.deps.Results[id] = StepResult{result, step}
	return err
}

// free closes results that are needed no longer.
func (f *stepRunner) free(ids ...string) error {
	var errs []error
	for _, id := range ids {
		if result, ok := f.deps.Results[id]; ok {
			errs = append(errs, result.Body.Close())
			delete(f.deps.Results, id)
		}
	}
	return errors.Join(errs...)
}

// jsonBody is a result in JSON, in memory.
type jsonBody []byte

func (b jsonBody) Size() int64         { return int64(len(b)) }
func (b jsonBody) Open() io.ReadSeeker { return bytes.NewReader(b) }
func (b jsonBody) Close() error        { return nil }

// title names a step in messages.
func title(step Step) string {
	switch {
	case step.Place == "":
		return "The operation before the steps"
	case step.ID == "":
		return fmt.Sprintf("%s (%s)", step.Place, step.Operation.Name)
	}
	return fmt.Sprintf("Step %s (%s, %s)", step.ID, step.Place, step.Operation.Name)
}

// StepFailure returns an error of a step with the step's name in its message, and the paths of its fields in the whole
// input.
func StepFailure(step Step, err error) error {
	if step.Place == "" {
		return err
	}
	var known *wire.Error
	if !errors.As(err, &known) {
		if known = Failure(err); known == nil {
			return fmt.Errorf("%s: %w", title(step), err)
		}
	}
	named := &wire.Error{
		Code:       known.Code,
		RetryAfter: known.RetryAfter,
		Cause:      err,
		Message:    title(step) + ": " + known.Error(),
	}

	for _, detail := range known.Details {
		if detail.Field != "" {
			detail.Field = schema.InputPath(step.Place) + detail.Field
		}
		named.Details = append(named.Details, detail)
	}

	if len(named.Details) == 0 {
		named.Details = []wire.Detail{{Field: step.Place, Message: known.Error()}}
	}
	return named
}
