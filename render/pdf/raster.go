package pdf

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"

	"github.com/relaypdf/relaypdf/internal/guard"
	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// RasterArgs are the arguments of a RasterJob. Pages is a selection, in the
// grammar of pagerange; DPI is the resolution. The output is one image, or a
// ZIP archive of several, which are named by the number of their page.
type RasterArgs struct {
	Input job.Input
	Pages string
	JPEG  bool
	DPI   int
	// TestMark draws the test mark on the pages.
	TestMark bool
}

// RasterResult describes the result of a RasterJob.
type RasterResult struct {
	// Images is the number of rendered pages. The output is an archive if there is more than one.
	Images int
}

// RasterJob renders pages of a PDF as images.
var RasterJob = job.Define("pdf.raster", engine.MakeTime, raster)

// raster draws pages. Poppler draws them; as its PNG is slow, it writes raw
// pixels that are made a PNG here.
func raster(ctx context.Context, w *engine.Work, args RasterArgs) (RasterResult, error) {
	doc, err := job.OpenOne(ctx, w, args.Input)
	if err != nil {
		return RasterResult{}, err
	}

	pages, err := doc.Resolve(args.Pages)
	if err != nil {
		return RasterResult{}, err
	}
	pages = withoutRepeats(pages)
	if err := job.CheckPages(len(pages)); err != nil {
		return RasterResult{}, err
	}

	if _, err := job.Decrypt(ctx, doc); err != nil {
		return RasterResult{}, err
	}
	if args.TestMark {
		if err := markPages(ctx, doc); err != nil {
			return RasterResult{}, err
		}
	}

	r := &rasterizer{Document: doc, args: args, digits: max(3, len(strconv.Itoa(doc.Pages)))}
	if err := r.checkSizes(ctx, pages); err != nil {
		return RasterResult{}, err
	}
	if err := r.drawAll(ctx, pages); err != nil {
		return RasterResult{}, err
	}

	if len(pages) == 1 {
		w.Output(r.file(pages[0]))
		return RasterResult{Images: 1}, nil
	}
	return RasterResult{Images: len(pages)}, r.pack(pages)
}

// withoutRepeats keeps the first of each number: a page that is asked for
// twice is one image.
func withoutRepeats(pages []int) []int {
	seen := make(map[int]bool, len(pages))
	var kept []int
	for _, page := range pages {
		if !seen[page] {
			seen[page] = true
			kept = append(kept, page)
		}
	}
	return kept
}

// rasterizer draws the pages of one document.
type rasterizer struct {
	*job.Document
	args   RasterArgs
	digits int // of a page's number in file names
	sizes  map[int]job.PageSize
}

// file returns the name of a page's image: page-001.png.
func (r *rasterizer) file(page int) string {
	extension := ".png"
	if r.args.JPEG {
		extension = ".jpg"
	}
	return fmt.Sprintf("page-%0*d%s", r.digits, page, extension)
}

// checkSizes refuses pages whose image would exceed the limits, before anything is rendered.
func (r *rasterizer) checkSizes(ctx context.Context, pages []int) (err error) {
	if r.sizes, err = job.ReadPageSizes(ctx, r.Document, slices.Min(pages), slices.Max(pages)); err != nil {
		return err
	}

	for _, page := range pages {
		size, ok := r.sizes[page]
		if !ok {
			return r.Fail(job.Damaged, fmt.Errorf("page %d has no size", page))
		}

		width, height := r.pixels(size.Width), r.pixels(size.Height)
		if width > job.MaxSide || height > job.MaxSide || width*height > job.MaxPixels {
			return &job.Error{Kind: job.TooFine, Page: page, Width: width, Height: height}
		}
	}
	return nil
}

// pixels returns a length of a page in pixels.
func (r *rasterizer) pixels(points float64) float64 {
	return math.Ceil(points * float64(r.args.DPI) / 72)
}

// drawAll draws pages side by side. Each run of the program takes several that
// follow one another, as it has to read the document first.
func (r *rasterizer) drawAll(ctx context.Context, pages []int) error {
	workers := runtime.NumCPU()
	longest := (len(pages) + workers - 1) / workers
	group, groupCtx := guard.WithContext(ctx)
	group.SetLimit(workers)

	for len(pages) > 0 {
		n := 0
		pixels := 0.0
		for n < min(len(pages), longest) && (n == 0 || pages[n] == pages[n-1]+1) {
			s := r.sizes[pages[n]]
			pixels += r.pixels(s.Width) * r.pixels(s.Height)
			if n > 0 && pixels*3 > job.BatchBytes {
				break
			}
			n++
		}

		batch := pages[:n]
		pages = pages[n:]
		group.Go(func() error { return r.draw(groupCtx, batch) })
	}

	return group.Wait()
}

// jpegOptions are the JPEG options of pdftoppm. Letters show no halos at this quality.
const jpegOptions = "quality=85"

// draw draws pages that follow one another.
func (r *rasterizer) draw(ctx context.Context, pages []int) error {
	first := strconv.Itoa(pages[0])
	last := strconv.Itoa(pages[len(pages)-1])
	prefix := "raw" + first

	args := []string{"-q", "-cropbox", "-r", strconv.Itoa(r.args.DPI), "-f", first, "-l", last}
	if r.args.JPEG {
		args = append(args, "-jpeg", "-jpegopt", jpegOptions)
	}
	args = append(args, "-sep", "-", "-forcenum", engine.PathArg(r.Name), engine.PathArg(prefix))
	if _, err := r.DrawPages(ctx, len(pages), engine.Program{Name: "pdftoppm", Args: args}); err != nil {
		return r.Damaged(err)
	}

	for _, page := range pages {
		if err := r.take(prefix, page); err != nil {
			return err
		}
	}
	return nil
}

// take moves the program's output for a page to the page's image.
func (r *rasterizer) take(prefix string, page int) error {
	extension := ".ppm"
	if r.args.JPEG {
		extension = ".jpg"
	}

	digits := len(strconv.Itoa(r.Pages)) // as the program numbers its files
	drawn := r.Work.Path(fmt.Sprintf("%s-%0*d%s", prefix, digits, page, extension))
	if _, err := os.Lstat(drawn); err != nil {
		// pdftoppm does not report pages that it could not render.
		return r.Fail(job.Damaged, fmt.Errorf("page %d was not drawn: %w", page, err))
	}

	image := r.Work.Path(r.file(page))
	if r.args.JPEG {
		return os.Rename(drawn, image)
	}
	if err := convertPPM(drawn, image, r.args.DPI); err != nil {
		return fmt.Errorf("page %d: %w", page, err)
	}
	return os.Remove(drawn)
}

// convertPPM makes a PNG of a file of raw pixels.
func convertPPM(from, to string, dpi int) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()

	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()

	buffered := bufio.NewWriterSize(out, 64<<10)
	if err := job.EncodePNG(buffered, in, dpi); err != nil {
		return err
	}
	return buffered.Flush()
}

// pack makes an archive of the images the job's output, in the order of the pages.
func (r *rasterizer) pack(pages []int) error {
	return job.PackStored(r.Work, "pages.zip", func(add func(file, name string) error) error {
		for _, page := range pages {
			if err := add(r.file(page), r.file(page)); err != nil {
				return err
			}
		}
		return nil
	})
}
