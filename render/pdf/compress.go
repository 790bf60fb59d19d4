package pdf

import (
	"context"
	"errors"
	"os"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// minGain is the minimum number of bytes by which a document must get smaller. The random half of its identifier,
// with more or fewer escapes, makes as much difference.
const minGain = 64

// CompressJob reduces the size of a PDF without loss. If this is not possible, the result is the original PDF.
var CompressJob = job.DefineFile("pdf.compress", engine.MakeTime, compress)

// compress writes a document as small as possible without loss: objects go into object streams, and streams are
// deflated with the highest compression. If that gains too little, the result is the input itself, unless it has
// errors.
func compress(ctx context.Context, w *engine.Work, args job.Input) error {
	err := job.WriteWhole(ctx, w, args, job.QPDFJob{
		"objectStreams": "generate", "compressStreams": "y", "recompressFlate": "", "compressionLevel": "9",
	})
	if err != nil {
		return err
	}

	before, errBefore := os.Stat(w.Path(args.Name))
	after, errAfter := os.Stat(w.Path(job.Output))
	if err := errors.Join(errBefore, errAfter); err != nil {
		return err
	}

	if before.Size()-after.Size() < minGain {
		return returnSource(ctx, w, args)
	}
	return nil
}
