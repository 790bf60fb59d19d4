package pdf

import (
	"context"

	"relaypdf/render/engine"
)

// unlock writes a document without its encryption. One that is not encrypted
// comes out as it is.
func unlock(ctx context.Context, w *engine.Work, args Input) ([]byte, error) {
	doc, err := openOne(ctx, w, args)
	if err != nil {
		return nil, err
	}
	if err := checkPages(doc.pages); err != nil {
		return nil, err
	}
	return nil, doc.write(ctx, qpdfJob{"decrypt": ""})
}
