package images

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"strconv"
	"strings"

	imagedraw "golang.org/x/image/draw"
	"golang.org/x/image/tiff"

	"github.com/relaypdf/relaypdf/render/engine"
	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// ConvertedImage is the result of a ConvertJob.
type ConvertedImage struct {
	// More reports whether the file has other images, which were left out.
	More bool
}

// ConvertArgs are the arguments of ConvertJob. The output is the image.
type ConvertArgs struct {
	Input job.Input
	// To is png, jpeg, webp, tiff or gif.
	To string
	// Quality is the quality of a JPEG or WebP, from 1 to 100.
	Quality int
	// Width and Height are in pixels; 0 follows from the other, and both from the image.
	Width, Height int
	// Fit is Contain, Cover or Fill, where both are given.
	Fit Fit
	// Within keeps the size of an image that is smaller than both, with Contain.
	Within bool
	// Background is the colour behind transparent pixels. Nil keeps transparency, except in a JPEG, which does not
	// support it and gets white.
	Background *color.NRGBA
	// TestMark is MarkOver or MarkBelow; empty means no test mark.
	TestMark string
}

// imageOutput is the name of a converted image.
const imageOutput = "output.image"

// maxWebP is the maximum number of pixels of a side of a WebP.
const maxWebP = 16_383

// ConvertJob makes an image of another, upright and without its metadata.
var ConvertJob = job.Define("images.convert", engine.MakeTime, convertImage)

// convertImage converts an image to another format, upright and without metadata except its colour profile.
func convertImage(ctx context.Context, w *engine.Work, args ConvertArgs) (ConvertedImage, error) {
	img, first, err := UprightImage(w.Path(args.Input.Name))
	if err != nil {
		return ConvertedImage{}, Blame(0, err)
	}

	width, height := args.size(img.Rect.Dx(), img.Rect.Dy())
	if maxSide := args.maxSide(); width > maxSide || height > maxSide || width*height > job.MaxPixels {
		return ConvertedImage{}, Blame(0, &imageError{kind: LargeImage, text: fmt.Sprintf(
			"would have %d × %d pixels; the limit is %d per side and %d in total", width, height, maxSide, job.MaxPixels)})
	}

	if args.Fit == Cover && args.Width > 0 && args.Height > 0 {
		img = cropToShape(img, args.Width, args.Height)
	}
	img = args.paint(Scale(img, width, height))
	if args.TestMark != "" {
		img = markImage(img, args.TestMark)
	}

	return ConvertedImage{More: first.more}, args.write(ctx, w, img, first.profile)
}

func (a ConvertArgs) maxSide() int {
	if a.To == "webp" {
		return maxWebP
	}
	return job.MaxSide
}

// size returns the size of the result.
func (a ConvertArgs) size(width, height int) (int, int) {
	across := float64(a.Width) / float64(width)
	down := float64(a.Height) / float64(height)
	part := func(n int, share float64) int { return max(1, int(float64(n)*share+0.5)) }

	switch {
	case a.Width == 0 && a.Height == 0:
		return width, height
	case a.Width == 0:
		return part(width, down), a.Height
	case a.Height == 0:
		return a.Width, part(height, across)
	case a.Fit == Cover || a.Fit == Fill:
		return a.Width, a.Height
	}

	share := min(across, down)
	if a.Within {
		share = min(share, 1)
	}
	return part(width, share), part(height, share)
}

// cropToShape returns the largest part in the middle of an image that has the shape of a size.
func cropToShape(img *image.NRGBA, width, height int) *image.NRGBA {
	b := img.Rect
	across := b.Dx()
	down := b.Dy()
	if across*height > down*width {
		across = max(1, down*width/height)
	} else {
		down = max(1, across*height/width)
	}
	corner := b.Min.Add(image.Pt((b.Dx()-across)/2, (b.Dy()-down)/2))
	// The SubImage of an *image.NRGBA has the same type.
	part, _ := img.SubImage(image.Rectangle{Min: corner, Max: corner.Add(image.Pt(across, down))}).(*image.NRGBA)
	return part
}

// Scale gives an image another size; a reduced image has the mean of the original pixels.
func Scale(img *image.NRGBA, width, height int) *image.NRGBA {
	bounds := image.Rect(0, 0, img.Rect.Dx(), img.Rect.Dy())
	if bounds.Dx() == width && bounds.Dy() == height {
		return img
	}

	// Colours count by how opaque they are.
	weighed := image.NewRGBA(bounds)
	imagedraw.Draw(weighed, bounds, img, img.Rect.Min, imagedraw.Src)
	if width < bounds.Dx() || height < bounds.Dy() {
		p := Pixels{Width: bounds.Dx(), Height: bounds.Dy(), Channels: 4, Data: weighed.Pix}.Shrink(width, height)
		weighed = &image.RGBA{Pix: p.Data, Stride: 4 * p.Width, Rect: image.Rect(0, 0, p.Width, p.Height)}
	}

	if weighed.Rect.Dx() < width || weighed.Rect.Dy() < height {
		large := image.NewRGBA(image.Rect(0, 0, width, height))
		imagedraw.ApproxBiLinear.Scale(large, large.Rect, weighed, weighed.Rect, imagedraw.Src, nil)
		weighed = large
	}

	out := image.NewNRGBA(weighed.Rect)
	imagedraw.Draw(out, out.Rect, weighed, image.Point{}, imagedraw.Src)
	return out
}

// paint puts an image on its background, if it has one.
func (a ConvertArgs) paint(img *image.NRGBA) *image.NRGBA {
	if img.Opaque() || a.Background == nil && a.To != "jpeg" {
		return img
	}
	out := image.NewNRGBA(image.Rect(0, 0, img.Rect.Dx(), img.Rect.Dy()))
	if a.To == "jpeg" {
		imagedraw.Draw(out, out.Rect, image.White, image.Point{}, imagedraw.Src)
	}
	if a.Background != nil {
		imagedraw.Draw(out, out.Rect, image.NewUniform(*a.Background), image.Point{}, imagedraw.Over)
	}
	imagedraw.Draw(out, out.Rect, img, img.Rect.Min, imagedraw.Over)
	return out
}

// write makes the image the job's output.
func (a ConvertArgs) write(ctx context.Context, w *engine.Work, img *image.NRGBA, profile []byte) error {
	if a.To == "webp" {
		return a.writeWebP(ctx, w, img, profile)
	}

	err := writeFile(w.Path(imageOutput), func(out io.Writer) error {
		switch a.To {
		case "jpeg":
			return jpeg.Encode(
				&profiled{Writer: out, at: len("\xff\xd8"), insert: jpegProfile(profile)},
				img, &jpeg.Options{Quality: a.Quality},
			)
		case "tiff":
			return tiff.Encode(out, img, &tiff.Options{Compression: tiff.Deflate, Predictor: true})
		case "gif":
			return gif.Encode(out, palettedImage(img), nil)
		}
		return png.Encode(&profiled{Writer: out, at: pngHeader, insert: pngProfile(profile)}, img)
	})
	if err != nil {
		return err
	}

	w.Output(imageOutput)
	return nil
}

// writeWebP has libwebp's own program write the image.
func (a ConvertArgs) writeWebP(ctx context.Context, w *engine.Work, img *image.NRGBA, profile []byte) error {
	const plain = "plain.png"

	err := writeFile(w.Path(plain), func(out io.Writer) error {
		encoder := png.Encoder{CompressionLevel: png.BestSpeed}
		return encoder.Encode(&profiled{Writer: out, at: pngHeader, insert: pngProfile(profile)}, img)
	})
	if err != nil {
		return err
	}

	_, err = w.Exec(ctx, engine.Program{Name: "cwebp", Args: []string{
		"-quiet", "-metadata", "icc", "-q", strconv.Itoa(a.Quality),
		engine.PathArg(plain), "-o", engine.PathArg(imageOutput),
	}})
	if err != nil {
		return fmt.Errorf("webp: %w", err)
	}

	w.Output(imageOutput)
	return nil
}

// writeFile writes a new file.
func writeFile(path string, content func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	out := bufio.NewWriterSize(file, 256<<10)
	return errors.Join(content(out), out.Flush(), file.Close())
}

// UprightImage reads an image upright, with its metadata. The colour profile is returned
// only where PNG and JPEG can hold it. If the file has several images, UprightImage reads
// the first.
func UprightImage(path string) (*image.NRGBA, *RasterImage, error) {
	var first *RasterImage
	stop := errors.New("enough")
	err := EachImage(path, func(p *RasterImage) error {
		first = p
		return stop
	})
	if err != nil && !errors.Is(err, stop) {
		return nil, nil, err
	}

	img := first.img
	if img == nil {
		// JPEGs and some PNGs are embedded in PDFs without decoding.
		if img, err = first.decodeFile(path); err != nil {
			return nil, nil, badImage(err)
		}
	}

	if first.channels != RGB {
		first.profile = nil
	}

	return orient(img, first.orientation), first, nil
}

// decodeFile reads the pixels of a JPEG or PNG whose size was checked.
func (p *RasterImage) decodeFile(path string) (image.Image, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}

	in := bufio.NewReader(file)
	start, err := in.Peek(1)
	var img image.Image
	switch {
	case err != nil:
	case start[0] == 0xff:
		img, err = p.decodeJPEG(in)
	default:
		img, err = png.Decode(in)
	}

	return img, errors.Join(err, file.Close())
}

// adobeSegment marks a JPEG whose inks are not inverted.
const adobeSegment = "\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00"

// DecodeJPEG reads the pixels of a JPEG. Of JPEGs with four inks, Go's decoder supports only those with Adobe's
// segment, whose inks are inverted. The others are read as if they had the segment, and inverted again.
func (p *RasterImage) decodeJPEG(in io.Reader) (image.Image, error) {
	const start, inks = "\xff\xd8", 4
	if p.channels != inks || p.adobe {
		return jpeg.Decode(in)
	}

	if _, err := io.CopyN(io.Discard, in, int64(len(start))); err != nil {
		return nil, err
	}

	img, err := jpeg.Decode(io.MultiReader(strings.NewReader(start+adobeSegment), in))
	if img, ok := img.(*image.CMYK); ok {
		for i, v := range img.Pix {
			img.Pix[i] = 255 - v
		}
	}
	return img, err
}

// isAnimated reports whether a GIF has more than one image.
func isAnimated(in *io.SectionReader) bool {
	r := bufio.NewReader(section(in))
	var err error

	take := func(n int) []byte {
		b := make([]byte, n)
		if err == nil {
			_, err = io.ReadFull(r, b)
		}
		return b
	}
	takeColors := func(flags byte) {
		if flags&0x80 != 0 {
			take(3 << (flags&7 + 1))
		}
	}

	takeColors(take(13)[10])
	for pageImages := 0; err == nil; {
		const extension, rasterImage = 0x21, 0x2c
		switch take(1)[0] {
		case extension:
			take(1)
		case rasterImage:
			if pageImages++; pageImages > 1 {
				return err == nil
			}
			takeColors(take(9)[8])
			take(1)
		default:
			return false
		}

		for length := take(1)[0]; length > 0 && err == nil; length = take(1)[0] {
			take(int(length))
		}
	}
	return false
}

// orient returns the pixels of an image upright, by EXIF's orientation.
func orient(img image.Image, orientation int) *image.NRGBA {
	b := img.Bounds()
	width, height := b.Dx(), b.Dy()
	outWidth, outHeight := width, height
	if orientation >= 5 {
		outWidth, outHeight = height, width
	}

	out := image.NewNRGBA(image.Rect(0, 0, outWidth, outHeight))
	at := (&pixelRows{img: img}).reader()

	for y := range outHeight {
		for x := range outWidth {
			sourceX, sourceY := x, y
			switch orientation {
			case 2:
				sourceX = width - 1 - x
			case 3:
				sourceX, sourceY = width-1-x, height-1-y
			case 4:
				sourceY = height - 1 - y
			case 5:
				sourceX, sourceY = y, x
			case 6:
				sourceX, sourceY = y, height-1-x
			case 7:
				sourceX, sourceY = width-1-y, height-1-x
			case 8:
				sourceX, sourceY = width-1-y, x
			}

			c := at(b.Min.X+sourceX, b.Min.Y+sourceY)
			i := y*out.Stride + 4*x
			out.Pix[i] = byte(c.R >> 8)
			out.Pix[i+1] = byte(c.G >> 8)
			out.Pix[i+2] = byte(c.B >> 8)
			out.Pix[i+3] = byte(c.A >> 8)
		}
	}

	return out
}

// wholeGIF reads the first image of a GIF, which may cover only a part of the canvas.
func wholeGIF(in io.Reader) (image.Image, error) {
	var b bytes.Buffer
	config, err := gif.DecodeConfig(io.TeeReader(in, &b))
	if err != nil {
		return nil, err
	}
	part, err := gif.Decode(io.MultiReader(&b, in))
	if err != nil || part.Bounds() == image.Rect(0, 0, config.Width, config.Height) {
		return part, err
	}
	whole := image.NewNRGBA(image.Rect(0, 0, config.Width, config.Height))
	imagedraw.Draw(whole, part.Bounds(), part, part.Bounds().Min, imagedraw.Src)
	return whole, nil
}
