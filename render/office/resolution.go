package office

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"github.com/relaypdf/relaypdf/render/engine"
)

// ResolutionJob finds out at how many pixels per inch a PDF shows its first
// image, for engine.Job. Its only argument is the name of the PDF, its result a
// whole number.
const ResolutionJob = "office.resolution"

func resolution(ctx context.Context, w *engine.Work, name string) ([]byte, error) {
	out, err := w.Exec(ctx, engine.Program{Name: "pdfimages", Args: []string{"-list", engine.PathArg(name)}})
	if err != nil {
		return nil, drawError(err)
	}

	// Two lines of headings come first, and the numbers of pixels per inch are
	// in the thirteenth column.
	const headings, column = 2, 12
	lines := bytes.Split(out, []byte("\n"))
	if len(lines) > headings {
		if fields := bytes.Fields(lines[headings]); len(fields) > column {
			if _, err := strconv.Atoi(string(fields[column])); err == nil {
				return fields[column], nil
			}
		}
	}

	return nil, errors.New("the PDF shows no image")
}
