package pdf

import (
	"context"

	"relaypdf/render/engine"
)

// unlock writes a document without its encryption. One that is not encrypted
// comes out as it is.
func unlock(ctx context.Context, w *engine.Work, args Input) ([]byte, error) {
	return nil, writeWhole(ctx, w, args, qpdfJob{"decrypt": ""})
}
