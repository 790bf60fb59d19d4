package pdf

import (
	"context"

	"relaypdf/render/engine"
)

// repair writes a document anew, from what qpdf or else MuPDF can read of it.
func repair(ctx context.Context, w *engine.Work, args Input) ([]byte, error) {
	return nil, writeWhole(ctx, w, args, qpdfJob{})
}
