package job

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

// BatchBytes bounds the pixels that one run of the program writes to disk.
const BatchBytes = 64 << 20

// PageSize is the size of a page as it is shown before it is turned, in points, and the angle by which it is turned.
type PageSize struct {
	Width, Height float64
	turn          int // clockwise, in degrees
}

// ReadPageSizes returns the sizes of a run of pages by their numbers: those of the crop boxes, which are rendered.
func ReadPageSizes(ctx context.Context, d *Document, first, last int) (map[int]PageSize, error) {
	out, err := d.Work.Exec(ctx, engine.Program{Name: "pdfinfo", Args: []string{
		"-f", strconv.Itoa(first), "-l", strconv.Itoa(last), engine.PathArg(d.Name),
	}})
	if err != nil {
		return nil, d.Damaged(err)
	}

	sizes := make(map[int]PageSize, last-first+1)
	for line := range bytes.Lines(out) {
		var page int
		var s PageSize
		if n, _ := fmt.Sscanf(string(line), "Page %d size: %f x %f pts", &page, &s.Width, &s.Height); n == 3 {
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
