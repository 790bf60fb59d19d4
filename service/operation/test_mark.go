package operation

import (
	"context"
	"errors"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/spool"
	"github.com/relaypdf/relaypdf/service/schema"
)

// Calls with test keys are free, and their results have a test mark: a band on each page or image. Data in JSON needs
// none. Results that cannot have one are refused.

// markFormats are the images that can have a test mark.
var markFormats = map[string]string{
	"image/png": "png", "image/jpeg": "jpeg", "image/webp": "webp", "image/tiff": "tiff", "image/gif": "gif",
}

func markable(contentType string) bool {
	return contentType == "application/pdf" || contentType == "application/json" || markFormats[contentType] != ""
}

// modelUser is an input whose call may use a language model, which costs the operator money.
type modelUser interface{ usesModel() bool }

// CheckTest refuses a call with a test key that a test key cannot make.
func CheckTest(call *Call) error {
	if in, ok := call.Input().(modelUser); ok && in.usesModel() {
		return testRefusal("use AI, because AI tokens cost money")
	}
	return checkMarkable(call.ContentType())
}

func checkMarkable(contentType string) error {
	if markable(contentType) {
		return nil
	}
	return testRefusal("create " + contentType + " files, because these cannot show the “Test” band")
}

func testRefusal(text string) error {
	return &wire.Error{
		Code:    wire.InvalidRequest,
		Message: "Test keys cannot " + text + ". Use a live key (pdf_live_…).",
	}
}

// marked reports whether a result needs no test mark any more.
func marked(result schema.Result) bool {
	return result.Body == nil || result.Marked || result.ContentType == "application/json"
}

// mark returns a copy of a result of a call with a test key, with its test mark.
func (deps *Deps) mark(ctx context.Context, in any, result schema.Result) (schema.Body, error) {
	switch format := markFormats[result.ContentType]; {
	case result.ContentType == "application/pdf":
		return markPDF(ctx, deps, in, result.Body)
	case format != "":
		place := images.MarkOver
		if _, code := in.(*barcodeInput); code {
			place = images.MarkBelow // A scanner must be able to read the code.
		}
		return notNil(deps.Render.MarkImage(ctx, result.Body, format, place))
	}
	return nil, checkMarkable(result.ContentType)
}

// markStep marks a file that a result has in it unchanged, if it is the result of an earlier step.
func (deps *Deps) markStep(ctx context.Context, fileID *string, file *schema.Body) error {
	if fileID == nil || !deps.Test {
		return nil
	}
	id, ok := schema.StepOf(*fileID)
	if made := deps.Results[id]; ok && !marked(made.Result) {
		marked, err := deps.mark(ctx, made.Input(), made.Result)
		if err != nil {
			return err
		}
		*file = marked // The one before belongs to the step.
	}
	return nil
}

// markPDF marks a PDF that the call has made.
func markPDF(ctx context.Context, deps *Deps, in any, unmarked schema.Body) (schema.Body, error) {
	file := render.PDFFile{Content: unmarked}
	if in, ok := in.(opener); ok {
		file.Password = in.opens()
	}
	marked, err := notNil(deps.Render.MarkPDF(ctx, file))
	var failed *job.Error
	if errors.As(err, &failed) {
		return nil, &documentError{field: "the result", password: "password", cause: failed}
	}
	return marked, err
}

// notNil returns a file as a Body, which is nil without a file.
func notNil(file *spool.File, err error) (schema.Body, error) {
	if err != nil {
		return nil, err
	}
	return file, nil
}

// usesModel reports that a model writes the template.
func (in *generateInput) usesModel() bool { return true }

// usesModel reports whether a model fills a schema.
func (in *dataInput) usesModel() bool { return !in.Schema.IsZero() }

// Produces returns the content type of the target format.
func (in *convertInput) Produces() string { return convertTypes[in.target()] }

// Produces returns the content type of the action's result.
func (in *attachmentsInput) Produces() string {
	switch in.Action {
	case extractAttachments:
		return "application/zip"
	case addAttachments, removeAttachments:
		return "application/pdf"
	}
	return "application/json"
}

// Produces returns the content type of the output.
func (in *ocrInput) Produces() string {
	if in.Output == textOutput {
		return "application/json"
	}
	return "application/pdf"
}

// Produces returns the content type of the format.
func (in *barcodeInput) Produces() string {
	if in.Format == "svg" {
		return "image/svg+xml"
	}
	return "image/png"
}
