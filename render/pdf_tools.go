package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/relaypdf/relaypdf/render/chrome"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdfcheck"
	"github.com/relaypdf/relaypdf/render/pdffile"
	"github.com/relaypdf/relaypdf/render/spool"
)

// PDFFile is a PDF to work on, with its password.
type PDFFile struct {
	Content  engine.Content
	Password string
}

// runTool runs a job of render/pdf or of another engine in a child process. The caller closes the result. Errors
// are *chrome.BusyError, *engine.TimeoutError, *pdf.Error, *chrome.LimitError and the error of ctx.
func (t *Tools) runTool(ctx context.Context, job engine.Job) (engine.Result, error) {
	job.MaxOutput, job.Account, job.Time, job.Observe = MaxBytes, t.id, timeLimit(job.Name), t.render.observer(ctx)
	result, err := t.render.engines.Run(ctx, job)
	var failed *pdf.Error
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
	err = pdf.FromJob(err)
	if errors.As(err, &failed) && failed.Kind == pdf.TooManyPages {
		return engine.Result{}, &chrome.LimitError{What: "pages", Max: int64(failed.Max)}
	}
	return engine.Result{}, fmt.Errorf("%s: %w", job.Name, err)
}

// inputName is the file name of the PDF of a job with a single PDF.
const inputName = "input.pdf"

// input returns a PDF as the only file of a job, and the job's reference to it.
func (f PDFFile) input() ([]engine.File, pdf.Input) {
	return []engine.File{{Name: inputName, Content: f.Content}}, pdf.Input{Name: inputName, Password: f.Password}
}

// runPDF runs a job whose result is one PDF.
func (t *Tools) runPDF(ctx context.Context, job engine.Job) (*spool.File, error) {
	result, err := t.runTool(ctx, job)
	if err != nil {
		return nil, err
	}
	return result.Output(0), nil
}

// ExtractPages makes a PDF of selected pages, in the selected order, including repeats. Empty pages mean all.
func (t *Tools) ExtractPages(ctx context.Context, file PDFFile, pages string) (*spool.File, error) {
	return t.extract(ctx, file, pdf.Selection{Pages: pages})
}

// selectPages is ExtractPages with each page once, in the order of the document.
func (t *Tools) selectPages(ctx context.Context, file PDFFile, pages string) (*spool.File, error) {
	return t.extract(ctx, file, pdf.Selection{Pages: pages, Once: true})
}

func (t *Tools) extract(ctx context.Context, file PDFFile, selection pdf.Selection) (*spool.File, error) {
	files, input := file.input()
	selection.Input = input
	return t.runPDF(ctx, engine.Job{Name: pdf.ExtractJob, Args: selection, Files: files})
}

// DeletePages makes a PDF without some of its pages. At least one page must remain.
func (t *Tools) DeletePages(ctx context.Context, file PDFFile, pages string) (*spool.File, error) {
	files, input := file.input()
	return t.runPDF(ctx, engine.Job{Name: pdf.DeletePagesJob, Args: pdf.Selection{Input: input, Pages: pages}, Files: files})
}

// RotatePages turns pages clockwise by a multiple of 90 degrees. Empty pages mean all.
func (t *Tools) RotatePages(ctx context.Context, file PDFFile, degrees int, pages string) (*spool.File, error) {
	files, input := file.input()
	args := pdf.Rotation{Selection: pdf.Selection{Input: input, Pages: pages}, Degrees: degrees}
	return t.runPDF(ctx, engine.Job{Name: pdf.RotateJob, Args: args, Files: files})
}

// PDFProtection holds the settings of encryption.
type PDFProtection struct {
	UserPassword  string // opens the document
	OwnerPassword string // opens it with all permissions
	Allow         pdf.Permissions
}

// ProtectPDF encrypts a PDF with AES-256, replacing an existing encryption.
func (t *Tools) ProtectPDF(ctx context.Context, file PDFFile, protection PDFProtection) (*spool.File, error) {
	files, input := file.input()
	args := pdf.Protection{
		Input: input, UserPassword: protection.UserPassword, OwnerPassword: protection.OwnerPassword, Allow: protection.Allow,
	}
	return t.runPDF(ctx, engine.Job{Name: pdf.ProtectJob, Args: args, Files: files})
}

// UnlockPDF removes the encryption of a PDF. One that is not encrypted is an error of the kind pdf.Nothing.
func (t *Tools) UnlockPDF(ctx context.Context, file PDFFile) (*spool.File, error) {
	files, input := file.input()
	return t.runPDF(ctx, engine.Job{Name: pdf.UnlockJob, Args: pdf.UnlockArgs{Input: input}, Files: files})
}

// plainPDF returns a PDF without its encryption, if it has one, and repaired.
func (t *Tools) plainPDF(ctx context.Context, file PDFFile) (*spool.File, error) {
	files, input := file.input()
	return t.runPDF(ctx, engine.Job{Name: pdf.UnlockJob, Args: pdf.UnlockArgs{Input: input, PlainToo: true}, Files: files})
}

// CompressPDF reduces the size of a PDF without loss. If this is not possible, the result is the original PDF.
func (t *Tools) CompressPDF(ctx context.Context, file PDFFile) (*spool.File, error) {
	files, input := file.input()
	return t.runPDF(ctx, engine.Job{Name: pdf.CompressJob, Args: input, Files: files})
}

// AddBookmarks adds entries to the end of a PDF's outline.
func (t *Tools) AddBookmarks(ctx context.Context, file PDFFile, bookmarks []pdf.Bookmark) (*spool.File, error) {
	files, input := file.input()
	return t.runPDF(ctx, engine.Job{Name: pdf.BookmarksJob, Args: pdf.Outline{Input: input, Bookmarks: bookmarks}, Files: files})
}

// CheckPDF checks a PDF by standards.
func (t *Tools) CheckPDF(ctx context.Context, file PDFFile, standards []pdffile.Standard) (pdfcheck.Report, error) {
	var report pdfcheck.Report
	files, input := file.input()
	args := pdf.CheckArgs{Input: input, Standards: standards, VeraPDF: !t.render.behind.cfg.NoVeraPDF}
	result, err := t.runTool(ctx, engine.Job{Name: pdf.CheckJob, Args: args, Files: files})
	if err != nil {
		return report, err
	}
	err = json.Unmarshal(result.Body, &report)
	return report, err
}

// DescribePDF reads the information about a PDF.
func (t *Tools) DescribePDF(ctx context.Context, file PDFFile) (pdf.Info, error) {
	var info pdf.Info
	files, input := file.input()
	result, err := t.runTool(ctx, engine.Job{Name: pdf.InfoJob, Args: input, Files: files})
	if err != nil {
		return info, err
	}
	err = json.Unmarshal(result.Body, &info)
	return info, err
}
