package pdf

import (
	"context"

	"github.com/relaypdf/relaypdf/render/engine"
)

// UnlockArgs are the arguments of UnlockJob.
type UnlockArgs struct {
	Input

	// PlainToo accepts a document that is not encrypted.
	PlainToo bool `json:"plainToo,omitempty"`
}

// UnlockJob removes the encryption of a PDF.
var UnlockJob = defineFile("pdf.unlock", engine.ChangeTime, unlock)

// unlock writes a document without its encryption. A sound document that is not encrypted is an error of kind Nothing,
// unless it is accepted too.
func unlock(ctx context.Context, w *engine.Work, args UnlockArgs) error {
	encrypted, err := contains(w.Path(args.Name), "/Encrypt")
	if err == nil && !encrypted && !args.PlainToo {
		if _, err = openOne(ctx, w, args.Input); err == nil {
			err = &Error{Kind: NoMatch, Text: "is not encrypted"}
		}
	}
	if err != nil {
		return err
	}

	return writeWhole(ctx, w, args.Input, qpdfJob{"decrypt": ""})
}
