package pdf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"relaypdf/render/engine"
)

// The names of the jobs that look at pages or draw on them.
const (
	RasterJob     = "pdf.raster"
	FromImagesJob = "pdf.from-images"
	StampJob      = "pdf.stamp"
	TextJob       = "pdf.text"
	FormFieldsJob = "pdf.form.fields"
	FormFillJob   = "pdf.form.fill"
)

// PageHandlers are the jobs that look at pages or draw on them.
func PageHandlers() engine.Handlers {
	return engine.Handlers{
	}
}

// plain makes a document one that opens without a password, for programs that
// take passwords on their command line only. It reports whether the document
// was encrypted, which it then is no more.
func (d *document) plain(ctx context.Context) (encrypted bool, err error) {
	_, err = qpdf(ctx, d.work, qpdfJob{"inputFile": d.name, "password": d.password, "isEncrypted": ""})
	var exit *engine.ExitError
	switch {
	case errors.As(err, &exit) && exit.Code == qpdfNotEncrypted:
		return false, nil
	case err != nil:
		return false, d.damaged(err)
	}
	name := "plain" + strconv.Itoa(d.number) + ".pdf"
	if _, err := qpdf(ctx, d.work, qpdfJob{"inputFile": d.name, "password": d.password, "decrypt": "", "outputFile": name}); err != nil {
		return false, d.damaged(err)
	}
	d.name, d.password = name, ""
	return true, nil
}

// qpdfNotEncrypted is qpdf's exit code for "isEncrypted" where it is not so.
const qpdfNotEncrypted = 2

// finish makes a file of the job's folder its result, encrypted as the
// original is where that is encrypted.
func finish(ctx context.Context, original *document, encrypted bool, name string) error {
	if !encrypted {
		if err := os.Rename(original.work.Path(name), original.work.Path(output)); err != nil {
			return fmt.Errorf("result: %w", err)
		}
		original.work.Output(output)
		return nil
	}
	_, err := qpdf(ctx, original.work, qpdfJob{
		"inputFile": name, "outputFile": output,
		"copyEncryption": original.name, "encryptionFilePassword": original.password,
	})
	if err != nil {
		return original.damaged(err)
	}
	original.work.Output(output)
	return nil
}
