package pdf

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// maxImages is the maximum number of images that are extracted from a document.
const maxImages = 1000

// ExtractImagesArgs are the arguments of ExtractImagesJob. MinWidth and MinHeight are
// in pixels.
type ExtractImagesArgs struct {
	Selection
	MinWidth, MinHeight int
}

// pageImage is an image on a page of a document.
type pageImage struct {
	page, number  int // its index among the listed pages
	width, height int
	kind, object  string
}

// ExtractImagesJob makes a ZIP archive of the images on pages of a PDF.
var ExtractImagesJob = job.DefineFile("pdf.extract-images", engine.MakeTime, extractImages)

// extractImages makes an archive of the images on pages: each once, unchanged if it is a JPEG, or else as a PNG.
func extractImages(ctx context.Context, w *engine.Work, args ExtractImagesArgs) error {
	doc, err := job.OpenOne(ctx, w, args.Input)
	if err != nil {
		return err
	}
	pages, err := doc.Resolve(args.Pages)
	if err != nil {
		return err
	}

	if _, err := job.Decrypt(ctx, doc); err != nil {
		return err
	}

	images := imageExtractor{doc}
	list, err := images.list(ctx, slices.Min(pages), slices.Max(pages))
	if err != nil {
		return err
	}

	wanted := args.choose(list, pages)
	switch {
	case len(wanted) == 0:
		return &job.Error{Kind: job.NoMatch, Text: "has no matching images on these pages"}
	case len(wanted) > maxImages:
		return &job.Error{Kind: job.NoSelection, Text: fmt.Sprintf(
			"have %d images; the limit is %d. Select fewer pages, or a larger minWidth or minHeight",
			len(wanted), maxImages,
		)}
	}
	return images.pack(ctx, list, wanted)
}

// imageExtractor extracts images from a document.
type imageExtractor struct{ *job.Document }

// list lists the images on a run of pages.
func (d imageExtractor) list(ctx context.Context, first, last int) ([]pageImage, error) {
	out, err := d.Work.Exec(ctx, engine.Program{
		Name:      "pdfimages",
		Args:      []string{"-list", "-f", strconv.Itoa(first), "-l", strconv.Itoa(last), engine.PathArg(d.Name)},
		MaxStdout: job.MaxQPDFOutput,
	})
	if err != nil {
		return nil, d.Damaged(err)
	}

	var list []pageImage
	for line := range bytes.Lines(out) {
		var image pageImage
		var color, components, bits, encoding, interpolated, generation string
		n, err := fmt.Sscan(
			string(line), &image.page, &image.number, &image.kind, &image.width, &image.height,
			&color, &components, &bits, &encoding, &interpolated, &image.object, &generation,
		)
		if n > 4 && (err == nil || image.object == "[inline]") {
			list = append(list, image)
		}
	}

	return list, nil
}

// choose returns the requested images, each once. Masks are parts of other images.
func (a ExtractImagesArgs) choose(list []pageImage, pages []int) (wanted []pageImage) {
	on := map[int]bool{}
	for _, page := range pages {
		on[page] = true
	}

	seen := map[string]bool{}
	for _, image := range list {
		known := image.object != "[inline]" && seen[image.object]
		if on[image.page] && !known && (image.kind == "image" || image.kind == "stencil") &&
			image.width >= a.MinWidth && image.height >= a.MinHeight {
			seen[image.object] = true
			wanted = append(wanted, image)
		}
	}

	return wanted
}

// pack extracts images, and makes an archive of them the job's output.
func (d imageExtractor) pack(ctx context.Context, list, wanted []pageImage) error {
	digits := max(3, len(strconv.Itoa(d.Pages)))
	return job.PackStored(d.Work, "images.zip", func(add func(file, name string) error) error {
		done := 0
		onPage := 0

		for i, image := range wanted {
			if image.page != done {
				if err := d.writePage(ctx, image.page); err != nil {
					return err
				}
				done = image.page
				onPage = 0
			}

			onPage++
			before := slices.IndexFunc(list, func(other pageImage) bool { return other.page == image.page })
			file, err := d.file(image.page, image.number-list[before].number)
			if err != nil {
				return d.Fail(job.Damaged, fmt.Errorf("image %d of %d was not written: %w", i+1, len(wanted), err))
			}
			name := fmt.Sprintf("page-%0*d-%d%s", digits, image.page, onPage, filepath.Ext(file))
			if err := add(file, name); err != nil {
				return err
			}
		}

		return nil
	})
}

// writePage writes the images of a page to files.
func (d imageExtractor) writePage(ctx context.Context, page int) error {
	_, err := d.Work.Exec(ctx, engine.Program{Name: "pdfimages", Args: []string{
		"-q", "-j", "-png", "-f", strconv.Itoa(page), "-l", strconv.Itoa(page),
		engine.PathArg(d.Name), engine.PathArg("image" + strconv.Itoa(page)),
	}})
	return d.Damaged(err)
}

// file is the name of the file that an image of a page was written to.
func (d imageExtractor) file(page, number int) (name string, err error) {
	for _, extension := range []string{".jpg", ".png"} {
		name = fmt.Sprintf("image%d-%03d%s", page, number, extension)
		if _, err = os.Lstat(d.Work.Path(name)); err == nil {
			return name, nil
		}
	}
	return "", err
}
