package pdf

import (
	"context"

	"github.com/relaypdf/relaypdf/render/engine"
)

// repair rewrites a document from the parts that qpdf or else MuPDF can read.
func repair(ctx context.Context, w *engine.Work, args Input) ([]byte, error) {
	return nil, writeWhole(ctx, w, args, qpdfJob{})
}
