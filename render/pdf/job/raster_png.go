package job

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// EncodePNG writes a binary PPM of eight bits a channel as a PNG of the
// resolution, line by line: an image of 100 megapixels takes no more memory
// than a small one. It is grey where all pixels are.
func EncodePNG(out io.Writer, ppm io.ReadSeeker, dpi int) error {
	lines, err := ReadPPM(ppm)
	if err != nil {
		return err
	}
	grey, err := lines.grey()
	if err != nil {
		return err
	}

	if _, err := ppm.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if lines, err = ReadPPM(ppm); err != nil {
		return err
	}

	p := &pngWriter{out: out, width: lines.Width, height: lines.Height, channels: 3}
	if grey {
		p.channels = 1
	}
	return p.write(lines, dpi)
}

// PPMReader reads the lines of an image.
type PPMReader struct {
	In            *bufio.Reader
	Width, Height int
	line          []byte
}

// ErrPPM means that an image is not one of pdftoppm.
var ErrPPM = errors.New("not an image as pdftoppm writes them")

// ReadPPM reads the header of an image.
func ReadPPM(in io.Reader) (*PPMReader, error) {
	r := &PPMReader{In: bufio.NewReaderSize(in, 256<<10)}
	var depth int
	if n, err := fmt.Fscanf(r.In, "P6\n%d %d\n%d\n", &r.Width, &r.Height, &depth); n != 3 || err != nil || depth != 255 {
		return nil, errors.Join(ErrPPM, err)
	}
	if r.Width < 1 || r.Height < 1 || r.Width > MaxSide+1 || r.Height > MaxSide+1 {
		return nil, fmt.Errorf("%w: %d × %d pixels", ErrPPM, r.Width, r.Height)
	}
	r.line = make([]byte, 3*r.Width)
	return r, nil
}

// next returns the next line, which the one after it overwrites.
func (r *PPMReader) next() ([]byte, error) {
	_, err := io.ReadFull(r.In, r.line)
	return r.line, err
}

// grey reports whether all pixels are.
func (r *PPMReader) grey() (bool, error) {
	for range r.Height {
		line, err := r.next()
		if err != nil {
			return false, err
		}
		for i := 0; i+2 < len(line); i += 3 {
			if line[i] != line[i+1] || line[i] != line[i+2] {
				return false, nil
			}
		}
	}
	return true, nil
}

// pngWriter writes a PNG with one channel or three.
type pngWriter struct {
	out                     io.Writer
	width, height, channels int
}

// pngColor is the colour type of a number of channels.
var pngColor = map[int]byte{1: 0, 3: 2}

func (p *pngWriter) write(lines *PPMReader, dpi int) error {
	header := binary.BigEndian.AppendUint32(nil, uint32(p.width)) // bounded by ReadPPM
	header = binary.BigEndian.AppendUint32(header, uint32(p.height))
	header = append(header, 8, pngColor[p.channels], 0, 0, 0)

	perMetre := uint32(math.Round(float64(dpi) / 0.0254))
	density := binary.BigEndian.AppendUint32(nil, perMetre)
	density = append(binary.BigEndian.AppendUint32(density, perMetre), 1)

	if _, err := io.WriteString(p.out, "\x89PNG\r\n\x1a\n"); err != nil {
		return err
	}
	if err := errors.Join(p.chunk("IHDR", header), p.chunk("pHYs", density)); err != nil {
		return err
	}

	data := bufio.NewWriterSize(idat{p}, 64<<10)
	// The fastest level: half the time of the next, for a few per cent of size.
	z, err := zlib.NewWriterLevel(data, zlib.BestSpeed)
	if err != nil {
		return err
	}
	if err := p.compress(z, lines); err != nil {
		return err
	}
	return errors.Join(z.Close(), data.Flush(), p.chunk("IEND", nil))
}

// compress writes the filtered lines.
func (p *pngWriter) compress(z io.Writer, lines *PPMReader) error {
	stride := p.width * p.channels
	f := &pngFilter{
		pixel: p.channels, line: make([]byte, stride), above: make([]byte, stride),
		sub: make([]byte, 1+stride), up: make([]byte, 1+stride), none: make([]byte, 1+stride),
	}
	f.sub[0], f.up[0] = 1, 2

	for range lines.Height {
		line, err := lines.next()
		if err != nil {
			return err
		}

		if p.channels == 3 {
			copy(f.line, line)
		} else {
			for i := range f.line {
				f.line[i] = line[3*i]
			}
		}

		if _, err := z.Write(f.filter()); err != nil {
			return err
		}
		f.line, f.above = f.above, f.line
	}
	return nil
}

// chunk writes one chunk of the file.
func (p *pngWriter) chunk(name string, data []byte) error {
	b := make([]byte, 0, 12+len(data))
	b = binary.BigEndian.AppendUint32(b, uint32(len(data))) // at most a buffer
	b = append(append(b, name...), data...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
	_, err := p.out.Write(b)
	return err
}

// idat writes its input as chunks of the image's data.
type idat struct{ *pngWriter }

// Write writes one chunk.
func (d idat) Write(data []byte) (int, error) { return len(data), d.chunk("IDAT", data) }

// pngFilter chooses how each line is written, which decides how well it
// compresses.
type pngFilter struct {
	pixel         int // bytes of a pixel
	line, above   []byte
	none, sub, up []byte // a filter's number, then the line by it
}

// filter returns the filtered line. Lines of text compress best unfiltered; lines of photographs compress best as
// differences from the pixel before or above, whichever is the smaller.
func (f *pngFilter) filter() []byte {
	if bytes.Equal(f.line, f.above) {
		clear(f.up[1:])
		return f.up
	}

	changes := 0
	for i := f.pixel; i < len(f.line); i++ {
		if f.line[i] != f.line[i-f.pixel] {
			changes++
		}
	}
	if changes < len(f.line)/2 {
		copy(f.none[1:], f.line)
		return f.none
	}

	subSum := 0
	upSum := 0
	for i, v := range f.line {
		before := byte(0)
		if i >= f.pixel {
			before = f.line[i-f.pixel]
		}
		s := v - before
		u := v - f.above[i]
		f.sub[1+i], f.up[1+i] = s, u
		subSum += magnitude(s)
		upSum += magnitude(u)
	}

	if subSum < upSum {
		return f.sub
	}
	return f.up
}

// magnitude is the distance of a difference from zero.
func magnitude(b byte) int { return min(int(b), 256-int(b)) }
