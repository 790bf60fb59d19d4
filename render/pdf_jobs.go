package render

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdf/compare"
	"github.com/relaypdf/relaypdf/render/pdf/form"
	"github.com/relaypdf/relaypdf/render/pdf/images"
	"github.com/relaypdf/relaypdf/render/pdf/job"
	"github.com/relaypdf/relaypdf/render/pdfcheck"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/spool"
)

// PDFFile is a PDF to work on, with its password.
type PDFFile struct {
	Content  engine.Content
	Password string
}

// runEngine runs a job of render/pdf or of another engine in a child process. The caller closes the result. Errors
// are *chrome.BusyError, *engine.TimeoutError, *job.Error, *chrome.LimitError and the error of ctx.
func (e *Engines) runEngine(ctx context.Context, task engine.Job) (engine.Result, error) {
	task.MaxOutput = MaxBytes
	task.Account = e.id
	task.Time = cmp.Or(task.Time, engine.MakeTime)
	task.Observe = e.render.observer(ctx)

	result, err := e.render.engines.Run(ctx, task)
	var failed *job.Error
	var late *engine.TimeoutError
	switch {
	case err == nil:
		warn(ctx, result.Warnings)
		return result, nil
	case ctx.Err() != nil:
		return engine.Result{}, ctx.Err()
	case errors.As(err, &late):
		return engine.Result{}, late
	case errors.Is(err, chrome.ErrBusy):
		return engine.Result{}, err
	case errors.Is(err, engine.ErrOutputTooLarge):
		return engine.Result{}, &chrome.LimitError{What: "bytes", Max: MaxBytes}
	case errors.Is(err, engine.ErrClosed):
		return engine.Result{}, chrome.ErrClosed
	}

	err = job.FromJob(err)
	if errors.As(err, &failed) && failed.Kind == job.TooManyPages {
		return engine.Result{}, &chrome.LimitError{What: "pages", Max: int64(failed.Max)}
	}
	return engine.Result{}, fmt.Errorf("%s: %w", task.Name, err)
}

// inputName is the file name of the PDF of a job with a single PDF.
const inputName = "input.pdf"

// Input returns the reference of a job's arguments to the PDF, if it is the only one of the job.
func (f PDFFile) Input() job.Input { return job.Input{Name: inputName, Password: f.Password} }

// File returns the PDF as a file of a job whose arguments contain its Input.
func (f PDFFile) File() engine.File { return engine.File{Name: inputName, Content: f.Content} }

// runner is an account's access to the engines: a *Engines or an *Account.
type runner interface {
	runEngine(ctx context.Context, job engine.Job) (engine.Result, error)
}

// run runs a job of render/pdf. The caller closes the result. Errors are those of runEngine.
func run[Args, Result any](
	ctx context.Context, t runner, task job.Job[Args, Result], args Args, files []engine.File,
) (engine.Result, Result, error) {
	var value Result
	result, err := t.runEngine(ctx, task.With(args, files))
	if err != nil {
		return engine.Result{}, value, err
	}

	if err := json.Unmarshal(result.Body, &value); err != nil {
		return engine.Result{}, value, errors.Join(fmt.Errorf("%s: %w", task.Name, err), result.Close())
	}
	return result, value, nil
}

// RunFile runs a job of render/pdf whose result is a file. The caller closes the file. Errors are those of runEngine.
func RunFile[Args any](
	ctx context.Context, t runner, task job.Job[Args, job.None], args Args, files ...engine.File,
) (*spool.File, error) {
	result, _, err := run(ctx, t, task, args, files)
	if err != nil {
		return nil, err
	}
	return result.Output(0), nil
}

// RunValue runs a job of render/pdf whose result is a value. Errors are those of runEngine.
func RunValue[Args, Result any](
	ctx context.Context, t runner, task job.Job[Args, Result], args Args, files ...engine.File,
) (Result, error) {
	result, value, err := run(ctx, t, task, args, files)
	if err != nil {
		return value, err
	}
	return value, result.Close()
}

// RunBoth runs a job of render/pdf whose result is a file and a value about it, such as its changes. The caller closes
// the file. Errors are those of runEngine.
func RunBoth[Args, Result any](
	ctx context.Context, t runner, task job.Job[Args, Result], args Args, files ...engine.File,
) (*spool.File, Result, error) {
	result, value, err := run(ctx, t, task, args, files)
	if err != nil {
		return nil, value, err
	}
	return result.Output(0), value, nil
}

// plainPDF returns a PDF without its encryption, if it has one, and repaired.
func (e *Engines) plainPDF(ctx context.Context, file PDFFile) (*spool.File, error) {
	return RunFile(ctx, e, pdf.UnlockJob, pdf.UnlockArgs{Input: file.Input(), PlainToo: true}, file.File())
}

// CheckPDF checks a PDF by standards.
func (e *Engines) CheckPDF(ctx context.Context, file PDFFile, standards []pdffile.Standard) (pdfcheck.Report, error) {
	args := pdf.CheckArgs{Input: file.Input(), Standards: standards, VeraPDF: !e.render.behind.cfg.NoVeraPDF}
	return RunValue(ctx, e, pdf.CheckJob, args, file.File())
}

// DescribePDF reads the information about a PDF.
func (e *Engines) DescribePDF(ctx context.Context, file PDFFile) (pdf.Info, error) {
	return RunValue(ctx, e, pdf.InfoJob, file.Input(), file.File())
}

// RasterPages renders pages of a PDF. It returns one image and false, or a ZIP archive of several images and true.
func (e *Engines) RasterPages(
	ctx context.Context, file PDFFile, args pdf.RasterArgs,
) (_ *spool.File, archive bool, err error) {
	args.Input = file.Input()
	images, made, err := RunBoth(ctx, e, pdf.RasterJob, args, file.File())
	return images, made.Images > 1, err
}

// ConvertImage makes an image of another, upright and without its metadata. More is true if the file has further
// images, which are left out.
func (e *Engines) ConvertImage(
	ctx context.Context, image engine.Content, args images.ConvertArgs,
) (_ *spool.File, more bool, err error) {
	file := PDFFile{Content: image}
	args.Input = file.Input()
	converted, made, err := RunBoth(ctx, e, images.ConvertJob, args, file.File())
	return converted, made.More, err
}

// ComparePDFs compares two PDFs page by page. The result is the JSON of a compare.Comparison, or has the pages that
// differ side by side.
func (e *Engines) ComparePDFs(ctx context.Context, old, latest PDFFile, args compare.Args) (*spool.File, error) {
	args.Old = job.Input{Name: "old.pdf", Password: old.Password}
	args.New = job.Input{Name: "new.pdf", Password: latest.Password}
	files := []engine.File{{Name: args.Old.Name, Content: old.Content}, {Name: args.New.Name, Content: latest.Content}}
	return RunFile(ctx, e, compare.Job, args, files...)
}

// SetPDFInfo sets the fields of info that are not empty, and leaves the others as they are. It closes the given
// PDF.
func (e *Engines) SetPDFInfo(
	ctx context.Context, content *spool.File, password string, info pdffile.Info,
) (_ *spool.File, err error) {
	defer func() { err = errors.Join(err, content.Close()) }()

	file := PDFFile{Content: content, Password: password}
	return RunFile(ctx, e, pdf.SetInfoJob, pdf.SetInfoArgs{Input: file.Input(), Info: info}, file.File())
}

// FormError holds the reasons why values do not fit a form, by field name. Each text continues a sentence that
// begins with the field's name. The entry of an empty name concerns the whole form.
type FormError struct{ Faults map[string]string }

func (e *FormError) Error() string { return fmt.Sprintf("values do not fit the form: %v", e.Faults) }

// FillPDFForm fills the form of a PDF. Values are keyed by field name and have the types of decoded JSON; nil
// clears a field. Flatten draws them on the pages and removes the form. The error is a *FormError if values do not
// fit.
func (e *Engines) FillPDFForm(
	ctx context.Context, file PDFFile, values map[string]any, flatten bool,
) (*spool.File, error) {
	args := form.FillArgs{Input: file.Input(), Values: values, Flatten: flatten}
	result, faults, err := run(ctx, e, form.FillJob, args, []engine.File{file.File()})
	if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return nil, errors.Join(&FormError{Faults: faults}, result.Close())
	}
	return result.Output(0), nil
}
