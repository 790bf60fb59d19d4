package operation

import (
	"context"

	"github.com/relaypdf/relaypdf/render"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/service/schema"
	"github.com/relaypdf/relaypdf/store/credit"
)

// zipPrice is the price of zip.create.
const zipPrice = 200 * credit.Microdollar

// zipInput is the input of zip.create.
type zipInput struct {
	schema.Common

	Files []namedFile `json:"files" jsonschema:"required,minItems=1,maxItems=30" jsonschema_description:"Files in order, 1 to 30 of them, at most 200 MiB together."`
}

// namedFile is a file with a name.
type namedFile struct {
	FileSource

	Filename string `json:"filename" jsonschema:"required,minLength=1,maxLength=255" jsonschema_description:"Path of the file in the archive, such as letters/may.pdf. Absolute paths and paths with .. are reduced to the file name. Duplicate names get a number."`
}

// Validate checks the rules that the schema cannot express.
func (in *zipInput) Validate() error {
	var faults schema.FieldErrors
	for i := range in.Files {
		in.Files[i].checkOne(&faults, fileAt(i))
	}
	return failures(faults)
}

// runZip puts the files in an archive. They may be empty.
func runZip(ctx context.Context, deps *Deps, in *zipInput) (schema.Result, error) {
	lenient := *deps
	lenient.takesEmpty = true

	sources := placeFiles(len(in.Files), func(i int) *FileSource { return &in.Files[i].FileSource })
	return withFiles(ctx, &lenient, sources, func(ctx context.Context, files []openFile) (schema.Result, error) {
		var entries []render.ZipEntry
		for i, file := range files {
			entries = append(entries, render.ZipEntry{Name: in.Files[i].Filename, Content: file})
		}

		bounded, cancel := context.WithTimeoutCause(ctx, archiveTimeout, &engine.TimeoutError{After: archiveTimeout})
		defer cancel()
		archive, err := render.Zip(bounded, entries)
		if err != nil && bounded.Err() != nil && ctx.Err() == nil {
			err = context.Cause(bounded)
		}

		if err != nil {
			return schema.Result{}, err
		}
		return zipResult("archive", archive), nil
	})
}
