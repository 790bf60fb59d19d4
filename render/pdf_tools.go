package render

import (
	"context"
	"errors"
	"fmt"

	"relaypdf/render/engine"
	"relaypdf/render/pdf"
	"relaypdf/render/spool"
)

type (
	// PDFError says why a PDF could not be worked on.
	PDFError = pdf.Error
	// FileContent is the content of a file to work on.
	FileContent = engine.Content
)

// Why a PDF could not be worked on: the kinds of a PDFError.
const (
	PDFNot              = pdf.NotPDF
	PDFDamaged          = pdf.Damaged
	PDFPasswordRequired = pdf.PasswordRequired
	PDFWrongPassword    = pdf.WrongPassword
	PDFBeyondEnd        = pdf.BeyondEnd
	PDFAllPages         = pdf.AllPages
	PDFExhausted        = pdf.Exhausted
	PDFInvalid          = pdf.Invalid
)

// PDFFile is a PDF to work on, and the password that opens it.
type PDFFile struct {
	Content  FileContent
	Password string
}

// runTool runs a job of render/pdf or of another engine in a child. The caller
// closes the result. Errors are *PDFError, *LimitError and that of ctx, which
// bounds the job.
func (r *Renderer) runTool(ctx context.Context, job engine.Job) (engine.Result, error) {
	job.MaxOutput = MaxBytes
	result, err := r.engines.Run(ctx, job)
	var failed *PDFError
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		return engine.Result{}, ctx.Err()
	case errors.Is(err, engine.ErrOutputTooLarge):
		return engine.Result{}, &LimitError{What: "bytes", Max: MaxBytes}
	case errors.Is(err, engine.ErrClosed):
		return engine.Result{}, ErrClosed
	}
	err = pdf.FromJob(err)
	if errors.As(err, &failed) && failed.Kind == pdf.TooManyPages {
		return engine.Result{}, &LimitError{What: "pages", Max: int64(failed.Max)}
	}
	return engine.Result{}, fmt.Errorf("%s: %w", job.Name, err)
}

// inputName is the name that the only PDF of a job has in its folder.
const inputName = "input.pdf"

// input returns a PDF as the only file of a job, and what the job calls it.
func (f PDFFile) input() ([]engine.File, pdf.Input) {
	return []engine.File{{Name: inputName, Content: f.Content}}, pdf.Input{Name: inputName, Password: f.Password}
}

// runPDF runs a job whose result is one PDF.
func (r *Renderer) runPDF(ctx context.Context, job engine.Job) (*spool.File, error) {
	result, err := r.runTool(ctx, job)
	if err != nil {
		return nil, err
	}
	return result.Output(0), nil
}
