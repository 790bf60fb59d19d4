package pdf

import (
	"context"

	"relaypdf/render/engine"
)

// unlock writes a document without its encryption. A document that is not encrypted is returned unchanged.
func unlock(ctx context.Context, w *engine.Work, args Input) ([]byte, error) {
	return nil, writeWhole(ctx, w, args, qpdfJob{"decrypt": ""})
}
