package operation

import (
	"context"
	"errors"

	"relaypdf/api/apierror"
	"relaypdf/api/schema"
	"relaypdf/render"
	"relaypdf/render/pdf"
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

// producer is an input whose fields determine the content type of the result.
type producer interface{ produces() string }

// modelUser is an input whose call may use a language model, which costs the operator money.
type modelUser interface{ usesModel() bool }

// CheckTest refuses a call with a test key that a test key cannot make.
func CheckTest(info schema.Info, in any) error {
	if in, ok := in.(modelUser); ok && in.usesModel() {
		return testRefusal("use AI, because AI tokens cost money")
	}
	contentType := info.Produces[0]
	if in, ok := in.(producer); ok {
		contentType = in.produces()
	}
	return checkMarkable(contentType)
}

func checkMarkable(contentType string) error {
	if markable(contentType) {
		return nil
	}
	return testRefusal("create " + contentType + " files, because these cannot show the “Test” band")
}

func testRefusal(text string) error {
	return &apierror.Error{Code: apierror.InvalidRequest, Message: "Test keys cannot " + text + ". Use a live key (pdf_live_…)."}
}

// MarkTest returns the result of a call with a test key with its test mark. It closes the given result.
func MarkTest(ctx context.Context, deps *Deps, in any, result schema.Result) (schema.Result, error) {
	if result.Body == nil || result.Marked || result.ContentType == "application/json" {
		return result, nil
	}
	unmarked := result.Body
	var err error
	switch format := markFormats[result.ContentType]; {
	case result.ContentType == "application/pdf":
		result.Body, err = markPDF(ctx, deps, in, unmarked)
	case format != "":
		place := pdf.MarkOver
		if _, code := in.(*BarcodeInput); code {
			place = pdf.MarkBelow // A scanner must be able to read the code.
		}
		result.Body, err = notNil(deps.Render.MarkImage(ctx, unmarked, format, place))
	default:
		err = checkMarkable(result.ContentType)
	}
	if err = errors.Join(err, unmarked.Close()); err != nil {
		if result.Body != nil && result.Body != unmarked {
			err = errors.Join(err, result.Body.Close())
		}
		return schema.Result{}, err
	}
	return result, nil
}

// markPDF marks a PDF that the call has made.
func markPDF(ctx context.Context, deps *Deps, in any, unmarked schema.Body) (schema.Body, error) {
	file := render.PDFFile{Content: unmarked}
	if in, ok := in.(opener); ok {
		file.Password = in.opens()
	}
	marked, err := notNil(deps.Render.MarkPDF(ctx, file))
	var failed *pdf.Error
	if errors.As(err, &failed) {
		return nil, &documentError{field: "the result", password: "password", cause: failed}
	}
	return marked, err
}

// notNil returns a file as a Body, which is nil without a file.
func notNil(file render.File, err error) (schema.Body, error) {
	if err != nil {
		return nil, err
	}
	return file, nil
}

// usesModel reports that a model writes the template.
func (in *GenerateInput) usesModel() bool { return true }

// usesModel reports whether a model fills a schema.
func (in *DataInput) usesModel() bool { return !in.Schema.IsZero() }

func (in *ConvertInput) produces() string { return convertTypes[in.target()] }

func (in *AttachmentsInput) produces() string {
	switch in.Action {
	case extractAttachments:
		return "application/zip"
	case addAttachments, removeAttachments:
		return "application/pdf"
	}
	return "application/json"
}

func (in *BarcodeInput) produces() string {
	if in.Format == "svg" {
		return "image/svg+xml"
	}
	return "image/png"
}
