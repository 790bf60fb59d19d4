package pdf

import (
	"context"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// UnlockArgs are the arguments of UnlockJob.
type UnlockArgs struct {
	job.Input

	// PlainToo accepts a document that is not encrypted.
	PlainToo bool `json:"plainToo,omitempty"`
}

// UnlockJob removes the encryption of a PDF.
var UnlockJob = job.DefineFile("pdf.unlock", engine.ChangeTime, unlock)

// unlock writes a document without its encryption. A sound document that is not encrypted is an error of kind Nothing,
// unless it is accepted too.
func unlock(ctx context.Context, w *engine.Work, args UnlockArgs) error {
	encrypted, err := job.FileContains(w.Path(args.Name), "/Encrypt")
	if err == nil && !encrypted && !args.PlainToo {
		if _, err = job.OpenOne(ctx, w, args.Input); err == nil {
			err = &job.Error{Kind: job.NoMatch, Text: "is not encrypted"}
		}
	}
	if err != nil {
		return err
	}

	return job.WriteWhole(ctx, w, args.Input, job.QPDFJob{"decrypt": ""})
}
