package images

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"

	"golang.org/x/image/tiff"

	"github.com/relaypdf/relaypdf/render/pdf/job"
)

// The kinds of an Error about an image.
const (
	// NotImage is a file that is not an image of a known kind.
	NotImage job.Kind = "not_image"
	// DamagedImage is an image that cannot be read.
	DamagedImage job.Kind = "damaged_image"
	// LargeImage is an image of too many pixels. Text holds their number. It continues a sentence that begins with
	// the image's name.
	LargeImage job.Kind = "large_image"
)

// RasterImage is an image in the form of a PDF object.
type RasterImage struct {
	width, height int // in pixels, as they are stored
	// resolutionX and resolutionY are in pixels per inch.
	resolutionX, resolutionY float64
	orientation              int // of EXIF, 1 to 8
	colors                   string
	channels, bits           int
	profile                  []byte // ICC
	filter                   string // with its parameters
	mask                     *RasterImage
	// adobe is true if a JPEG was written by an Adobe application, which inverts inks.
	adobe bool
	// more reports whether the file has further images.
	more  bool
	img   image.Image // nil if the pixels are copied unchanged
	write func(io.Writer) error
}

// imageError is the reason why an image cannot be used.
type imageError struct {
	kind  job.Kind
	text  string
	cause error
}

func (e *imageError) Error() string { return "image " + e.text }
func (e *imageError) Unwrap() error { return e.cause }

// badImage returns the error of an image that cannot be decoded.
func badImage(cause error) error { return &imageError{kind: DamagedImage, cause: cause} }

// maxDecoded is the maximum memory of a decoded image in bytes.
const maxDecoded = 4 * job.MaxPixels

// EachImage calls take with each image of a file: one, or the pages of a TIFF. The kind
// is read from the content.
func EachImage(path string, take func(*RasterImage) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("input: %w", err)
	}
	defer file.Close()

	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("input: %w", err)
	}

	in := io.NewSectionReader(file, 0, info.Size())
	start := make([]byte, 16)
	n, err := in.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("input: %w", err)
	}
	start = start[:n]

	var p *RasterImage
	switch {
	case bytes.HasPrefix(start, []byte("\xff\xd8\xff")):
		p, err = readJPEG(in)
	case bytes.HasPrefix(start, []byte("\x89PNG\r\n\x1a\n")):
		p, err = readPNG(in)
	case bytes.HasPrefix(start, []byte("GIF8")):
		if p, err = decode(in, gif.DecodeConfig, wholeGIF); err == nil {
			p.more = isAnimated(in)
		}
	case len(start) >= 12 && string(start[:4]) == "RIFF" && string(start[8:12]) == "WEBP":
		p, err = readWebP(in)
	case bytes.HasPrefix(start, []byte("II*\x00")), bytes.HasPrefix(start, []byte("MM\x00*")):
		return eachTIFF(in, take)
	default:
		return &imageError{kind: NotImage}
	}

	if err != nil {
		return err
	}
	return take(p)
}

// checkDimensions refuses an image by its header, before its pixels are
// decoded: a small file can claim any size.
func checkDimensions(width, height, pixelBytes int) error {
	switch {
	case width < 1 || height < 1:
		return badImage(fmt.Errorf("%d × %d pixels", width, height))
	case width*height > job.MaxPixels || width*height*pixelBytes > maxDecoded:
		return &imageError{kind: LargeImage, text: fmt.Sprintf(
			"has %d × %d pixels; the limit is %d in total, half of that with 16 bits per channel",
			width, height, job.MaxPixels,
		)}
	}
	return nil
}

// decode reads an image through its pixels.
func decode(
	in *io.SectionReader, config func(io.Reader) (image.Config, error), whole func(io.Reader) (image.Image, error),
) (*RasterImage, error) {
	cfg, err := config(bufio.NewReader(section(in)))
	if err != nil {
		return nil, badImage(err)
	}

	pixelBytes := 4
	if deep(cfg.ColorModel) {
		pixelBytes = 8
	}
	if err := checkDimensions(cfg.Width, cfg.Height, pixelBytes); err != nil {
		return nil, err
	}

	img, err := whole(bufio.NewReader(section(in)))
	if err != nil {
		return nil, badImage(err)
	}
	return fromPixels(img), nil
}

// section returns a reader over the whole of in.
func section(in *io.SectionReader) io.Reader { return io.NewSectionReader(in, 0, in.Size()) }

// maxMetadata is the maximum size of the metadata that is read of an image.
const maxMetadata = 4 << 20

// readAt returns a part of a file, or nil if it is not there.
func readAt(in io.ReaderAt, at, length int64) []byte {
	if length < 0 || length > maxMetadata {
		return nil
	}
	part := make([]byte, length)
	if _, err := in.ReadAt(part, at); err != nil {
		return nil
	}
	return part
}

// setProfile sets an ICC profile if it matches the image's colours.
func (p *RasterImage) setProfile(profile []byte) {
	if profileFits(profile, p.channels) {
		p.profile = profile
	}
}

// setExif takes orientation and resolution from EXIF, which is a TIFF with or
// without a word before it.
func (p *RasterImage) setExif(exif []byte) {
	exif = bytes.TrimPrefix(exif, []byte("Exif\x00\x00"))
	if directory, _, err := readDirectory(bytes.NewReader(exif), 0); err == nil {
		p.setDirectory(directory)
	}
}

// eachTIFF calls take with each page of a TIFF. The decoder reads only the first page, so it gets the file with each
// page in the position of the first.
func eachTIFF(in *io.SectionReader, take func(*RasterImage) error) error {
	at, err := firstDirectory(in)
	if err == nil && at == 0 {
		err = errors.New("it has no page")
	}
	if err != nil {
		return badImage(err)
	}

	for seen := map[uint32]bool{}; at != 0; {
		if seen[at] {
			return badImage(errors.New("its pages follow one another in a circle"))
		}
		seen[at] = true

		directory, next, err := readDirectory(in, at)
		if err != nil {
			return badImage(err)
		}

		view := io.NewSectionReader(&directoryFirst{in, directory.order, at}, 0, in.Size())
		p, err := decode(view, tiff.DecodeConfig, tiff.Decode)
		if err != nil {
			return err
		}

		p.setDirectory(directory)
		p.setProfile(readAt(in, directory.profileAt, directory.profileLength))
		p.more = next != 0
		if err := take(p); err != nil {
			return err
		}
		at = next
	}

	return nil
}

// readJPEG reads the segments before a JPEG's pixels. The pixels are copied without decoding.
func readJPEG(in *io.SectionReader) (*RasterImage, error) {
	p := &RasterImage{
		resolutionX: defaultResolution,
		resolutionY: defaultResolution,
		orientation: 1,
		filter:      "/Filter /DCTDecode",
	}
	p.write = func(out io.Writer) error {
		_, err := io.Copy(out, section(in))
		return err
	}

	scan := &jpegScan{RasterImage: p}
	if err := scan.read(in); err != nil {
		return nil, badImage(err)
	}
	if !scan.plain {
		// A kind that PDF does not know; the decoder may.
		return decode(in, jpeg.DecodeConfig, jpeg.Decode)
	}
	return p, checkDimensions(p.width, p.height, 4)
}

// readPNG reads a PNG. Without transparency and interlacing, its pixels are copied unchanged.
func readPNG(in *io.SectionReader) (*RasterImage, error) {
	chunks, err := readChunks(in)
	if err != nil {
		return nil, badImage(err)
	}

	var p *RasterImage
	if chunks.plain() {
		p, err = chunks.rasterImage(in)
	} else {
		p, err = decode(in, png.DecodeConfig, png.Decode)
	}
	if err != nil {
		return nil, err
	}

	if len(chunks.density) == 9 && chunks.density[8] == 1 {
		x := float64(binary.BigEndian.Uint32(chunks.density)) * metre
		y := float64(binary.BigEndian.Uint32(chunks.density[4:])) * metre
		p.setResolution(x, y)
	}
	p.setExif(chunks.exif)
	if chunks.color != pngPalette || p.channels == RGB {
		p.setProfile(chunks.profile())
	}

	p.more = chunks.frames > 1
	return p, nil
}

// metre turns a number per metre into one per inch.
const metre = 0.0254

// setResolution sets the resolution if it is plausible.
func (p *RasterImage) setResolution(x, y float64) {
	const lowest, highest = 10, 10_000
	if x >= lowest && x <= highest && y >= lowest && y <= highest {
		p.resolutionX = x
		p.resolutionY = y
	}
}

// deflate returns a function that writes the compressed output of content.
func deflate(content func(io.Writer) error) func(io.Writer) error {
	return func(out io.Writer) error {
		z, err := zlib.NewWriterLevel(out, zlib.BestSpeed)
		if err != nil {
			return err
		}
		buffered := bufio.NewWriterSize(z, 64<<10)
		return errors.Join(content(buffered), buffered.Flush(), z.Close())
	}
}
