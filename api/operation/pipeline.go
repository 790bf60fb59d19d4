package operation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"relaypdf/api/apierror"
	"relaypdf/api/schema"
	"relaypdf/render"
	"relaypdf/render/office"
	"relaypdf/store/credit"
)

// maxSteps is the maximum number of steps of one call. Common.Then has the same.
const maxSteps = 20

// flowTimeout bounds all steps of a call together. The limits of each operation apply within it.
const flowTimeout = 5 * time.Minute

// anyType are the content types of all operations.
var anyType = []string{
	"application/pdf", "application/zip", "application/json", "image/png", "image/jpeg", "image/webp", "image/svg+xml", "image/tiff", "image/gif",
	convertTypes[office.ToDOCX], convertTypes[office.ToXLSX], convertTypes[office.ToHTML],
}

// PipelineInput is the input of pipelines.create.
type PipelineInput struct {
	schema.Common

	Steps  []PipelineStep `json:"steps" jsonschema:"required,minItems=1,maxItems=20" jsonschema_description:"Operations in order, 1 to 20 of them."`
	Output StepIDs        `json:"output,omitzero" jsonschema_description:"ID of the step whose result is returned, or an array of IDs: several results are returned as a ZIP archive. Default: the last step."`
}

// PipelineStep is one step of a pipeline.
type PipelineStep struct {
	ID    string                `json:"id" jsonschema:"required,maxLength=64,pattern=^[A-Za-z0-9_-]+$" jsonschema_description:"ID of the step within the pipeline: letters, digits, _ and -."`
	Op    string                `json:"op" jsonschema:"required,maxLength=64" jsonschema_description:"Name of the operation, such as pdf.stamp."`
	Input schema.OperationInput `json:"input" jsonschema:"required" jsonschema_description:"Input of the operation, where {\"step\":\"id\"} is the result of an earlier step as a source. Several are {\"files\":[{\"step\":\"a\"},{\"step\":\"b\"}]}."`
}

// StepIDs are IDs of steps: a string or an array of strings.
type StepIDs []string

// JSONSchema returns the schema of StepIDs.
func (StepIDs) JSONSchema() *jsonschema.Schema {
	long, few, many := uint64(64), uint64(1), uint64(maxSteps)
	id := &jsonschema.Schema{Type: "string", MinLength: &few, MaxLength: &long}
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{id, {Type: "array", Items: id, MinItems: &few, MaxItems: &many}}}
}

// SetJSON stores the IDs.
func (s *StepIDs) SetJSON(v any) error {
	one, ok := v.(string)
	if ok {
		*s = StepIDs{one}
	}
	many, _ := v.([]any)
	for _, id := range many {
		id, _ := id.(string) // Anything else has an error already.
		*s = append(*s, id)
	}
	return nil
}

// MarshalJSON writes one ID as a string.
func (s StepIDs) MarshalJSON() ([]byte, error) {
	if len(s) == 1 {
		return json.Marshal(s[0])
	}
	return json.Marshal([]string(s))
}

// Validate checks the rules that the schema cannot express.
func (in *PipelineInput) Validate() error {
	var faults schema.Faults
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
func (in *PipelineInput) outputs() []string {
	if len(in.Output) == 0 && len(in.Steps) > 0 {
		return []string{in.Steps[len(in.Steps)-1].ID}
	}
	return in.Output
}

// Flow returns the steps.
func (in *PipelineInput) Flow() schema.Flow {
	flow := schema.Flow{Field: "steps", Outputs: in.outputs()}
	for _, step := range in.Steps {
		flow.Steps = append(flow.Steps, schema.StepInput(step))
	}
	return flow
}

// runPipeline returns the results of the steps that are the output.
func runPipeline(ctx context.Context, deps *Deps, in *PipelineInput) (schema.Result, error) {
	ids := in.outputs()
	if len(ids) == 1 {
		result := deps.Results[ids[0]]
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
	result := zipResult("pipeline", archive)
	result.Marked = true // Each of the results has its mark.
	return result, nil
}

// Call is a call of an operation.
type Call = schema.Call[*Deps]

// PriceOf returns the price of a call with its steps: the maximum, if it depends on their results.
func PriceOf(ctx context.Context, deps *Deps, name string, call *Call) (schema.Price, error) {
	var sum schema.Price
	if bulk, ok := call.Input().(*BulkInput); ok {
		each, count, err := bulk.bulkPrice(ctx, deps, call)
		if bulk.Quote {
			each = 0
		}
		return schema.Price{Amount: each * credit.Amount(count), Records: count}, err
	}
	if call.Flow {
		sum.Amount = deps.Prices[name]
	}
	for _, step := range call.Calls() {
		price, err := deps.priceOfStep(ctx, name, step)
		if err != nil {
			return schema.Price{}, StepFailure(step, err)
		}
		sum.Amount += price.Amount
		if price.QuoteID != "" {
			sum.QuoteID = price.QuoteID // Steps have none.
		}
	}
	return sum, nil
}

func (deps *Deps) priceOfStep(ctx context.Context, name string, step schema.Step[*Deps]) (schema.Price, error) {
	if step.Operation != nil {
		name = step.Operation.Name
	}
	own, err := step.Price(ctx, deps)
	if own == nil {
		return schema.Price{Amount: deps.Prices[name]}, err
	}
	return *own, err
}

// Run runs a call and its steps, in order, each with run. The result is the last one's, or the output of a flow.
func Run(ctx context.Context, deps *Deps, name string, call *Call, run func(context.Context, *Deps, *Call) (schema.Result, error)) (schema.Result, error) {
	if bulk, ok := call.Input().(*BulkInput); ok {
		return quoteBulk(ctx, deps, call, bulk)
	}
	if len(call.Steps) == 0 {
		return run(ctx, deps, call)
	}
	bounded, cancel := context.WithTimeout(ctx, flowTimeout)
	defer cancel()
	f := &flow{deps: deps, name: name, calls: call.Calls(), results: map[string]schema.Result{}, lastUse: map[string]int{}}
	for i, step := range f.calls {
		for _, id := range step.Uses() {
			f.lastUse[id] = i
		}
	}
	if in, ok := call.Input().(*PipelineInput); ok {
		for _, id := range in.outputs() {
			f.lastUse[id] = len(f.calls)
		}
	}
	result, err := f.run(bounded, call, run)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = &apierror.Error{Code: apierror.ProcessingFailed, Cause: err, Message: fmt.Sprintf(
			"%s: the steps did not finish within %v together. Send fewer steps, or smaller files.", f.at, flowTimeout)}
	}
	return result, errors.Join(err, f.free(maps.Keys(f.results)))
}

// flow is a call with steps that runs.
type flow struct {
	deps    *Deps
	name    string
	calls   []schema.Step[*Deps]
	results map[string]schema.Result
	lastUse map[string]int // of a result, by the number of the step
	// spared is the part of the price that results do not cost.
	spared   credit.Amount
	warnings []schema.Warning
	at       string // the step
}

func (f *flow) run(ctx context.Context, call *Call, run func(context.Context, *Deps, *Call) (schema.Result, error)) (result schema.Result, err error) {
	for i, step := range f.calls {
		f.at = title(step)
		deps := *f.deps
		deps.Results = f.results
		price, err := deps.priceOfStep(ctx, f.name, step)
		if err == nil {
			deps.Held = price.Amount
			result, err = run(ctx, &deps, step.Call)
		}
		if err != nil {
			return schema.Result{}, StepFailure(step, err)
		}
		if err := f.keep(step, price.Amount, &result); err != nil {
			return schema.Result{}, err
		}
		if err := f.free(func(yield func(string) bool) {
			for _, id := range step.Uses() {
				if f.lastUse[id] == i && step.ID != "" && !yield(id) {
					return
				}
			}
		}); err != nil {
			return schema.Result{}, err
		}
	}
	if call.Flow {
		deps := *f.deps
		deps.Results = f.results
		if result, err = call.Run(ctx, &deps); err != nil {
			return schema.Result{}, err
		}
	}
	delete(f.results, schema.Previous) // It is the caller's now.
	result.Warnings, result.Charge = f.warnings, nil
	if f.spared > 0 {
		charge := max(0, f.deps.Held-f.spared)
		result.Charge = &charge
	}
	return result, nil
}

// keep stores the result of a step for those after it.
func (f *flow) keep(step schema.Step[*Deps], price credit.Amount, result *schema.Result) error {
	if result.Body == nil {
		text, err := json.Marshal(result.JSON)
		if err != nil {
			return err
		}
		result.Body, result.JSON = jsonBody(text), nil
		result.ContentType, result.Extension = "application/json", ".json"
	}
	if result.Charge != nil {
		f.spared += price - *result.Charge
	}
	for _, warning := range result.Warnings {
		if step.Place != "" {
			warning.Message = title(step) + ": " + warning.Message
		}
		f.warnings = append(f.warnings, warning)
	}
	if step.ID != "" {
		name := Filename(step.Filename, step.ID, result.Extension)
		result.Stem = strings.TrimSuffix(name, path.Ext(name))
	}
	if step.ID != "" {
		f.results[step.ID] = *result
		return nil
	}
	before := slices.Values([]string{schema.Previous})
	err := f.free(before)
	f.results[schema.Previous] = *result
	return err
}

// free closes results that are needed no longer.
func (f *flow) free(ids iter.Seq[string]) error {
	var errs []error
	for id := range ids {
		if result, ok := f.results[id]; ok {
			errs = append(errs, result.Body.Close())
			delete(f.results, id)
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
func title(step schema.Step[*Deps]) string {
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
func StepFailure(step schema.Step[*Deps], err error) error {
	if step.Place == "" {
		return err
	}
	var known *apierror.Error
	if !errors.As(err, &known) {
		if known = Failure(err); known == nil {
			return fmt.Errorf("%s: %w", title(step), err)
		}
	}
	named := &apierror.Error{Code: known.Code, RetryAfter: known.RetryAfter, Cause: err, Message: title(step) + ": " + known.Error()}
	for _, detail := range known.Details {
		if detail.Field != "" {
			detail.Field = step.Place + ".input." + detail.Field
		}
		named.Details = append(named.Details, detail)
	}
	if len(named.Details) == 0 {
		named.Details = []apierror.Detail{{Field: step.Place, Message: known.Error()}}
	}
	return named
}
