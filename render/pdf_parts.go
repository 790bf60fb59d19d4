package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/pdfmeta"
	"github.com/relaypdf/relaypdf/render/spool"
)

// RepairPDF rewrites a PDF from the objects that can be read.
func (a *Account) RepairPDF(ctx context.Context, file PDFFile) (*spool.File, error) {
	files, input := file.input()
	return a.runPDF(ctx, engine.Job{Name: pdf.RepairJob, Args: input, Files: files})
}

// CropPDF hides the content outside of a box of pages, or in their margins. Empty pages mean all.
func (a *Account) CropPDF(ctx context.Context, file PDFFile, pages string, box *pdf.CropBox, margin pdf.Margin) (*spool.File, error) {
	files, input := file.input()
	args := pdf.CropArgs{Selection: pdf.Selection{Input: input, Pages: pages}, Box: box, Margin: margin}
	return a.runPDF(ctx, engine.Job{Name: pdf.CropJob, Args: args, Files: files})
}

// ResizePDF changes the size of pages, in points as they are shown, and scales their content: either as large as
// fits, or stretched to fill the page. Empty pages mean all.
func (a *Account) ResizePDF(ctx context.Context, file PDFFile, pages string, width, height float64, fill bool) (*spool.File, error) {
	files, input := file.input()
	args := pdf.ResizeArgs{Selection: pdf.Selection{Input: input, Pages: pages}, Width: width, Height: height, Fit: pdf.Contain}
	if fill {
		args.Fit = pdf.Fill
	}
	return a.runPDF(ctx, engine.Job{Name: pdf.ResizeJob, Args: args, Files: files})
}

// PDFOptimization holds the settings for reducing the size of a PDF.
type PDFOptimization struct {
	Linearize bool // for who reads the first page before the rest has come
	// AlwaysLinearize linearizes the PDF even if the result is not smaller than its source.
	AlwaysLinearize bool
	Quality         int  // quality of JPEGs; 0 leaves images as they are
	MaxDPI          int  // maximum pixels per inch of images; 0 means no limit
	Gray            bool // converts images to grey
}

// OptimizePDF reduces the size of a PDF. A result is not larger than its source, unless it had to be linearized or
// images had to become grey.
func (a *Account) OptimizePDF(ctx context.Context, file PDFFile, how PDFOptimization) (*spool.File, error) {
	files, input := file.input()
	args := pdf.OptimizeArgs{Input: input, Linearize: how.Linearize, AlwaysLinearize: how.AlwaysLinearize, Quality: how.Quality, MaxDPI: how.MaxDPI, Gray: how.Gray}
	return a.runPDF(ctx, engine.Job{Name: pdf.OptimizeJob, Args: args, Files: files})
}

// ExtractImages makes a ZIP archive of the images on pages of a PDF that have at least a width and height in
// pixels. Empty pages mean all.
func (a *Account) ExtractImages(ctx context.Context, file PDFFile, pages string, width, height int) (*spool.File, error) {
	files, input := file.input()
	args := pdf.ExtractImagesArgs{Selection: pdf.Selection{Input: input, Pages: pages}, MinWidth: width, MinHeight: height}
	return a.runPDF(ctx, engine.Job{Name: pdf.ExtractImagesJob, Args: args, Files: files})
}

// ConvertImage makes an image of another, upright and without its metadata. More is true if the file has further
// images, which are left out.
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

// SetPDFInfo sets the fields of info that are not empty, and leaves the others as they are. It closes the given
// PDF.
func (a *Account) SetPDFInfo(ctx context.Context, file *spool.File, password string, info pdfmeta.Info) (_ *spool.File, err error) {
	defer func() { err = errors.Join(err, file.Close()) }()
	files, input := PDFFile{Content: file, Password: password}.input()
	args := pdf.Information{Input: input, Title: info.Title, Author: info.Author, Subject: info.Subject, Keywords: info.Keywords}
	return a.runPDF(ctx, engine.Job{Name: pdf.SetInfoJob, Args: args, Files: files})
}

// OCR holds the pages to read and the settings of OCR. Empty pages mean all.
type OCR struct {
	Pages     string
	Languages []string // languages of tesseract, such as eng
	// Force also reads pages that already have text.
	Force bool
	// Turn rotates pages that are sideways, and Straighten makes lines level. Text returns the recognised text as
	// JSON instead of a PDF.
	Turn, Straighten, Text bool
}

// OCRPDF adds an invisible text layer to pages that are images, or returns the text as JSON.
func (a *Account) OCRPDF(ctx context.Context, file PDFFile, how OCR) (*spool.File, error) {
	files, input := file.input()
	args := pdf.OCRArgs{
		Selection: pdf.Selection{Input: input, Pages: how.Pages}, Languages: how.Languages,
		Force: how.Force, Turn: how.Turn, Straighten: how.Straighten, Text: how.Text,
	}
	return a.runPDF(ctx, engine.Job{Name: pdf.OCRJob, Args: args, Files: files})
}

// ArchivePDF converts a PDF to PDF/A and validates the result. Changes lists the differences from the source. Empty
// fields of info keep the document's values.
func (a *Account) ArchivePDF(ctx context.Context, file PDFFile, level pdf.ArchiveLevel, info pdfmeta.Info) (_ *spool.File, changes []string, err error) {
	files, input := file.input()
	args := pdf.ArchiveArgs{Input: input, Level: level, Title: info.Title, Author: info.Author, Subject: info.Subject, Keywords: info.Keywords}
	return a.runChanging(ctx, engine.Job{Name: pdf.ArchiveJob, Args: args, Files: files})
}

// runChanging runs a job that reports the changes in its result.
func (t *Tools) runChanging(ctx context.Context, job engine.Job) (_ *spool.File, changes []string, err error) {
	result, err := t.runTool(ctx, job)
	if err != nil {
		return nil, nil, err
	}
	var made pdf.Changed
	if err := json.Unmarshal(result.Body, &made); err != nil {
		return nil, nil, errors.Join(err, result.Close())
	}
	return result.Output(0), made.Changes, nil
}

// Redaction selects the content to remove from a PDF.
type Redaction struct {
	Terms, Patterns []string
	Areas           []pdf.RedactArea
	Color           [3]float64 // red, green and blue from 0 to 1
}

// RedactPDF removes words and areas from the pages of a PDF, including hidden copies of their text. It returns the
// other changes of the result.
func (a *Account) RedactPDF(ctx context.Context, file PDFFile, what Redaction) (_ *spool.File, changes []string, err error) {
	files, input := file.input()
	args := pdf.RedactArgs{Input: input, Terms: what.Terms, Patterns: what.Patterns, Areas: what.Areas, Color: what.Color}
	return a.runChanging(ctx, engine.Job{Name: pdf.RedactJob, Args: args, Files: files})
}

// Markdown holds the pages to read as Markdown and the settings. Empty pages mean all.
type Markdown struct {
	Pages string
	// Languages are the OCR languages for pages without text. If it is empty, such pages are not read.
	Languages []string
	// Apart returns the text of each page separately.
	Apart bool
}

// MarkdownOfPDF returns the content of a PDF as the JSON of a pdf.MarkdownText.
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

// SplitPDF makes a ZIP archive of parts of a PDF.
func (a *Account) SplitPDF(ctx context.Context, file PDFFile, how pdf.SplitArgs) (*spool.File, error) {
	files, input := file.input()
	how.Input = input
	return a.runPDF(ctx, engine.Job{Name: pdf.SplitJob, Args: how, Files: files})
}

// PDFMetadata reads the document information and XMP of a PDF.
func (a *Account) PDFMetadata(ctx context.Context, file PDFFile) (pdf.Metadata, error) {
	var metadata pdf.Metadata
	files, input := file.input()
	result, err := a.runTool(ctx, engine.Job{Name: pdf.MetadataJob, Args: input, Files: files})
	if err != nil {
		return metadata, err
	}
	err = errors.Join(json.Unmarshal(result.Body, &metadata), result.Close())
	return metadata, err
}

// SetPDFMetadata writes the document information and XMP of a PDF. Changes lists the other differences from the source.
func (a *Account) SetPDFMetadata(ctx context.Context, file PDFFile, how pdf.MetadataArgs) (_ *spool.File, changes []string, err error) {
	files, input := file.input()
	how.Input = input
	return a.runChanging(ctx, engine.Job{Name: pdf.SetMetadataJob, Args: how, Files: files})
}

// OverlayPDF draws pages of one PDF on those of another. Changes lists the other differences from the source.
func (a *Account) OverlayPDF(ctx context.Context, file, overlay PDFFile, how pdf.OverlayArgs) (_ *spool.File, changes []string, err error) {
	const name = "overlay.pdf"
	files, input := file.input()
	how.Input, how.Overlay = input, pdf.Input{Name: name, Password: overlay.Password}
	files = append(files, engine.File{Name: name, Content: overlay.Content})
	return a.runChanging(ctx, engine.Job{Name: pdf.OverlayJob, Args: how, Files: files})
}
