package pdf

import (
	"context"

	"relaypdf/render/engine"
)

// unlock writes a document without its encryption. A sound document that is not encrypted is an error of kind Nothing.
func unlock(ctx context.Context, w *engine.Work, args Input) ([]byte, error) {
	encrypted, err := contains(w.Path(args.Name), "/Encrypt")
	if err == nil && !encrypted {
		if _, err = openOne(ctx, w, args); err == nil {
			err = &Error{Kind: Nothing, Text: "is not encrypted"}
		}
	}
	if err != nil {
		return nil, err
	}

	return nil, writeWhole(ctx, w, args, qpdfJob{"decrypt": ""})
}
