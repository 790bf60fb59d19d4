package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"relaypdf/render/engine"
	"relaypdf/render/pdf"
	"relaypdf/render/pdfmeta"
	"relaypdf/render/spool"
)

// RepairPDF writes a PDF anew, from what can be read of it.
func (a *Account) RepairPDF(ctx context.Context, file PDFFile) (*spool.File, error) {
	files, input := file.input()
	return a.runPDF(ctx, engine.Job{Name: pdf.RepairJob, Args: input, Files: files})
}

// CropPDF hides what lies outside of a box of pages, or else in their margins.
// Empty pages are all.
func (a *Account) CropPDF(ctx context.Context, file PDFFile, pages string, box *pdf.CropBox, margin pdf.Margin) (*spool.File, error) {
	files, input := file.input()
	args := pdf.CropArgs{Selection: pdf.Selection{Input: input, Pages: pages}, Box: box, Margin: margin}
	return a.runPDF(ctx, engine.Job{Name: pdf.CropJob, Args: args, Files: files})
}

// ResizePDF gives pages a size in points, as they are shown, and their content with
// them: all of it as large as it can be, or else distorted to fill them. Empty pages
// are all.
func (a *Account) ResizePDF(ctx context.Context, file PDFFile, pages string, width, height float64, fill bool) (*spool.File, error) {
	files, input := file.input()
	args := pdf.ResizeArgs{Selection: pdf.Selection{Input: input, Pages: pages}, Width: width, Height: height, Fit: pdf.Contain}
	if fill {
		args.Fit = pdf.Fill
	}
	return a.runPDF(ctx, engine.Job{Name: pdf.ResizeJob, Args: args, Files: files})
}

// PDFOptimization says how a PDF is made smaller.
type PDFOptimization struct {
	Linearize bool // for who reads the first page before the rest has come
	// AlwaysLinearize does so although the result is not smaller than its source.
	AlwaysLinearize bool
	Quality         int  // of JPEGs; 0 leaves images as they are
	MaxDPI          int  // the most pixels per inch that images keep; 0 is all
	Gray            bool // makes images grey
}

// OptimizePDF makes a PDF smaller. A result is not larger than its source, unless it had to
// be linearized or images had to become grey.
func (a *Account) OptimizePDF(ctx context.Context, file PDFFile, how PDFOptimization) (*spool.File, error) {
	files, input := file.input()
	args := pdf.OptimizeArgs{Input: input, Linearize: how.Linearize, AlwaysLinearize: how.AlwaysLinearize, Quality: how.Quality, MaxDPI: how.MaxDPI, Gray: how.Gray}
	return a.runPDF(ctx, engine.Job{Name: pdf.OptimizeJob, Args: args, Files: files})
}

// ExtractImages makes a ZIP archive of the images on pages of a PDF, at least so many
// pixels wide and high. Empty pages are all.
func (a *Account) ExtractImages(ctx context.Context, file PDFFile, pages string, width, height int) (*spool.File, error) {
	files, input := file.input()
	args := pdf.ExtractImagesArgs{Selection: pdf.Selection{Input: input, Pages: pages}, MinWidth: width, MinHeight: height}
	return a.runPDF(ctx, engine.Job{Name: pdf.ExtractImagesJob, Args: args, Files: files})
}

// ConvertImage makes an image of another, upright and without its metadata. More is
// whether the file has other pictures, which are left out.
func (a *Account) ConvertImage(ctx context.Context, file engine.Content, how pdf.ConvertImageArgs) (_ *spool.File, more bool, err error) {
	files, input := PDFFile{Content: file}.input()
	how.Input = input
	result, err := a.runTool(ctx, engine.Job{Name: pdf.ConvertImageJob, Args: how, Files: files})
	if err != nil {
		return nil, false, err
	}
	var made pdf.ConvertedImage
	if err := json.Unmarshal(result.Body, &made); err != nil {
		return nil, false, errors.Join(fmt.Errorf("%s: %w", pdf.ConvertImageJob, err), result.Close())
	}
	return result.Output(0), made.More, nil
}

// SetPDFInfo gives a PDF the information that is not empty, and leaves the rest
// as it is. It closes the PDF that it was given.
func (a *Account) SetPDFInfo(ctx context.Context, file File, password string, info pdfmeta.Info) (_ *spool.File, err error) {
	defer func() { err = errors.Join(err, file.Close()) }()
	files, input := PDFFile{Content: file, Password: password}.input()
	args := pdf.Information{Input: input, Title: info.Title, Author: info.Author, Subject: info.Subject, Keywords: info.Keywords}
	return a.runPDF(ctx, engine.Job{Name: pdf.SetInfoJob, Args: args, Files: files})
}

// OCR says which pages are read, and how. Empty pages are all.
type OCR struct {
	Pages     string
	Languages []string // those of tesseract, such as eng
	// Force reads pages, too, that have text already.
	Force bool
	// Turn has pages that lie on their side shown upright, Straighten makes lines
	// level. Text wants what was read as JSON, in the place of a PDF.
	Turn, Straighten, Text bool
}

// OCRPDF lays the text of pages that are pictures under them, or returns it as JSON.
func (a *Account) OCRPDF(ctx context.Context, file PDFFile, how OCR) (*spool.File, error) {
	files, input := file.input()
	args := pdf.OCRArgs{
		Selection: pdf.Selection{Input: input, Pages: how.Pages}, Languages: how.Languages,
		Force: how.Force, Turn: how.Turn, Straighten: how.Straighten, Text: how.Text,
	}
	return a.runPDF(ctx, engine.Job{Name: pdf.OCRJob, Args: args, Files: files})
}

// ArchivePDF makes a PDF one for archives, which is checked. Changes say what is different
// in it. What is empty of info is as the document has it.
func (a *Account) ArchivePDF(ctx context.Context, file PDFFile, level pdf.ArchiveLevel, info pdfmeta.Info) (_ *spool.File, changes []string, err error) {
	files, input := file.input()
	args := pdf.ArchiveArgs{Input: input, Level: level, Title: info.Title, Author: info.Author, Subject: info.Subject, Keywords: info.Keywords}
	return a.runChanging(ctx, engine.Job{Name: pdf.ArchiveJob, Args: args, Files: files})
}

// runChanging runs a job that tells what is different in its result.
func (a *Account) runChanging(ctx context.Context, job engine.Job) (_ *spool.File, changes []string, err error) {
	result, err := a.runTool(ctx, job)
	if err != nil {
		return nil, nil, err
	}
	var made pdf.Changed
	if err := json.Unmarshal(result.Body, &made); err != nil {
		return nil, nil, errors.Join(err, result.Close())
	}
	return result.Output(0), made.Changes, nil
}

// Redaction says what goes of a PDF.
type Redaction struct {
	Terms, Patterns []string
	Areas           []pdf.RedactArea
	Color           [3]float64 // red, green and blue from 0 to 1
}

// RedactPDF takes words and parts of pages out of a PDF, with all that they are hidden in, and
// tells what else is different in the result.
func (a *Account) RedactPDF(ctx context.Context, file PDFFile, what Redaction) (_ *spool.File, changes []string, err error) {
	files, input := file.input()
	args := pdf.RedactArgs{Input: input, Terms: what.Terms, Patterns: what.Patterns, Areas: what.Areas, Color: what.Color}
	return a.runChanging(ctx, engine.Job{Name: pdf.RedactJob, Args: args, Files: files})
}

// Markdown says which pages are read as Markdown, and how. Empty pages are all.
type Markdown struct {
	Pages string
	// Languages are those in which pages without text are read. Without any they are
	// not.
	Languages []string
	// Apart wants the text of each page by itself.
	Apart bool
}

// MarkdownOfPDF returns what a PDF says as the JSON of a pdf.MarkdownText.
func (a *Account) MarkdownOfPDF(ctx context.Context, file PDFFile, how Markdown) (_ *spool.File, about pdf.MarkdownAbout, err error) {
	files, input := file.input()
	args := pdf.MarkdownArgs{Selection: pdf.Selection{Input: input, Pages: how.Pages}, Languages: how.Languages, Apart: how.Apart}
	result, err := a.runTool(ctx, engine.Job{Name: pdf.MarkdownJob, Args: args, Files: files})
	if err != nil {
		return nil, about, err
	}
	if err := json.Unmarshal(result.Body, &about); err != nil {
		return nil, about, errors.Join(fmt.Errorf("%s: %w", pdf.MarkdownJob, err), result.Close())
	}
	return result.Output(0), about, nil
}
