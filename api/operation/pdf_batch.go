package operation

import (
	"context"

	"relaypdf/api/schema"
	"relaypdf/render"
	"relaypdf/render/chrome"
)

// Batch prints the documents of records together, where that makes the same pages.
type Batch struct {
	*render.Batch

	// Final means that its documents are the results of the records: no step or test mark changes them.
	Final bool
}

// NewBatch returns the batch of a bulk job, of which call is the call of a record. It is nil if the documents are no
// prints of a template.
func (in *BulkInput) NewBatch(deps *Deps, call *Call) *Batch {
	each, ok := call.Input().(*PDFInput)
	if !ok || each.TemplateID == nil {
		return nil
	}
	final := len(call.Steps) == 0 && !deps.Test
	return &Batch{deps.Render.Batch(each.page(), each.Options.settings(), final && in.Output == BulkMerged), final}
}

// FillRecord returns the HTML that the call of a record prints.
func FillRecord(ctx context.Context, deps *Deps, call *Call) (string, error) {
	each, _ := call.Input().(*PDFInput)
	page := each.page()
	return each.fill(ctx, deps, each.Options.TemplateOptions, &page)
}

// RecordResult returns a document of a batch as the result of its record. It has no body if it is in that of a record
// before it.
func RecordResult(doc *chrome.Document) schema.Result { return madePDF(doc) }
