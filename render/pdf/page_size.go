package pdf

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/relaypdf/relaypdf/render/engine"
)

// The limits of one image in pixels.
const (
	MaxSide   = 16_384
	MaxPixels = 100_000_000
)

// batchBytes bounds the pixels that one run of the program writes to disk.
const batchBytes = 64 << 20

// size is the size of a page as it is shown before it is turned, in points, and the angle by which it is turned.
type size struct {
	width, height float64
	turn          int // clockwise, in degrees
}

// readPageSizes returns the sizes of a run of pages by their numbers: those of the crop boxes, which are rendered.
func readPageSizes(ctx context.Context, d *document, first, last int) (map[int]size, error) {
	out, err := d.work.Exec(ctx, engine.Program{Name: "pdfinfo", Args: []string{
		"-f", strconv.Itoa(first), "-l", strconv.Itoa(last), engine.PathArg(d.name),
	}})
	if err != nil {
		return nil, d.damaged(err)
	}

	sizes := make(map[int]size, last-first+1)
	for line := range bytes.Lines(out) {
		var page int
		var s size
		if n, _ := fmt.Sscanf(string(line), "Page %d size: %f x %f pts", &page, &s.width, &s.height); n == 3 {
			sizes[page] = s
		}
		if n, _ := fmt.Sscanf(string(line), "Page %d rot: %d", &page, &s.turn); n == 2 {
			turned := sizes[page]
			turned.turn = s.turn
			sizes[page] = turned
		}
	}

	return sizes, nil
}
