package operation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/relaypdf/relaypdf/api/wire"
	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/spool"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
)

// toolPrice is the default price of an operation on a PDF.
const toolPrice = 500 * credit.Microdollar

// pdfTool returns the facts of an operation whose result is a PDF, at the usual
// price.
func pdfTool(toolset, name, summary, use string) schema.Info {
	return schema.Info{
		Name:     name,
		Summary:  summary,
		Toolset:  toolset,
		Use:      use,
		Price:    toolPrice,
		Produces: []string{"application/pdf"},
	}
}

// inDefault adds the operation to the default toolset.
func inDefault(info schema.Info) schema.Info {
	info.Default = true
	return info
}

// detailed adds to the reference what the operation does beyond its summary.
func detailed(info schema.Info, details string) schema.Info {
	info.Details = details
	return info
}

// signs marks an operation whose result has a signature that later changes break.
func signs(info schema.Info) schema.Info {
	info.Signs = true
	return info
}

// validate adds errors unless there is exactly one source, and for a password that cannot be passed to the tools.
func (s *PDFSource) validate(faults *schema.FieldErrors) {
	s.check(faults, "")
	checkPassword(faults, "password", s.Password)
}

// checkPassword faults a password with line breaks or a NUL, which neither users nor other programs could type.
func checkPassword(faults *schema.FieldErrors, field, password string) {
	if strings.ContainsAny(password, "\r\n\x00") {
		faults.Add(field, "must not contain line breaks or NUL characters")
	}
}

// pdfResult makes the result of an operation of the PDF that it made.
func pdfResult(stem string) func(*spool.File, error) (schema.Result, error) {
	return func(file *spool.File, err error) (schema.Result, error) {
		if err != nil {
			return schema.Result{}, err
		}
		return schema.Result{Stem: stem, Extension: ".pdf", ContentType: "application/pdf", Body: file}, nil
	}
}

// changedResult returns a PDF with warnings about its differences.
func changedResult(stem string) func(*spool.File, job.Changed, error) (schema.Result, error) {
	return func(file *spool.File, changed job.Changed, err error) (schema.Result, error) {
		result, err := pdfResult(stem)(file, err)
		for _, change := range changed.Changes {
			result.Warnings = append(result.Warnings, schema.Warning{Code: "content_changed", Message: change})
		}
		return result, err
	}
}

// selection returns the pages of a PDF as arguments of a job.
func selection(file render.PDFFile, pages Pages) pdf.Selection {
	return pdf.Selection{Input: file.Input(), Pages: pages.text()}
}

// zipResult is the result of an operation that made an archive.
func zipResult(stem string, archive *spool.File) schema.Result {
	return schema.Result{Stem: stem, Extension: ".zip", ContentType: "application/zip", Body: archive}
}

// offPage names the field that leaves nothing of a page.
func offPage(err error, field string) error {
	var failed *job.Error
	if errors.As(err, &failed) && failed.Kind == job.OffPage {
		return schema.FieldErrors{{Field: field, Message: failed.Text}}
	}
	return err
}

// Admit returns an error if the queue of the file tools is full.
func (s *PDFSource) Admit(deps *Deps) error { return admitTool(deps) }

// admitTool returns an error if the queue of the file tools is full.
func admitTool(deps *Deps) error {
	if deps.Render == nil {
		return nil
	}
	return deps.Render.AdmitEngine()
}

// withPDF gets the PDF of a source and runs do with it. Errors name the field
// that they are about.
func withPDF[T any](
	ctx context.Context, deps *Deps, src *PDFSource, do func(context.Context, render.PDFFile) (T, error),
) (T, error) {
	return withFiles(ctx, deps, []stagedFile{{&src.FileSource, ""}}, func(ctx context.Context, files []openFile) (T, error) {
		return do(ctx, render.PDFFile{Content: files[0], Password: src.Password})
	})
}

// withFiles gets the files of several sources and runs do with them, as
// withPDF does with one.
func withFiles[T any](
	ctx context.Context, deps *Deps, sources []stagedFile, do func(context.Context, []openFile) (T, error),
) (result T, err error) {
	bounded, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()

	files, err := deps.openSources(bounded, sources)
	if err != nil && ctx.Err() == nil && errors.Is(bounded.Err(), context.DeadlineExceeded) {
		return result, errFetchTimeout
	}

	if err == nil {
		defer closeFiles(files)
		result, err = do(ctx, files)
	}
	return result, toolFault(err, files, sources)
}

// errFetchTimeout means that the files of a request were not there in time.
var errFetchTimeout = errors.New("fetching files timed out")

// toolFault returns an error of the renderer with the field of the request that caused it, if any.
func toolFault(err error, files []openFile, sources []stagedFile) error {
	var failed *job.Error
	if !errors.As(err, &failed) || failed.Input >= len(files) {
		return err
	}

	source := sources[failed.Input]

	switch failed.Kind {
	case job.PageOutOfRange:
		return schema.FieldErrors{{
			Field:   cmp.Or(bookmarkField(failed.Bookmark), "pages"),
			Message: fmt.Sprintf("must select pages of the document, which has %d", failed.Pages),
		}}
	case job.AllPages:
		return schema.FieldErrors{{
			Field:   "pages",
			Message: fmt.Sprintf("must leave at least one page of the document, which has %d", failed.Pages),
		}}
	case job.NotAttached:
		return schema.FieldErrors{{Field: "names", Message: failed.Text}}
	case job.NoLanguage:
		return schema.FieldErrors{{Field: "languages", Message: failed.Text}}
	case job.NoCertificate:
		return schema.FieldErrors{{Field: fmt.Sprintf("trust[%d]", failed.Pages), Message: failed.Text}}
	case job.OverLimit:
		return schema.FieldErrors{{Field: files[failed.Input].field, Message: failed.Text}}
	case job.NoSelection:
		return schema.FieldErrors{{Field: "pages", Message: failed.Text}}
	case job.TooFine:
		return schema.FieldErrors{{Field: "dpi", Message: fmt.Sprintf(
			"is too high for page %d: its image would have %.0f × %.0f pixels; the limit is %d per side and %d in total",
			failed.Page,
			failed.Width,
			failed.Height,
			job.MaxSide,
			job.MaxPixels,
		)}}
	}

	return &documentError{field: files[failed.Input].field, password: source.at + "password", cause: failed}
}

// bookmarkField is the page of the bookmark that a way leads to, or empty.
func bookmarkField(way []int) string {
	if len(way) == 0 {
		return ""
	}
	field := "bookmarks"
	for level, i := range way {
		if level > 0 {
			field += ".children"
		}
		field += "[" + strconv.Itoa(i) + "]"
	}
	return field + ".page"
}

// documentError is a PDF that cannot be worked on.
type documentError struct {
	field    string // that holds it
	password string // the field of its password
	cause    *job.Error
}

func (e *documentError) Error() string { return e.field + ": " + e.cause.Error() }

// Unwrap returns the renderer's error.
func (e *documentError) Unwrap() error { return e.cause }

// detail returns the field with the error, and the error.
func (e *documentError) detail() wire.Detail {
	switch e.cause.Kind {
	case job.NotPDF:
		return wire.Detail{Field: e.field, Message: "is not a PDF"}
	case images.NotImage:
		return wire.Detail{Field: e.field, Message: "is not a PNG, JPEG, WebP, TIFF or GIF image"}
	case images.DamagedImage:
		return wire.Detail{Field: e.field, Message: "is a damaged image, or has an unsupported format"}
	case images.LargeImage:
		return wire.Detail{Field: e.field, Message: e.cause.Text}
	case job.PasswordRequired:
		return wire.Detail{Field: e.password, Message: "is required: the PDF is encrypted"}
	case job.WrongPassword:
		return wire.Detail{Field: e.password, Message: "is incorrect: it does not open the PDF"}
	case job.NoMatch,
		job.RedactionIncomplete,
		job.BrokenStructure,
		job.NoArchive,
		job.NotEmail,
		job.NotInvoice,
		job.NoSheets,
		job.Unverified,
		job.Unsigned:
		return wire.Detail{Field: e.field, Message: e.cause.Text}
	case job.Exhausted:
		return wire.Detail{Field: e.field, Message: "exceeds the time, memory or disk limit of one document"}
	}

	return wire.Detail{Field: e.field, Message: "is damaged and could not be repaired"}
}

// toolError words the failures of operations on PDFs for the customer.
func toolError(err error) *wire.Error {
	var document *documentError
	var late *engine.TimeoutError

	switch {
	case errors.As(err, &document) && document.cause.Kind == job.NoProgram:
		return &wire.Error{
			Code:    wire.ConvertUnavailable,
			Message: document.cause.Text + " is not installed on this server. Ask the operator to run relaypdf doctor.",
		}
	case errors.As(err, &document) && document.cause.Kind == job.NoMatch:
		// The same file fails again, so that no client is to repeat the request.
		detail := document.detail()
		return &wire.Error{
			Code:    wire.InvalidRequest,
			Message: "Nothing to do: " + detail.Field + " " + detail.Message + ".",
			Details: []wire.Detail{detail},
		}
	case errors.As(err, &document) && document.cause.Kind == job.NotInvoice:
		// A document of another kind, which is named.
		detail := document.detail()
		return &wire.Error{
			Code:    wire.InvalidRequest,
			Message: detail.Field + " " + detail.Message + ".",
			Details: []wire.Detail{detail},
		}
	case errors.As(err, &document):
		detail := document.detail()
		return &wire.Error{
			Code: wire.ProcessingFailed, Message: "The file could not be processed: " + detail.Field + " " + detail.Message + ".", Details: []wire.Detail{detail},
		}
	case errors.Is(err, errFetchTimeout):
		return &wire.Error{Code: wire.ProcessingFailed, Message: fmt.Sprintf(
			"The files could not be fetched within %v. Send smaller files, or upload them first.", fetchTimeout)}
	case errors.As(err, &late):
		return &wire.Error{Code: wire.ProcessingFailed, Message: fmt.Sprintf(
			"Processing timed out after %v, the limit of this operation. Send a smaller file, or split the work.",
			late.After,
		) + slowedText(late.Slowed)}
	}

	return nil
}
