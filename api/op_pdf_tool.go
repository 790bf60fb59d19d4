package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"relaypdf/api/op"
	"relaypdf/render"
	"relaypdf/store/credit"
)

// toolPrice is what an operation on a PDF costs, unless its row says otherwise.
const toolPrice = 500 * credit.Microdollar

// pdfTool returns the facts of an operation whose result is a PDF, at the usual
// price.
func pdfTool(name, summary string) op.Info {
	return op.Info{Name: name, Summary: summary, Price: toolPrice, Produces: []string{"application/pdf"}}
}

// validate faults a source that is not exactly one, and a password that no
// program can be told.
func (s *PDFSource) validate(faults *op.Faults) {
	s.check(faults, "")
	checkPassword(faults, "password", s.Password)
}

// checkPassword faults a password with line breaks or a NUL, which neither
// people nor other programs could type.
func checkPassword(faults *op.Faults, field, password string) {
	if strings.ContainsAny(password, "\r\n\x00") {
		faults.Add(field, "must not contain line breaks or NUL characters")
	}
}

// pdfResult makes the result of an operation of the PDF that it made.
func pdfResult(stem string) func(render.File, error) (op.Result, error) {
	return func(file render.File, err error) (op.Result, error) {
		if err != nil {
			return op.Result{}, err
		}
		return op.Result{Stem: stem, Extension: ".pdf", ContentType: "application/pdf", Body: file}, nil
	}
}

// withPDF gets the PDF of a source and runs do with it, both within the
// operation's deadline. Errors name the field that they are about.
func withPDF[T any](ctx context.Context, env *Env, src *PDFSource, do func(context.Context, render.PDFFile) (T, error)) (T, error) {
	return withFiles(ctx, env, []placed{{&src.FileSource, ""}}, func(ctx context.Context, files []openFile) (T, error) {
		return do(ctx, render.PDFFile{Content: files[0], Password: src.Password})
	})
}

// withFiles gets the files of several sources and runs do with them, as
// withPDF does with one.
func withFiles[T any](ctx context.Context, env *Env, sources []placed, do func(context.Context, []openFile) (T, error)) (result T, err error) {
	bounded, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	files, err := env.openSources(bounded, sources)
	if err == nil {
		defer closeFiles(files)
		result, err = do(bounded, files)
	}
	if err != nil && ctx.Err() == nil && errors.Is(bounded.Err(), context.DeadlineExceeded) {
		return result, errToolTimeout
	}
	return result, toolFault(err, files, sources)
}

// errToolTimeout means that an operation on files took longer than it may.
var errToolTimeout = errors.New("operation on files timed out")

// toolFault names the field of the request that an error of the renderer is
// about, where it is about one.
func toolFault(err error, files []openFile, sources []placed) error {
	var failed *render.PDFError
	if !errors.As(err, &failed) || failed.Input >= len(files) {
		return err
	}
	source := sources[failed.Input]
	switch failed.Kind {
	case render.PDFBeyondEnd:
		return op.Faults{{
			Field:   cmp.Or(failed.Argument, "pages"),
			Message: fmt.Sprintf("goes beyond the end; the document's page count is %d", failed.Pages),
		}}
	case render.PDFAllPages:
		return op.Faults{{Field: "pages", Message: fmt.Sprintf("selects all pages of the document, which has %d; at least one must stay", failed.Pages)}}
	case render.PDFInvalid:
		return op.Faults{{Field: failed.Argument, Message: failed.Text}}
	}
	return &documentError{field: files[failed.Input].field, password: source.at + "password", cause: failed}
}

// documentError is a PDF that cannot be worked on.
type documentError struct {
	field    string // that holds it
	password string // the field of its password
	cause    *render.PDFError
}

func (e *documentError) Error() string { return e.field + ": " + e.cause.Error() }

// Unwrap returns the renderer's error.
func (e *documentError) Unwrap() error { return e.cause }

// detail says which field is at fault, and how.
func (e *documentError) detail() Detail {
	switch e.cause.Kind {
	case render.PDFNot:
		return Detail{Field: e.field, Message: "is not a PDF"}
	case render.ImageNot:
		return Detail{Field: e.field, Message: "is not a PNG, JPEG, WebP, TIFF or GIF image"}
	case render.ImageDamaged:
		return Detail{Field: e.field, Message: "is a damaged image, or of a kind that cannot be read"}
	case render.ImageLarge:
		return Detail{Field: e.field, Message: e.cause.Text}
	case render.PDFPasswordRequired:
		return Detail{Field: e.password, Message: "is required: the PDF is encrypted and does not open without one"}
	case render.PDFWrongPassword:
		return Detail{Field: e.password, Message: "is wrong: it does not open the PDF"}
	case render.PDFExhausted:
		return Detail{Field: e.field, Message: "needs more time, memory or disk space than one document may have"}
	}
	return Detail{Field: e.field, Message: "is damaged, and could not be repaired"}
}

// toolError words the failures of operations on PDFs for the customer.
func toolError(err error) *Error {
	var document *documentError
	switch {
	case errors.As(err, &document):
		detail := document.detail()
		return &Error{
			Code: ProcessingFailed, Message: "The file could not be processed: " + detail.Field + " " + detail.Message + ".", Details: []Detail{detail},
		}
	case errors.Is(err, errToolTimeout):
		return &Error{Code: ProcessingFailed, Message: fmt.Sprintf(
			"The files were not fetched and processed within %v. Send smaller files, or split the work.", toolTimeout)}
	}
	return nil
}
