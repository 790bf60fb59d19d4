// Package images converts images, and makes PDFs of them.
package images

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// Fit selects how an image is fitted into the part of a page between its margins.
type Fit string

// The ways to fit an image, which are those of CSS's object-fit.
const (
	// Contain shows all of the image, as large as it can be.
	Contain Fit = "contain"
	// Cover fills the part and cuts off the rest.
	Cover Fit = "cover"
	// Fill fills the part and distorts the image if necessary.
	Fill Fit = "fill"
	// Natural keeps the size that the image has, unless it is too large.
	Natural Fit = "none"
)

// FromImagesArgs are the arguments of a FromImagesJob. Each image is a page,
// and each page of a TIFF is one. The output is the PDF.
type FromImagesArgs struct {
	// Inputs are PNG, JPEG, WebP, TIFF or GIF files.
	Inputs []job.Input
	// Width and Height are the size of the pages in points. Zero makes each
	// page as large as its image with its margins.
	Width, Height float64
	Margin        Margin
	Fit           Fit
}

// FromImagesResult is the result of a FromImagesJob.
type FromImagesResult struct {
	// Omitted are the inputs, from 0, that have more images than pages: of an animation,
	// only the first image is used.
	Omitted []int
}

// Margin is the margins of a page in points.
type Margin struct{ Top, Right, Bottom, Left float64 }

// FromImagesJob makes a PDF with one page per image.
var FromImagesJob = job.Define("pdf.from-images", engine.MakeTime, fromImages)

// fromImages makes pages of images.
//
// The PDF is written here and not by a program: a page needs only a dozen objects, and JPEGs and most PNGs are
// embedded unchanged. This keeps their quality and takes no time. pdfcpu would decode them and ignore the
// orientation of the camera.
func fromImages(ctx context.Context, w *engine.Work, args FromImagesArgs) (made FromImagesResult, err error) {
	out, err := NewWriter(w.Path(job.Output))
	if err != nil {
		return made, err
	}

	for i, input := range args.Inputs {
		more := false
		err := EachImage(w.Path(input.Name), func(p *RasterImage) error {
			more = p.more // of the last page of a TIFF: it has none
			if err := ctx.Err(); err != nil {
				return err
			}
			if len(out.Pages) >= job.MaxPages {
				return job.CheckPages(job.MaxPages + 1)
			}
			return out.ImagePage(p, args)
		})
		if err := Blame(i, err); err != nil {
			return made, errors.Join(err, out.File.Close())
		}
		if more {
			made.Omitted = append(made.Omitted, i)
		}
	}

	if err := out.Finish(); err != nil {
		return made, err
	}
	w.Output(job.Output)
	return made, nil
}

// Blame makes an error of reading an image one of its input.
func Blame(input int, err error) error {
	var bad *imageError
	if errors.As(err, &bad) {
		return &job.Error{Kind: bad.kind, Input: input, Text: bad.text, Cause: bad.cause}
	}
	return err
}

// Writer writes a PDF of images.
type Writer struct {
	File    *os.File
	out     *bufio.Writer
	written int64
	offsets []int64 // of objects, from the number 1
	Pages   []int   // their objects
}

// The objects whose numbers are fixed.
const catalogObject, pagesObject = 1, 2

// NewWriter creates the file of a document with images as pages. The file must not exist.
func NewWriter(path string) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	w := &Writer{File: f, out: bufio.NewWriterSize(f, 256<<10), offsets: make([]int64, 2)}
	// The comment of bytes above 127 shows transfer programs that the file is binary.
	err = w.print("%%PDF-1.7\n%%\xe2\xe3\xcf\xd3\n")
	return w, err
}

// Write adds to the file.
func (w *Writer) Write(p []byte) (int, error) {
	if w.written+int64(len(p)) > job.MaxBytes {
		return 0, engine.ErrOutputTooLarge
	}
	n, err := w.out.Write(p)
	w.written += int64(n)
	return n, err
}

func (w *Writer) print(format string, args ...any) error {
	_, err := fmt.Fprintf(w, format, args...)
	return err
}

// begin starts the object of a number.
func (w *Writer) begin(number int) error {
	w.offsets[number-1] = w.written
	return w.print("%d 0 obj\n", number)
}

// next reserves the number of an object.
func (w *Writer) next() int {
	w.offsets = append(w.offsets, 0)
	return len(w.offsets)
}

// stream writes an object with content, whose length is known only afterwards,
// and returns its number.
func (w *Writer) stream(dictionary string, content func(io.Writer) error) (int, error) {
	number := w.next()
	length := w.next()
	if err := w.begin(number); err != nil {
		return 0, err
	}
	if err := w.print("<< %s /Length %d 0 R >>\nstream\n", dictionary, length); err != nil {
		return 0, err
	}

	start := w.written
	if err := content(w); err != nil {
		return 0, err
	}
	size := w.written - start
	if err := w.print("\nendstream\nendobj\n"); err != nil {
		return 0, err
	}

	return number, errors.Join(w.begin(length), w.print("%d\nendobj\n", size))
}

// ImagePage adds a page with an image.
func (w *Writer) ImagePage(p *RasterImage, args FromImagesArgs) error {
	number, err := w.image(p)
	if err != nil {
		return err
	}

	width, height, content := layout(p, args)
	contents, err := w.stream("", func(out io.Writer) error {
		_, err := io.WriteString(out, content)
		return err
	})
	if err != nil {
		return err
	}

	page := w.next()
	w.Pages = append(w.Pages, page)
	return errors.Join(w.begin(page), w.print(
		"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 %s %s] /Contents %d 0 R "+
			"/Resources << /XObject << /Im %d 0 R >> >> >>\nendobj\n",
		pagesObject, number3(width), number3(height), contents, number))
}

// image adds the objects of an image, of its mask and of its colour profile.
func (w *Writer) image(p *RasterImage) (int, error) {
	colors := p.colors
	extra := ""

	if p.mask != nil {
		mask, err := w.image(p.mask)
		if err != nil {
			return 0, err
		}
		extra += fmt.Sprintf(" /SMask %d 0 R", mask)
	}

	if len(p.profile) > 0 {
		profile, err := w.stream(fmt.Sprintf("/N %d /Alternate %s", p.channels, p.colors), func(out io.Writer) error {
			_, err := out.Write(p.profile)
			return err
		})
		if err != nil {
			return 0, err
		}
		colors = fmt.Sprintf("[/ICCBased %d 0 R]", profile)
	}

	dictionary := fmt.Sprintf(
		"/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace %s /BitsPerComponent %d %s%s",
		p.width, p.height, colors, p.bits, p.filter, extra,
	)
	return w.stream(dictionary, p.write)
}

// Finish writes the end of the file and closes it.
func (w *Writer) Finish() error {
	var kids strings.Builder
	for _, page := range w.Pages {
		fmt.Fprintf(&kids, "%d 0 R ", page)
	}

	err := errors.Join(
		w.begin(catalogObject), w.print("<< /Type /Catalog /Pages %d 0 R >>\nendobj\n", pagesObject),
		w.begin(pagesObject), w.print("<< /Type /Pages /Count %d /Kids [%s] >>\nendobj\n", len(w.Pages), kids.String()),
	)

	start := w.written
	err = errors.Join(err, w.print("xref\n0 %d\n0000000000 65535 f \n", len(w.offsets)+1))
	for _, offset := range w.offsets {
		err = errors.Join(err, w.print("%010d 00000 n \n", offset))
	}
	err = errors.Join(err, w.print(
		"trailer\n<< /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(w.offsets)+1, catalogObject, start,
	))
	return errors.Join(err, w.out.Flush(), w.File.Close())
}
