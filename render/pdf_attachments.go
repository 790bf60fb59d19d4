package render

import (
	"context"
	"errors"
	"fmt"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf"
	"github.com/relaypdf/relaypdf/render/spool"
)

// ExtractAttachments makes a ZIP archive of files in a PDF. Empty names mean all files.
func (a *Account) ExtractAttachments(ctx context.Context, file PDFFile, names []string) (_ *spool.File, err error) {
	args := pdf.NamedAttachments{Input: file.Input(), Names: names}
	result, filenames, err := run(ctx, a, pdf.DetachJob, args, []engine.File{file.File()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, result.Close()) }()

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
	args := pdf.AttachArgs{Input: file.Input()}
	files := []engine.File{file.File()}
	for i, f := range added {
		name := fmt.Sprintf("attached%d", i)
		files = append(files, engine.File{Name: name, Content: f.Content})
		args.Files = append(
			args.Files,
			pdf.NewAttachment{File: name, Filename: f.Filename, ContentType: f.ContentType, Description: f.Description},
		)
	}
	return RunFile(ctx, a, pdf.AttachJob, args, files...)
}
