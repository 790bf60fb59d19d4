package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/spool"
)

// ListAttachments lists the files in a PDF.
func (a *Account) ListAttachments(ctx context.Context, file PDFFile) (list pdf.Attachments, err error) {
	files, input := file.input()
	result, err := a.runTool(ctx, engine.Job{Name: pdf.AttachmentsJob, Args: input, Files: files})
	if err != nil {
		return list, err
	}
	err = errors.Join(json.Unmarshal(result.Body, &list), result.Close())
	return list, err
}

// ExtractAttachments makes a ZIP archive of files in a PDF. Empty names mean all files.
func (a *Account) ExtractAttachments(ctx context.Context, file PDFFile, names []string) (_ *spool.File, err error) {
	files, input := file.input()
	result, err := a.runTool(ctx, engine.Job{Name: pdf.DetachJob, Args: pdf.NamedAttachments{Input: input, Names: names}, Files: files})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	var filenames []string
	if err := json.Unmarshal(result.Body, &filenames); err != nil {
		return nil, err
	}
	var entries []ZipEntry
	for i, name := range filenames {
		entries = append(entries, ZipEntry{Name: name, Content: result.Output(i)})
	}
	return Zip(ctx, entries)
}

// NewAttachment is a file to put into a PDF.
type NewAttachment struct {
	Filename, ContentType, Description string
	Content                            engine.Content
}

// AddAttachments adds files to a PDF. An existing file with the same name is replaced.
func (a *Account) AddAttachments(ctx context.Context, file PDFFile, added []NewAttachment) (*spool.File, error) {
	files, input := file.input()
	args := pdf.NewAttachments{Input: input}
	for i, f := range added {
		name := fmt.Sprintf("attached%d", i)
		files = append(files, engine.File{Name: name, Content: f.Content})
		args.Files = append(args.Files, pdf.NewAttachment{File: name, Filename: f.Filename, ContentType: f.ContentType, Description: f.Description})
	}
	return a.runPDF(ctx, engine.Job{Name: pdf.AttachJob, Args: args, Files: files})
}

// RemoveAttachments removes files from a PDF.
func (a *Account) RemoveAttachments(ctx context.Context, file PDFFile, names []string) (*spool.File, error) {
	files, input := file.input()
	return a.runPDF(ctx, engine.Job{Name: pdf.RemoveAttachmentsJob, Args: pdf.NamedAttachments{Input: input, Names: names}, Files: files})
}
